//! A claim: one session holds one task until it expires.

use rusqlite::{Connection, OptionalExtension, Row, Transaction};
use serde::Serialize;

use super::session::is_registered;
use super::{Coordination, end_of, expiry, millis, resume};
use crate::domain::time::{Moment, Span};
use crate::worker::error::WorkerError;
use crate::worker::events::Event;

/// The kind of claimant; the table allows these three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AgentType {
    Cli,
    Autonomous,
    #[default]
    Unknown,
}

impl AgentType {
    pub fn as_str(self) -> &'static str {
        match self {
            AgentType::Cli => "cli",
            AgentType::Autonomous => "autonomous",
            AgentType::Unknown => "unknown",
        }
    }
}

/// What happens if the session already holds the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OwnClaim {
    /// The claim is extended, even if it has expired meanwhile: nobody else took it.
    #[default]
    Extend,
    /// A new claim starts now; the original calls this `force`. A claim of another session that has not expired
    /// cannot be forced.
    Restart,
}

/// The options of a claim.
#[derive(Debug, Clone, Default)]
pub struct ClaimOptions {
    /// The duration; the default is in the settings.
    pub ttl: Option<Span>,
    pub agent_type: AgentType,
    pub metadata: Option<serde_json::Value>,
    pub own_claim: OwnClaim,
    /// The ancestors of this task, nearest first: whoever holds one holds all tasks below it.
    pub ancestors: Vec<String>,
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CoordinationClaim {
    Claimed {
        expires_at: i64,
    },
    /// The session held it already.
    Extended {
        expires_at: i64,
        heartbeat_count: i64,
    },
    /// The claim of another session had expired and was taken over.
    TookOver {
        expires_at: i64,
        previous_holder: String,
        expired_at: i64,
    },
    AlreadyClaimed {
        existing_claim: HeldClaim,
    },
    AncestorClaimed {
        blocked_by_ancestor: String,
        existing_claim: HeldClaim,
    },
    /// The session is not registered, or was cleaned up: register first.
    UnknownSession,
}

impl CoordinationClaim {
    /// Whether the session holds the task now.
    pub fn is_held(&self) -> bool {
        match self {
            CoordinationClaim::Claimed { .. }
            | CoordinationClaim::Extended { .. }
            | CoordinationClaim::TookOver { .. } => true,
            CoordinationClaim::AlreadyClaimed { .. }
            | CoordinationClaim::AncestorClaimed { .. }
            | CoordinationClaim::UnknownSession => false,
        }
    }
}

/// A claim in its current state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldClaim {
    pub task_id: String,
    pub session_id: String,
    pub agent_type: Option<String>,
    pub claimed_at: i64,
    pub expires_at: i64,
    pub last_heartbeat: i64,
    pub heartbeat_count: i64,
    /// Never negative.
    pub remaining_ms: i64,
}

impl HeldClaim {
    /// A claim is still valid in its last millisecond.
    pub(super) fn has_expired(&self, now: Moment) -> bool {
        self.expires_at < millis(now)
    }
}

impl Coordination {
    /// Claims a task for a session.
    pub fn claim_task(
        &mut self,
        task: &str,
        session: &str,
        options: &ClaimOptions,
    ) -> Result<CoordinationClaim, WorkerError> {
        let ttl = options.ttl.unwrap_or(self.settings.default_ttl);
        self.database.change(|transaction, now, events| {
            let expires_at = end_of(ttl, now)?;
            if !is_registered(transaction, session)? {
                return Ok(CoordinationClaim::UnknownSession);
            }
            if let Some(refusal) = blocked(transaction, session, &options.ancestors, now)? {
                return Ok(refusal);
            }
            let request = NewClaim { transaction, task, session, options, now, expires_at };
            match held(transaction, task, now)? {
                None => request.insert(events).map(|()| CoordinationClaim::Claimed { expires_at }),
                Some(own) if own.session_id == session => match options.own_claim {
                    OwnClaim::Extend => request.extend(&own, events),
                    OwnClaim::Restart => {
                        delete(transaction, task)?;
                        request.insert(events).map(|()| CoordinationClaim::Claimed { expires_at })
                    }
                },
                Some(foreign) if foreign.has_expired(now) => request.take_over(foreign, events),
                Some(existing_claim) => Ok(CoordinationClaim::AlreadyClaimed { existing_claim }),
            }
        })
    }

    /// The claim on a task, expired or not; changes nothing.
    pub fn claim(&self, task: &str) -> Result<Option<HeldClaim>, WorkerError> {
        self.database.look(|connection, now| Ok(held(connection, task, now)?))
    }
}

/// A claim to be written.
struct NewClaim<'a> {
    transaction: &'a Transaction<'a>,
    task: &'a str,
    session: &'a str,
    options: &'a ClaimOptions,
    now: Moment,
    expires_at: i64,
}

impl NewClaim<'_> {
    fn insert(&self, events: &mut Vec<Event>) -> Result<(), WorkerError> {
        let sql = "INSERT INTO task_claims
                     (task_id, session_id, claimed_at, expires_at, last_heartbeat, agent_type, metadata)
                   VALUES (?1, ?2, ?3, ?4, ?3, ?5, ?6)";
        let metadata = self.options.metadata.as_ref().map(ToString::to_string);
        let agent_type = self.options.agent_type.as_str();
        let now = millis(self.now);
        self.transaction.prepare_cached(sql)?.execute((
            self.task,
            self.session,
            now,
            self.expires_at,
            agent_type,
            metadata,
        ))?;
        resume::remember(self.transaction, self.task)?;
        events.push(Event::ClaimAcquired {
            task_id: self.task.into(),
            session_id: self.session.into(),
            expires_at: Some(self.expires_at),
        });
        Ok(())
    }

    fn extend(&self, own: &HeldClaim, events: &mut Vec<Event>) -> Result<CoordinationClaim, WorkerError> {
        prolong(self.transaction, self.task, self.expires_at, self.now)?;
        events.push(Event::ClaimExtended {
            task_id: self.task.into(),
            session_id: self.session.into(),
            expires_at: Some(self.expires_at),
        });
        Ok(CoordinationClaim::Extended {
            expires_at: self.expires_at,
            heartbeat_count: own.heartbeat_count + 1,
        })
    }

    fn take_over(
        &self,
        foreign: HeldClaim,
        events: &mut Vec<Event>,
    ) -> Result<CoordinationClaim, WorkerError> {
        delete(self.transaction, self.task)?;
        events.push(expiry::event(&foreign, self.now));
        self.insert(events)?;
        Ok(CoordinationClaim::TookOver {
            expires_at: self.expires_at,
            previous_holder: foreign.session_id,
            expired_at: foreign.expires_at,
        })
    }
}

/// The nearest ancestor that another session holds.
fn blocked(
    connection: &Connection,
    session: &str,
    ancestors: &[String],
    now: Moment,
) -> Result<Option<CoordinationClaim>, WorkerError> {
    for ancestor in ancestors {
        if let Some(existing_claim) = held(connection, ancestor, now)?
            && existing_claim.session_id != session
            && !existing_claim.has_expired(now)
        {
            let blocked_by_ancestor = ancestor.clone();
            return Ok(Some(CoordinationClaim::AncestorClaimed { blocked_by_ancestor, existing_claim }));
        }
    }
    Ok(None)
}

/// The columns of a claim, in the order that [`read`] expects.
pub(super) const COLUMNS: &str =
    "task_id, session_id, agent_type, claimed_at, expires_at, last_heartbeat, heartbeat_count";

pub(super) fn read(row: &Row<'_>, now: Moment) -> rusqlite::Result<HeldClaim> {
    let expires_at: i64 = row.get(4)?;
    Ok(HeldClaim {
        task_id: row.get(0)?,
        session_id: row.get(1)?,
        agent_type: row.get(2)?,
        claimed_at: row.get(3)?,
        expires_at,
        last_heartbeat: row.get(5)?,
        heartbeat_count: row.get(6)?,
        remaining_ms: expires_at.saturating_sub(millis(now)).max(0),
    })
}

/// The claim on a task, expired or not.
pub(super) fn held(connection: &Connection, task: &str, now: Moment) -> rusqlite::Result<Option<HeldClaim>> {
    let sql = format!("SELECT {COLUMNS} FROM task_claims WHERE task_id = ?1");
    connection.prepare_cached(&sql)?.query_row([task], |row| read(row, now)).optional()
}

pub(super) fn delete(connection: &Connection, task: &str) -> rusqlite::Result<usize> {
    connection.prepare_cached("DELETE FROM task_claims WHERE task_id = ?1")?.execute([task])
}

/// Extends a claim, which is its heartbeat in this system.
pub(super) fn prolong(
    connection: &Connection,
    task: &str,
    expires_at: i64,
    now: Moment,
) -> rusqlite::Result<usize> {
    let sql = "UPDATE task_claims
               SET expires_at = ?2, last_heartbeat = ?3, heartbeat_count = heartbeat_count + 1
               WHERE task_id = ?1";
    connection.prepare_cached(sql)?.execute((task, expires_at, millis(now)))
}
