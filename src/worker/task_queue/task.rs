//! A task as the table holds it.

use chrono::DateTime;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{OptionalExtension, Row};
use serde_json::Value as Json;
use std::fmt;

use super::super::WorkerError;
use super::TaskQueue;
use crate::domain::time::Moment;

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Pending,
    Claimed,
    Completed,
    Failed,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Claimed => "claimed",
            Status::Completed => "completed",
            Status::Failed => "failed",
        }
    }

    pub(in crate::worker) fn parse(text: &str) -> Result<Status, String> {
        let all = [Status::Pending, Status::Claimed, Status::Completed, Status::Failed];
        let found = all.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is no status of a task"))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromSql for Status {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Status> {
        Status::parse(value.as_str()?).map_err(|sentence| FromSqlError::Other(sentence.into()))
    }
}

/// A task, as the specification returns it to a claimant.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: i64,
    pub task_type: String,
    pub status: Status,
    /// The parsed JSON of the column, or its text if it is not JSON.
    pub params: Json,
    pub priority: i64,
    pub attempts: i64,
    pub max_attempts: i64,
    pub worker_id: Option<String>,
    pub claimed_at: Option<Moment>,
    pub created_at: Option<Moment>,
}

/// The columns of a [`Task`], for a statement on `tasks` without an alias.
pub(super) const COLUMNS: &str = "id, (SELECT name FROM task_types WHERE task_types.id = tasks.task_type_id),
    status, params, priority, attempts, max_attempts, worker_id, claimed_at, created_at";

impl Task {
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Task> {
        let time = |text: Option<String>| text.and_then(|text| Moment::parse(&text));
        let params: String = row.get(3)?;
        Ok(Task {
            id: row.get(0)?,
            task_type: row.get(1)?,
            status: row.get(2)?,
            params: serde_json::from_str(&params).unwrap_or(Json::String(params)),
            priority: row.get(4)?,
            attempts: row.get(5)?,
            max_attempts: row.get(6)?,
            worker_id: row.get(7)?,
            claimed_at: time(row.get(8)?),
            created_at: time(row.get(9)?),
        })
    }
}

impl TaskQueue {
    /// The task with this id, in any state.
    pub fn task(&self, id: i64) -> Result<Option<Task>, WorkerError> {
        self.database.look(|connection, _| {
            let sql = format!("SELECT {COLUMNS} FROM tasks WHERE id = ?1");
            Ok(connection.prepare_cached(&sql)?.query_row([id], Task::from_row).optional()?)
        })
    }
}

/// A time in the format of these tables, which is that of SQLite's `datetime('now')`.
pub(super) fn text(moment: Moment) -> String {
    let time = DateTime::from_timestamp_micros(moment.micros()).unwrap_or_default();
    time.format("%Y-%m-%d %H:%M:%S").to_string()
}
