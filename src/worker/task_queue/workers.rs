//! The registry of heartbeats, and the recovery of silent workers' tasks.

use rusqlite::{Transaction, params};
use serde::Serialize;

use super::super::{Event, WorkerError};
use super::log::{TaskEvent, write};
use super::task::text;
use super::{TaskQueue, WorkerId};
use crate::domain::time::{Moment, Span};

/// A worker that is silent for longer is stale and loses its tasks.
pub const STALE_AFTER: Span = Span::seconds(300);
/// A worker that sent a heartbeat within this time is active.
pub const ACTIVE_WITHIN: Span = Span::seconds(60);

/// What a worker reports with every heartbeat. An empty text and a pid of 0 are not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeartbeatInfo {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub pid: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    pub tasks_processed: u64,
}

/// Serde passes a reference.
fn is_zero(pid: &u32) -> bool {
    *pid == 0
}

impl HeartbeatInfo {
    /// The values of this process.
    pub fn here(version: &str, tasks_processed: u64) -> HeartbeatInfo {
        let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
        HeartbeatInfo { hostname, pid: std::process::id(), version: version.into(), tasks_processed }
    }
}

/// Whether a worker is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerPresence {
    Active,
    /// Silent for a while, but not long enough to lose its tasks.
    Quiet,
    Stale,
    /// It has signed off properly.
    Inactive,
}

/// An entry of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredWorker {
    pub id: String,
    pub presence: WorkerPresence,
    /// `None` if the registry has no time.
    pub last_seen_at: Option<Moment>,
}

/// A stale worker and the tasks that it lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleWorker {
    pub id: String,
    pub requeued: Vec<i64>,
}

impl StaleWorker {
    /// The event that it lost its tasks.
    pub(in crate::worker) fn orphaned(
        &self,
        seen: Option<Moment>,
        now: Moment,
    ) -> impl Iterator<Item = Event> + '_ {
        let stale_for_ms = seen.map(|seen| now.since(seen).as_millis());
        self.requeued.iter().map(move |task| Event::ClaimOrphaned {
            task_id: task.to_string(),
            session_id: self.id.clone(),
            reason: "session_stale".into(),
            stale_for_ms,
        })
    }
}

/// The event that tasks were requeued, if any were.
pub(in crate::worker) fn cleanup(stale: &[StaleWorker], now: Moment) -> Option<Event> {
    let count = stale.iter().map(|worker| worker.requeued.len() as u64).sum();
    (count > 0).then(|| Event::ClaimsCleanup { kind: "orphaned".into(), count, timestamp: millis(now) })
}

impl TaskQueue {
    /// Sends a heartbeat. The first one registers the worker; a stale worker becomes active again.
    pub fn heartbeat(&mut self, worker: &WorkerId, vitals: &HeartbeatInfo) -> Result<(), WorkerError> {
        let metadata =
            serde_json::to_string(vitals).map_err(|error| WorkerError::Invalid(error.to_string()))?;
        self.database.change(|transaction, now, events| {
            let known = "SELECT EXISTS (SELECT 1 FROM worker_heartbeats WHERE worker_id = ?1)";
            let known: bool =
                transaction.prepare_cached(known)?.query_row([worker.as_str()], |row| row.get(0))?;
            let sql = "INSERT INTO worker_heartbeats (worker_id, status, last_seen_at, metadata)
                       VALUES (?1, 'active', ?2, ?3)
                       ON CONFLICT (worker_id) DO UPDATE SET status = 'active',
                         last_seen_at = excluded.last_seen_at, metadata = excluded.metadata";
            transaction.prepare_cached(sql)?.execute(params![worker.as_str(), text(now), metadata])?;
            events.push(reported(worker, vitals, known, now));
            Ok(())
        })
    }

    /// Signs a worker off; `false` if it is not registered. Tasks that it still holds are requeued once it has been
    /// silent long enough.
    pub fn sign_off(&mut self, worker: &WorkerId) -> Result<bool, WorkerError> {
        self.database.change(|transaction, _, _| {
            let sql = "UPDATE worker_heartbeats SET status = 'inactive' WHERE worker_id = ?1";
            Ok(transaction.prepare_cached(sql)?.execute([worker.as_str()])? > 0)
        })
    }

    /// All registered workers, by name.
    pub fn workers(&self) -> Result<Vec<RegisteredWorker>, WorkerError> {
        self.database.look(|connection, now| {
            let sql = "SELECT worker_id, status, last_seen_at FROM worker_heartbeats ORDER BY worker_id";
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_map([], |row| {
                let (status, seen): (String, String) = (row.get(1)?, row.get(2)?);
                let last_seen_at = Moment::parse(&seen);
                let presence = presence(&status, last_seen_at, now);
                Ok(RegisteredWorker { id: row.get(0)?, presence, last_seen_at })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Requeues the tasks of workers that were last seen more than `after` ago (see [`STALE_AFTER`]), without
    /// counting an attempt, and marks those workers as stale.
    pub fn check_stale_workers(&mut self, after: Span) -> Result<Vec<StaleWorker>, WorkerError> {
        self.database.change(|transaction, now, events| {
            // In whole seconds, as the registry stores them: a worker is not stale yet at exactly `after`.
            let cutoff = text(now.floor(Span::seconds(1)).minus(after));
            let mut stale = Vec::new();
            for (id, seen) in silent(transaction, &cutoff)? {
                let requeued = requeue(transaction, &id, now)?;
                let mark = "UPDATE worker_heartbeats SET status = 'stale' WHERE worker_id = ?1";
                transaction.prepare_cached(mark)?.execute([&id])?;
                let worker = StaleWorker { id, requeued };
                events.extend(worker.orphaned(Moment::parse(&seen), now));
                stale.push(worker);
            }
            events.extend(cleanup(&stale, now));
            Ok(stale)
        })
    }
}

/// The event that a worker registered, or sent a heartbeat.
pub(in crate::worker) fn reported(
    worker: &WorkerId,
    vitals: &HeartbeatInfo,
    known: bool,
    now: Moment,
) -> Event {
    let (session_id, timestamp) = (worker.to_string(), millis(now));
    match known {
        true => Event::SessionHeartbeat { session_id, timestamp },
        false => Event::SessionRegistered { session_id, pid: Some(i64::from(vitals.pid)), timestamp },
    }
}

/// Workers not seen since `cutoff` that still count as active or still have tasks.
fn silent(transaction: &Transaction<'_>, cutoff: &str) -> Result<Vec<(String, String)>, WorkerError> {
    let sql = "SELECT w.worker_id, w.last_seen_at FROM worker_heartbeats w
               WHERE w.last_seen_at < ?1 AND (w.status = 'active' OR EXISTS (
                 SELECT 1 FROM tasks t WHERE t.worker_id = w.worker_id AND t.status = 'claimed'))
               ORDER BY w.worker_id";
    let mut statement = transaction.prepare_cached(sql)?;
    let found = statement.query_map([cutoff], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn requeue(transaction: &Transaction<'_>, worker: &str, now: Moment) -> Result<Vec<i64>, WorkerError> {
    let sql = "UPDATE tasks SET status = 'pending', worker_id = NULL, claimed_at = NULL, updated_at = ?2
               WHERE worker_id = ?1 AND status = 'claimed' RETURNING id";
    let mut statement = transaction.prepare_cached(sql)?;
    let found = statement.query_map(params![worker, text(now)], |row| row.get(0))?;
    let mut tasks: Vec<i64> = found.collect::<Result<_, _>>()?;
    tasks.sort_unstable();
    for task in &tasks {
        write(transaction, *task, TaskEvent::Requeued, Some(worker), "Worker is stale; task requeued", now)?;
    }
    Ok(tasks)
}

pub(in crate::worker) fn presence(status: &str, seen: Option<Moment>, now: Moment) -> WorkerPresence {
    let silent = seen.map_or(STALE_AFTER, |seen| now.floor(Span::seconds(1)).since(seen));
    match status {
        "inactive" => WorkerPresence::Inactive,
        "stale" => WorkerPresence::Stale,
        _ if silent > STALE_AFTER => WorkerPresence::Stale,
        _ if silent > ACTIVE_WITHIN => WorkerPresence::Quiet,
        _ => WorkerPresence::Active,
    }
}

pub(in crate::worker) fn millis(moment: Moment) -> i64 {
    moment.micros().div_euclid(1_000)
}
