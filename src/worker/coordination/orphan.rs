//! Claims whose session is missing or silent.

use rusqlite::{Connection, Row};
use serde::Serialize;
use std::collections::HashMap;

use super::claim::delete;
use super::{Coordination, CoordinationSettings, millis};
use crate::domain::claim::Process;
use crate::domain::time::{Moment, Reading, TimeUnit};
use crate::domain::value::Value;
use crate::liveness::{Machine, ProcessSubject};
use crate::worker::error::WorkerError;
use crate::worker::events::Event;

/// Whether the process of a silent session is checked before its claims are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProcessCheck {
    /// Silence is enough.
    #[default]
    Trust,
    /// The specification's `checkPid`: verify that the process is dead.
    ///
    /// Only proof counts: a claim whose process lives *or cannot be judged* (no pid, a container, a reused pid) stays
    /// until its own lease ends. The original treats any failure to find the process, even a missing pid, as its
    /// death; that would take claims from live workers, which this check must prevent. A missing session has no
    /// process to check.
    Verify,
}

/// Why a claim is an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OrphanReason {
    SessionMissing,
    SessionStale,
}

impl OrphanReason {
    pub fn as_str(self) -> &'static str {
        match self {
            OrphanReason::SessionMissing => "session_missing",
            OrphanReason::SessionStale => "session_stale",
        }
    }
}

/// What `cleanupOrphanedClaims` returns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct OrphanedClaims {
    pub count: u64,
    pub claims: Vec<OrphanedClaim>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrphanedClaim {
    pub task_id: String,
    pub session_id: String,
    pub claimed_at: i64,
    pub reason: OrphanReason,
    /// The time since the session's last heartbeat; null if there is no session.
    pub stale_for_ms: Option<i64>,
}

impl Coordination {
    /// Removes claims whose session is missing, or silent for longer than the threshold.
    pub fn cleanup_orphaned_claims(&mut self, check: ProcessCheck) -> Result<OrphanedClaims, WorkerError> {
        let settings = self.settings;
        self.database.change(|transaction, now, events| {
            let mut claims = candidates(transaction, now, &settings)?;
            if check == ProcessCheck::Verify {
                let mut processes = Processes::new(settings);
                // Inside the transaction: no session can send a heartbeat between check and delete.
                claims.retain(|(claim, session)| match session {
                    None => true,
                    Some(session) => processes.of(&claim.session_id, session) == Process::Dead,
                });
            }
            let claims: Vec<OrphanedClaim> = claims.into_iter().map(|(claim, _)| claim).collect();
            for claim in &claims {
                delete(transaction, &claim.task_id)?;
                events.push(event(claim));
            }
            let count = claims.len() as u64;
            if count > 0 {
                events.push(Event::ClaimsCleanup { kind: "orphaned".into(), count, timestamp: millis(now) });
            }
            Ok(OrphanedClaims { count, claims })
        })
    }
}

fn event(claim: &OrphanedClaim) -> Event {
    Event::ClaimOrphaned {
        task_id: claim.task_id.clone(),
        session_id: claim.session_id.clone(),
        reason: claim.reason.as_str().into(),
        stale_for_ms: claim.stale_for_ms,
    }
}

/// What the row of a session says about its process.
struct SilentSession {
    last_heartbeat: i64,
    started_at: i64,
    pid: Option<i64>,
}

type OrphanCandidate = (OrphanedClaim, Option<SilentSession>);

/// Orphans by the specification's query. A claim's own heartbeat does not count here.
fn candidates(
    connection: &Connection,
    now: Moment,
    settings: &CoordinationSettings,
) -> rusqlite::Result<Vec<OrphanCandidate>> {
    let sql = "SELECT tc.task_id, tc.session_id, tc.claimed_at, s.last_heartbeat, s.started_at, s.pid
               FROM task_claims tc LEFT JOIN sessions s ON tc.session_id = s.id
               WHERE s.id IS NULL OR s.last_heartbeat < ?1
               ORDER BY tc.claimed_at, tc.task_id";
    let cutoff = millis(now.minus(settings.orphan_threshold));
    connection.prepare_cached(sql)?.query_map([cutoff], |row| candidate(row, now))?.collect()
}

fn candidate(row: &Row<'_>, now: Moment) -> rusqlite::Result<OrphanCandidate> {
    let session = match row.get(3)? {
        None => None,
        Some(last_heartbeat) => {
            Some(SilentSession { last_heartbeat, started_at: row.get(4)?, pid: row.get(5)? })
        }
    };
    let (reason, stale_for_ms) = match &session {
        None => (OrphanReason::SessionMissing, None),
        Some(silent) => (OrphanReason::SessionStale, Some(millis(now).saturating_sub(silent.last_heartbeat))),
    };
    let claim = OrphanedClaim {
        task_id: row.get(0)?,
        session_id: row.get(1)?,
        claimed_at: row.get(2)?,
        reason,
        stale_for_ms,
    };
    Ok((claim, session))
}

/// The state of the sessions' processes; each is looked up once.
struct Processes {
    machine: Machine,
    settings: CoordinationSettings,
    known: HashMap<String, Process>,
}

impl Processes {
    fn new(settings: CoordinationSettings) -> Processes {
        Processes { machine: Machine::here(), settings, known: HashMap::new() }
    }

    fn of(&mut self, session: &str, row: &SilentSession) -> Process {
        if let Some(known) = self.known.get(session) {
            return *known;
        }
        let at = |millis| match TimeUnit::UnixMs.read(&Value::Int(millis)) {
            Reading::At(moment) => Some(moment),
            Reading::Absent | Reading::Null | Reading::Bad(_) => None,
        };
        let pid = row.pid.map_or(Value::Null, Value::Int);
        let subject = ProcessSubject {
            pid: &pid,
            host: None,
            started_at: at(row.started_at),
            beat_at: at(row.last_heartbeat),
        };
        let process = self.machine.probe(&subject, Some(self.settings.holders_on)).process;
        self.known.insert(session.into(), process);
        process
    }
}
