//! Where the work comes from, and what the systems do for themselves in the long run.

use serde_json::json;
use std::time::{Duration, Instant};

use super::dice::Dice;
use super::error::DemoError;
use super::ground::Ground;
use super::look::Look;
use super::parent_guard::{ParentGuard, Rest};
use super::thresholds::{JOB_KINDS, MERGE};
use crate::domain::time::{Moment, Span};
use crate::worker::coordination::{Coordination, Settings};
use crate::worker::executor_jobs::{self, NewJob};
use crate::worker::finalization::{self, StepEnd};
use crate::worker::merge_queue::{MergeQueue, NewEntry};
use crate::worker::task_queue::{self, NewTask};
use crate::worker::{Clock, Database, WorkerError};

/// How much waits in each queue.
const WAITING: i64 = 5;
const PACE: Duration = Duration::from_millis(700);
/// How often the systems' own recovery looks, and how long it lets things be: long enough that most
/// of them are an operator's to find, short enough that the healthy stay the most.
const RECOVERY: Duration = Duration::from_secs(3);
const GIVEN_UP: Span = Span::seconds(45);
const TASK_TYPES: [&str; 4] = ["send_invoice", "render_report", "resize_image", "sync_crm"];

/// Brings work as it is used up.
pub struct Feeder {
    look: Look,
    jobs: Box<dyn executor_jobs::Operations>,
    finalization: Box<dyn finalization::Operations>,
    tasks: Box<dyn task_queue::Operations>,
    on_files: Option<OnFiles>,
    dice: Dice,
}

/// The systems that are on files only.
struct OnFiles {
    coordination: Coordination,
    merges: MergeQueue,
}

/// Feeds until the parent is gone.
pub fn run(ground: &Ground, leash: &ParentGuard, seed: u64) -> Result<(), DemoError> {
    let mut feeder = Feeder::open(ground, seed)?;
    let mut recovered_at = Instant::now();
    while leash.rest(PACE) == Rest::Over {
        let recovers = recovered_at.elapsed() >= RECOVERY;
        let done = feeder.feed().and_then(|()| if recovers { feeder.recover() } else { Ok(()) });
        if recovers {
            recovered_at = Instant::now();
        }
        match done {
            Ok(()) | Err(WorkerError::Busy { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Feeder {
    pub fn open(ground: &Ground, seed: u64) -> Result<Feeder, DemoError> {
        let ttls = JOB_KINDS.map(|kind| (kind, GIVEN_UP));
        let on_files = match ground {
            Ground::Server(_) => None,
            Ground::File(path) => {
                let patient = Settings { stale_session_threshold: GIVEN_UP, ..Settings::default() };
                let seconds = i64::try_from(MERGE.as_secs()).unwrap_or(i64::MAX);
                Some(OnFiles {
                    coordination: Coordination::with_settings(Database::open(path)?, patient),
                    merges: MergeQueue::new(Database::open(path)?).with_lock_timeout(seconds)?,
                })
            }
        };
        Ok(Feeder {
            look: ground.look()?,
            jobs: ground.jobs(&ttls)?,
            finalization: ground.finalization()?,
            tasks: ground.tasks()?,
            on_files,
            dice: Dice::new(seed),
        })
    }

    /// The first work, before anybody is there to do it.
    pub fn stock(&mut self) -> Result<(), WorkerError> {
        for kind in TASK_TYPES {
            self.tasks.register_type(kind, "1", None)?;
        }
        for _ in 0..WAITING {
            self.feed()?;
        }
        Ok(())
    }

    /// One more of each where there is too little; two of what is used up faster.
    fn feed(&mut self) -> Result<(), WorkerError> {
        for _ in 0..2 {
            if self.count("SELECT count(*) FROM executor_jobs WHERE status = 'queued'")? < WAITING {
                self.add_job()?;
            }
            if self.count("SELECT count(*) FROM tasks WHERE status = 'pending'")? < WAITING {
                self.add_task()?;
            }
        }
        if self.count("SELECT count(*) FROM tasker_tasks WHERE claimed_by IS NULL AND NOT complete")?
            < WAITING
        {
            self.add_order()?;
        }
        if self.on_files.is_some()
            && self.count("SELECT count(*) FROM merge_queue WHERE status = 'pending'")? < WAITING
        {
            self.add_merge()?;
        }
        Ok(())
    }

    fn add_job(&mut self) -> Result<(), WorkerError> {
        let number = 8_121 + self.count("SELECT count(*) FROM executor_jobs")?;
        let kind = self.dice.pick(&JOB_KINDS).copied().unwrap_or("run_tsa");
        let job = NewJob::of(kind, json!({"document": format!("doc-{number}")}));
        self.jobs.enqueue(&job.deduped_by(&format!("{kind}:doc-{number}")).at_most(4)).map(drop)
    }

    fn add_task(&mut self) -> Result<(), WorkerError> {
        let number = 2_041 + self.count("SELECT count(*) FROM tasks")?;
        let task_type = self.dice.pick(&TASK_TYPES).copied().unwrap_or("send_invoice");
        let params = json!({"invoice": format!("invoice-{number}")});
        self.tasks.enqueue(&NewTask { params, ..NewTask::of(task_type) }).map(drop)
    }

    fn add_order(&mut self) -> Result<(), WorkerError> {
        let number = 4_127 + self.count("SELECT count(*) FROM tasker_tasks")?;
        let (order, step) = match self.look {
            Look::File(_) => (format!("order-{number}"), format!("order-{number}-payment")),
            // There they have no names.
            Look::Server { .. } => (uuid::Uuid::now_v7().to_string(), uuid::Uuid::now_v7().to_string()),
        };
        self.finalization.add_task(&order, 0)?;
        self.finalization.add_step(&order, &step)?;
        let end = if self.dice.one_in(8) { StepEnd::Failed } else { StepEnd::Completed };
        self.finalization.end_step(&step, end).map(drop)
    }

    fn add_merge(&mut self) -> Result<(), WorkerError> {
        const TOPICS: [&str; 5] = ["billing", "search", "login", "ledger", "reports"];
        let number = 142 + self.count("SELECT count(*) FROM merge_queue")?;
        let topic = self.dice.pick(&TOPICS).copied().unwrap_or("billing");
        let entry = NewEntry::of(&format!("feature/{topic}-{number}")).for_bead(&format!("bd-{number}"));
        self.on_files.as_mut().map_or(Ok(()), |systems| systems.merges.enqueue(&entry).map(drop))
    }

    /// What each system would do by itself, later than usual.
    fn recover(&mut self) -> Result<(), WorkerError> {
        self.jobs.reclaim_stale_jobs()?;
        self.tasks.check_stale_workers(GIVEN_UP)?;
        let (Some(systems), Look::File(look)) = (&mut self.on_files, &self.look) else { return Ok(()) };
        systems.coordination.cleanup_stale_sessions()?;
        let now = Clock::system().now();
        let failed = "SELECT id FROM merge_queue WHERE status = 'failed_retryable' AND state_changed_at < ?1";
        for entry in numbers(look, failed, now)? {
            systems.merges.retry_entry(entry)?;
        }
        // This system has no way back from the later states; their authors give up in the end.
        let stuck = "SELECT id FROM merge_queue WHERE status IN ('rebasing', 'testing', 'ready_to_merge')
                     AND state_changed_at < ?1";
        for entry in numbers(look, stuck, now.minus(GIVEN_UP))? {
            systems.merges.cancel_entry(entry)?;
        }
        Ok(())
    }

    fn count(&mut self, sql: &str) -> Result<i64, WorkerError> {
        self.look.count(sql)
    }
}

fn numbers(look: &rusqlite::Connection, sql: &str, before: Moment) -> Result<Vec<i64>, WorkerError> {
    let mut statement = look.prepare_cached(sql)?;
    let found = statement.query_map([before.micros() / 1_000_000], |row| row.get(0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}
