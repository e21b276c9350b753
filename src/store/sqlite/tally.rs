//! A view, counted: its claims are read one after the other, because nothing tells its rows apart.

use rusqlite::Connection;

use super::dialect::bind;
use crate::domain::time::Moment;
use crate::store::bound::BoundBoard;
use crate::store::listed::Tally;
use crate::store::rows::RowReader;

/// Counts up to `most` claims and keeps the worst `rows` of each set.
pub(super) fn tally(
    connection: &Connection,
    board: &BoundBoard,
    reader: &RowReader,
    now: Moment,
    most: u64,
    rows: usize,
) -> rusqlite::Result<Tally> {
    let mut tally = Tally::new(now);
    let sql = if rows > 0 { reader.select_with_state(&[]) } else { reader.select() };
    let mut statement = connection.prepare_cached(&sql)?;
    bind(&mut statement, &reader.clock(board, now))?;
    let mut found = statement.raw_query();
    while let Some(row) = found.next()? {
        if tally.counts.total == most {
            tally.cut = true;
            break;
        }
        let judged =
            if rows > 0 { reader.read_with_state(row, board, now) } else { reader.read(row, board, now) };
        tally.add(judged, rows);
    }
    tally.keep_worst(rows);
    Ok(tally)
}
