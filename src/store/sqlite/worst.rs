//! The worst claims of a board, with their rows.

use rusqlite::Connection;
use std::collections::HashMap;

use super::dialect::bind;
use super::rowset::RowSet;
use super::sets::{Sets, TROUBLED};
use super::watch::{Since, Watch};
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::verdict::Reasons;
use crate::domain::worst_claims::WorstClaims;
use crate::store::listed::worse_first;

/// The worst claims as a poll has read them.
#[derive(Debug)]
pub(super) struct WorstRows {
    claims: WorstClaims,
    /// Their rows, in the same order.
    rows: Vec<i64>,
    /// When they were judged.
    at: Moment,
    /// Whether the sets have changed since they were read.
    pub is_old: bool,
}

impl Default for WorstRows {
    fn default() -> WorstRows {
        WorstRows { claims: WorstClaims::default(), rows: Vec::new(), at: Moment::EARLIEST, is_old: false }
    }
}

impl Watch {
    /// The worst claims as of `now`.
    pub(super) fn worst_at(&self, now: Moment) -> WorstClaims {
        match self.worst.at == now {
            true => self.worst.claims.clone(),
            false => self.worst.claims.at(&self.board.nature, now),
        }
    }

    /// Fetches up to `rows` claims of every set, worst first. What an earlier poll has read is taken from that if
    /// nothing was written.
    pub(super) fn fetch_worst(
        &mut self,
        connection: &Connection,
        sets: &Sets,
        now: Moment,
        since: Since,
        rows: usize,
    ) -> rusqlite::Result<()> {
        let mut wanted = RowSet::default();
        for set in TROUBLED.into_iter().filter(|_| rows > 0) {
            for rowid in self.worst_of(connection, Reasons::of(set), sets, now, rows)? {
                wanted.insert(rowid);
            }
        }
        let mut worst = self.known_among(&wanted, now, since);
        for (rowid, _) in &worst {
            wanted.remove(*rowid);
        }
        self.fetch_all(connection, wanted.iter(), now, |rowid, judged| worst.push((rowid, judged)))?;
        // Rowids are an order by themselves. The numbers of keys tell only which was seen first.
        let address = |judged: &Judged| (!self.board.has_rowid).then(|| judged.claim.key.address());
        worst.sort_by(|(row, one), (other_row, other)| {
            worse_first(one, other).then_with(|| address(one).cmp(&address(other))).then(row.cmp(other_row))
        });
        let (rows, claims): (Vec<i64>, Vec<Judged>) = worst.into_iter().unzip();
        self.worst = WorstRows { claims: claims.into(), rows, at: now, is_old: false };
        Ok(())
    }

    /// Those that the last poll has read, judged at `now`; none if something was written since, or if the kernel has
    /// to be asked. A verdict that has come to rest on the session needs another token.
    fn known_among(&self, wanted: &RowSet, now: Moment, since: Since) -> Vec<(i64, Judged)> {
        if since == Since::Written || self.has_prober() {
            return Vec::new();
        }
        let has_its_token = |judged: &Judged| {
            let with_session = judged.verdict.rests_on_registry(&judged.claim);
            judged.seen.is_some_and(|seen| seen.session.is_some() == with_session)
        };
        let judged = self.worst.claims.at(&self.board.nature, now);
        let known = self.worst.rows.iter().copied().zip(judged.iter());
        let known = known.filter(|(rowid, judged)| wanted.contains(*rowid) && has_its_token(judged));
        known.map(|(rowid, judged)| (rowid, judged.clone())).collect()
    }

    /// Hands on those of the claims that are still there, with their tokens.
    fn fetch_all(
        &self,
        connection: &Connection,
        rows: impl Iterator<Item = i64>,
        now: Moment,
        mut each: impl FnMut(i64, Judged),
    ) -> rusqlite::Result<()> {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let sql = format!("{} AND {}", self.reader.select_with_state(&[]), self.rows.is(":rowid"));
        let mut statement = connection.prepare_cached(&sql)?;
        bind(&mut statement, &self.reader.clock(&self.board, now))?;
        let Some(place) = statement.parameter_index(":rowid")? else { return Ok(()) };
        for rowid in rows {
            statement.raw_bind_parameter(place, rowid)?;
            if let Some(row) = statement.raw_query().next()? {
                each(rowid, self.reader.read_with_state(row, &self.board, now));
            }
        }
        Ok(())
    }

    /// Puts the most urgent first, where the board has a priority; the others stay in their order.
    pub(super) fn urgent_first(
        &self,
        connection: &Connection,
        rows: &mut [i64],
        now: Moment,
    ) -> rusqlite::Result<()> {
        let Some(priority) = &self.board.priority else { return Ok(()) };
        let sql = format!(
            "SELECT {}, dense_rank() OVER (ORDER BY ({priority}) NULLS LAST) FROM {} WHERE {}",
            self.rows.number(),
            self.board.joined(),
            self.board.is_held()
        );
        let mut statement = connection.prepare_cached(&sql)?;
        bind(&mut statement, &self.reader.clock(&self.board, now))?;
        let mut ranks: HashMap<i64, u32> = HashMap::new();
        let mut found = statement.raw_query();
        while let Some(row) = found.next()? {
            ranks.insert(row.get(0)?, row.get(1)?);
        }
        rows.sort_by_key(|rowid| ranks.get(rowid).copied().unwrap_or(u32::MAX));
        Ok(())
    }
}
