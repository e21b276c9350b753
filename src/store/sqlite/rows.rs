//! How SQLite tells the rows of a board apart, and their states.

use super::dialect::SqliteDialect;
use crate::store::Prober;
use crate::store::bound::BoundBoard;
use crate::store::rows::{MarkLayout, RowLayout, RowReader};
use crate::store::schema::{Schema, quoted};

/// Reads the claims of a board.
pub(super) fn reader(board: &BoundBoard, schema: &Schema, prober: Option<Prober>) -> RowReader {
    let columns = |alias: &str, table: &str| -> Vec<String> {
        let columns = schema.table(table).into_iter().flat_map(|table| &table.columns);
        columns.map(|column| format!("{alias}.{}", quoted(&column.name))).collect()
    };
    let key: Vec<String> = board.key.iter().map(|name| format!("c.{}", quoted(name))).collect();
    let layout = RowLayout {
        place: if board.has_rowid { "c.rowid".into() } else { "NULL".into() },
        mark: match (board.has_rowid, key.is_empty()) {
            (true, _) => MarkLayout::Rowid,
            (false, false) => MarkLayout::Key(key),
            (false, true) => MarkLayout::None,
        },
        claim_state: columns("c", &board.table),
        session_state: board.registry.iter().flat_map(|registry| columns("s", &registry.table)).collect(),
        version: None,
    };
    RowReader::new(board, &SqliteDialect, layout, prober)
}
