//! Claims that rest on their own row alone need no second look: as long as the row has its version, it says
//! what it said. They are judged once more by the clock, then locked and changed by one statement.

use std::collections::BTreeMap;

use super::super::actor::{Actor, BEING_CHANGED, Turn};
use super::super::look;
use super::apart::Changed;
use super::{Leading, Look, moved};
use crate::store::StoreError;
use crate::store::act::{NO_LONGER_CLAIMED, Order, TABLES_CHANGED};
use crate::store::seen::{Rows, Seen};

impl Actor {
    /// The claims as they were seen, judged by the clock of this transaction.
    pub(super) fn remember(&self, turn: &Turn, leading: &Leading<'_, '_>, order: &Order<'_>) -> Vec<Look> {
        let watch = leading.all.first().and_then(|first| look::at(&self.reader.watched, first.place));
        let Some(watch) = watch else {
            return leading.all.iter().map(|_| Look::Over(moved(TABLES_CHANGED))).collect();
        };
        let look = |(seen, is_left): (&&Seen, &bool)| {
            if !is_left {
                return Look::Over(moved(NO_LONGER_CLAIMED));
            }
            let judged = watch.reader.judge_again(&seen.judged.claim, &watch.board, turn.now);
            let rows = Rows { row: seen.row.clone(), version: seen.version.clone(), session: None };
            Look::at(seen, Seen::new(seen.place, judged, rows, &watch.board.rules, turn.now), order)
        };
        leading.all.iter().zip(&leading.left).map(look).collect()
    }

    /// Says of those that were not as they were seen, or could not be locked, what has become of them.
    pub(super) fn explain_missed(
        &mut self,
        turn: &Turn,
        eligible: &[(usize, Seen)],
        order: &Order<'_>,
        changed: &mut BTreeMap<usize, Changed>,
    ) -> Result<(), StoreError> {
        let missed: Vec<&(usize, Seen)> =
            eligible.iter().filter(|(at, _)| !changed.contains_key(at)).collect();
        if missed.is_empty() {
            return Ok(());
        }
        let all: Vec<&Seen> = missed.iter().map(|(_, seen)| seen).collect();
        let again = Leading { all: &all, left: vec![true; all.len()] };
        for ((at, _), look) in missed.iter().zip(self.look_at_all(turn, &again, order)?) {
            changed.insert(
                *at,
                Changed::Not(match look {
                    Look::Over(tried) => tried,
                    // Whoever held it has let go of it meanwhile.
                    Look::Eligible(_) => moved(BEING_CHANGED),
                }),
            );
        }
        Ok(())
    }
}
