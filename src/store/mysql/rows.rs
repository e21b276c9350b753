//! How MySQL tells the rows of a board apart, and their states.

use super::dialect::MysqlDialect;
use super::keys;
use crate::store::Prober;
use crate::store::bound::BoundBoard;
use crate::store::rows::{MarkLayout, RowLayout, RowReader};
use crate::store::schema::{Table, quoted};

/// Reads the claims of a board.
pub(super) fn reader(
    board: &BoundBoard,
    dialect: &'static MysqlDialect,
    table: &Table,
    registry: Option<&Table>,
    prober: Option<Prober>,
) -> RowReader {
    let key: Vec<String> = board.key.iter().map(|name| format!("c.{}", quoted(name))).collect();
    let layout = RowLayout {
        place: keys::place(table, "c"),
        mark: if key.is_empty() { MarkLayout::Id } else { MarkLayout::Key(key) },
        claim_state: state("c", Some(table)),
        session_state: state("s", registry),
        version: None,
    };
    RowReader::new(board, dialect, layout, prober)
}

/// Every column of a row: the client compares them byte by byte.
fn state(alias: &str, table: Option<&Table>) -> Vec<String> {
    let columns = table.into_iter().flat_map(|table| &table.columns);
    columns.map(|column| format!("{alias}.{}", quoted(&column.name))).collect()
}
