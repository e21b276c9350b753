//! Adds tasks to the queue.

use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::{Value as Json, json};

use super::super::WorkerError;
use super::TaskQueue;
use super::log::{TaskEvent, write};
use super::task::text;
use crate::domain::time::Moment;

/// A task to enqueue.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask<'a> {
    /// The name of a registered type; its newest version is used.
    pub task_type: &'a str,
    pub params: Json,
    /// Higher numbers go first.
    pub priority: i64,
    pub max_attempts: i64,
    /// Only one task with this key is ever added, whatever its state.
    pub dedupe_key: Option<&'a str>,
}

impl<'a> NewTask<'a> {
    /// A task with the defaults of the specification.
    pub fn of(task_type: &'a str) -> NewTask<'a> {
        NewTask { task_type, params: json!({}), priority: 0, max_attempts: 3, dedupe_key: None }
    }
}

impl NewTask<'_> {
    pub(in crate::worker) fn validate(&self) -> Result<(), WorkerError> {
        if self.dedupe_key.is_some_and(|key| key.chars().count() > LONGEST_KEY) {
            return Err(WorkerError::Invalid(format!("a dedupe key has at most {LONGEST_KEY} characters")));
        }
        if self.max_attempts < 1 {
            return Err(WorkerError::Invalid("a task has at least one attempt".into()));
        }
        Ok(())
    }
}

/// A type needs a name.
pub(in crate::worker) fn named(name: &str) -> Result<(), WorkerError> {
    match name {
        "" => Err(WorkerError::Invalid("a type needs a name".into())),
        _ => Ok(()),
    }
}

/// The result of enqueuing a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    Added(i64),
    /// The existing task with the same key.
    Duplicate(i64),
    UnknownType,
}

/// The declared length of the column in characters, which SQLite itself does not enforce.
const LONGEST_KEY: usize = 64;

impl TaskQueue {
    /// Registers a type, or updates the schema of an existing version; returns its id. The queue stores the schema
    /// but does not check parameters against it.
    pub fn register_type(
        &mut self,
        name: &str,
        version: &str,
        param_schema: Option<&Json>,
    ) -> Result<i64, WorkerError> {
        named(name)?;
        let schema = param_schema.map(Json::to_string);
        self.database.change(|transaction, now, _| {
            let sql = "INSERT INTO task_types (name, version, param_schema, created_at, updated_at)
                       VALUES (?1, ?2, ?3, ?4, ?4)
                       ON CONFLICT (name, version)
                         DO UPDATE SET param_schema = excluded.param_schema, updated_at = excluded.updated_at
                       RETURNING id";
            let values = params![name, version, schema, text(now)];
            Ok(transaction.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
        })
    }

    /// Adds a task, once per dedupe key.
    pub fn enqueue(&mut self, task: &NewTask<'_>) -> Result<Enqueued, WorkerError> {
        task.validate()?;
        self.database.change(|transaction, now, _| add(transaction, task, now))
    }
}

fn add(transaction: &Transaction<'_>, task: &NewTask<'_>, now: Moment) -> Result<Enqueued, WorkerError> {
    let newest = "SELECT id FROM task_types WHERE name = ?1 ORDER BY id DESC LIMIT 1";
    let kind: Option<i64> =
        transaction.prepare_cached(newest)?.query_row([task.task_type], |row| row.get(0)).optional()?;
    let Some(kind) = kind else { return Ok(Enqueued::UnknownType) };
    if let Some(key) = task.dedupe_key {
        let same = "SELECT id FROM tasks WHERE dedupe_key = ?1";
        let found = transaction.prepare_cached(same)?.query_row([key], |row| row.get(0)).optional()?;
        if let Some(id) = found {
            return Ok(Enqueued::Duplicate(id));
        }
    }
    let sql =
        "INSERT INTO tasks (task_type_id, params, dedupe_key, priority, max_attempts, created_at, updated_at)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)";
    let values =
        params![kind, task.params.to_string(), task.dedupe_key, task.priority, task.max_attempts, text(now)];
    transaction.prepare_cached(sql)?.execute(values)?;
    let id = transaction.last_insert_rowid();
    write(transaction, id, TaskEvent::Created, None, "Task created", now)?;
    Ok(Enqueued::Added(id))
}
