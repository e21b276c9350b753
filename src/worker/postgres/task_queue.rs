//! Task-queue on PostgreSQL; see [`crate::worker::task_queue`] for what it promises.

mod claim;
mod settle;
mod workers;

use serde_json::Value as Json;

use super::Database;
use super::cells::{json, moment, number, optional, stamp, text};
use super::database::WorkerTransaction;
use crate::domain::time::{Moment, Span};
use crate::postgres::Row;
use crate::worker::WorkerError;
use crate::worker::task_queue::add::named;
use crate::worker::task_queue::log::TaskEvent;
use crate::worker::task_queue::{
    Completion, Enqueued, FailureOutcome, HeartbeatInfo, NewTask, Operations, RegisteredWorker, Retry,
    StaleWorker, Status, Task, TaskClaim, TaskFilter, WorkerId,
};

/// The worker's side of task-queue on one connection.
#[derive(Debug)]
pub struct TaskQueue {
    database: Database,
}

impl TaskQueue {
    pub fn new(database: Database) -> TaskQueue {
        TaskQueue { database }
    }
}

impl Operations for TaskQueue {
    fn register_type(
        &mut self,
        name: &str,
        version: &str,
        schema: Option<&Json>,
    ) -> Result<i64, WorkerError> {
        named(name)?;
        let schema = schema.map(Json::to_string);
        self.database.change(|transaction| {
            let now = transaction.now()?;
            let sql = "INSERT INTO task_types AS k (name, version, param_schema, created_at, updated_at)
                       VALUES ($1, $2, $3::jsonb, $4::timestamptz, $4::timestamptz)
                       ON CONFLICT (name, version)
                         DO UPDATE SET param_schema = excluded.param_schema, updated_at = excluded.updated_at
                       RETURNING k.id::text";
            let values = [Some(name), Some(version), schema.as_deref(), Some(&stamp(now))];
            transaction.first(sql, &values)?.map_or(Ok(0), |row| number(&row, 0))
        })
    }

    fn enqueue(&mut self, task: &NewTask<'_>) -> Result<Enqueued, WorkerError> {
        task.validate()?;
        self.database.change(|transaction| add(transaction, task))
    }

    fn task(&mut self, id: i64) -> Result<Option<Task>, WorkerError> {
        self.database.look(|transaction| {
            let sql = format!("SELECT {COLUMNS} FROM tasks WHERE id = $1::bigint");
            transaction.first(&sql, &[Some(&id.to_string())])?.map(|row| read(&row)).transpose()
        })
    }

    fn claim(&mut self, worker: &WorkerId, wanted: &TaskFilter<'_>) -> Result<TaskClaim, WorkerError> {
        self.database.change(|transaction| claim::best(transaction, worker, wanted))
    }

    fn claim_by_id(&mut self, worker: &WorkerId, task: i64) -> Result<TaskClaim, WorkerError> {
        self.database.change(|transaction| claim::named(transaction, worker, task))
    }

    fn complete(&mut self, worker: &WorkerId, task: i64, result: &Json) -> Result<Completion, WorkerError> {
        self.database.change(|transaction| settle::complete(transaction, worker, task, result))
    }

    fn fail(
        &mut self,
        worker: &WorkerId,
        task: i64,
        error: &str,
        retry: Retry,
    ) -> Result<FailureOutcome, WorkerError> {
        self.database.change(|transaction| settle::fail(transaction, worker, task, error, retry))
    }

    fn heartbeat(&mut self, worker: &WorkerId, vitals: &HeartbeatInfo) -> Result<(), WorkerError> {
        self.database.change(|transaction| workers::report(transaction, worker, vitals))
    }

    fn sign_off(&mut self, worker: &WorkerId) -> Result<bool, WorkerError> {
        self.database.change(|transaction| {
            let sql = "UPDATE worker_heartbeats SET status = 'inactive' WHERE worker_id = $1";
            Ok(transaction.execute(sql, &[Some(worker.as_str())])? > 0)
        })
    }

    fn workers(&mut self) -> Result<Vec<RegisteredWorker>, WorkerError> {
        self.database.look(workers::all)
    }

    fn check_stale_workers(&mut self, after: Span) -> Result<Vec<StaleWorker>, WorkerError> {
        self.database.change(|transaction| workers::check(transaction, after))
    }
}

/// The columns of a [`Task`], for a statement on `tasks` without an alias.
const COLUMNS: &str = "id::text, (SELECT name FROM task_types k WHERE k.id = tasks.task_type_id), status,
    params::text, priority::text, attempts::text, max_attempts::text, worker_id, claimed_at::text,
    created_at::text";

fn read(row: &Row) -> Result<Task, WorkerError> {
    Ok(Task {
        id: number(row, 0)?,
        task_type: text(row, 1)?,
        status: status(&text(row, 2)?)?,
        params: json(text(row, 3)?),
        priority: number(row, 4)?,
        attempts: number(row, 5)?,
        max_attempts: number(row, 6)?,
        worker_id: optional(row, 7),
        claimed_at: moment(row, 8),
        created_at: moment(row, 9),
    })
}

fn status(text: &str) -> Result<Status, WorkerError> {
    Status::parse(text).map_err(WorkerError::Invalid)
}

fn add(transaction: &mut WorkerTransaction<'_>, task: &NewTask<'_>) -> Result<Enqueued, WorkerError> {
    let newest = "SELECT id::text FROM task_types WHERE name = $1 ORDER BY id DESC LIMIT 1";
    let Some(kind) = transaction.first(newest, &[Some(task.task_type)])? else {
        return Ok(Enqueued::UnknownType);
    };
    let kind = text(&kind, 0)?;
    let now = transaction.now()?;
    let sql = "INSERT INTO tasks
                 (task_type_id, params, dedupe_key, priority, max_attempts, created_at, updated_at)
               VALUES ($1::bigint, $2::jsonb, $3, $4::integer, $5::integer, $6::timestamptz, $6::timestamptz)
               ON CONFLICT (dedupe_key) DO NOTHING RETURNING id::text";
    let (params, priority) = (task.params.to_string(), task.priority.to_string());
    let (max, at) = (task.max_attempts.to_string(), stamp(now));
    let values = [Some(&*kind), Some(&*params), task.dedupe_key, Some(&*priority), Some(&*max), Some(&*at)];
    if let Some(row) = transaction.first(sql, &values)? {
        let id = number(&row, 0)?;
        write(transaction, id, TaskEvent::Created, None, "Task created", now)?;
        return Ok(Enqueued::Added(id));
    }
    let same = transaction.first("SELECT id::text FROM tasks WHERE dedupe_key = $1", &[task.dedupe_key])?;
    // It was deleted between the two statements: the next attempt will succeed.
    let same = same.ok_or(WorkerError::Busy { waited_ms: 0 })?;
    Ok(Enqueued::Duplicate(number(&same, 0)?))
}

/// Written in the same transaction as the change, so that neither exists without the other.
fn write(
    transaction: &mut WorkerTransaction<'_>,
    task: i64,
    what: TaskEvent,
    worker: Option<&str>,
    message: &str,
    now: Moment,
) -> Result<(), WorkerError> {
    let sql = "INSERT INTO task_logs (task_id, event, worker_id, message, created_at)
               VALUES ($1::bigint, $2, $3, $4, $5::timestamptz)";
    let (task, at) = (task.to_string(), stamp(now));
    transaction.execute(sql, &[Some(&task), Some(what.as_str()), worker, Some(message), Some(&at)])?;
    Ok(())
}
