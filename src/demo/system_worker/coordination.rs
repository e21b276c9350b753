//! A session that claims recurring tasks and now and then needs a lock.

use rusqlite::{Connection, params};
use serde_json::json;
use std::time::Duration;

use super::{LEFT_ALONE, Renewed, SystemWorker, span};
use crate::demo::dice::Dice;
use crate::demo::life::Character;
use crate::demo::system_worker::Ending;
use crate::demo::temperament::WorkerFate;
use crate::demo::thresholds::{CLAIM, LONG_CLAIM};
use crate::demo::worker_slot::serving;
use crate::reference::System;
use crate::worker::coordination::{
    AgentType, ClaimOptions, Claiming, Coordination, Locking, Refreshed, Registration,
};
use crate::worker::{Clock, Database, WorkerError};

/// Tasks that come up again and again.
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
pub enum Held {
    Task(String),
    Lock(String),
}

pub struct Agent {
    coordination: Coordination,
    look: Connection,
    registration: Registration,
    lease: Duration,
    agent_type: AgentType,
    tasks: Vec<String>,
    resources: Vec<String>,
}

impl Agent {
    pub fn new(database: Database, look: Connection, character: &Character) -> Agent {
        let (lease, agent_type) = match character.post.temperament.fate() {
            WorkerFate::WorksOn => (CLAIM, AgentType::Cli),
            WorkerFate::Hangs | WorkerFate::Crashes => (LONG_CLAIM, AgentType::Autonomous),
        };
        let session = format!("session-{:04x}-{}", character.seed & 0xffff, std::process::id());
        let registration = Registration {
            agent_type: Some(agent_type.as_str().into()),
            metadata: Some(json!({"post": character.number})),
            ..Registration::new(session, "/srv/billing")
        };
        let agents = serving(System::Coordination, character.fleet);
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

    /// Those that nobody holds, or somebody who let them expire long ago.
    fn free(&self, sql: &str, all: &[String]) -> Result<Vec<String>, WorkerError> {
        let since = Clock::system().now().minus(LEFT_ALONE).micros() / 1_000;
        let mut statement = self.look.prepare_cached(sql)?;
        let held = statement.query_map(params![since], |row| row.get(0))?;
        let held: Vec<String> = held.collect::<rusqlite::Result<_>>()?;
        Ok(all.iter().filter(|name| !held.contains(name)).cloned().collect())
    }

    fn take_lock(&mut self, dice: &mut Dice) -> Result<Option<Held>, WorkerError> {
        let free = self.free("SELECT resource FROM locks WHERE expires_at > ?1", &self.resources)?;
        let Some(resource) = dice.pick(&free) else { return Ok(None) };
        let session = &self.registration.session_id;
        let locking = self.coordination.acquire_lock(resource, session, Some(span(self.lease)))?;
        match locking {
            Locking::Acquired { .. } | Locking::TookOver { .. } => Ok(Some(Held::Lock(resource.clone()))),
            Locking::Extended { .. } | Locking::AlreadyLocked { .. } | Locking::UnknownSession => Ok(None),
        }
    }

    fn take_task(&mut self, dice: &mut Dice) -> Result<Option<Held>, WorkerError> {
        let free = self.free("SELECT task_id FROM task_claims WHERE expires_at > ?1", &self.tasks)?;
        let Some(task) = dice.pick(&free) else { return Ok(None) };
        let options = ClaimOptions {
            ttl: Some(span(self.lease)),
            agent_type: self.agent_type,
            ..ClaimOptions::default()
        };
        match self.coordination.claim_task(task, &self.registration.session_id, &options)? {
            Claiming::Claimed { .. } | Claiming::TookOver { .. } => Ok(Some(Held::Task(task.clone()))),
            Claiming::Extended { .. }
            | Claiming::AlreadyClaimed { .. }
            | Claiming::AncestorClaimed { .. }
            | Claiming::UnknownSession => Ok(None),
        }
    }
}

/// Hardly more than the sessions can hold, so that one that is given back is soon taken by another.
fn tasks(agents: usize) -> Vec<String> {
    let name = |number: usize| match (TASKS[number % TASKS.len()], number / TASKS.len()) {
        (task, 0) => task.to_owned(),
        (task, round) => format!("{task}-{}", round + 1),
    };
    (0..agents * 3 + 1).map(name).collect()
}

impl SystemWorker for Agent {
    type Task = Held;

    fn report(&mut self) -> Result<(), WorkerError> {
        // Who was cleaned up as silent starts anew.
        if !self.coordination.heartbeat(&self.registration.session_id)? {
            self.coordination.register(&self.registration)?;
        }
        Ok(())
    }

    fn take(&mut self, dice: &mut Dice) -> Result<Option<Held>, WorkerError> {
        if dice.one_in(4) { self.take_lock(dice) } else { self.take_task(dice) }
    }

    fn lease(&self, _: &Held) -> Duration {
        self.lease
    }

    fn renew(&mut self, held: &mut Held) -> Result<Renewed, WorkerError> {
        let (session, time) = (&self.registration.session_id, Some(span(self.lease)));
        let refreshed = match held {
            Held::Task(task) => self.coordination.refresh_claim(task, session, time)?,
            Held::Lock(resource) => self.coordination.refresh_lock(resource, session, time)?,
        };
        Ok(match refreshed {
            Refreshed::Refreshed { .. } => Renewed::Held,
            Refreshed::Expired { .. } | Refreshed::NotOwner { .. } | Refreshed::NotFound => Renewed::Lost,
        })
    }

    fn finish(&mut self, held: Held, ending: Ending) -> Result<(), WorkerError> {
        let session = &self.registration.session_id;
        let reason = match ending {
            Ending::Done => "completed",
            Ending::Failed | Ending::Hopeless => "failed",
        };
        match held {
            Held::Task(task) => self.coordination.release_claim(&task, session, reason)?,
            Held::Lock(resource) => self.coordination.release_lock(&resource, session)?,
        };
        Ok(())
    }
}
