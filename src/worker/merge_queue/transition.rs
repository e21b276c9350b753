//! Transitions of an entry, each checked against the state machine.

use rusqlite::{Transaction, params};
use serde_json::{Map, Value as Json, json};

use super::entry::{self, QueueEntry};
use super::journal::{self, QueueEventKind};
use super::status::Status;
use super::{MergeQueue, seconds};
use crate::worker::{Event, WorkerError};

/// The result of a transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransitionOutcome {
    Done(Box<QueueEntry>),
    /// It was in that state already; nothing was changed.
    Unchanged,
    /// There is no such entry.
    Missing,
    /// Another agent holds it, or nobody does: it was reclaimed.
    NotOwner {
        holder: Option<String>,
    },
    /// The transition is not allowed.
    Forbidden {
        from: Status,
    },
    /// It has used all its tries.
    Exhausted {
        attempts: i64,
    },
}

/// Whether a retry can succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    Retryable,
    Terminal,
}

/// Who requests a transition.
enum TransitionBy<'a> {
    /// The agent that holds the entry: no other agent can move it.
    Agent(&'a str),
    Operator,
}

/// A transition, and what its event contains besides the states.
struct Step<'a> {
    id: i64,
    who: TransitionBy<'a>,
    to: Status,
    error: Option<&'a str>,
}

impl MergeQueue {
    /// Moves an entry of the agent to its next state. Entries are claimed only with [`MergeQueue::next_with_lock`]: a
    /// claim needs the lock.
    pub fn transition(&mut self, id: i64, agent: &str, to: Status) -> Result<TransitionOutcome, WorkerError> {
        self.step(&Step { id, who: TransitionBy::Agent(agent), to, error: None })
    }

    /// Marks the entry as merged.
    pub fn mark_completed(&mut self, id: i64, agent: &str) -> Result<TransitionOutcome, WorkerError> {
        self.transition(id, agent, Status::Merged)
    }

    pub fn mark_failed(
        &mut self,
        id: i64,
        agent: &str,
        error: &str,
        failure: FailureKind,
    ) -> Result<TransitionOutcome, WorkerError> {
        let to = match failure {
            FailureKind::Retryable => Status::FailedRetryable,
            FailureKind::Terminal => Status::FailedTerminal,
        };
        self.step(&Step { id, who: TransitionBy::Agent(agent), to, error: Some(error) })
    }

    /// Puts an entry with a retryable failure back into the queue, as often as allowed.
    pub fn retry_entry(&mut self, id: i64) -> Result<TransitionOutcome, WorkerError> {
        self.database.change(|transaction, now, _| {
            let now = seconds(now);
            let Some(entry) = entry::read(transaction, id)? else { return Ok(TransitionOutcome::Missing) };
            if entry.status != Status::FailedRetryable {
                return Ok(TransitionOutcome::Forbidden { from: entry.status });
            }
            if entry.attempt_count >= entry.max_attempts {
                return Ok(TransitionOutcome::Exhausted { attempts: entry.attempt_count });
            }
            // A pending entry has no error; the events keep it.
            let sql = "UPDATE merge_queue SET attempt_count = ?2, error_message = NULL, completed_at = NULL
                       WHERE id = ?1";
            transaction.prepare_cached(sql)?.execute(params![id, entry.attempt_count + 1])?;
            write(transaction, now, &entry, Status::Pending, None)
        })
    }

    /// Cancels an entry, whoever holds it.
    pub fn cancel_entry(&mut self, id: i64) -> Result<TransitionOutcome, WorkerError> {
        self.step(&Step { id, who: TransitionBy::Operator, to: Status::Cancelled, error: None })
    }

    fn step(&mut self, step: &Step<'_>) -> Result<TransitionOutcome, WorkerError> {
        self.database.change(|transaction, now, events| {
            let Some(entry) = entry::read(transaction, step.id)? else {
                return Ok(TransitionOutcome::Missing);
            };
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

/// Why the transition is refused.
fn refusal(entry: &QueueEntry, step: &Step<'_>) -> Option<TransitionOutcome> {
    let from = entry.status;
    match step.who {
        TransitionBy::Agent(agent) if from.is_held() && entry.agent_id.as_deref() != Some(agent) => {
            Some(TransitionOutcome::NotOwner { holder: entry.agent_id.clone() })
        }
        TransitionBy::Agent(_) | TransitionBy::Operator if from == step.to => {
            Some(TransitionOutcome::Unchanged)
        }
        TransitionBy::Agent(_) if from == Status::Pending => {
            Some(TransitionOutcome::NotOwner { holder: None })
        }
        TransitionBy::Agent(_) if !from.is_held() => Some(TransitionOutcome::Forbidden { from }),
        TransitionBy::Agent(_) | TransitionBy::Operator => {
            (!from.may_become(step.to)).then_some(TransitionOutcome::Forbidden { from })
        }
    }
}

fn write(
    transaction: &Transaction<'_>,
    now: i64,
    entry: &QueueEntry,
    to: Status,
    error: Option<&str>,
) -> Result<TransitionOutcome, WorkerError> {
    // Even if the clock was set back, an entry must not change before it started.
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
    Ok(entry::read(transaction, entry.id)?
        .map_or(TransitionOutcome::Missing, |entry| TransitionOutcome::Done(Box::new(entry))))
}

fn kind(from: Status, to: Status) -> QueueEventKind {
    match to {
        Status::Merged => QueueEventKind::Merged,
        Status::FailedRetryable | Status::FailedTerminal => QueueEventKind::Failed,
        Status::Cancelled => QueueEventKind::Cancelled,
        Status::Pending if from == Status::FailedRetryable => QueueEventKind::Retried,
        Status::Pending
        | Status::Claimed
        | Status::Rebasing
        | Status::Testing
        | Status::ReadyToMerge
        | Status::Merging => QueueEventKind::Transitioned,
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
