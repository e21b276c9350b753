//! What the database refuses for one row costs only that row.

use std::borrow::Cow;

use super::super::actor::Actor;
use super::super::connection::is_locked;
use super::made::Made;
use super::{LockTiming, moved, refused};
use crate::domain::recovery::{Moved, Refusal};
use crate::profile::format::Act;
use crate::store::StoreError;
use crate::store::seen::Seen;

impl LockTiming {
    /// Goes before the statement that changes many rows, in the same round trip. What would be checked at the
    /// commit is checked at once: there it would cost all of them.
    pub(super) fn opening(self) -> &'static str {
        match self {
            LockTiming::Taken | LockTiming::First => "SAVEPOINT claimtop_rows; SET CONSTRAINTS ALL IMMEDIATE",
            // Heartbeats of the rows that are changed already wait along.
            LockTiming::AsItGoes => {
                "SAVEPOINT claimtop_rows; SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL lock_timeout = 5"
            }
        }
    }
}

impl Actor {
    /// Changes all of them by one statement. If the database refuses one, each half is tried by itself, down to
    /// the rows that are refused.
    pub(super) fn change_apart(
        &mut self,
        made: &mut Made<'_>,
        eligible: &[(usize, Cow<'_, Seen>)],
        act: &Act,
        hold: LockTiming,
    ) -> Result<(), StoreError> {
        let mut parts = vec![(eligible, hold)];
        while let Some((part, hold)) = parts.pop() {
            let before = made.rows();
            let error = match self.change_all(made, part, act, hold) {
                Ok(()) => continue,
                Err(error) if error.is_of_a_row() || is_locked(&error) => error,
                Err(error) => return Err(self.sentence(&error, "acting")),
            };
            made.take_back_to(before);
            self.ask_link(|link| link.batch("ROLLBACK TO claimtop_rows; RELEASE claimtop_rows"))
                .map_err(|error| self.sentence(&error, "keeping rows apart"))?;
            if hold == LockTiming::AsItGoes && is_locked(&error) {
                parts.push((part, LockTiming::First));
            } else if let [(at, _)] = part {
                let over = match is_locked(&error) {
                    true => moved(Moved::RowLocked),
                    false => refused(Refusal::Row(error.to_string())),
                };
                made.tried[*at] = Some(over);
            } else {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([(second, hold), (first, hold)]);
            }
        }
        Ok(())
    }
}
