//! Many acts in one short transaction: a guarded statement and a result for each row, one record
//! for all.

use std::thread;
use std::time::{Duration, Instant};

use super::actor::Actor;
use super::open;
use crate::domain::recovery::{Clue, Outcome, Refusal, Unknown};
use crate::store::StoreError;
use crate::store::act::{Acted, Batch, Intents, Order, Tried, numbered, unrecorded};
use crate::store::seen::Seen;
use crate::store::suspend::uninterrupted;

/// So many are done whatever the time: a transaction for each would keep others longer.
pub(super) const FEWEST: usize = 16;

impl Actor {
    /// Does the order to the claims, all of one board, one after the other until `budget` is used up,
    /// and commits them together. The first is number 1, and the order's id with the number after a
    /// dot is the name of each act.
    pub fn act_batch(
        &mut self,
        all: &[&Seen],
        order: &Order<'_>,
        budget: Duration,
        intents: &mut dyn Intents,
    ) -> Result<Batch, StoreError> {
        self.begin()?;
        let started = Instant::now();
        let tried = self.try_all(all, order, started + budget, intents).inspect_err(|_| {
            self.take_back();
        })?;
        let tried = self.commit_all(tried, intents);
        let held = started.elapsed();
        let path = self.reader.options.path.clone();
        let log = thread::spawn(move || {
            let _uninterrupted = uninterrupted();
            // A convenience: if it fails, the next one who writes finds the log as it is.
            let _ = open::shorten_log(&path);
        });
        Ok(Batch { tried, held: Some(held), log: Some(log), passed: 0 })
    }

    fn try_all(
        &mut self,
        all: &[&Seen],
        order: &Order<'_>,
        until: Instant,
        intents: &mut dyn Intents,
    ) -> Result<Vec<Tried>, StoreError> {
        let direct = all.first().and_then(|first| self.direct(first.place, order));
        let mut tried = Vec::new();
        while tried.len() < all.len() && (tried.len() < FEWEST || Instant::now() < until) {
            if let Some(direct) = &direct {
                let before = tried.len();
                self.act_directly(direct, all, until, &mut tried, intents)?;
                if tried.len() > before {
                    continue;
                }
            }
            // It takes a second look, or somebody must be told what has moved.
            let number = tried.len() + 1;
            let id = numbered(order.action_id, number);
            let order = Order { action_id: &id, ..order.clone() };
            let seen = all[number - 1];
            let acted = self.apart(|actor| {
                actor.act_inside(seen, &order, &mut |pending| {
                    intents.add(number, pending);
                    Ok(())
                })
            })?;
            tried.push(Tried::of(acted));
        }
        Ok(tried)
    }

    fn commit_all(&mut self, tried: Vec<Tried>, intents: &mut dyn Intents) -> Vec<Tried> {
        let any = tried.iter().any(|acted| acted.outcome == Outcome::Applied);
        if any && let Err(problem) = intents.write() {
            self.take_back();
            let refused = unrecorded(&problem);
            return tried.into_iter().map(|acted| acted.unless_applied(refused.clone())).collect();
        }
        let ending = if any { "COMMIT" } else { "ROLLBACK" };
        let expected = if any { self.expect_the_file() } else { Ok(()) };
        match expected.and_then(|()| self.write(ending, |writer| writer.execute_batch(ending))) {
            Ok(()) => tried,
            Err(error) => {
                let outcome = match self.take_back_after(&error) {
                    true => Outcome::Refused(error.as_refusal()),
                    false => Outcome::Unknown(Unknown { error: error.to_string(), clue: Clue::NotSought }),
                };
                tried.into_iter().map(|acted| acted.unless_applied(outcome.clone())).collect()
            }
        }
    }

    /// Does one act so that it can be taken back without the others.
    pub(super) fn apart(
        &mut self,
        act: impl FnOnce(&mut Actor) -> Result<Acted, StoreError>,
    ) -> Result<Acted, StoreError> {
        self.savepoint("SAVEPOINT claimtop_row")?;
        let acted = match act(self) {
            // Unless the refusal has ended the transaction, the others can still be done.
            Err(StoreError::RowRefused { said, .. }) if !self.writer.is_autocommit() => {
                Acted::nothing(Outcome::Refused(Refusal::Row(said)))
            }
            other => other?,
        };
        if acted.outcome != Outcome::Applied {
            self.savepoint("ROLLBACK TO claimtop_row")?;
        }
        self.savepoint("RELEASE claimtop_row")?;
        Ok(acted)
    }

    fn savepoint(&self, sql: &str) -> Result<(), StoreError> {
        self.write("keeping acts apart", |writer| writer.prepare_cached(sql)?.execute([]).map(|_| ()))
    }

    /// Takes back a transaction whose commit failed; whether it is sure that nothing was written.
    ///
    /// If only the last wait for the disk failed, the log has all of the transaction, and a crash before the next
    /// write would bring it back.
    pub(super) fn take_back_after(&self, error: &StoreError) -> bool {
        let is_in_the_log =
            matches!(error, StoreError::Sql { code, .. } if *code == rusqlite::ffi::SQLITE_IOERR_FSYNC);
        self.take_back() && !is_in_the_log
    }

    /// Ends the transaction with nothing written; whether that worked.
    fn take_back(&self) -> bool {
        self.writer.is_autocommit() || self.writer.execute_batch("ROLLBACK").is_ok()
    }
}
