//! Many acts in one short transaction: a guarded statement and a result for each row, one record
//! for all.

use std::time::{Duration, Instant};

use super::actor::{Acted, Actor, Order, Pending};
use super::audit_table;
use super::image::{Change, Side};
use super::look::Seen;
use crate::domain::recovery::Outcome;
use crate::store::StoreError;

/// Hears of every act that is ready to be committed.
pub type Collect<'a> = dyn FnMut(&Order<'_>, &Pending<'_>) + 'a;
/// Writes the record of all of them; an error means that none of them must be.
pub type Flush<'a> = dyn FnMut() -> Result<(), String> + 'a;

impl Actor {
    pub const MOST_AT_ONCE: usize = 500;

    /// Does the orders, one after the other, until `budget` is used up, and commits them together.
    /// The answer has one result for each order that was tried, at least one.
    pub fn act_batch(
        &mut self,
        orders: &[(&Seen, Order<'_>)],
        budget: Duration,
        collect: &mut Collect<'_>,
        flush: &mut Flush<'_>,
    ) -> Result<Vec<Acted>, StoreError> {
        self.begin()?;
        let started = Instant::now();
        let mut results = Vec::new();
        for (seen, order) in orders {
            let acted = self.one_of_many(seen, order, collect);
            match acted {
                Ok(acted) => results.push(acted),
                Err(error) => {
                    self.take_back();
                    return Err(error);
                }
            }
            if started.elapsed() > budget {
                break;
            }
        }
        let any = results.iter().any(|acted| acted.outcome == Outcome::Applied);
        if any && let Err(problem) = flush() {
            self.take_back();
            let refused = || Outcome::Refused(format!("the record could not be written: {problem}"));
            return Ok(results.into_iter().map(|acted| acted.unless_applied(refused())).collect());
        }
        let ending = if any { "COMMIT" } else { "ROLLBACK" };
        match self.write(ending, |writer| writer.execute_batch(ending)) {
            Ok(()) => Ok(results),
            Err(error) => {
                // A commit that failed has not happened, as long as it can be taken back.
                let taken_back = self.take_back();
                let said = error.to_string();
                let outcome = || {
                    if taken_back { Outcome::Refused(said.clone()) } else { Outcome::Unknown(said.clone()) }
                };
                Ok(results.into_iter().map(|acted| acted.unless_applied(outcome())).collect())
            }
        }
    }

    fn one_of_many(
        &mut self,
        seen: &Seen,
        order: &Order<'_>,
        collect: &mut Collect<'_>,
    ) -> Result<Acted, StoreError> {
        self.write("beginning a row", |writer| writer.execute_batch("SAVEPOINT claimtop_row"))?;
        let acted = self.act_inside(seen, order, &mut |pending| {
            collect(order, pending);
            Ok(())
        })?;
        let ending = if acted.outcome == Outcome::Applied {
            "RELEASE claimtop_row"
        } else {
            "ROLLBACK TO claimtop_row; RELEASE claimtop_row"
        };
        self.write("ending a row", |writer| writer.execute_batch(ending))?;
        Ok(acted)
    }

    /// Ends the transaction with nothing written; whether that worked.
    fn take_back(&self) -> bool {
        self.writer.is_autocommit() || self.writer.execute_batch("ROLLBACK").is_ok()
    }

    /// What became of an act whose answer was lost: done, not done, or neither can be shown.
    pub fn became(&mut self, action_id: &str, changes: &[Change]) -> Result<Option<bool>, StoreError> {
        if self.schema.table(audit_table::NAME).is_some() {
            return self
                .write("looking up the act", |writer| audit_table::contains(writer, action_id))
                .map(Some);
        }
        if self.matches(changes, Side::Before)? {
            return Ok(Some(false));
        }
        Ok(self.matches(changes, Side::After)?.then_some(true))
    }
}

impl Acted {
    /// The same, but for what would have been applied.
    fn unless_applied(self, outcome: Outcome) -> Acted {
        match self.outcome {
            // What was taken back has changed nothing.
            Outcome::Applied if matches!(outcome, Outcome::Refused(_)) => Acted::nothing(outcome),
            Outcome::Applied => Acted { outcome, ..self },
            Outcome::Moved(_) | Outcome::Refused(_) | Outcome::Unknown(_) => self,
        }
    }
}
