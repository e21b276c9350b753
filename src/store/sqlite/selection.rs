//! The claims of a bulk act: found, looked at again, and judged by the rules before anything is written.

use rusqlite::Connection;

use super::act::statements;
use super::actor::Actor;
use super::run::bind_known;
use crate::domain::recovery::{Moved, Outcome, Refusal, permit};
use crate::store::act::Order;
use crate::store::seen::Seen;
use crate::store::selection::{Again, Noted, Selection};
use crate::store::{Filter, StoreError};

impl Actor {
    /// The claims in the sets of a filter, worst first.
    pub fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError> {
        let mut selection = Selection::default();
        let most = filter.limit.unwrap_or(usize::MAX);
        let places = self.reader.members(filter)?;
        self.reader.stop_the_stopwatch()?;
        let now = self.now();
        for place in places {
            if selection.len() >= most {
                break;
            }
            let seen = self.look(&self.reader.connection, place, now)?;
            if let Some(seen) = seen.filter(|seen| filter.takes(&seen.judged)) {
                selection.push(seen, &filter.sets);
            }
        }
        Ok(selection)
    }

    /// Claims that were noted, as they are now.
    pub fn look_again(&mut self, all: &[Noted]) -> Result<Vec<Again>, StoreError> {
        self.reader.stop_the_stopwatch()?;
        let now = self.now();
        let again = |noted: &Noted| {
            let seen = self.look(&self.reader.connection, noted.place, now)?;
            Ok(seen.filter(|seen| seen.stamp() == noted.stamp).ok_or(Moved::SincePreview))
        };
        all.iter().map(again).collect()
    }

    /// What the rules and the profile say to the order, claim by claim; nothing is written.
    pub fn foresee(&mut self, all: &[&Seen], order: &Order<'_>) -> Result<Vec<Outcome>, StoreError> {
        all.iter().map(|seen| self.foresee_one(seen, order)).collect()
    }

    fn foresee_one(&self, seen: &Seen, order: &Order<'_>) -> Result<Outcome, StoreError> {
        let judged = &seen.judged;
        if let Err(refused) =
            permit(order.action, &judged.claim, &judged.verdict, seen.conclusion, order.word)
        {
            return Ok(Outcome::Refused(refused));
        }
        let watch = self.watch(seen.place);
        let profile = &self.reader.watched[seen.place.profile].profile;
        let statements = match statements(profile, &self.schema, watch, seen, order) {
            Ok(statements) => statements,
            Err(refusal) => return Ok(Outcome::Refused(refusal)),
        };
        let Some(sql) = &statements.blocked_by else { return Ok(Outcome::Applied) };
        let is_blocked = |connection: &Connection| -> rusqlite::Result<bool> {
            let mut statement = connection.prepare_cached(sql)?;
            bind_known(&mut statement, &statements.values)?;
            let mut rows = statement.raw_query();
            Ok(rows.next()?.is_some())
        };
        let is_blocked = self.reader.sql("asking what forbids it", is_blocked)?;
        Ok(if is_blocked { Outcome::Refused(Refusal::Blocked) } else { Outcome::Applied })
    }
}
