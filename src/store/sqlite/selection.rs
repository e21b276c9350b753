//! The claims of a bulk act: found, looked at again, and judged by the rules before anything is written.

use rusqlite::Connection;

use super::act::statements;
use super::actor::Actor;
use super::run::bind_known;
use crate::domain::recovery::{Outcome, permit};
use crate::store::act::{BLOCKED, Order, TABLES_CHANGED};
use crate::store::seen::Seen;
use crate::store::selection::{Again, NOT_AS_NOTED, Noted, Selection};
use crate::store::watched;
use crate::store::{Filter, StoreError};

/// Rows that are looked at together.
const PAGE: usize = 2_000;

impl Actor {
    /// The claims in the sets of a filter, worst first.
    pub fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError> {
        let mut selection = Selection::default();
        let most = filter.limit.unwrap_or(usize::MAX);
        let found = self.reader.members(filter)?;
        for of_board in &found {
            for rows in of_board.rows.chunks(PAGE) {
                if selection.len() >= most {
                    return Ok(selection);
                }
                let seen = self.look_at(&[(&of_board.board, rows)])?;
                let seen = seen.into_iter().filter(|seen| filter.takes(&seen.judged));
                seen.take(most - selection.len()).for_each(|seen| selection.push(seen, &filter.sets));
            }
        }
        Ok(selection)
    }

    /// Claims that were noted, as they are now.
    pub fn look_again(&mut self, all: &[Noted]) -> Result<Vec<Again>, StoreError> {
        self.reader.stop_the_stopwatch()?;
        let now = self.now();
        let again = |noted: &Noted| {
            let seen = self.look(&self.reader.connection, &noted.place, now)?;
            Ok(seen.filter(|seen| seen.stamp() == noted.stamp).ok_or(NOT_AS_NOTED))
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
        let Some((watched, watch)) = watched::find(&self.reader.watched, &seen.place.board) else {
            return Ok(Outcome::Moved(TABLES_CHANGED.into()));
        };
        let statements = match statements(&watched.profile, &self.schema, watch, seen, order) {
            Ok(statements) => statements,
            Err(refusal) => return Ok(Outcome::Refused(refusal.into())),
        };
        let Some(sql) = &statements.blocked_by else { return Ok(Outcome::Applied) };
        let is_blocked = |connection: &Connection| -> rusqlite::Result<bool> {
            let mut statement = connection.prepare_cached(sql)?;
            bind_known(&mut statement, &statements.values)?;
            let mut rows = statement.raw_query();
            Ok(rows.next()?.is_some())
        };
        let is_blocked = self.reader.sql("asking what forbids it", is_blocked)?;
        Ok(if is_blocked { Outcome::Refused(BLOCKED.into()) } else { Outcome::Applied })
    }
}
