//! One source, acted on: looks at claims and changes exactly what was seen, or says what moved.
//!
//! How one act goes is in `protocol`; here is what surrounds it.

use std::ops::Range;
use std::sync::Arc;

use super::act::{Order, ordered};
use super::audit_table;
use super::driver::{Driver, Failed, QueryRows};
use super::found::{Found, Overdue};
use super::key_text::key_of;
use super::look::{Look, LookPurpose};
use super::named_params::NamedParams;
use super::opening;
use super::seen::prefix;
use super::statements::{Guarded, forbidding, guarded};
use super::suspend::uninterrupted;
use super::{Filter, Holding, Scope, Seen, StoreError, WriteAccess};
use crate::domain::board_id::BoardId;
use crate::domain::recovery::{Authorization, Moved, Outcome, Refusal, permit};
use crate::domain::snapshot::{Nature, Snapshot};
use crate::domain::time::Moment;

/// Looks at claims and changes exactly what was seen, or says what moved.
#[derive(Debug)]
pub struct Actor {
    pub(super) driver: Box<dyn Driver>,
}

/// Rows that are looked at together.
const PORTION: usize = 2_000;

const FINDING: &str = "looking for the claim";
const ASKING: &str = "asking what forbids it";

impl Actor {
    /// Opens a source that may be written.
    pub fn open(access: WriteAccess) -> Result<Actor, StoreError> {
        Ok(Actor { driver: opening::driver(access)? })
    }

    /// Brings an actor that was kept open up to date: its tables as they are now, in the database that is there now.
    /// After an error it has to be opened again.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        let _uninterrupted = uninterrupted();
        self.driver.refresh()
    }

    /// Tells this database from every other, whatever it is called.
    pub fn fingerprint(&self) -> String {
        self.driver.fingerprint()
    }

    /// Makes the table in which acts are recorded in their own transaction.
    pub fn create_audit_table(&mut self) -> Result<(), StoreError> {
        let _uninterrupted = uninterrupted();
        self.driver.create_audit_table()
    }

    /// An error that names the boards there are, unless `wanted` is one of them.
    pub fn expect_board(&self, wanted: Option<&str>) -> Result<(), StoreError> {
        self.driver.reader().expect_board(wanted)
    }

    /// Stops this actor's clock at an instant, or moves it to another.
    pub fn freeze(&mut self, at: Moment) {
        self.driver.reader_mut().freeze(at);
    }

    /// One look: a snapshot for every profile that fits.
    pub fn poll(&mut self) -> Result<Vec<Snapshot>, StoreError> {
        self.driver.reader_mut().poll()
    }

    /// The claims that an address, or a bare id, means.
    pub fn find(&mut self, wanted: &str, board: Option<&str>) -> Result<Vec<Seen>, StoreError> {
        let _uninterrupted = uninterrupted();
        let mut found = self.examine_and_look(FINDING, |look| {
            let (dialect, mut found) = (look.connection.dialect(), Vec::new());
            for at in look.boards.clone() {
                let is_meant = board.is_none_or(|board| board == at.board().name);
                let prefix = prefix(&at.profile.name, &at.board().name);
                let key = key_of(wanted, &prefix, at.board().id.len());
                // What is never changed is found, to say why.
                let table = look.schema.table(&at.board().table);
                let is_unsafe = table.is_some_and(|table| table.standing.unsafe_for_acts.is_some());
                let is_findable = is_unsafe || at.board().is_addressable();
                let (true, true, Some(key)) = (is_meant, is_findable, key) else { continue };
                let mut params = NamedParams::default();
                let condition = dialect.has_typed_key(at.board(), &key, &mut params);
                look.connection.run(FINDING, "SAVEPOINT claimtop_key")?;
                match look.seen(FINDING, at.watch, &condition, params) {
                    // What somebody typed is no value of the key's type.
                    Err(Failed::BadValue(_)) => look.connection.run(FINDING, "ROLLBACK TO claimtop_key")?,
                    seen => found.extend(seen?),
                }
            }
            Ok(found)
        })?;
        // A bare id may be part of another's; the address of each tells.
        found.retain(|seen| seen.address() == wanted || seen.judged.claim.key.text() == wanted);
        Ok(found)
    }

    /// The claims that a filter looks for, board by board, the most urgent and the worst first; their rows
    /// are not read yet.
    pub fn find_all(&mut self, filter: &Filter) -> Result<Found, StoreError> {
        let boards = self.driver.reader_mut().find_all(filter)?;
        Ok(Found { filter: filter.clone(), boards })
    }

    /// A part of what was found: those of the claims that are still there and that the filter still takes.
    pub fn look_at(&mut self, found: &Found, part: Range<usize>) -> Result<Vec<Seen>, StoreError> {
        let wanted = found.part(&part);
        let mut all = self.look("looking at claims", |look| {
            let mut all = Vec::new();
            for (board, places) in &wanted {
                if let Some(watch) = look.board(board) {
                    all.extend(look.seen_at(watch, places)?);
                }
            }
            Ok(all)
        })?;
        all.retain(|seen| found.filter.takes(&seen.place.board, &seen.judged, seen.now));
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
        self.driver.has_clock()
    }

    /// How many claims of a board there are and how many of them are past their deadline, counted by the
    /// database; nothing, if a poll counts them in full anyway.
    pub fn count_overdue(&mut self, board: &BoardId) -> Result<Option<Overdue>, StoreError> {
        self.driver.reader_mut().count_overdue(board)
    }

    /// Hands on every act that a sweep has done since an instant, by the table `claimtop_audit`: its id and the
    /// claim's address. Nothing, where there is no such table.
    pub fn each_swept_since(
        &mut self,
        since: Moment,
        each: &mut dyn FnMut(&str, &str),
    ) -> Result<(), StoreError> {
        let Some(table) = self.driver.audit_table() else { return Ok(()) };
        self.look("reading claimtop_audit", |look| {
            audit_table::each_swept_since(&mut *look.connection, &table, since, each)
        })
    }

    /// What the rules and the profile say to the order, claim by claim: what the act will ask as well. Nothing
    /// is written, and no lock is taken.
    pub fn foresee(&mut self, all: &[&Seen], order: &Order<'_>) -> Result<Vec<Outcome>, StoreError> {
        let mut outcomes = Vec::with_capacity(all.len());
        let mut questions = Vec::new();
        for seen in all {
            let (outcome, question) = self.foresee_one(seen, order);
            questions.extend(question.map(|question| (outcomes.len(), question)));
            outcomes.push(outcome);
        }
        if !questions.is_empty() {
            self.look(ASKING, |look| {
                for (at, (sql, params)) in &questions {
                    let is_blocked = look.connection.exists(ASKING, sql, params)?;
                    outcomes[*at] =
                        if is_blocked { Outcome::Refused(Refusal::Blocked) } else { Outcome::Applied };
                }
                Ok(())
            })?;
        }
        Ok(outcomes)
    }

    /// What the rules say to the order, and what the database has to be asked besides.
    fn foresee_one(&self, seen: &Seen, order: &Order<'_>) -> (Outcome, Option<(String, NamedParams)>) {
        let judged = &seen.judged;
        if let Err(refused) =
            permit(order.action, &judged.claim, &judged.verdict, seen.conclusion, order.authorization)
        {
            return (Outcome::Refused(refused), None);
        }
        let at = self.driver.board(&seen.place.board);
        let Some((at, table)) = at.and_then(|at| Some((at, self.driver.table(&at.board().table)?))) else {
            return (Outcome::Moved(Moved::TablesChanged), None);
        };
        if let Err(refusal) = table.expect_safe_for_acts() {
            return (Outcome::Refused(refusal), None);
        }
        let dialect = self.driver.dialect();
        let act = ordered(at.profile, &at.board().name, order).and_then(|act| {
            let rows = Guarded { table: &table, alias: "c", from: "", conditions: "" };
            guarded(dialect, act, &rows, order.action.as_str()).map(|_| act)
        });
        match act {
            Ok(act) => (Outcome::Applied, forbidding(dialect, at.board(), seen, order, act)),
            Err(refusal) => (Outcome::Refused(refusal), None),
        }
    }

    /// The profile of a claim, and whether its tables could be anybody's.
    pub fn profile_of<'a>(&self, seen: &'a Seen) -> (&'a str, bool) {
        let at = self.driver.board(&seen.place.board);
        (seen.place.board.profile(), at.is_none_or(|at| at.profile.generic))
    }

    /// What is true of the board of a claim, if its tables are still there.
    pub fn nature(&self, seen: &Seen) -> Option<Arc<Nature>> {
        self.driver.board(&seen.place.board).map(|at| Arc::clone(&at.board().nature))
    }

    /// The profile and the board of a claim.
    pub fn names(&self, seen: &Seen) -> (String, String) {
        let board = &seen.place.board;
        (board.profile().into(), board.board().into())
    }

    pub fn address(&self, seen: &Seen) -> String {
        seen.address()
    }

    /// Whether everything that was seen may be released and the session ended, by the rules of each.
    pub fn permit_session(&self, holding: &Holding, authorization: &Authorization) -> Result<(), Refusal> {
        holding.permit(authorization, |seen| self.address(seen))
    }

    /// What an action on a board may change, by the profile of this name; nothing if none that fits says so.
    pub fn scope(&mut self, profile: &str, board: &str, action: &str) -> Result<Option<Scope>, StoreError> {
        self.driver.scope(profile, board, action)
    }

    /// Reads claims apart from acts: no lock is taken, and nothing can be written.
    pub(super) fn look<T>(
        &mut self,
        doing: &str,
        look: impl FnMut(&mut Look<'_>) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        self.driver.reader_mut().looking(doing, LookPurpose::Act, look)
    }

    /// The same, after it was asked anew whether the rows contradict their zones.
    pub(super) fn examine_and_look<T>(
        &mut self,
        doing: &str,
        look: impl FnMut(&mut Look<'_>) -> Result<T, Failed>,
    ) -> Result<T, StoreError> {
        self.driver.reader_mut().examine_zones()?;
        self.look(doing, look)
    }
}
