//! Finalization: of the processors that see a task's last step end, one finalizes the task.
//!
//! A claim is the pair `claimed_by`, `claimed_at` in the task's row and holds for the row's
//! `claim_timeout_seconds`. It expires lazily: nobody clears it, the next one takes it over.
//!
//! Where the specification contradicts itself:
//!
//! - It judges a claim by two clocks: the caller's timeout says whether a claim still holds, the row's
//!   whether it may be taken. A claim that one calls over and the other does not ends as "race
//!   condition". Here the row's timeout alone decides, and a race cannot be lost: the question and the
//!   write are one transaction.
//! - Its `NOT v_task_exists` is never true, so an unknown task too is called a race. Here it is
//!   [`FinalizationClaim::NotFound`].
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

#[cfg(feature = "serve")]
pub(crate) use metrics::BOUNDS;
pub use metrics::{ContentionReason, Counter, FinalizationMetrics, Histogram};
pub use operations::Operations;
pub use outcome::{Completion, FinalizationClaim};
#[cfg(feature = "serve")]
pub(crate) use outcome::{EXTENDED, NOT_EXTENDED, RELEASED};
pub use tasks::StepEnd;

use self::attempt::ClaimAttempt;
use self::row::{TaskRow, text};
use super::{Database, Event, WorkerError};
use crate::domain::time::{Moment, Span};

/// The worker's side of finalization on one connection.
#[derive(Debug)]
pub struct Finalization {
    database: Database,
    metrics: FinalizationMetrics,
}

/// The default timeout of the specification: finalization is short.
pub const DEFAULT_TIMEOUT: Span = Span::seconds(30);

impl Finalization {
    pub fn new(database: Database) -> Finalization {
        Finalization { database, metrics: FinalizationMetrics::default() }
    }

    /// The metrics of this connection so far.
    pub fn metrics(&self) -> FinalizationMetrics {
        self.metrics.clone()
    }

    /// Claims a task for `timeout` (whole seconds), or extends the claim of `processor`; an extended claim keeps the
    /// timeout of its row. Every call adds a row to `tasker_finalization_attempts`.
    pub fn claim_task_for_finalization(
        &mut self,
        task: &str,
        processor: &str,
        timeout: Span,
    ) -> Result<FinalizationClaim, WorkerError> {
        named(processor)?;
        let seconds = whole_seconds(timeout)?;
        let started = Instant::now();
        let outcome = self.database.change(|transaction, now, events| {
            let row = TaskRow::find(transaction, task)?;
            let outcome = decide(row.as_ref(), processor, seconds, now);
            apply(transaction, row.as_ref(), &outcome, &Claimant { task, processor, seconds, now }, events)?;
            insert(
                transaction,
                &ClaimAttempt::to_claim(&outcome, row.as_ref(), processor, started),
                task,
                processor,
                now,
            )?;
            Ok(outcome)
        })?;
        self.metrics.claimed(&outcome, started.elapsed());
        Ok(outcome)
    }

    /// Restarts the timeout of `processor`'s claim; `false`, and nothing changed, if it has none or it has expired.
    /// Adds a row to the attempts, as a claim does.
    pub fn extend(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        named(processor)?;
        let started = Instant::now();
        let extended = self.database.change(|transaction, now, events| {
            let row = TaskRow::find(transaction, task)?;
            let until = row.as_ref().filter(|row| !row.complete).and_then(|row| row.extended(processor, now));
            if let Some(until) = until {
                extend_row(transaction, task, processor, until, now, events)?;
            }
            insert(
                transaction,
                &ClaimAttempt::to_extend(until, row.as_ref(), started),
                task,
                processor,
                now,
            )?;
            Ok(until.is_some())
        })?;
        self.metrics.extended(extended, started.elapsed());
        Ok(extended)
    }

    /// Releases the claim, even an expired one that nobody took over; `false` if `processor` has none. The timeout in
    /// the row stays. Adds a row to the attempts, as a claim does.
    pub fn release(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        let started = Instant::now();
        let released = self.database.change(|transaction, now, events| {
            let row = TaskRow::find(transaction, task)?;
            let sql = "UPDATE tasker_tasks SET claimed_at = NULL, claimed_by = NULL, updated_at = ?3
                       WHERE task_uuid = ?1 AND claimed_by = ?2";
            let released = transaction.prepare_cached(sql)?.execute(params![task, processor, text(now)])? > 0;
            if released {
                events.extend(row.as_ref().map(|row| row.released(task, processor, "released", now)));
            }
            let attempt = ClaimAttempt::to_release(released, row.as_ref(), started);
            insert(transaction, &attempt, task, processor, now)?;
            Ok(released)
        })?;
        self.metrics.released(released, started.elapsed());
        Ok(released)
    }

    /// Marks a task as complete and ends its claim; only for the holder of the claim. An expired claim still allows
    /// it as long as nobody took the task over.
    pub fn complete(&mut self, task: &str, processor: &str) -> Result<Completion, WorkerError> {
        self.database.change(|transaction, now, events| {
            let Some(row) = TaskRow::find(transaction, task)? else { return Ok(Completion::NotFound) };
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

/// The row stores whole seconds; other timeouts are refused, not rounded.
pub(super) fn whole_seconds(timeout: Span) -> Result<i64, WorkerError> {
    let seconds = timeout.as_millis() / 1_000;
    if seconds < 1 || Span::seconds(seconds) != timeout || i32::try_from(seconds).is_err() {
        let message = format!("a claim's timeout is a whole number of seconds from 1 on, not {timeout}");
        return Err(WorkerError::Invalid(message));
    }
    Ok(seconds)
}

/// The checks of the specification, in its order.
pub(super) fn decide(row: Option<&TaskRow>, processor: &str, seconds: i64, now: Moment) -> FinalizationClaim {
    let Some(row) = row else { return FinalizationClaim::NotFound };
    if row.complete {
        return FinalizationClaim::AlreadyComplete;
    }
    if !row.has_ended_step {
        return FinalizationClaim::NotReady;
    }
    if let Some(until) = row.extended(processor, now) {
        return FinalizationClaim::Extended { until };
    }
    match &row.claimed_by {
        Some(by) if by != processor && !row.is_over(now) => {
            FinalizationClaim::AlreadyClaimed { by: by.clone(), until: row.until() }
        }
        Some(_) | None => FinalizationClaim::Claimed { until: now.plus(Span::seconds(seconds)) },
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
    row: Option<&TaskRow>,
    outcome: &FinalizationClaim,
    claimant: &Claimant<'_>,
    events: &mut Vec<Event>,
) -> Result<(), WorkerError> {
    let Claimant { task, processor, seconds, now } = *claimant;
    match outcome {
        FinalizationClaim::Claimed { until } => {
            let sql = "UPDATE tasker_tasks SET claimed_by = ?2, claimed_at = ?3, claim_timeout_seconds = ?4,
                       updated_at = ?3 WHERE task_uuid = ?1";
            transaction.prepare_cached(sql)?.execute(params![task, processor, text(now), seconds])?;
            events.extend(row.and_then(|row| row.expired(task, now)));
            events.push(acquired(task, processor, *until));
            Ok(())
        }
        FinalizationClaim::Extended { until } => {
            extend_row(transaction, task, processor, *until, now, events)
        }
        FinalizationClaim::AlreadyClaimed { .. }
        | FinalizationClaim::AlreadyComplete
        | FinalizationClaim::NotReady
        | FinalizationClaim::NotFound => Ok(()),
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
    attempt: &ClaimAttempt<'_>,
    task: &str,
    processor: &str,
    now: Moment,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed,
                 already_claimed_by, task_state, message, attempted_at, operation, duration_seconds)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let ClaimAttempt { operation, claimed, holder, state, message, seconds } = attempt;
    transaction.prepare_cached(sql)?.execute(params![
        task,
        processor,
        claimed,
        holder,
        state,
        message,
        text(now),
        operation,
        seconds
    ])?;
    Ok(())
}
