//! An entry's way through its states, each step checked against the machine.

use rusqlite::{Transaction, params};
use serde_json::{Map, Value as Json, json};

use super::entry::{self, QueueEntry};
use super::journal::{self, Kind};
use super::status::Status;
use super::{MergeQueue, seconds};
use crate::worker::{Event, WorkerError};

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    Done(Box<QueueEntry>),
    /// It was there already; nothing was changed.
    Unchanged,
    /// There is no such entry.
    Missing,
    /// Another agent has it, or nobody: it was reclaimed.
    NotOwner {
        holder: Option<String>,
    },
    /// The machine has no such way.
    Forbidden {
        from: Status,
    },
    /// It was tried as often as it may be.
    Exhausted {
        attempts: i64,
    },
}

/// Whether a failure can pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Retryable,
    Terminal,
}

/// Who asks for a step.
enum Who<'a> {
    /// The agent that has the entry: nobody else moves it.
    Agent(&'a str),
    Operator,
}

/// A step, and what its trace says beside from and to.
struct Step<'a> {
    id: i64,
    who: Who<'a>,
    to: Status,
    error: Option<&'a str>,
}

impl MergeQueue {
    /// Moves an entry that the agent has to its next state. An entry is claimed with
    /// [`MergeQueue::next_with_lock`] only: a claim without the lock is no claim.
    pub fn transition(&mut self, id: i64, agent: &str, to: Status) -> Result<Moved, WorkerError> {
        self.step(&Step { id, who: Who::Agent(agent), to, error: None })
    }

    /// The entry is merged.
    pub fn mark_completed(&mut self, id: i64, agent: &str) -> Result<Moved, WorkerError> {
        self.transition(id, agent, Status::Merged)
    }

    pub fn mark_failed(
        &mut self,
        id: i64,
        agent: &str,
        error: &str,
        failure: Failure,
    ) -> Result<Moved, WorkerError> {
        let to = match failure {
            Failure::Retryable => Status::FailedRetryable,
            Failure::Terminal => Status::FailedTerminal,
        };
        self.step(&Step { id, who: Who::Agent(agent), to, error: Some(error) })
    }

    /// Puts an entry that failed for a passing reason back into the queue, as often as it may be.
    pub fn retry_entry(&mut self, id: i64) -> Result<Moved, WorkerError> {
        self.database.change(|transaction, now, _| {
            let now = seconds(now);
            let Some(entry) = entry::read(transaction, id)? else { return Ok(Moved::Missing) };
            if entry.status != Status::FailedRetryable {
                return Ok(Moved::Forbidden { from: entry.status });
            }
            if entry.attempt_count >= entry.max_attempts {
                return Ok(Moved::Exhausted { attempts: entry.attempt_count });
            }
            // The journal keeps the error; a pending entry has none.
            let sql = "UPDATE merge_queue SET attempt_count = ?2, error_message = NULL, completed_at = NULL
                       WHERE id = ?1";
            transaction.prepare_cached(sql)?.execute(params![id, entry.attempt_count + 1])?;
            write(transaction, now, &entry, Status::Pending, None)
        })
    }

    /// Takes an entry out of the queue, whoever has it.
    pub fn cancel_entry(&mut self, id: i64) -> Result<Moved, WorkerError> {
        self.step(&Step { id, who: Who::Operator, to: Status::Cancelled, error: None })
    }

    fn step(&mut self, step: &Step<'_>) -> Result<Moved, WorkerError> {
        self.database.change(|transaction, now, events| {
            let Some(entry) = entry::read(transaction, step.id)? else { return Ok(Moved::Missing) };
            if let Some(refused) = refusal(&entry, step) {
                return Ok(refused);
            }
            let now = seconds(now);
            if entry.status.is_held() && !step.to.is_held() {
                events.push(released(&entry, step.to, now));
            }
            write(transaction, now, &entry, step.to, step.error)
        })
    }
}

/// Why this step is not taken.
fn refusal(entry: &QueueEntry, step: &Step<'_>) -> Option<Moved> {
    let from = entry.status;
    match step.who {
        Who::Agent(agent) if from.is_held() && entry.agent_id.as_deref() != Some(agent) => {
            Some(Moved::NotOwner { holder: entry.agent_id.clone() })
        }
        Who::Agent(_) | Who::Operator if from == step.to => Some(Moved::Unchanged),
        Who::Agent(_) if from == Status::Pending => Some(Moved::NotOwner { holder: None }),
        Who::Agent(_) if !from.is_held() => Some(Moved::Forbidden { from }),
        Who::Agent(_) | Who::Operator => (!from.may_become(step.to)).then_some(Moved::Forbidden { from }),
    }
}

fn write(
    transaction: &Transaction<'_>,
    now: i64,
    entry: &QueueEntry,
    to: Status,
    error: Option<&str>,
) -> Result<Moved, WorkerError> {
    // A clock that was set back must not let an entry change before it started.
    let now = now.max(entry.started_at.unwrap_or(now));
    let agent = entry.agent_id.as_deref().filter(|_| to.is_held());
    let started_at = entry.started_at.filter(|_| to != Status::Pending);
    let over = matches!(to, Status::FailedRetryable) || to.is_terminal();
    let sql = "UPDATE merge_queue SET status = ?2, previous_state = ?3, state_changed_at = ?4, agent_id = ?5,
                 started_at = ?6, completed_at = coalesce(?7, completed_at),
                 error_message = coalesce(?8, error_message) WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute(params![
        entry.id,
        to.as_str(),
        entry.status.as_str(),
        now,
        agent,
        started_at,
        over.then_some(now),
        error
    ])?;
    journal::note(transaction, now, entry.id, kind(entry.status, to), &details(entry, to, error))?;
    Ok(entry::read(transaction, entry.id)?.map_or(Moved::Missing, |entry| Moved::Done(Box::new(entry))))
}

fn kind(from: Status, to: Status) -> Kind {
    match to {
        Status::Merged => Kind::Merged,
        Status::FailedRetryable | Status::FailedTerminal => Kind::Failed,
        Status::Cancelled => Kind::Cancelled,
        Status::Pending if from == Status::FailedRetryable => Kind::Retried,
        Status::Pending
        | Status::Claimed
        | Status::Rebasing
        | Status::Testing
        | Status::ReadyToMerge
        | Status::Merging => Kind::Transitioned,
    }
}

fn details(entry: &QueueEntry, to: Status, error: Option<&str>) -> Json {
    let mut details = Map::new();
    details.insert("from".into(), json!(entry.status.as_str()));
    details.insert("to".into(), json!(to.as_str()));
    details.extend(entry.agent_id.as_ref().map(|agent| ("agent".into(), json!(agent))));
    details.extend(error.map(|error| ("error".into(), json!(error))));
    Json::Object(details)
}

fn released(entry: &QueueEntry, to: Status, now: i64) -> Event {
    Event::ClaimReleased {
        task_id: entry.id.to_string(),
        session_id: entry.agent_id.clone().unwrap_or_default(),
        reason: to.as_str().into(),
        held_for_ms: (now - entry.started_at.unwrap_or(now)).saturating_mul(1_000),
    }
}
