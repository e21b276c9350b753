//! The end of a batch: on record first, then committed.

use super::super::actor::{Actor, Turn};
use super::super::audit_table;
use super::super::link::Link;
use crate::domain::recovery::Outcome;
use crate::store::act::{Intents, Order, Tried, numbered, unrecorded};

/// What came of the claims of a transaction that is yet to be committed.
#[derive(Default)]
pub(super) struct Ready {
    pub(super) tried: Vec<Tried>,
    /// For the table in the database, if there is one: the name of each act, and what is kept of it.
    pub(super) records: Vec<(String, String)>,
}

impl FromIterator<Tried> for Ready {
    fn from_iter<T: IntoIterator<Item = Tried>>(all: T) -> Ready {
        Ready { tried: all.into_iter().collect(), records: Vec::new() }
    }
}

impl Actor {
    pub(super) fn commit_all(
        &mut self,
        turn: &Turn,
        order: &Order<'_>,
        passed: usize,
        ready: Ready,
        intents: &mut dyn Intents,
    ) -> Vec<Tried> {
        let Ready { tried, records } = ready;
        let Some(first) = tried.iter().position(|acted| acted.outcome == Outcome::Applied) else {
            let _ = self.run(Link::rollback);
            return tried;
        };
        if let Err(problem) = self.put_on_record(turn, records, intents) {
            let _ = self.run(Link::rollback);
            let refused = unrecorded(&problem);
            return tried.into_iter().map(|acted| acted.unless_applied(refused.clone())).collect();
        }
        match self.run(Link::commit) {
            Ok(()) => tried,
            Err(error) => {
                // All of them share one fate; the transaction tells it.
                let id = numbered(order.action_id, passed + first + 1);
                let outcome =
                    self.resolve_commit(&error, &id, Some(&turn.transaction), &tried[first].changes);
                match outcome {
                    Outcome::Applied => tried,
                    other => tried.into_iter().map(|acted| acted.unless_applied(other.clone())).collect(),
                }
            }
        }
    }

    /// Writes the intents down while the server writes what is kept in the database: the rows are locked
    /// meanwhile.
    fn put_on_record(
        &mut self,
        turn: &Turn,
        records: Vec<(String, String)>,
        intents: &mut dyn Intents,
    ) -> Result<(), String> {
        let Some(table) = self.reader.audit_table.clone().filter(|_| !records.is_empty()) else {
            return intents.write();
        };
        let mut written = Ok(());
        let at = turn.now.rfc3339();
        let inserted = self
            .run(|link| audit_table::insert_all(link, &table, &at, records, || written = intents.write()));
        inserted.map_err(|error| self.sentence(&error, "writing the record").to_string())?;
        written
    }
}
