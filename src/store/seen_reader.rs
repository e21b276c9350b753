//! Reads a claim together with its whole row and its holder's: what an act compares.

use super::driver::Row;
use super::image_sql;
use super::schema::{Schema, Table};
use super::seen::{Place, RowsBehind, Seen, Spot};
use super::watched::WatchedBoard;
use crate::domain::claim::Registry;
use crate::domain::time::Moment;

/// The tables of a board whose rows are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct SeenReader<'a> {
    watch: &'a dyn WatchedBoard,
    table: &'a Table,
    registry: Option<&'a Table>,
}

impl<'a> SeenReader<'a> {
    /// Nothing, if the table of the claims is gone.
    pub(super) fn new(watch: &'a dyn WatchedBoard, schema: &'a Schema) -> Option<SeenReader<'a>> {
        let board = watch.bound();
        let registry = board.registry.as_ref().and_then(|registry| schema.table(&registry.table));
        Some(SeenReader { watch, table: schema.table(&board.table)?, registry })
    }

    /// What is selected after the claim and its state.
    pub(super) fn columns(&self) -> Vec<String> {
        let dialect = self.watch.rows().dialect();
        let mut columns =
            vec![dialect.row_number(self.table, "c"), image_sql::columns(dialect, self.table, "c")];
        columns.extend(self.registry.map(|registry| image_sql::columns(dialect, registry, "s")));
        columns
    }

    /// Where further columns begin after those.
    pub(super) fn width(&self) -> usize {
        let registry = self.registry.map_or(0, |registry| registry.names.len());
        self.watch.rows().width() + 1 + self.table.names.len() + registry
    }

    pub(super) fn read(&self, row: &dyn Row, now: Moment) -> Seen {
        let (rows, board) = (self.watch.rows(), self.watch.bound());
        let judged = rows.read_with_state(row, board, now);
        let first = rows.width();
        let place = Place { board: board.board_id.clone(), rowid: row.number(first).int().unwrap_or(0) };
        let is_listed = matches!(judged.claim.registry, Registry::Listed(_));
        let at = first + 1 + self.table.names.len();
        let behind = RowsBehind {
            row: image_sql::read(self.table, row, first + 1),
            version: rows.version(row),
            spot: row.text(0).and_then(|place| Spot::of_row(&place)),
            session: self.registry.filter(|_| is_listed).map(|registry| image_sql::read(registry, row, at)),
        };
        Seen::new(place, judged, behind, board, now)
    }
}
