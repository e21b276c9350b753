//! A session that claims recurring tasks and sometimes takes a lock.

use rusqlite::{Connection, params};
use serde_json::json;
use std::time::Duration;

use super::{LEFT_ALONE, Renewed, SystemWorker, span};
use crate::demo::behaviour::FailureMode;
use crate::demo::seeded_rng::SeededRng;
use crate::demo::system_worker::TaskOutcome;
use crate::demo::thresholds::{CLAIM, LONG_CLAIM};
use crate::demo::worker_loop::WorkerSpec;
use crate::demo::worker_slot::serving;
use crate::reference::System;
use crate::worker::coordination::{
    AgentType, ClaimOptions, Coordination, CoordinationClaim, LockOutcome, RefreshOutcome, Registration,
};
use crate::worker::{Clock, Database, WorkerError};

/// Recurring tasks.
const TASKS: [&str; 10] = [
    "invoice-2041",
    "render-report-17",
    "sync-tenant-acme",
    "reindex-shard-3",
    "export-ledger-q3",
    "rotate-keys-eu",
    "invoice-2057",
    "warm-cache-home",
    "prune-sessions",
    "nightly-backup-2",
];
const RESOURCES: [&str; 3] = ["deploy/production", "schema-migration", "cache/product-feed"];

/// What a session holds.
#[derive(Debug)]
pub(super) enum HeldItem {
    Task(String),
    Lock(String),
}

pub(super) struct Agent {
    coordination: Coordination,
    look: Connection,
    registration: Registration,
    lease: Duration,
    agent_type: AgentType,
    tasks: Vec<String>,
    resources: Vec<String>,
}

impl Agent {
    pub(super) fn new(database: Database, look: Connection, spec: &WorkerSpec) -> Agent {
        let (lease, agent_type) = match spec.slot.behaviour.failure_mode() {
            FailureMode::WorksOn => (CLAIM, AgentType::Cli),
            FailureMode::Hangs | FailureMode::Crashes => (LONG_CLAIM, AgentType::Autonomous),
        };
        let session = format!("session-{:04x}-{}", spec.seed & 0xffff, std::process::id());
        let registration = Registration {
            agent_type: Some(agent_type.as_str().into()),
            metadata: Some(json!({"slot": spec.number})),
            ..Registration::new(session, "/srv/billing")
        };
        let agents = serving(System::Coordination, spec.fleet);
        Agent {
            coordination: Coordination::new(database),
            look,
            registration,
            lease,
            agent_type,
            tasks: tasks(agents),
            resources: RESOURCES.map(String::from).into(),
        }
    }

    /// The names that nobody holds, or whose claim expired long ago.
    fn free(&self, sql: &str, all: &[String]) -> Result<Vec<String>, WorkerError> {
        let since = Clock::system().now().minus(LEFT_ALONE).micros() / 1_000;
        let mut statement = self.look.prepare_cached(sql)?;
        let held = statement.query_map(params![since], |row| row.get(0))?;
        let held: Vec<String> = held.collect::<rusqlite::Result<_>>()?;
        Ok(all.iter().filter(|name| !held.contains(name)).cloned().collect())
    }

    fn take_lock(&mut self, rng: &mut SeededRng) -> Result<Option<HeldItem>, WorkerError> {
        let free = self.free("SELECT resource FROM locks WHERE expires_at > ?1", &self.resources)?;
        let Some(resource) = rng.pick(&free) else { return Ok(None) };
        let session = &self.registration.session_id;
        let locking = self.coordination.acquire_lock(resource, session, Some(span(self.lease)))?;
        match locking {
            LockOutcome::Acquired { .. } | LockOutcome::TookOver { .. } => {
                Ok(Some(HeldItem::Lock(resource.clone())))
            }
            LockOutcome::Extended { .. }
            | LockOutcome::AlreadyLocked { .. }
            | LockOutcome::UnknownSession => Ok(None),
        }
    }

    fn take_task(&mut self, rng: &mut SeededRng) -> Result<Option<HeldItem>, WorkerError> {
        let free = self.free("SELECT task_id FROM task_claims WHERE expires_at > ?1", &self.tasks)?;
        let Some(task) = rng.pick(&free) else { return Ok(None) };
        let options = ClaimOptions {
            ttl: Some(span(self.lease)),
            agent_type: self.agent_type,
            ..ClaimOptions::default()
        };
        match self.coordination.claim_task(task, &self.registration.session_id, &options)? {
            CoordinationClaim::Claimed { .. } | CoordinationClaim::TookOver { .. } => {
                Ok(Some(HeldItem::Task(task.clone())))
            }
            CoordinationClaim::Extended { .. }
            | CoordinationClaim::AlreadyClaimed { .. }
            | CoordinationClaim::AncestorClaimed { .. }
            | CoordinationClaim::UnknownSession => Ok(None),
        }
    }
}

/// Barely more tasks than the sessions can hold, so that a released task is soon claimed again.
fn tasks(agents: usize) -> Vec<String> {
    let name = |number: usize| match (TASKS[number % TASKS.len()], number / TASKS.len()) {
        (task, 0) => task.to_owned(),
        (task, round) => format!("{task}-{}", round + 1),
    };
    (0..agents * 3 + 1).map(name).collect()
}

impl SystemWorker for Agent {
    type Task = HeldItem;

    fn report(&mut self) -> Result<(), WorkerError> {
        // A session that was cleaned up as silent registers again.
        if !self.coordination.heartbeat(&self.registration.session_id)? {
            self.coordination.register(&self.registration)?;
        }
        Ok(())
    }

    fn take(&mut self, rng: &mut SeededRng) -> Result<Option<HeldItem>, WorkerError> {
        if rng.one_in(4) { self.take_lock(rng) } else { self.take_task(rng) }
    }

    fn lease(&self, _: &HeldItem) -> Duration {
        self.lease
    }

    fn renew(&mut self, held: &mut HeldItem) -> Result<Renewed, WorkerError> {
        let (session, time) = (&self.registration.session_id, Some(span(self.lease)));
        let refreshed = match held {
            HeldItem::Task(task) => self.coordination.refresh_claim(task, session, time)?,
            HeldItem::Lock(resource) => self.coordination.refresh_lock(resource, session, time)?,
        };
        Ok(match refreshed {
            RefreshOutcome::Refreshed { .. } => Renewed::Held,
            RefreshOutcome::Expired { .. } | RefreshOutcome::NotOwner { .. } | RefreshOutcome::NotFound => {
                Renewed::Lost
            }
        })
    }

    fn finish(&mut self, held: HeldItem, ending: TaskOutcome) -> Result<(), WorkerError> {
        let session = &self.registration.session_id;
        let reason = match ending {
            TaskOutcome::Done => "completed",
            TaskOutcome::Failed | TaskOutcome::FailedForGood => "failed",
        };
        match held {
            HeldItem::Task(task) => self.coordination.release_claim(&task, session, reason)?,
            HeldItem::Lock(resource) => self.coordination.release_lock(&resource, session)?,
        };
        Ok(())
    }
}
