//! Claims that rest on their own row alone need no second look: as long as the row has its version, it says
//! what it said. They are judged once more by the clock, then locked and changed by one statement.

use std::borrow::Cow;

use super::super::actor::Actor;
use super::super::look;
use super::made::Made;
use super::{LockTiming, SecondLook, moved};
use crate::domain::recovery::Moved;
use crate::profile::format::Act;
use crate::store::StoreError;
use crate::store::act::Order;
use crate::store::driver::Turn;
use crate::store::seen::Seen;

/// So many claims are looked at one by one to say what has become of them.
const FEW: usize = 64;

impl Actor {
    /// The claims as they were seen, judged by the clock of this transaction.
    pub(super) fn remember<'a>(
        &self,
        turn: &Turn,
        all: &[&'a Seen],
        order: &Order<'_>,
    ) -> Vec<SecondLook<'a>> {
        let watch = all.first().and_then(|first| look::at(&self.reader.watched, &first.place));
        let Some(watch) = watch else {
            return all.iter().map(|_| SecondLook::Over(moved(Moved::TablesChanged))).collect();
        };
        let look = |seen: &&'a Seen| {
            SecondLook::at(seen, watch.reader.judge_again(seen, &watch.board, turn.now), order)
        };
        all.iter().map(look).collect()
    }

    /// Says of those that were not where they were seen, or could not be locked, what has become of them; those
    /// of which nothing has are done after all: the table was written anew.
    pub(super) fn explain_missed(
        &mut self,
        made: &mut Made<'_>,
        eligible: &[(usize, Cow<'_, Seen>)],
        act: &Act,
    ) -> Result<(), StoreError> {
        let missed = eligible.iter().filter(|(at, _)| made.tried[*at].is_none());
        let (places, all): (Vec<usize>, Vec<&Seen>) = missed.map(|(at, seen)| (*at, &**seen)).unzip();
        if all.is_empty() {
            return Ok(());
        }
        let (some, rest) = all.split_at(all.len().min(FEW));
        let mut looks = self.look_at_all(made.turn, some, made.order)?;
        if looks.iter().any(|look| matches!(look, SecondLook::Eligible(_))) {
            looks.extend(self.look_at_all(made.turn, rest, made.order)?);
        } else if !rest.is_empty() {
            // So many at once: another sweeper works through the same claims, and knows what became of each.
            let unchanged = self.unchanged(rest)?.into_iter();
            let why = |is_left| if is_left { Moved::RowLocked } else { Moved::SomebodyWasFaster };
            looks.extend(unchanged.map(|is_left| SecondLook::Over(moved(why(is_left)))));
        }
        let mut left = Vec::new();
        for (at, look) in places.into_iter().zip(looks) {
            match look {
                SecondLook::Over(tried) => made.tried[at] = Some(tried),
                SecondLook::Eligible(fresh) => left.push((at, fresh)),
            }
        }
        self.change_apart(made, &left, act, LockTiming::Taken)
    }
}
