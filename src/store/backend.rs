//! The server session behind a claim, and its end: how a claim is freed that is an advisory lock.
//!
//! The end of a session cannot be taken back, so everything is asked inside one transaction: that the claim is what
//! was seen, that this very session still holds it, and that the operator said all that it takes.

use serde::Serialize;

use super::StoreError;
use super::act::{Note, Pending, unrecorded};
use super::actor::Actor;
use super::bound::BoundBoard;
use super::driver::{Connection, Driver, Failed, QueryRows, Turn};
use super::named_params::NamedParams;
use super::seen::Seen;
use super::suspend::uninterrupted;
use crate::domain::recovery::{
    Authorization, Clue, Moved, Outcome, Refusal, TERMINATE, Unknown, permit_terminate,
};
use crate::domain::time::Moment;

/// A session of a server. One process number may belong to several of them, one after the other, so the time at
/// which it began is part of its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Backend {
    pub pid: i64,
    /// As the server writes it.
    pub started: String,
    pub user: Option<String>,
    pub application: Option<String>,
    pub client: Option<String>,
    pub state: Option<String>,
}

/// What an engine says to look up and end the server session of a claim.
#[derive(Debug)]
pub struct BackendSql {
    /// Has the next statement see the sessions as they are then.
    pub refresh: &'static str,
    /// The session of the claim: the fields of [`Backend`], whether we may end it, and our role.
    pub select: String,
    /// Ends it, if it is still the session `:pid` that began at `:started` and still holds the claim.
    pub end: String,
    /// Selects something as long as that session is there.
    pub still_there: &'static str,
}

/// What came of the end of a session.
#[derive(Debug)]
pub struct Terminated {
    pub outcome: Outcome,
    pub backend: Option<Backend>,
}

impl Terminated {
    fn nothing(outcome: Outcome) -> Terminated {
        Terminated { outcome, backend: None }
    }

    fn refused(refusal: Refusal) -> Terminated {
        Terminated::nothing(Outcome::Refused(refusal))
    }
}

/// How a session is to be ended.
#[derive(Debug, Clone, Copy)]
pub struct TerminateOrder<'a> {
    pub authorization: &'a Authorization,
    pub action_id: &'a str,
    /// Everything but the end itself.
    pub dry_run: bool,
}

/// Writes the intent to end a session; an error means that it must not be ended.
pub type BackendRecorder<'a> = dyn FnMut(&Pending<'_>, &Backend) -> Result<(), String> + 'a;

/// How often a session is looked for after its end was asked for; the server waits between two looks.
const LOOKS: usize = 100;

const DOING: &str = "ending the session";

/// The session that a look found, and what our role may do about it.
struct FoundBackend {
    backend: Option<Backend>,
    user: Option<String>,
    may_signal: bool,
    role: String,
}

impl Actor {
    /// Ends the server session that holds a claim.
    pub fn terminate(
        &mut self,
        seen: &Seen,
        order: &TerminateOrder<'_>,
        record: &mut BackendRecorder<'_>,
    ) -> Result<Terminated, StoreError> {
        let _uninterrupted = uninterrupted();
        if let Some(refusal) = self.without_backend(seen) {
            return Ok(Terminated::refused(refusal));
        }
        let turn = self.driver.begin()?;
        let done = self.terminate_inside(&turn, seen, order, record);
        let is_done = matches!(&done, Ok(Terminated { outcome: Outcome::Applied, .. })) && !order.dry_run;
        // A session that has ended has ended, whatever becomes of the note in the database.
        let _ = if is_done { self.driver.commit().ok() } else { self.driver.rollback().ok() };
        Ok(done?)
    }

    /// Why there is no session that could be ended.
    fn without_backend(&self, seen: &Seen) -> Option<Refusal> {
        let at = self.driver.board(&seen.place.board)?;
        if sql_of(&*self.driver, at.board(), "").is_some() {
            return None;
        }
        let no_backend = || Refusal::NoBackend { profile: at.profile.name.clone() };
        Some(self.driver.dialect().without_backends().unwrap_or_else(no_backend))
    }

    fn terminate_inside(
        &mut self,
        turn: &Turn,
        seen: &Seen,
        order: &TerminateOrder<'_>,
        record: &mut BackendRecorder<'_>,
    ) -> Result<Terminated, Failed> {
        let moved = |what: Moved| Ok(Terminated::nothing(Outcome::Moved(what)));
        let Some(fresh) = self.fresh(seen, turn.now)? else { return moved(Moved::NoLongerClaimed) };
        if let Some(what) = seen.moved(&fresh) {
            return moved(what);
        }
        let Some((sql, mut params)) = self.backend_sql(&fresh) else { return moved(Moved::TablesChanged) };
        let backend = match self.look_for_backend(&sql, &params, &fresh)? {
            Ok(backend) => backend,
            Err(refusal) => return Ok(Terminated::refused(refusal)),
        };
        let pid = backend.pid.to_string();
        let holder = fresh.judged.claim.holder.as_deref().unwrap_or(&pid);
        if let Err(refusal) = permit_terminate(holder, order.authorization) {
            return Ok(Terminated { backend: Some(backend), ..Terminated::refused(refusal) });
        }
        let done = |outcome| Ok(Terminated { outcome, backend: Some(backend.clone()) });
        if order.dry_run {
            return done(Outcome::Applied);
        }
        let address = fresh.address();
        let pending = Pending {
            seen: &fresh,
            address: address.clone(),
            changes: &[],
            db_at: turn.now,
            transaction: None,
        };
        if let Err(problem) = record(&pending, &backend) {
            return done(unrecorded(&problem));
        }
        let note =
            Note { action: TERMINATE, address: &address, authorization: order.authorization, changes: &[] };
        self.note(order.action_id, turn.now, &note)?;
        params.add("pid", "bigint", Some(pid));
        params.add("started", "timestamptz", Some(backend.started.clone()));
        done(self.end_backend(&sql, &params))
    }

    /// The statements for the session of a claim, and their parameters.
    fn backend_sql(&self, fresh: &Seen) -> Option<(BackendSql, NamedParams)> {
        let (at, dialect) = (self.driver.board(&fresh.place.board)?, self.driver.dialect());
        let mut params = at.board().clock(dialect, fresh.now);
        let is_it = dialect.is_claim(at.board(), fresh, &mut params);
        Some((sql_of(&*self.driver, at.board(), &is_it)?, params))
    }

    /// The session that holds a claim now, if it is certain which and if we may end it.
    fn look_for_backend(
        &mut self,
        sql: &BackendSql,
        params: &NamedParams,
        fresh: &Seen,
    ) -> Result<Result<Backend, Refusal>, Failed> {
        self.connection().run(DOING, sql.refresh)?;
        let found = self.connection().first(DOING, &sql.select, params, |row| FoundBackend {
            backend: row.number(0).int().zip(row.text(1)).map(|(pid, started)| Backend {
                pid,
                started,
                user: row.text(2),
                application: row.text(3).filter(|name| !name.is_empty()),
                client: row.text(4),
                state: row.text(5),
            }),
            user: row.text(2),
            may_signal: row.is_true(6),
            role: row.text(7).unwrap_or_default(),
        })?;
        let Some(FoundBackend { backend, user, may_signal, role }) = found else {
            return Ok(Err(Refusal::BackendGone));
        };
        if !may_signal {
            return Ok(Err(Refusal::MayNotSignal { role, user: user.unwrap_or_default() }));
        }
        let Some(backend) = backend else { return Ok(Err(Refusal::MayNotSeeBackend { role })) };
        // Where the row alone names it, the number may belong to another session by now.
        let is_by_row = self
            .driver
            .board(&fresh.place.board)
            .and_then(|at| at.board().backend.as_ref())
            .is_some_and(|sql| sql.column.is_some());
        let began = Moment::parse(&backend.started);
        let claimed = fresh.judged.claim.claimed_at.at();
        let is_it = began.zip(claimed).is_some_and(|(began, claimed)| began <= claimed);
        Ok(if is_by_row && !is_it { Err(Refusal::BackendGone) } else { Ok(backend) })
    }

    /// Asks the server to end the session and waits until it is gone. The intent is on record by now, so every
    /// failure is an outcome.
    fn end_backend(&mut self, sql: &BackendSql, params: &NamedParams) -> Outcome {
        let asked = |mut connection: Box<dyn Connection + '_>| {
            connection.run(DOING, sql.refresh)?;
            connection.first(DOING, &sql.end, params, |row| row.is_true(0))
        };
        match asked(self.connection()) {
            Ok(Some(true)) => {}
            Ok(Some(false) | None) => return Outcome::Moved(Moved::AtTheLastMoment),
            Err(failed) => return Outcome::Refused(Refusal::Database(StoreError::from(failed).to_string())),
        }
        let is_there = |mut connection: Box<dyn Connection + '_>| {
            connection.run(DOING, sql.refresh)?;
            connection.exists(DOING, sql.still_there, params)
        };
        for _ in 0..LOOKS {
            match is_there(self.connection()) {
                Ok(false) => return Outcome::Applied,
                Ok(true) => {}
                Err(failed) => {
                    let error = StoreError::from(failed).to_string();
                    return Outcome::Unknown(Unknown { error, clue: Clue::NotSought });
                }
            }
        }
        let error = "the server was asked to end the session, and it is still there".into();
        Outcome::Unknown(Unknown { error, clue: Clue::NotSought })
    }
}

/// The statements of an engine for the session of a claim; nothing, if the profile names none.
fn sql_of(driver: &dyn Driver, board: &BoundBoard, is_it: &str) -> Option<BackendSql> {
    let backend = board.backend.as_ref()?;
    driver.dialect().backend_sql(&board.joined(), &backend.text, is_it)
}
