//! A task's row as a claim sees it.

use chrono::DateTime;
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension};

use super::super::{Event, WorkerError};
use crate::domain::time::{Moment, Span};

pub(in crate::worker) struct TaskRow {
    pub(in crate::worker) complete: bool,
    pub(in crate::worker) claimed_by: Option<String>,
    /// Also `None` if the time in the row cannot be read.
    pub(in crate::worker) claimed_at: Option<Moment>,
    pub(in crate::worker) timeout: Option<Span>,
    /// The state of the newest transition.
    pub(in crate::worker) state: Option<String>,
    /// Whether a step has completed or failed.
    pub(in crate::worker) has_ended_step: bool,
}

impl TaskRow {
    pub(in crate::worker) fn find(
        connection: &Connection,
        task: &str,
    ) -> Result<Option<TaskRow>, WorkerError> {
        let sql = "SELECT t.complete, t.claimed_by, t.claimed_at, t.claim_timeout_seconds,
                     (SELECT n.to_state FROM tasker_task_transitions n
                      WHERE n.task_uuid = t.task_uuid AND n.most_recent = 1),
                     EXISTS (SELECT 1 FROM tasker_workflow_steps s
                             WHERE s.task_uuid = t.task_uuid AND s.state IN ('completed', 'failed'))
                   FROM tasker_tasks t WHERE t.task_uuid = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let row = statement.query_row([task], |row| {
            Ok(TaskRow {
                complete: row.get(0)?,
                claimed_by: row.get(1)?,
                claimed_at: moment(&row.get(2)?),
                timeout: seconds(&row.get(3)?),
                state: row.get(4)?,
                has_ended_step: row.get(5)?,
            })
        });
        Ok(row.optional()?)
    }

    pub(in crate::worker) fn until(&self) -> Option<Moment> {
        Some(self.claimed_at?.plus(self.timeout?))
    }

    /// Whether the claim has expired; at its exact end it is still valid. A time that cannot be read never expires:
    /// otherwise a typing error would give a task to two processors.
    pub(in crate::worker) fn is_over(&self, now: Moment) -> bool {
        self.until().is_some_and(|until| until < now)
    }

    /// The new end of the claim if `processor` extended it now; `None` if it does not hold it or it has expired.
    pub(in crate::worker) fn extended(&self, processor: &str, now: Moment) -> Option<Moment> {
        let own = self.claimed_by.as_deref() == Some(processor) && self.until().is_some();
        let timeout = self.timeout.filter(|_| own && !self.is_over(now))?;
        Some(now.plus(timeout))
    }

    /// The event that the claim in this row expired, for the processor that takes it over.
    pub(in crate::worker) fn expired(&self, task: &str, now: Moment) -> Option<Event> {
        let until = self.until()?;
        Some(Event::ClaimExpired {
            task_id: task.into(),
            session_id: self.claimed_by.clone()?,
            expired_at: until.micros().div_euclid(1_000),
            age_ms: now.since(self.claimed_at?).as_millis(),
        })
    }

    pub(in crate::worker) fn released(
        &self,
        task: &str,
        processor: &str,
        reason: &str,
        now: Moment,
    ) -> Event {
        Event::ClaimReleased {
            task_id: task.into(),
            session_id: processor.into(),
            reason: reason.into(),
            held_for_ms: self.claimed_at.map_or(0, |since| now.since(since).as_millis()),
        }
    }
}

fn moment(value: &SqlValue) -> Option<Moment> {
    match value {
        SqlValue::Text(text) => Moment::parse(text),
        _ => None,
    }
}

fn seconds(value: &SqlValue) -> Option<Span> {
    match value {
        SqlValue::Integer(seconds) => Some(Span::seconds(*seconds)),
        _ => None,
    }
}

/// A time in the format of these tables: like PostgreSQL's `timestamp` with microseconds, so that two claims in the
/// same second differ.
pub(in crate::worker) fn text(moment: Moment) -> String {
    let time = DateTime::from_timestamp_micros(moment.micros()).unwrap_or_default();
    time.format("%Y-%m-%d %H:%M:%S%.6f").to_string()
}
