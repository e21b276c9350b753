//! Document 003: of the processors that see a task's last step end, one finalizes the task.
//!
//! A claim is the pair `claimed_by`, `claimed_at` in the task's row and holds for the row's
//! `claim_timeout_seconds`. It expires lazily: nobody clears it, the next one takes it over.
//!
//! Where the document contradicts itself:
//!
//! - It judges a claim by two clocks: the caller's timeout says whether a claim still holds, the row's
//!   whether it may be taken. A claim that one calls over and the other does not ends as "race
//!   condition". Here the row's timeout alone decides, and a race cannot be lost: the question and the
//!   write are one transaction.
//! - Its `NOT v_task_exists` is never true, so an unknown task too is called a race. Here it is
//!   [`Outcome::NotFound`].
//! - Its extend calls the claim: an expired claim is taken anew *and* reported as not extended, which
//!   leaves a claim that its owner does not know of. Here extend either extends or changes nothing.
//! - Its extend counts as an attempt to claim as well; here each has its own counters.

pub(super) mod attempt;
mod metrics;
mod operations;
mod outcome;
pub(super) mod row;
mod tasks;

use rusqlite::{Transaction, params};
use std::time::Instant;

pub use metrics::{Counter, Histogram, Metrics, Reason};
pub use operations::Operations;
pub use outcome::{Completion, Outcome};
pub use tasks::StepEnd;

use self::attempt::Attempt;
use self::row::{Row, text};
use super::{Database, Event, WorkerError};
use crate::domain::time::{Moment, Span};

/// The processors' side of document 003 on one connection.
#[derive(Debug)]
pub struct Finalization {
    database: Database,
    metrics: Metrics,
}

/// The document's timeout where the caller has no wish: finalization is short.
pub const DEFAULT_TIMEOUT: Span = Span::seconds(30);

impl Finalization {
    pub fn new(database: Database) -> Finalization {
        Finalization { database, metrics: Metrics::default() }
    }

    /// What this connection has done so far.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Claims a task for `timeout` (whole seconds), or extends the claim that `processor` has; an
    /// extended claim keeps the timeout of its row. Every call leaves a row in
    /// `tasker_finalization_attempts`.
    pub fn claim_task_for_finalization(
        &mut self,
        task: &str,
        processor: &str,
        timeout: Span,
    ) -> Result<Outcome, WorkerError> {
        named(processor)?;
        let seconds = whole_seconds(timeout)?;
        let started = Instant::now();
        let outcome = self.database.change(|transaction, now, events| {
            let row = Row::find(transaction, task)?;
            let outcome = decide(row.as_ref(), processor, seconds, now);
            apply(transaction, row.as_ref(), &outcome, &Claimant { task, processor, seconds, now }, events)?;
            insert(transaction, &Attempt::to_claim(&outcome, row.as_ref(), processor), task, processor, now)?;
            Ok(outcome)
        })?;
        self.metrics.claimed(&outcome, started.elapsed());
        Ok(outcome)
    }

    /// Starts the time of `processor`'s claim anew; `false`, and nothing changed, if it has none or if
    /// it is over. Leaves a row among the attempts like a claim.
    pub fn extend(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        named(processor)?;
        let started = Instant::now();
        let extended = self.database.change(|transaction, now, events| {
            let row = Row::find(transaction, task)?;
            let until = row.as_ref().filter(|row| !row.complete).and_then(|row| row.extended(processor, now));
            if let Some(until) = until {
                extend_row(transaction, task, processor, until, now, events)?;
            }
            insert(transaction, &Attempt::to_extend(until, row.as_ref()), task, processor, now)?;
            Ok(until.is_some())
        })?;
        self.metrics.extended(extended, started.elapsed());
        Ok(extended)
    }

    /// Gives the claim up, also one that is over as long as nobody took it; `false` if `processor` has
    /// none. The row's timeout stays as it was.
    pub fn release(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        let started = Instant::now();
        let released = self.database.change(|transaction, now, events| {
            let Some(row) = Row::find(transaction, task)? else { return Ok(false) };
            let sql = "UPDATE tasker_tasks SET claimed_at = NULL, claimed_by = NULL, updated_at = ?3
                       WHERE task_uuid = ?1 AND claimed_by = ?2";
            let released = transaction.prepare_cached(sql)?.execute(params![task, processor, text(now)])? > 0;
            if released {
                events.push(row.released(task, processor, "released", now));
            }
            Ok(released)
        })?;
        self.metrics.released(released, started.elapsed());
        Ok(released)
    }

    /// Marks a task complete and ends the claim with it; only for the one who has the claim. One whose
    /// time is over may still do it as long as nobody took the task.
    pub fn complete(&mut self, task: &str, processor: &str) -> Result<Completion, WorkerError> {
        self.database.change(|transaction, now, events| {
            let Some(row) = Row::find(transaction, task)? else { return Ok(Completion::NotFound) };
            if row.complete {
                return Ok(Completion::AlreadyComplete);
            }
            if row.claimed_by.as_deref() != Some(processor) {
                return Ok(Completion::NotOwner { by: row.claimed_by });
            }
            let sql = "UPDATE tasker_tasks SET complete = 1, completed_at = ?2, claimed_at = NULL,
                       claimed_by = NULL, updated_at = ?2 WHERE task_uuid = ?1";
            transaction.prepare_cached(sql)?.execute(params![task, text(now)])?;
            tasks::move_to(transaction, task, "complete", now)?;
            events.push(row.released(task, processor, "completed", now));
            Ok(Completion::Completed)
        })
    }
}

pub(super) fn named(processor: &str) -> Result<(), WorkerError> {
    match processor {
        "" => Err(WorkerError::Invalid("a processor needs a name".into())),
        _ => Ok(()),
    }
}

/// The row counts whole seconds; a timeout it cannot hold is refused, not rounded.
pub(super) fn whole_seconds(timeout: Span) -> Result<i64, WorkerError> {
    let seconds = timeout.as_millis() / 1_000;
    if seconds < 1 || Span::seconds(seconds) != timeout || i32::try_from(seconds).is_err() {
        let message = format!("a claim's timeout is a whole number of seconds from 1 on, not {timeout}");
        return Err(WorkerError::Invalid(message));
    }
    Ok(seconds)
}

/// The document's questions in the document's order.
pub(super) fn decide(row: Option<&Row>, processor: &str, seconds: i64, now: Moment) -> Outcome {
    let Some(row) = row else { return Outcome::NotFound };
    if row.complete {
        return Outcome::AlreadyComplete;
    }
    if !row.has_ended_step {
        return Outcome::NotReady;
    }
    if let Some(until) = row.extended(processor, now) {
        return Outcome::Extended { until };
    }
    match &row.claimed_by {
        Some(by) if by != processor && !row.is_over(now) => {
            Outcome::AlreadyClaimed { by: by.clone(), until: row.until() }
        }
        Some(_) | None => Outcome::Claimed { until: now.plus(Span::seconds(seconds)) },
    }
}

struct Claimant<'a> {
    task: &'a str,
    processor: &'a str,
    seconds: i64,
    now: Moment,
}

fn apply(
    transaction: &Transaction<'_>,
    row: Option<&Row>,
    outcome: &Outcome,
    claimant: &Claimant<'_>,
    events: &mut Vec<Event>,
) -> Result<(), WorkerError> {
    let Claimant { task, processor, seconds, now } = *claimant;
    match outcome {
        Outcome::Claimed { until } => {
            let sql = "UPDATE tasker_tasks SET claimed_by = ?2, claimed_at = ?3, claim_timeout_seconds = ?4,
                       updated_at = ?3 WHERE task_uuid = ?1";
            transaction.prepare_cached(sql)?.execute(params![task, processor, text(now), seconds])?;
            events.extend(row.and_then(|row| row.expired(task, now)));
            events.push(acquired(task, processor, *until));
            Ok(())
        }
        Outcome::Extended { until } => extend_row(transaction, task, processor, *until, now, events),
        Outcome::AlreadyClaimed { .. } | Outcome::AlreadyComplete | Outcome::NotReady | Outcome::NotFound => {
            Ok(())
        }
    }
}

fn extend_row(
    transaction: &Transaction<'_>,
    task: &str,
    processor: &str,
    until: Moment,
    now: Moment,
    events: &mut Vec<Event>,
) -> Result<(), WorkerError> {
    let sql = "UPDATE tasker_tasks SET claimed_at = ?3, updated_at = ?3
               WHERE task_uuid = ?1 AND claimed_by = ?2";
    transaction.prepare_cached(sql)?.execute(params![task, processor, text(now)])?;
    events.push(extended(task, processor, until));
    Ok(())
}

pub(super) fn acquired(task: &str, processor: &str, until: Moment) -> Event {
    let expires_at = Some(until.micros().div_euclid(1_000));
    Event::ClaimAcquired { task_id: task.into(), session_id: processor.into(), expires_at }
}

pub(super) fn extended(task: &str, processor: &str, until: Moment) -> Event {
    let expires_at = Some(until.micros().div_euclid(1_000));
    Event::ClaimExtended { task_id: task.into(), session_id: processor.into(), expires_at }
}

/// Adds a row to `tasker_finalization_attempts`.
fn insert(
    transaction: &Transaction<'_>,
    attempt: &Attempt<'_>,
    task: &str,
    processor: &str,
    now: Moment,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed,
                 already_claimed_by, task_state, message, attempted_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let Attempt { claimed, holder, state, message } = attempt;
    transaction.prepare_cached(sql)?.execute(params![
        task,
        processor,
        claimed,
        holder,
        state,
        message,
        text(now)
    ])?;
    Ok(())
}
