//! One source, acted on, whatever engine it is of.

use std::ops::Range;
use std::time::Duration;

use super::act::{ChangeRecorder, Intents, Recorder};
use super::filter::expect_board;
use super::found::{Found, Overdue};
use super::look::ReadEngine;
use super::selection::{Again, Noted, Selection};
use super::suspend::uninterrupted;
use super::{
    Acted, Batch, Change, Filter, Holding, Options, Order, Registered, Resolution, Scope, Seen, Side,
    StoreError, Undo, postgres, sqlite,
};
use crate::domain::board_id::BoardId;
use crate::domain::recovery::{Authorization, Outcome, Refused};
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Moment;

/// Looks at claims and changes exactly what was seen, or says what moved.
#[derive(Debug)]
pub enum Actor {
    Sqlite(Box<sqlite::Actor>),
    Postgres(Box<postgres::Actor>),
}

/// Rows that are looked at together.
const PORTION: usize = 2_000;

/// Asks whichever it is.
macro_rules! either {
    ($self:ident, $actor:ident => $ask:expr) => {
        match $self {
            Actor::Sqlite($actor) => $ask,
            Actor::Postgres($actor) => $ask,
        }
    };
}

impl Actor {
    pub fn open(options: impl Into<Options>) -> Result<Actor, StoreError> {
        Ok(match options.into() {
            Options::Sqlite(options) => Actor::Sqlite(Box::new(sqlite::Actor::open(*options)?)),
            Options::Postgres(options) => Actor::Postgres(Box::new(postgres::Actor::open(*options)?)),
        })
    }

    /// Tells this database from every other, whatever it is called.
    pub fn fingerprint(&self) -> String {
        either!(self, actor => actor.fingerprint())
    }

    /// Makes the table in which acts are recorded in their own transaction.
    pub fn create_audit_table(&mut self) -> Result<(), StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.create_audit_table())
    }

    /// An error that names the boards there are, unless `wanted` is one of them.
    pub fn expect_board(&mut self, wanted: Option<&str>) -> Result<(), StoreError> {
        either!(self, actor => expect_board(actor.reader(), wanted))
    }

    /// Stops this actor's clock at an instant, or moves it to another.
    pub fn freeze(&mut self, at: Moment) {
        either!(self, actor => actor.reader().freeze(at));
    }

    /// One look: a snapshot for every profile that fits.
    pub fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        either!(self, actor => actor.reader().poll())
    }

    /// The claims that an address, or a bare id, means.
    pub fn find(&mut self, wanted: &str, board: Option<&str>) -> Result<Vec<Seen>, StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.find(wanted, board))
    }

    /// The claims that a filter looks for, board by board, the most urgent and the worst first; their rows
    /// are not read yet.
    pub fn find_all(&mut self, filter: &Filter) -> Result<Found, StoreError> {
        let boards = either!(self, actor => actor.places_of(filter))?;
        Ok(Found { filter: filter.clone(), boards })
    }

    /// A part of what was found: those of the claims that are still there and that the filter still takes.
    pub fn look_at(&mut self, found: &Found, part: Range<usize>) -> Result<Vec<Seen>, StoreError> {
        let part = found.part(&part);
        let mut all = either!(self, actor => actor.look_at(&part))?;
        all.retain(|seen| found.filter.takes(&seen.judged));
        Ok(all)
    }

    /// The same claims at once, with their rows: for few of them.
    pub fn select(&mut self, filter: &Filter) -> Result<Vec<Seen>, StoreError> {
        let found = self.find_all(filter)?;
        let most = filter.limit.unwrap_or(usize::MAX);
        let mut all = Vec::new();
        for part in found.parts(most.clamp(1, PORTION)) {
            if all.len() < most {
                all.extend(self.look_at(&found, part)?);
            }
        }
        all.truncate(most);
        Ok(all)
    }

    /// Whether the database has a clock of its own. A file has none: whoever writes to it brings one.
    pub fn has_clock(&self) -> bool {
        match self {
            Actor::Sqlite(_) => false,
            Actor::Postgres(_) => true,
        }
    }

    /// How many claims of a board there are and how many of them are past their deadline, counted by the
    /// database; nothing, if a poll counts them in full anyway.
    pub fn count_overdue(&mut self, board: &BoardId) -> Result<Option<Overdue>, StoreError> {
        match self {
            Actor::Sqlite(_) => Ok(None),
            Actor::Postgres(actor) => actor.count_overdue(board),
        }
    }

    /// Hands on every act that a sweep has done since an instant, by the table `claimtop_audit`: its id and the
    /// claim's address. Nothing, where there is no such table.
    pub fn each_swept_since(
        &mut self,
        since: Moment,
        each: &mut dyn FnMut(&str, &str),
    ) -> Result<(), StoreError> {
        either!(self, actor => actor.each_swept_since(since, each))
    }

    /// The claims of a bulk act, noted as they are now.
    pub fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError> {
        either!(self, actor => actor.selection(filter))
    }

    /// Claims that are not kept with their rows, as they are now; an error is why one is not what it was.
    pub fn look_again(&mut self, all: &[Noted]) -> Result<Vec<Again>, StoreError> {
        either!(self, actor => actor.look_again(all))
    }

    /// What the rules and the profile say to the order, claim by claim: what the act will ask as well. Nothing
    /// is written, and no lock is taken.
    pub fn foresee(&mut self, all: &[&Seen], order: &Order<'_>) -> Result<Vec<Outcome>, StoreError> {
        either!(self, actor => actor.foresee(all, order))
    }

    /// The profile of a claim, and whether its tables could be anybody's.
    pub fn profile_of<'a>(&self, seen: &'a Seen) -> (&'a str, bool) {
        either!(self, actor => actor.profile_of(seen))
    }

    /// The profile and the board of a claim.
    pub fn names(&self, seen: &Seen) -> (String, String) {
        let board = &seen.place.board;
        (board.profile().into(), board.board().into())
    }

    pub fn address(&self, seen: &Seen) -> String {
        seen.address()
    }

    /// Does `order` to exactly what was `seen`. Nothing is written unless the outcome is applied.
    pub fn act(
        &mut self,
        seen: &Seen,
        order: &Order<'_>,
        record: &mut Recorder<'_>,
    ) -> Result<Acted, StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.act(seen, order, record))
    }

    /// Does the order to claims of one board, as many as fit into one short transaction, at least one. The
    /// first is number 1, and the order's id with the number after a dot is the name of each act. A server's
    /// claims may be put into another order before, so that several who work through them do not meet.
    pub fn act_batch(
        &mut self,
        all: &mut [&Seen],
        order: &Order<'_>,
        budget: Duration,
        intents: &mut dyn Intents,
    ) -> Result<Batch, StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.act_batch(all, order, budget, intents))
    }

    /// Whether everything that was seen may be released and the session ended, by the rules of each.
    pub fn permit_session(&self, holding: &Holding, word: &Authorization) -> Result<(), Refused> {
        holding.permit(word, |seen| self.address(seen))
    }

    /// A session and all it holds, on every board of every profile.
    pub fn held_by(&mut self, session: &str) -> Result<Holding, StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.held_by(session))
    }

    /// Ends exactly the session that was seen, if it holds nothing any more.
    pub fn end_session(
        &mut self,
        seen: &Registered,
        word: &Authorization,
        action_id: &str,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.end_session(seen, word, action_id, record))
    }

    /// What a release of the session would do, claim by claim and then to its own rows.
    pub fn rehearse_session(
        &mut self,
        holding: &Holding,
        word: &Authorization,
    ) -> Result<(Vec<Acted>, Vec<Acted>), StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.rehearse_session(holding, word))
    }

    /// What an action on a board may change, by the profile of this name; nothing if none that fits says so.
    pub fn scope(&mut self, profile: &str, board: &str, action: &str) -> Result<Option<Scope>, StoreError> {
        either!(self, actor => actor.scope(profile, board, action))
    }

    /// Takes back the changes of an act, the last one first.
    pub fn undo(
        &mut self,
        changes: &[Change],
        undo: Undo<'_>,
        record: &mut ChangeRecorder<'_>,
    ) -> Result<Acted, StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.undo(changes, undo, record))
    }

    /// Whether the rows of an act are as one of its images has them.
    pub fn matches(&mut self, changes: &[Change], side: Side) -> Result<bool, StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.matches(changes, side))
    }

    /// What became of an act whose answer was lost; `transaction` is the mark in its intent. On a file this
    /// waits for whoever is writing, so the act itself is over.
    pub fn resolve(
        &mut self,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Result<Resolution, StoreError> {
        let _uninterrupted = uninterrupted();
        either!(self, actor => actor.resolve(action_id, transaction, changes))
    }
}
