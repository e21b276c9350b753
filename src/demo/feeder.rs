//! Enqueues work for the fleet, and runs the slow recovery of the systems themselves.

use serde_json::json;
use std::time::{Duration, Instant};

use super::demo_database::DemoDatabase;
use super::error::DemoError;
use super::parent_guard::{ParentGuard, Wait};
use super::read_connection::ReadConnection;
use super::seeded_rng::SeededRng;
use super::thresholds::{JOB_KINDS, MERGE};
use crate::domain::time::{Moment, Span};
use crate::worker::coordination::{Coordination, CoordinationSettings};
use crate::worker::executor_jobs::{self, NewJob};
use crate::worker::finalization::{self, StepEnd};
use crate::worker::merge_queue::{MergeQueue, NewEntry};
use crate::worker::task_queue::{self, NewTask};
use crate::worker::{Clock, Database, WorkerError};

/// How many tasks wait in each queue.
const WAITING: i64 = 5;
const PACE: Duration = Duration::from_millis(700);
/// How often the systems' own recovery runs, and how long it waits: long enough that an operator finds most of the
/// trouble first, short enough that most claims stay healthy.
const RECOVERY: Duration = Duration::from_secs(3);
const GIVEN_UP: Span = Span::seconds(45);
const TASK_TYPES: [&str; 4] = ["send_invoice", "render_report", "resize_image", "sync_crm"];

/// Enqueues work as workers take it.
pub(super) struct Feeder {
    look: ReadConnection,
    jobs: Box<dyn executor_jobs::Operations>,
    finalization: Box<dyn finalization::Operations>,
    tasks: Box<dyn task_queue::Operations>,
    on_files: Option<FileOnlySystems>,
    rng: SeededRng,
}

/// The systems that exist on SQLite only.
struct FileOnlySystems {
    coordination: Coordination,
    merges: MergeQueue,
}

/// Enqueues work until the parent process is gone.
pub(super) fn run(database: &DemoDatabase, guard: &ParentGuard, seed: u64) -> Result<(), DemoError> {
    let mut feeder = Feeder::open(database, seed)?;
    let mut recovered_at = Instant::now();
    while guard.wait(PACE) == Wait::TimeOver {
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
    pub(super) fn open(database: &DemoDatabase, seed: u64) -> Result<Feeder, DemoError> {
        let ttls = JOB_KINDS.map(|kind| (kind, GIVEN_UP));
        let on_files = match database {
            #[cfg(feature = "postgres")]
            DemoDatabase::Server(_) => None,
            DemoDatabase::File(path) => {
                let patient = CoordinationSettings {
                    stale_session_threshold: GIVEN_UP,
                    ..CoordinationSettings::default()
                };
                let seconds = i64::try_from(MERGE.as_secs()).unwrap_or(i64::MAX);
                Some(FileOnlySystems {
                    coordination: Coordination::with_settings(Database::open(path)?, patient),
                    merges: MergeQueue::new(Database::open(path)?).with_lock_timeout(seconds)?,
                })
            }
        };
        Ok(Feeder {
            look: database.look()?,
            jobs: database.jobs(&ttls)?,
            finalization: database.finalization()?,
            tasks: database.tasks()?,
            on_files,
            rng: SeededRng::new(seed),
        })
    }

    /// Enqueues the first work, before the workers start.
    pub(super) fn stock(&mut self) -> Result<(), WorkerError> {
        for kind in TASK_TYPES {
            self.tasks.register_type(kind, "1", None)?;
        }
        for _ in 0..WAITING {
            self.feed()?;
        }
        Ok(())
    }

    /// Enqueues one more of each kind that is running low; two of the kinds that are used up faster.
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
        let kind = self.rng.pick(&JOB_KINDS).copied().unwrap_or("run_tsa");
        let job = NewJob::of(kind, json!({"document": format!("doc-{number}")}));
        self.jobs.enqueue(&job.deduped_by(&format!("{kind}:doc-{number}")).at_most(4)).map(drop)
    }

    fn add_task(&mut self) -> Result<(), WorkerError> {
        let number = 2_041 + self.count("SELECT count(*) FROM tasks")?;
        let task_type = self.rng.pick(&TASK_TYPES).copied().unwrap_or("send_invoice");
        let params = json!({"invoice": format!("invoice-{number}")});
        self.tasks.enqueue(&NewTask { params, ..NewTask::of(task_type) }).map(drop)
    }

    fn add_order(&mut self) -> Result<(), WorkerError> {
        let number = 4_127 + self.count("SELECT count(*) FROM tasker_tasks")?;
        let (order, step) = match self.look {
            ReadConnection::File(_) => (format!("order-{number}"), format!("order-{number}-payment")),
            // On PostgreSQL their ids are UUIDs.
            #[cfg(feature = "postgres")]
            ReadConnection::Server { .. } => {
                (uuid::Uuid::now_v7().to_string(), uuid::Uuid::now_v7().to_string())
            }
        };
        self.finalization.add_task(&order, 0)?;
        self.finalization.add_step(&order, &step)?;
        let end = if self.rng.one_in(8) { StepEnd::Failed } else { StepEnd::Completed };
        self.finalization.end_step(&step, end).map(drop)
    }

    fn add_merge(&mut self) -> Result<(), WorkerError> {
        const TOPICS: [&str; 5] = ["billing", "search", "login", "ledger", "reports"];
        let number = 142 + self.count("SELECT count(*) FROM merge_queue")?;
        let topic = self.rng.pick(&TOPICS).copied().unwrap_or("billing");
        let entry = NewEntry::of(&format!("feature/{topic}-{number}")).for_bead(&format!("bd-{number}"));
        self.on_files.as_mut().map_or(Ok(()), |systems| systems.merges.enqueue(&entry).map(drop))
    }

    /// What each system does automatically, later than usual.
    fn recover(&mut self) -> Result<(), WorkerError> {
        self.jobs.reclaim_stale_jobs()?;
        self.tasks.check_stale_workers(GIVEN_UP)?;
        let (Some(systems), ReadConnection::File(look)) = (&mut self.on_files, &self.look) else {
            return Ok(());
        };
        systems.coordination.cleanup_stale_sessions()?;
        let now = Clock::system().now();
        let failed = "SELECT id FROM merge_queue WHERE status = 'failed_retryable' AND state_changed_at < ?1";
        for entry in numbers(look, failed, now)? {
            systems.merges.retry_entry(entry)?;
        }
        // This system cannot go back from the later states; such entries are cancelled in the end.
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
