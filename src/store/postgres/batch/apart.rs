//! What the database refuses for one row costs only that row.

use std::collections::BTreeMap;

use super::super::actor::{Actor, BEING_CHANGED, Turn, is_locked};
use super::super::error::PgError;
use super::{Hold, moved, refused};
use crate::domain::recovery::Outcome;
use crate::profile::format::Act;
use crate::store::StoreError;
use crate::store::act::{Acted, Order, Tried};
use crate::store::image::{Change, Image, RowAt};
use crate::store::seen::Seen;

/// Goes before the statement that changes many rows, in the same round trip. What would be checked at the
/// commit is checked at once: there it would cost all of them.
pub(super) const BEFORE_ROWS: &str = "SAVEPOINT claimtop_rows; SET CONSTRAINTS ALL IMMEDIATE";

/// What came of the row of one claim.
pub(super) enum Changed {
    /// Where it is, what is left of it, and which rows changed with it.
    To { key: RowAt, after: Option<Image>, followed: Vec<Change> },
    /// Nothing, for this reason.
    Not(Tried),
}

impl Actor {
    /// Changes all of them by one statement. If the database refuses that for a row of theirs, each half is
    /// tried by itself, down to the rows that are refused.
    pub(super) fn change_apart(
        &mut self,
        turn: &Turn,
        eligible: &[(usize, Seen)],
        act: &Act,
        order: &Order<'_>,
        hold: Hold,
    ) -> Result<BTreeMap<usize, Changed>, StoreError> {
        let mut changed = BTreeMap::new();
        let mut parts = vec![eligible];
        while let Some(part) = parts.pop() {
            let error = match self.change_all(turn, part, act, order, hold) {
                Ok(done) => {
                    changed.extend(done);
                    continue;
                }
                Err(error) if error.is_of_a_row() || is_locked(&error) => error,
                Err(error) => return Err(self.sentence(&error, "acting")),
            };
            self.run(|link| link.batch("ROLLBACK TO claimtop_rows; RELEASE claimtop_rows"))
                .map_err(|error| self.sentence(&error, "keeping rows apart"))?;
            if let [(at, _)] = part {
                let over = if is_locked(&error) { moved(BEING_CHANGED) } else { refused(&error.to_string()) };
                changed.insert(*at, Changed::Not(over));
            } else {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
        }
        Ok(changed)
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
            Err(StoreError::RowRefused { said, .. }) => Acted::nothing(Outcome::Refused(said)),
            other => other?,
        };
        self.run(|link| link.batch("ROLLBACK TO claimtop_row; RELEASE claimtop_row"))
            .map_err(|error| said(self, error))?;
        Ok(acted)
    }
}
