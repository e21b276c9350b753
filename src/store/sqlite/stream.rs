//! Every claim of a board, one after the other: the slow and obvious way.
//!
//! Boards without rowids (views, tables `WITHOUT ROWID`) have no other; for all others it is the
//! reference that the sets of a [`super::watch::Watch`] are tested against.

use rusqlite::Connection;
use std::collections::BTreeMap;

use super::bound::BoundBoard;
use super::rows::RowReader;
use super::run::{bind_known, now_value};
use super::watch::worse_first;
use crate::domain::snapshot::{Counts, Judged};
use crate::domain::time::Moment;
use crate::domain::verdict::{Reason, Set};

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

/// What a board adds up to.
#[derive(Debug, Clone)]
pub struct Tally {
    pub at: Moment,
    pub counts: Counts,
    pub reasons: BTreeMap<Reason, u64>,
    /// The worst claims of each set, worst first.
    pub worst: Vec<Judged>,
    /// There were more claims than could be looked at.
    pub cut: bool,
}

impl Tally {
    /// Counts up to `most` claims and keeps the worst `rows` of them.
    pub fn take(
        connection: &Connection,
        board: &BoundBoard,
        reader: &RowReader,
        now: Moment,
        most: u64,
        rows: usize,
    ) -> rusqlite::Result<Tally> {
        let mut tally = Tally {
            at: now,
            counts: Counts::default(),
            reasons: BTreeMap::new(),
            worst: Vec::new(),
            cut: false,
        };
        stream(connection, board, reader, now, rows > 0, |judged| {
            if tally.counts.total == most {
                tally.cut = true;
                return false;
            }
            tally.add(judged, rows);
            true
        })?;
        tally.worst.sort_by(worse_first);
        tally.worst.truncate(rows.saturating_mul(Set::ALL.len()));
        Ok(tally)
    }

    fn add(&mut self, judged: Judged, rows: usize) {
        self.counts.add(&judged.verdict);
        for reason in judged.verdict.reasons.iter() {
            *self.reasons.entry(reason).or_default() += 1;
        }
        if judged.verdict.headline() == Set::Healthy || rows == 0 {
            return;
        }
        self.worst.push(judged);
        // Sorting now and then keeps the memory bounded and costs next to nothing.
        let room = rows.saturating_mul(Set::ALL.len());
        if self.worst.len() > room.saturating_mul(4) {
            self.worst.sort_by(worse_first);
            self.worst.truncate(room);
        }
    }
}
