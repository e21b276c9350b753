//! Many acts in one short transaction: a guard and a result for each row, one record and one commit for all.

use std::time::{Duration, Instant};

use super::act::{Acted, Batch, Intents, Order, numbered, unrecorded};
use super::actor::Actor;
use super::driver::{BatchPart, Turn};
use super::seen::Seen;
use super::{StoreError, suspend::uninterrupted};
use crate::domain::recovery::Outcome;

/// So many are done whatever the time: a transaction for each would keep others longer.
pub(super) const FEWEST: usize = 16;

impl BatchPart<'_, '_> {
    /// The number of a claim in the batch, by its place in `all`.
    pub(super) fn number(&self, at: usize) -> usize {
        self.passed + at + 1
    }

    /// Whether the next claim is tried in this transaction.
    pub(super) fn goes_on(&self, tried: usize) -> bool {
        let has_time = || self.until.is_none_or(|until| Instant::now() < until);
        tried < self.all.len() && (tried < FEWEST || has_time())
    }
}

impl Actor {
    /// Does the order to claims of one board, as many as fit into one short transaction, at least one. The
    /// first is number 1, and the order's id with the number after a dot is the name of each act. The claims may be
    /// put into another order before, so that several who work through them do not meet.
    pub fn act_batch(
        &mut self,
        all: &mut [&Seen],
        order: &Order<'_>,
        budget: Duration,
        intents: &mut dyn Intents,
    ) -> Result<Batch, StoreError> {
        let _uninterrupted = uninterrupted();
        let (turn, part) = self.driver.begin_batch(all, budget)?;
        let began = Instant::now();
        let tried = match self.try_all(&turn, &part, order, intents) {
            Ok(tried) => self.commit_all(&turn, part.passed, order, tried, intents),
            Err(error) => {
                // The first error is the one to report.
                let _ = self.driver.rollback();
                return Err(error);
            }
        };
        let batch = Batch { passed: part.passed, tried, held: None, log: None };
        Ok(self.driver.end_batch(batch, began))
    }

    fn try_all(
        &mut self,
        turn: &Turn,
        part: &BatchPart<'_, '_>,
        order: &Order<'_>,
        intents: &mut dyn Intents,
    ) -> Result<Vec<Acted>, StoreError> {
        let mut tried = Vec::new();
        while part.goes_on(tried.len()) {
            let before = tried.len();
            self.driver.act_fast(turn, part, order, &mut tried, intents)?;
            if tried.len() > before {
                continue;
            }
            // It takes a second look, or somebody must be told what has moved.
            let (seen, number) = (part.all[before], part.number(before));
            let id = numbered(order.action_id, number);
            let order = Order { action_id: &id, ..order.clone() };
            tried.push(self.apart(|actor| {
                actor.act_inside(turn, seen, &order, &mut |pending| {
                    intents.add(number, pending);
                    Ok(())
                })
            })?);
        }
        Ok(tried)
    }

    /// Puts the acts on record first, and commits them then.
    fn commit_all(
        &mut self,
        turn: &Turn,
        passed: usize,
        order: &Order<'_>,
        tried: Vec<Acted>,
        intents: &mut dyn Intents,
    ) -> Vec<Acted> {
        let Some(first) = tried.iter().position(|acted| acted.outcome == Outcome::Applied) else {
            // There is nothing to commit, and nothing to lose.
            let _ = self.driver.rollback();
            return tried;
        };
        let outcome = if let Err(problem) = self.driver.record_batch(turn, intents) {
            let _ = self.driver.rollback();
            unrecorded(&problem)
        } else if let Err(not_committed) = self.driver.commit() {
            // All of them end alike; the first one tells.
            let id = numbered(order.action_id, passed + first + 1);
            let transaction = turn.transaction.as_deref();
            self.resolve_commit(not_committed, &id, transaction, &tried[first].changes)
        } else {
            Outcome::Applied
        };
        match outcome {
            Outcome::Applied => tried,
            other => tried.into_iter().map(|acted| acted.unless_applied(other.clone())).collect(),
        }
    }
}
