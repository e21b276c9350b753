//! How many claims a board has.
//!
//! Counting is the one part of a poll that grows with all claims, also where an index answers everything else. So a
//! large board is counted every few seconds only, and the count is dated in between. The sets are exact all the same.

use rusqlite::Connection;
use std::time::{Duration, Instant};

use super::run::count;
use crate::domain::time::Moment;
use crate::store::named_params::NamedParams;

/// Up to so many claims are counted at every poll that finds something written.
const FEW: u64 = 100_000;

/// So often more of them are counted, while somebody writes.
const COUNTED_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Total {
    sql: String,
    /// Whether an index helps; otherwise the census counts.
    pub indexed: bool,
    pub count: u64,
    counted: Option<(Moment, Instant)>,
    /// Whether something was written since.
    is_dated: bool,
}

impl Total {
    pub(super) fn new(sql: String, indexed: bool) -> Total {
        Total { sql, indexed, count: 0, counted: None, is_dated: false }
    }

    /// Counts anew after a write, or later what a write has changed; tells whether it has.
    pub(super) fn refresh(
        &mut self,
        connection: &Connection,
        clock: &NamedParams,
        now: Moment,
        is_written: bool,
    ) -> rusqlite::Result<bool> {
        self.is_dated |= is_written;
        if !self.indexed || !self.is_dated || !self.is_due() {
            return Ok(false);
        }
        self.count = count(connection, &self.sql, clock)?;
        (self.counted, self.is_dated) = (Some((now, Instant::now())), false);
        Ok(true)
    }

    fn is_due(&self) -> bool {
        self.count <= FEW || self.counted.is_none_or(|(_, at)| at.elapsed() >= COUNTED_EVERY)
    }

    /// Whether it stays as it is if nothing is written.
    pub(super) fn is_still(&self) -> bool {
        !self.is_dated || !self.is_due()
    }

    /// When it was counted, if something was written since.
    pub(super) fn dated(&self) -> Option<Moment> {
        self.counted.map(|(at, _)| at).filter(|_| self.indexed && self.is_dated)
    }
}
