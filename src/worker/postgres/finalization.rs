//! Finalization on PostgreSQL; see [`crate::worker::finalization`] for what it promises. Here the names
//! of tasks and steps are UUIDs: another name is refused where it would have to be recorded, and is
//! unknown everywhere else.

use std::time::Instant;

use super::Database;
use super::cells::{flag, moment, number, optional, uuid, zoned};
use super::database::WorkerTransaction;
use crate::domain::time::{Moment, Span};
use crate::worker::WorkerError;
use crate::worker::finalization::attempt::ClaimAttempt;
use crate::worker::finalization::row::TaskRow;
use crate::worker::finalization::{
    Completion, FinalizationClaim, FinalizationMetrics, Operations, StepEnd, acquired, decide, extended,
    named, whole_seconds,
};

/// The worker's side of finalization on one connection.
#[derive(Debug)]
pub struct Finalization {
    database: Database,
    metrics: FinalizationMetrics,
}

impl Finalization {
    pub fn new(database: Database) -> Finalization {
        Finalization { database, metrics: FinalizationMetrics::default() }
    }

    /// One transaction in the zone of the session: the times of this system have no zone.
    fn change<T>(
        &mut self,
        work: impl FnOnce(&mut WorkerTransaction<'_>) -> Result<T, WorkerError>,
    ) -> Result<T, WorkerError> {
        self.database.change(|transaction| {
            transaction.execute("SET LOCAL TimeZone TO DEFAULT", &[])?;
            work(transaction)
        })
    }
}

impl Operations for Finalization {
    fn metrics(&self) -> FinalizationMetrics {
        self.metrics.clone()
    }

    fn claim_task_for_finalization(
        &mut self,
        task: &str,
        processor: &str,
        timeout: Span,
    ) -> Result<FinalizationClaim, WorkerError> {
        named(processor)?;
        let (task, seconds) = (known(task)?, whole_seconds(timeout)?);
        let started = Instant::now();
        let outcome = self.change(|transaction| {
            let row = find(transaction, &task)?;
            let now = transaction.now()?;
            let outcome = decide(row.as_ref(), processor, seconds, now);
            match &outcome {
                FinalizationClaim::Claimed { until } => {
                    take(transaction, &task, processor, seconds, now)?;
                    transaction.tell(row.as_ref().and_then(|row| row.expired(&task, now)));
                    transaction.tell([acquired(&task, processor, *until)]);
                }
                FinalizationClaim::Extended { until } => extend(transaction, &task, processor, *until, now)?,
                FinalizationClaim::AlreadyClaimed { .. }
                | FinalizationClaim::AlreadyComplete
                | FinalizationClaim::NotReady
                | FinalizationClaim::NotFound => {}
            }
            record(
                transaction,
                &ClaimAttempt::to_claim(&outcome, row.as_ref(), processor, started),
                &task,
                processor,
                now,
            )?;
            Ok(outcome)
        })?;
        self.metrics.claimed(&outcome, started.elapsed());
        Ok(outcome)
    }

    fn extend(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        named(processor)?;
        let task = known(task)?;
        let started = Instant::now();
        let done = self.change(|transaction| {
            let row = find(transaction, &task)?;
            let now = transaction.now()?;
            let until = row.as_ref().filter(|row| !row.complete).and_then(|row| row.extended(processor, now));
            if let Some(until) = until {
                extend(transaction, &task, processor, until, now)?;
            }
            let attempt = ClaimAttempt::to_extend(until, row.as_ref(), started);
            record(transaction, &attempt, &task, processor, now)?;
            Ok(until.is_some())
        })?;
        self.metrics.extended(done, started.elapsed());
        Ok(done)
    }

    fn release(&mut self, task: &str, processor: &str) -> Result<bool, WorkerError> {
        let started = Instant::now();
        let Some(task) = uuid(task) else { return Ok(false) };
        let released = self.change(|transaction| {
            let row = find(transaction, &task)?;
            let now = transaction.now()?;
            let own = row.as_ref().filter(|row| row.claimed_by.as_deref() == Some(processor));
            if let Some(row) = own {
                let sql =
                    "UPDATE tasker_tasks SET claimed_at = NULL, claimed_by = NULL, updated_at = $2::timestamptz
                           WHERE task_uuid = $1::uuid";
                transaction.execute(sql, &[Some(&task), Some(&zoned(now))])?;
                transaction.tell([row.released(&task, processor, "released", now)]);
            }
            let attempt = ClaimAttempt::to_release(own.is_some(), row.as_ref(), started);
            record(transaction, &attempt, &task, processor, now)?;
            Ok(own.is_some())
        })?;
        self.metrics.released(released, started.elapsed());
        Ok(released)
    }

    fn complete(&mut self, task: &str, processor: &str) -> Result<Completion, WorkerError> {
        let Some(task) = uuid(task) else { return Ok(Completion::NotFound) };
        self.change(|transaction| {
            let Some(row) = find(transaction, &task)? else { return Ok(Completion::NotFound) };
            if row.complete {
                return Ok(Completion::AlreadyComplete);
            }
            if row.claimed_by.as_deref() != Some(processor) {
                return Ok(Completion::NotOwner { by: row.claimed_by });
            }
            let now = transaction.now()?;
            let sql =
                "UPDATE tasker_tasks SET complete = true, completed_at = $2::timestamptz, claimed_at = NULL,
                       claimed_by = NULL, updated_at = $2::timestamptz WHERE task_uuid = $1::uuid";
            transaction.execute(sql, &[Some(&task), Some(&zoned(now))])?;
            move_to(transaction, &task, "complete", now)?;
            transaction.tell([row.released(&task, processor, "completed", now)]);
            Ok(Completion::Completed)
        })
    }

    fn add_task(&mut self, task: &str, priority: i64) -> Result<bool, WorkerError> {
        let (task, priority) = (known(task)?, priority.to_string());
        self.change(|transaction| {
            let now = transaction.now()?;
            let sql = "INSERT INTO tasker_tasks (task_uuid, priority, requested_at, created_at, updated_at)
                       VALUES ($1::uuid, $2::integer, $3::timestamptz, $3::timestamptz, $3::timestamptz)
                       ON CONFLICT (task_uuid) DO NOTHING";
            let added = transaction.execute(sql, &[Some(&task), Some(&priority), Some(&zoned(now))])? > 0;
            if added {
                move_to(transaction, &task, "pending", now)?;
            }
            Ok(added)
        })
    }

    fn add_step(&mut self, task: &str, step: &str) -> Result<bool, WorkerError> {
        let (task, step) = (known(task)?, known(step)?);
        self.change(|transaction| {
            let now = transaction.now()?;
            let sql =
                "INSERT INTO tasker_workflow_steps (workflow_step_uuid, task_uuid, created_at, updated_at)
                       VALUES ($2::uuid, $1::uuid, $3::timestamptz, $3::timestamptz)
                       ON CONFLICT (workflow_step_uuid) DO NOTHING";
            Ok(transaction.execute(sql, &[Some(&task), Some(&step), Some(&zoned(now))])? > 0)
        })
    }

    fn end_step(&mut self, step: &str, end: StepEnd) -> Result<bool, WorkerError> {
        let Some(step) = uuid(step) else { return Ok(false) };
        self.change(|transaction| {
            let now = transaction.now()?;
            let sql = "UPDATE tasker_workflow_steps SET state = $2, updated_at = $3::timestamptz
                       WHERE workflow_step_uuid = $1::uuid AND state IN ('pending', 'in_progress')";
            Ok(transaction.execute(sql, &[Some(&step), Some(end.as_str()), Some(&zoned(now))])? > 0)
        })
    }
}

fn known(name: &str) -> Result<String, WorkerError> {
    uuid(name)
        .ok_or_else(|| WorkerError::Invalid(format!("tasks and steps are named by UUIDs, not {name:?}")))
}

/// The task, locked: it does not change until the end of the transaction.
fn find(transaction: &mut WorkerTransaction<'_>, task: &str) -> Result<Option<TaskRow>, WorkerError> {
    let sql = "SELECT complete::text, claimed_by, claimed_at::timestamptz::text, claim_timeout_seconds::text
               FROM tasker_tasks WHERE task_uuid = $1::uuid FOR UPDATE";
    let Some(row) = transaction.first(sql, &[Some(task)])? else { return Ok(None) };
    // A separate statement: it sees what was committed while waiting for the lock.
    let sql = "SELECT (SELECT n.to_state FROM tasker_task_transitions n
                       WHERE n.task_uuid = $1::uuid AND n.most_recent),
                 EXISTS (SELECT 1 FROM tasker_workflow_steps s
                         WHERE s.task_uuid = $1::uuid AND s.state IN ('completed', 'failed'))::text";
    let around = transaction.first(sql, &[Some(task)])?;
    Ok(Some(TaskRow {
        complete: flag(&row, 0),
        claimed_by: optional(&row, 1),
        claimed_at: moment(&row, 2),
        timeout: number(&row, 3).ok().map(Span::seconds),
        state: around.as_ref().and_then(|around| optional(around, 0)),
        has_ended_step: around.as_ref().is_some_and(|around| flag(around, 1)),
    }))
}

fn take(
    transaction: &mut WorkerTransaction<'_>,
    task: &str,
    processor: &str,
    seconds: i64,
    now: Moment,
) -> Result<(), WorkerError> {
    let sql = "UPDATE tasker_tasks SET claimed_by = $2, claimed_at = $3::timestamptz,
               claim_timeout_seconds = $4::integer, updated_at = $3::timestamptz WHERE task_uuid = $1::uuid";
    let (at, seconds) = (zoned(now), seconds.to_string());
    transaction.execute(sql, &[Some(task), Some(processor), Some(&at), Some(&seconds)])?;
    Ok(())
}

fn extend(
    transaction: &mut WorkerTransaction<'_>,
    task: &str,
    processor: &str,
    until: Moment,
    now: Moment,
) -> Result<(), WorkerError> {
    let sql = "UPDATE tasker_tasks SET claimed_at = $2::timestamptz, updated_at = $2::timestamptz
               WHERE task_uuid = $1::uuid";
    transaction.execute(sql, &[Some(task), Some(&zoned(now))])?;
    transaction.tell([extended(task, processor, until)]);
    Ok(())
}

fn record(
    transaction: &mut WorkerTransaction<'_>,
    attempt: &ClaimAttempt<'_>,
    task: &str,
    processor: &str,
    now: Moment,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO tasker_finalization_attempts
                 (task_uuid, processor_id, claimed, already_claimed_by, task_state, message, attempted_at,
                  operation, duration_seconds)
               VALUES ($1::uuid, $2, $3::boolean, $4, $5, $6, $7::timestamptz, $8, $9::double precision)";
    let ClaimAttempt { operation, claimed, holder, state, message, seconds } = attempt;
    let (claimed, at, seconds) = (claimed.to_string(), zoned(now), seconds.to_string());
    let values = [
        Some(task),
        Some(processor),
        Some(&claimed),
        *holder,
        *state,
        Some(*message),
        Some(&at),
        Some(*operation),
        Some(&seconds),
    ];
    transaction.execute(sql, &values)?;
    Ok(())
}

/// Records the task's next state as the newest.
fn move_to(
    transaction: &mut WorkerTransaction<'_>,
    task: &str,
    state: &str,
    now: Moment,
) -> Result<(), WorkerError> {
    let retire = "UPDATE tasker_task_transitions SET most_recent = false
                  WHERE task_uuid = $1::uuid AND most_recent";
    transaction.execute(retire, &[Some(task)])?;
    let sql = "INSERT INTO tasker_task_transitions (task_uuid, from_state, to_state, created_at)
               VALUES ($1::uuid, (SELECT to_state FROM tasker_task_transitions WHERE task_uuid = $1::uuid
                                  ORDER BY id DESC LIMIT 1), $2, $3::timestamptz)";
    transaction.execute(sql, &[Some(task), Some(state), Some(&zoned(now))])?;
    Ok(())
}
