//! Who works: the registry of heartbeats, and what becomes of the silent.

use rusqlite::{Transaction, params};
use serde::Serialize;

use super::super::{Event, WorkerError};
use super::log::{What, write};
use super::task::text;
use super::{TaskQueue, WorkerId};
use crate::domain::time::{Moment, Span};

/// Silent for longer than this, a worker is stale and loses its tasks.
pub const STALE_AFTER: Span = Span::seconds(300);
/// Heard of within this, a worker is active.
pub const ACTIVE_WITHIN: Span = Span::seconds(60);

/// What a worker says of itself with every heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Vitals {
    pub hostname: String,
    pub pid: u32,
    pub version: String,
    pub tasks_processed: u64,
}

impl Vitals {
    /// Those of this process.
    pub fn here(version: &str, tasks_processed: u64) -> Vitals {
        let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Vitals { hostname, pid: std::process::id(), version: version.into(), tasks_processed }
    }
}

/// How present a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Active,
    /// Not heard of for a while, but not for so long that it would lose its tasks.
    Quiet,
    Stale,
    /// It has signed off.
    Inactive,
}

/// An entry of the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    pub id: String,
    pub presence: Presence,
    /// Absent where the registry holds no time.
    pub last_seen_at: Option<Moment>,
}

/// A worker that was found stale, and the tasks it lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleWorker {
    pub id: String,
    pub requeued: Vec<i64>,
}

impl StaleWorker {
    /// The word that it lost its tasks.
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

/// The word that tasks were given back, if any were.
pub(in crate::worker) fn cleanup(stale: &[StaleWorker], now: Moment) -> Option<Event> {
    let count = stale.iter().map(|worker| worker.requeued.len() as u64).sum();
    (count > 0).then(|| Event::ClaimsCleanup { kind: "orphaned".into(), count, timestamp: millis(now) })
}

impl TaskQueue {
    /// Reports in; the first time makes the worker known, and one that was stale is active again.
    pub fn heartbeat(&mut self, worker: &WorkerId, vitals: &Vitals) -> Result<(), WorkerError> {
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

    /// Says that a worker has gone home; `false` if nobody knows it. What it still has is given back
    /// when its silence has lasted long enough.
    pub fn sign_off(&mut self, worker: &WorkerId) -> Result<bool, WorkerError> {
        self.database.change(|transaction, _, _| {
            let sql = "UPDATE worker_heartbeats SET status = 'inactive' WHERE worker_id = ?1";
            Ok(transaction.prepare_cached(sql)?.execute([worker.as_str()])? > 0)
        })
    }

    /// Everyone in the registry, by name.
    pub fn workers(&self) -> Result<Vec<Worker>, WorkerError> {
        self.database.look(|connection, now| {
            let sql = "SELECT worker_id, status, last_seen_at FROM worker_heartbeats ORDER BY worker_id";
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_map([], |row| {
                let (status, seen): (String, String) = (row.get(1)?, row.get(2)?);
                let last_seen_at = Moment::parse(&seen);
                let presence = presence(&status, last_seen_at, now);
                Ok(Worker { id: row.get(0)?, presence, last_seen_at })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Gives the tasks of workers that were last seen more than `after` ago (see [`STALE_AFTER`]) back
    /// to the queue, with their attempts as they were, and marks those workers stale.
    pub fn check_stale_workers(&mut self, after: Span) -> Result<Vec<StaleWorker>, WorkerError> {
        self.database.change(|transaction, now, events| {
            // In whole seconds, as the registry counts: at exactly `after` a worker is not stale yet.
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

/// The word that a worker reported in, for the first time or again.
pub(in crate::worker) fn reported(worker: &WorkerId, vitals: &Vitals, known: bool, now: Moment) -> Event {
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
        write(transaction, *task, What::Requeued, Some(worker), "Worker is stale; task requeued", now)?;
    }
    Ok(tasks)
}

pub(in crate::worker) fn presence(status: &str, seen: Option<Moment>, now: Moment) -> Presence {
    let silent = seen.map_or(STALE_AFTER, |seen| now.floor(Span::seconds(1)).since(seen));
    match status {
        "inactive" => Presence::Inactive,
        "stale" => Presence::Stale,
        _ if silent > STALE_AFTER => Presence::Stale,
        _ if silent > ACTIVE_WITHIN => Presence::Quiet,
        _ => Presence::Active,
    }
}

pub(in crate::worker) fn millis(moment: Moment) -> i64 {
    moment.micros().div_euclid(1_000)
}
