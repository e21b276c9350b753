//! What the database refuses for one row costs only that row.

use std::borrow::Cow;

use super::super::actor::{Actor, is_locked};
use super::super::error::PgError;
use super::made::Made;
use super::{Hold, moved, refused};
use crate::domain::recovery::{Moved, Outcome, Refusal};
use crate::profile::format::Act;
use crate::store::StoreError;
use crate::store::act::Acted;
use crate::store::seen::Seen;

impl Hold {
    /// Goes before the statement that changes many rows, in the same round trip. What would be checked at the
    /// commit is checked at once: there it would cost all of them.
    pub(super) fn opening(self) -> &'static str {
        match self {
            Hold::Taken | Hold::First => "SAVEPOINT claimtop_rows; SET CONSTRAINTS ALL IMMEDIATE",
            // Heartbeats of the rows that are changed already wait along.
            Hold::AsItGoes => {
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
        hold: Hold,
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
            self.run(|link| link.batch("ROLLBACK TO claimtop_rows; RELEASE claimtop_rows"))
                .map_err(|error| self.sentence(&error, "keeping rows apart"))?;
            if hold == Hold::AsItGoes && is_locked(&error) {
                parts.push((part, Hold::First));
            } else if let [(at, _)] = part {
                let over = if is_locked(&error) {
                    moved(Moved::RowLocked)
                } else {
                    refused(Refusal::Row(error.to_string()))
                };
                made.tried[*at] = Some(over);
            } else {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([(second, hold), (first, hold)]);
            }
        }
        Ok(())
    }

    /// Does one act so that it can be taken back without the others.
    pub(in super::super) fn apart(
        &mut self,
        act: impl FnOnce(&mut Actor) -> Result<Acted, StoreError>,
    ) -> Result<Acted, StoreError> {
        let said = |actor: &Actor, error: PgError| actor.sentence(&error, "keeping acts apart");
        self.run(|link| link.batch("SAVEPOINT claimtop_row")).map_err(|error| said(self, error))?;
        let acted = match act(self) {
            Ok(acted) if acted.outcome == Outcome::Applied => {
                // Checked now what would be checked at the commit; the next act may defer it again.
                let ending =
                    "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED; RELEASE claimtop_row";
                match self.run(|link| link.batch(ending)) {
                    Ok(()) => return Ok(acted),
                    Err(error) => Err(self.sentence(&error, "acting")),
                }
            }
            other => other,
        };
        let acted = match acted {
            Err(StoreError::RowRefused { said, .. }) => Acted::nothing(Outcome::Refused(Refusal::Row(said))),
            other => other?,
        };
        self.run(|link| link.batch("ROLLBACK TO claimtop_row; RELEASE claimtop_row"))
            .map_err(|error| said(self, error))?;
        Ok(acted)
    }
}
