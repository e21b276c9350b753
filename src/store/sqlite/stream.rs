//! Every claim of a board, one after the other: the slow and obvious way.
//!
//! Boards whose rows nothing tells apart (views) have no other; for all others it is the
//! reference that the sets of a [`super::watch::Watch`] are tested against.

use rusqlite::Connection;

use super::rows::RowReader;
use super::run::{bind_known, now_value};
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::store::bound::BoundBoard;
use crate::store::listed::Tally;

/// Hands every claim to `each`, until that says `false`.
pub fn stream(
    connection: &Connection,
    board: &BoundBoard,
    reader: &RowReader,
    now: Moment,
    token: bool,
    mut each: impl FnMut(Judged) -> bool,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(&reader.select)?;
    bind_known(&mut statement, &[(":now".into(), now_value(board, now))])?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if !each(reader.read(row, board, now, token)) {
            break;
        }
    }
    Ok(())
}

/// Counts up to `most` claims and keeps the worst `rows` of each set.
pub fn tally(
    connection: &Connection,
    board: &BoundBoard,
    reader: &RowReader,
    now: Moment,
    most: u64,
    rows: usize,
) -> rusqlite::Result<Tally> {
    let mut tally = Tally::new(now);
    stream(connection, board, reader, now, rows > 0, |judged| {
        if tally.counts.total == most {
            tally.cut = true;
            return false;
        }
        tally.add(judged, rows);
        true
    })?;
    tally.keep_worst(rows);
    Ok(tally)
}
