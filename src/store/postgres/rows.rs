//! How PostgreSQL tells the rows of a board apart, and their states.

use super::dialect::PostgresDialect;
use super::schema::quoted;
use crate::postgres::link::Row;
use crate::store::Prober;
use crate::store::bound::BoundBoard;
use crate::store::driver;
use crate::store::rows::{MarkLayout, RowLayout, RowReader};
use crate::store::schema::Table;

/// Reads the claims of a board.
pub(super) fn reader(
    board: &BoundBoard,
    table: &Table,
    registry: Option<&Table>,
    prober: Option<Prober>,
) -> RowReader {
    let is_ambiguous = board.has_rowid && !is_told_apart(board, table);
    let layout = RowLayout {
        place: if board.has_rowid { "c.tableoid::text || c.ctid::text".into() } else { "NULL".into() },
        mark: if is_ambiguous { MarkLayout::IdAndPlace } else { MarkLayout::Id },
        claim_state: state("c", Some(table)).into(),
        session_state: state("s", registry).into(),
        version: Some(1),
    };
    RowReader::new(board, &PostgresDialect, layout, prober)
}

/// Where a row was while the transaction lasts.
pub(super) fn place(row: &Row) -> Option<&str> {
    row.get(0)
}

/// The rank in a column.
pub(super) fn read_rank(row: &dyn driver::Row, at: usize) -> u32 {
    row.number(at).int().and_then(|rank| u32::try_from(rank).ok()).unwrap_or(0)
}

/// Whether everything that a claim is judged by stands in its own row: nothing is joined, selected from
/// elsewhere, or asked of a function that could.
pub(super) fn rests_on_its_row(reader: &RowReader, table: &Table) -> bool {
    reader.rests_on(&table.sql, looks_nowhere_else)
}

/// The rank of a claim by its priority, as a column.
pub(super) fn rank(priority: Option<&str>) -> String {
    priority.map_or_else(
        || "NULL".into(),
        |sql| format!("(dense_rank() OVER (ORDER BY ({sql}) NULLS LAST))::text"),
    )
}

/// Whether an expression selects nothing, and every word before an opening bracket is one that reads only what
/// it is given.
fn looks_nowhere_else(sql: &str) -> bool {
    const KNOWN: [&str; 13] = [
        "in", "and", "or", "not", "any", "case", "when", "then", "else", "coalesce", "greatest", "least",
        "extract",
    ];
    let sql = sql.to_lowercase();
    !sql.contains("select")
        && sql.match_indices('(').all(|(at, _)| {
            let before = sql[..at].trim_end();
            let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '"');
            let word = before.rsplit(|letter| !is_part(letter)).next().unwrap_or_default();
            word.is_empty() || KNOWN.contains(&word)
        })
}

/// Whether the key of the table is among the columns of a claim's id.
fn is_told_apart(board: &BoundBoard, table: &Table) -> bool {
    let is_named = |column: &str| board.id.contains(&format!("c.{}", quoted(column)));
    !table.key.is_empty() && table.key.iter().all(is_named)
}

/// A row's columns as one text, and its version.
fn state(alias: &str, table: Option<&Table>) -> [String; 2] {
    let Some(table) = table else { return ["NULL".into(), "NULL".into()] };
    let columns: Vec<String> =
        table.columns.iter().map(|column| format!("{alias}.{}", quoted(&column.name))).collect();
    let version = if table.has_rowid { format!("{alias}.xmin::text") } else { "NULL".into() };
    [format!("ROW({})::text", columns.join(", ")), version]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_expressions_that_can_look_nowhere_else_are_known() {
        for sql in [
            "(c.\"id\")::text, null",
            "status in ('running')",
            "(coalesce (c.a, c.b))::text",
            "a and (b or (c))",
        ] {
            assert!(looks_nowhere_else(sql), "{sql}");
        }
        for sql in [
            "is_alive(c.id)",
            "(SELECT 1)",
            "exists (select 1)",
            "(ops.\"is alive\"(c.id))",
            "(random())::text",
            "c.a + f (1)",
        ] {
            assert!(!looks_nowhere_else(sql), "{sql}");
        }
    }
}
