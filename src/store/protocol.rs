//! The safety protocol: how one act changes exactly what somebody saw, or nothing.
//!
//! Every engine goes through these steps in this order; a [`super::driver::Driver`] only knows how each is written.
//!
//! 1. **Begin** a transaction that may write, with the database's own clock.
//! 2. **Lock** the holder's registry row, then the claim. A heartbeat of either would lock one of them too, so from
//!    here on nobody can show a sign of life that is not seen. Nobody waits for a lock: whoever holds one is alive.
//! 3. **Read** the claim again, under the locks.
//! 4. **Compare** it with what was seen. What has moved is reported and left alone.
//! 5. **Permit**: judge the claim as it is now, and ask the rules.
//! 6. **Change** the row by a statement that carries every one of its columns, and its version, as a guard: even if a
//!    step before were wrong, nothing but the row that was seen is changed. Every row that follows is captured.
//! 7. **Record** the intent outside of the database, then a note inside of it, in the same transaction. An act that
//!    cannot be recorded is not done.
//! 8. **Commit**. If the answer is lost, the database is asked what became of the transaction; what cannot be shown
//!    is reported as unknown, never guessed.

use std::time::{Duration, Instant};

use super::act::{Acted, Note, Order, Pending, Recorder, unrecorded};
use super::actor::Actor;
use super::audit_table;
use super::backoff::Backoff;
use super::driver::{ActTarget, Connection, Failed, Fate, NotChanged, NotCommitted, QueryRows, Turn};
use super::image::{Change, Image, Side};
use super::image_sql::current;
use super::named_params::NamedParams;
use super::resolution::{Basis, Resolution, TransactionMark};
use super::schema::Table;
use super::seen::Seen;
use super::side_effects::SideEffects;
use super::statements::Statements;
use super::{StoreError, suspend::uninterrupted};
use crate::domain::recovery::{Action, Clue, Moved, Outcome, Refusal, Unknown, permit};
use crate::domain::time::Moment;
use crate::domain::verdict::Reason;

/// How long the answer to a lost commit is looked for before it is called unknown.
const LOOKING_UP: Duration = Duration::from_secs(10);

impl Actor {
    /// Applies `order` to exactly what was `seen`. Nothing is written unless the outcome is applied.
    pub fn act(
        &mut self,
        seen: &Seen,
        order: &Order<'_>,
        record: &mut Recorder<'_>,
    ) -> Result<Acted, StoreError> {
        let _uninterrupted = uninterrupted();
        let turn = self.driver.begin()?;
        let acted = self.act_inside(&turn, seen, order, record);
        self.end(acted, order.action_id, order.dry_run)
    }

    /// The steps from the locks to the record, inside a transaction.
    pub(super) fn act_inside(
        &mut self,
        turn: &Turn,
        seen: &Seen,
        order: &Order<'_>,
        record: &mut Recorder<'_>,
    ) -> Result<Acted, StoreError> {
        unless_locked(self.act_step_by_step(turn, seen, order, record))
    }

    fn act_step_by_step(
        &mut self,
        turn: &Turn,
        seen: &Seen,
        order: &Order<'_>,
        record: &mut Recorder<'_>,
    ) -> Result<Acted, Failed> {
        let (fresh, table, statements) = match self.eligible(turn, seen, order)? {
            Ok(eligible) => eligible,
            Err(outcome) => return Ok(Acted::nothing(outcome)),
        };
        let preview = if order.dry_run { statements.preview() } else { Vec::new() };
        let statements = if order.dry_run { statements.rehearsed() } else { Ok(statements) };
        let statements = match statements {
            Ok(statements) => statements,
            Err(refusal) => return Ok(Acted { preview, ..Acted::nothing(Outcome::Refused(refusal)) }),
        };
        let target = ActTarget { table: &table, rowid: fresh.place.rowid, row: &fresh.row };
        let changes = match self.change(&target, &statements)? {
            Ok(changes) => changes,
            Err(outcome) => return Ok(Acted { preview, ..Acted::nothing(outcome) }),
        };
        let effects = self.side_effects(&target, &fresh, order, &changes)?;
        let transaction = turn.transaction.clone();
        let acted = Acted { outcome: Outcome::Applied, changes, preview, transaction, effects };
        if order.dry_run {
            return Ok(acted);
        }
        let pending = Pending {
            seen: &fresh,
            address: fresh.address(),
            changes: &acted.changes,
            db_at: turn.now,
            transaction: acted.transaction.as_deref(),
        };
        if let Err(problem) = record(&pending) {
            return Ok(Acted::nothing(unrecorded(&problem)));
        }
        let (action, address, authorization) = (order.action.as_str(), &pending.address, order.authorization);
        let note = Note { action, address, authorization, changes: &acted.changes };
        self.note(order.action_id, turn.now, &note)?;
        Ok(acted)
    }

    /// Steps 2 to 5: the claim under its locks, if it is still what was seen and the act is permitted, with the
    /// statements of the act.
    fn eligible(
        &mut self,
        turn: &Turn,
        seen: &Seen,
        order: &Order<'_>,
    ) -> Result<Result<(Seen, Table, Statements), Outcome>, Failed> {
        let moved = |what: Moved| Ok(Err(Outcome::Moved(what)));
        let Some(at) = self.driver.board(&seen.place.board) else { return moved(Moved::TablesChanged) };
        if let Some(Err(refusal)) = self.driver.table(&at.board().table).map(|it| it.expect_safe_for_acts()) {
            return Ok(Err(Outcome::Refused(refusal)));
        }
        self.lock_session(seen)?;
        if !self.lock_claim(seen)? {
            return moved(Moved::NoLongerClaimed);
        }
        // Read by a new statement: it sees what was committed until the locks were taken.
        let Some(fresh) = self.fresh(seen, turn.now)? else { return moved(Moved::NoLongerClaimed) };
        if let Some(what) = seen.moved(&fresh) {
            return moved(what);
        }
        let judged = &fresh.judged;
        if let Err(refused) =
            permit(order.action, &judged.claim, &judged.verdict, fresh.conclusion, order.authorization)
        {
            return Ok(Err(Outcome::Refused(refused)));
        }
        let Some(at) = self.driver.board(&seen.place.board) else { return moved(Moved::TablesChanged) };
        let Some(table) = self.driver.table(&at.board().table) else {
            return Ok(Err(Outcome::Refused(Refusal::TableGone)));
        };
        let still_stale = |params: &mut NamedParams| {
            // The kernel said that the process is dead: the database knows nothing of that.
            let by_kernel = fresh.judged.verdict.reasons.contains(Reason::ProcessDead);
            let is_asked = order.action == Action::Reclaim && !order.authorization.force && !by_kernel;
            is_asked.then(|| at.watch.still_stale(fresh.now, params)).flatten()
        };
        let statements = Statements::of_claim(self.driver.dialect(), &at, &table, &fresh, order, still_stale);
        Ok(match statements {
            Ok(statements) => Ok((fresh, table, statements)),
            Err(refusal) => Err(Outcome::Refused(refusal)),
        })
    }

    /// Keeps the holder's registry row as it is until the end of the transaction.
    fn lock_session(&mut self, seen: &Seen) -> Result<(), Failed> {
        let Some(lock) = self.driver.dialect().shared_lock() else { return Ok(()) };
        let Some(at) = self.driver.board(&seen.place.board) else { return Ok(()) };
        let (Some(registry), Some(holder)) = (&at.board().registry, &seen.judged.claim.holder) else {
            return Ok(());
        };
        let mut params = NamedParams::default();
        params.add("holder", &registry.id.declared, Some(holder.as_str()));
        let (from, id, equality) = (&registry.from, &registry.id.text, &registry.equality);
        let sql = format!("SELECT 'x' FROM {from} WHERE {id} {equality} :holder {lock}");
        self.connection().exists("locking the session", &sql, &params)?;
        Ok(())
    }

    /// Locks the claim's row; whether there is one.
    fn lock_claim(&mut self, seen: &Seen) -> Result<bool, Failed> {
        let dialect = self.driver.dialect();
        let Some(lock) = dialect.exclusive_lock("c") else { return Ok(true) };
        let Some(at) = self.driver.board(&seen.place.board) else { return Ok(false) };
        let mut params = at.board().clock(dialect, seen.now);
        let is_it = dialect.is_claim(at.board(), seen, &mut params);
        let sql = format!("SELECT 'x' FROM {} WHERE {is_it} {lock}", at.board().from);
        self.connection().exists("locking the claim", &sql, &params)
    }

    /// A claim as it is now, inside the transaction, if it is one.
    pub(super) fn fresh(&mut self, seen: &Seen, now: Moment) -> Result<Option<Seen>, Failed> {
        let mut look = self.driver.look(now);
        let Some(watch) = look.board(&seen.place.board) else { return Ok(None) };
        let mut params = NamedParams::default();
        let is_it = look.connection.dialect().is_claim(watch.bound(), seen, &mut params);
        let mut found = look.seen("looking at the claim", watch, &is_it, params)?;
        // Where two rows go by one id, the one that was seen is meant.
        let at = found.iter().position(|fresh| fresh.version == seen.version).unwrap_or(0);
        Ok((at < found.len()).then(|| found.swap_remove(at)))
    }

    /// Runs the statements of an act on one row and says which rows they changed, and how.
    pub(super) fn change(
        &mut self,
        target: &ActTarget<'_>,
        statements: &Statements,
    ) -> Result<Result<Vec<Change>, Outcome>, Failed> {
        if let Some(sql) = &statements.blocked_by
            && self.connection().exists("asking what forbids it", sql, &statements.params)?
        {
            return Ok(Err(Outcome::Refused(Refusal::Blocked)));
        }
        let changes = self.driver.change(target, statements)?;
        Ok(changes.map_err(|why| match why {
            NotChanged::NotTheRow => Outcome::Moved(Moved::AtTheLastMoment),
            NotChanged::OtherRows { sql, wanted, found } => {
                Outcome::Refused(Refusal::OtherRows { sql, wanted, found })
            }
            NotChanged::Refused(refusal) => Outcome::Refused(refusal),
        }))
    }

    /// What an act did to other rows of tables with claims, and whether the holder still has the claim.
    fn side_effects(
        &mut self,
        target: &ActTarget<'_>,
        fresh: &Seen,
        order: &Order<'_>,
        changes: &[Change],
    ) -> Result<SideEffects, Failed> {
        let effects = SideEffects::beside(&self.driver.boards(), self.driver.dialect(), target, changes);
        // A trigger may have put the claim back although it was just taken.
        let may_be_held = order.action.frees() && self.driver.has_triggers(&target.table.name);
        let still_held = may_be_held && self.is_held_still(fresh)?;
        Ok(SideEffects { still_held, ..effects })
    }

    fn is_held_still(&mut self, fresh: &Seen) -> Result<bool, Failed> {
        let dialect = self.driver.dialect();
        let Some(at) = self.driver.board(&fresh.place.board) else { return Ok(false) };
        let (board, claim) = (at.board(), &fresh.judged.claim);
        let mut params = board.clock(dialect, fresh.now);
        let mut conditions =
            vec![format!("({})", board.is_held()), dialect.has_key(board, &claim.key.0, &mut params)];
        if let Some(holder) = &board.holder {
            params.add("same_holder", "text", claim.holder.clone());
            conditions.push(dialect.is_same(&holder.text, ":same_holder"));
        }
        let sql = format!("SELECT 'x' FROM {} WHERE {}", board.joined(), conditions.join(" AND "));
        self.connection().exists("looking at the claim again", &sql, &params)
    }

    /// The record as a row of the same transaction, where the database has the table for it.
    pub(super) fn note(&mut self, action_id: &str, at: Moment, note: &Note<'_>) -> Result<(), Failed> {
        let Some(table) = self.driver.audit_table() else { return Ok(()) };
        audit_table::insert(&mut *self.connection(), &table, action_id, at, note)
    }

    /// Does one act so that it can be taken back without the others of the transaction.
    pub(super) fn apart(
        &mut self,
        act: impl FnOnce(&mut Actor) -> Result<Acted, StoreError>,
    ) -> Result<Acted, StoreError> {
        const APART: &str = "keeping acts apart";
        self.connection().run(APART, "SAVEPOINT claimtop_row")?;
        let acted = match act(self) {
            Ok(acted) if acted.outcome == Outcome::Applied => {
                let release = self.driver.dialect().release("claimtop_row");
                match self.connection().run("acting", &release) {
                    Ok(()) => return Ok(acted),
                    Err(failed) => Err(failed.into()),
                }
            }
            other => other,
        };
        let acted = match acted {
            // Unless the refusal has ended the transaction, the others can still be done.
            Err(StoreError::RowRefused { said, .. }) if self.driver.goes_on() => {
                Acted::nothing(Outcome::Refused(Refusal::Row(said)))
            }
            other => other?,
        };
        self.connection().run(APART, "ROLLBACK TO claimtop_row; RELEASE SAVEPOINT claimtop_row")?;
        Ok(acted)
    }

    /// Commits what was applied and takes everything else back.
    pub(super) fn end(
        &mut self,
        acted: Result<Acted, StoreError>,
        action_id: &str,
        dry_run: bool,
    ) -> Result<Acted, StoreError> {
        let commit = matches!(&acted, Ok(Acted { outcome: Outcome::Applied, .. })) && !dry_run;
        if !commit {
            let taken_back = self.driver.rollback();
            return acted.and_then(|acted| taken_back.map(|()| acted));
        }
        let acted = acted?;
        let Err(not_committed) = self.driver.commit() else { return Ok(acted) };
        let outcome =
            self.resolve_commit(not_committed, action_id, acted.transaction.as_deref(), &acted.changes);
        Ok(match outcome {
            // What was taken back has changed nothing.
            Outcome::Refused(_) => Acted { preview: acted.preview, ..Acted::nothing(outcome) },
            other => Acted { outcome: other, ..acted },
        })
    }

    /// The outcome after a failed commit. The rows alone do not prove that the act was applied, or that it was not:
    /// then the outcome is unknown, with what they suggest.
    pub(super) fn resolve_commit(
        &mut self,
        failure: NotCommitted,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Outcome {
        let error = match failure {
            NotCommitted::Refused(refused) => return Outcome::Refused(refused),
            NotCommitted::InDoubt(error) => {
                return Outcome::Unknown(Unknown { error, clue: Clue::NotSought });
            }
            NotCommitted::AnswerLost(why) => why,
        };
        let unknown = |clue| Outcome::Unknown(Unknown { error: error.clone(), clue });
        let (since, mut backoff) = (Instant::now(), Backoff::default());
        loop {
            match self.resolve(action_id, transaction, changes) {
                Ok(Resolution::Applied(Basis::Proven)) => return Outcome::Applied,
                Ok(Resolution::NotApplied(Basis::Proven)) => {
                    return Outcome::Refused(Refusal::NotCommitted(error));
                }
                Ok(Resolution::Applied(Basis::Inferred)) => return unknown(Clue::LooksApplied),
                Ok(Resolution::NotApplied(Basis::Inferred)) => return unknown(Clue::LooksNotApplied),
                Ok(Resolution::Unknown) | Err(_) if since.elapsed() < LOOKING_UP => pause(backoff.next()),
                Ok(Resolution::Unknown) | Err(_) => return unknown(Clue::NotFound),
            }
        }
    }

    /// Finds out what became of an act whose answer was lost; `transaction` is the mark in its intent.
    ///
    /// This happens inside a transaction that may write. On a file, such a transaction waits for the current writer:
    /// the act is over by then, and no row changes between two looks.
    pub fn resolve(
        &mut self,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Result<Resolution, StoreError> {
        let _uninterrupted = uninterrupted();
        self.driver.begin()?;
        let resolved = self.resolve_inside(action_id, transaction, changes);
        let ended = self.driver.rollback();
        resolved.and_then(|resolution| ended.map(|()| resolution))
    }

    /// Asks the server about the transaction, then looks for the act's row in the audit table, and last compares the
    /// rows that the act changed.
    fn resolve_inside(
        &mut self,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Result<Resolution, StoreError> {
        let mark = TransactionMark::parse(transaction);
        match self.driver.fate(&mark)? {
            Fate::Committed => return Ok(Resolution::Applied(Basis::Proven)),
            Fate::Aborted => return Ok(Resolution::NotApplied(Basis::Proven)),
            Fate::UnderWay => return Ok(Resolution::Unknown),
            Fate::Ended => {}
        }
        if let Some(table) = self.driver.audit_table() {
            if audit_table::contains(&mut *self.connection(), &table, action_id)? {
                return Ok(Resolution::Applied(Basis::Proven));
            }
            // The table may have been created after the act.
            if mark.is_audited {
                return Ok(Resolution::NotApplied(Basis::Proven));
            }
        }
        Resolution::by_rows(changes, |side| Ok(self.all_are(changes, side)?))
    }

    /// Whether the rows of an act are as one of its images has them.
    pub fn matches(&mut self, changes: &[Change], side: Side) -> Result<bool, StoreError> {
        let _uninterrupted = uninterrupted();
        self.driver.begin()?;
        let compared = self.all_are(changes, side);
        let ended = self.driver.rollback();
        compared.map_err(StoreError::from).and_then(|matches| ended.map(|()| matches))
    }

    fn all_are(&mut self, changes: &[Change], side: Side) -> Result<bool, Failed> {
        for change in changes {
            if !self.is(change, side)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the row of a change is as one of its images has it.
    pub(super) fn is(&mut self, change: &Change, side: Side) -> Result<bool, Failed> {
        let Some(table) = self.driver.certain(&change.table) else { return Ok(false) };
        let (wanted, other) = match side {
            Side::Before => (&change.before, &change.after),
            Side::After => (&change.after, &change.before),
        };
        let at = match wanted {
            // The key may be one of the columns that changed.
            Some(wanted) => self.driver.dialect().at_of(&table, wanted, &change.at),
            None => change.at.clone(),
        };
        let change = Change { at, ..change.clone() };
        let known = wanted.as_ref().or(other.as_ref());
        let is = current(&mut *self.connection(), &table, &change, known)?;
        // An image that comes out of the trail has its columns in another order.
        Ok(is.as_ref().map(Image::by_name) == wanted.as_ref().map(Image::by_name))
    }

    pub(super) fn connection(&mut self) -> Box<dyn Connection + '_> {
        self.driver.connection()
    }
}

/// Whoever holds a row that an act needs is alive: the act is not done.
pub(super) fn unless_locked(acted: Result<Acted, Failed>) -> Result<Acted, StoreError> {
    match acted {
        Ok(acted) => Ok(acted),
        Err(Failed::Locked(_)) => Ok(Acted::nothing(Outcome::Moved(Moved::RowLocked))),
        Err(failed) => Err(failed.into()),
    }
}

#[allow(clippy::disallowed_methods, reason = "a server does not announce that it is back")]
fn pause(length: Duration) {
    std::thread::sleep(length);
}
