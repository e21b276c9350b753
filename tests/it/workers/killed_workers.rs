//! Workers killed by SIGKILL at any moment while recovery runs: whatever they were doing, every task is
//! done exactly once, or dead with its reason.
//!
//! Triggers write a ledger in the very transaction that calls a task done, apart from what the library
//! records itself.

#![cfg(target_os = "linux")]

#[path = "merge_queue/invariants.rs"]
#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "the one invariant that needs a lock does not hold for the killed"
)]
mod invariants;
mod worker;

use crate::support::Ending;
use claimtop::domain::time::Span;
use claimtop::reference::{System, install};
use claimtop::worker::executor_jobs::{ExecutorJobs, NewJob};
use claimtop::worker::merge_queue::{FailureKind, MergeQueue, NewEntry, Status};
use claimtop::worker::task_queue::{NewTask, TaskQueue};
use claimtop::worker::{Database, WorkerError};
use rusqlite::Connection;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, park_timeout};
use std::time::{Duration, Instant};

use crate::support::command;
use crate::support::engine::is_fast;
use invariants::assert_invariants;
use worker::start;

const ROLES: [&str; 3] = ["jobs", "tasks", "merges"];
const KINDS: [&str; 2] = ["run_tsa", "build_artifact"];

const LEDGER: &str = "
    CREATE TABLE ledger (what TEXT NOT NULL, id TEXT NOT NULL);
    CREATE TRIGGER job_done AFTER UPDATE OF status ON executor_jobs
      WHEN new.status = 'succeeded' AND old.status <> 'succeeded'
      BEGIN INSERT INTO ledger VALUES ('job', new.id); END;
    CREATE TRIGGER task_done AFTER UPDATE OF status ON tasks
      WHEN new.status = 'completed' AND old.status <> 'completed'
      BEGIN INSERT INTO ledger VALUES ('task', new.id); END;
    CREATE TRIGGER merge_done AFTER UPDATE OF status ON merge_queue
      WHEN new.status = 'merged' AND old.status <> 'merged'
      BEGIN INSERT INTO ledger VALUES ('merge', new.id); END;";

/// Numbers that look random; which moments they meet is up to the machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn pause(&mut self, most: u64) {
        park_timeout(Duration::from_millis(self.below(most + 1)));
    }
}

/// The database, and who else is at it while workers die.
struct Scene {
    folder: tempfile::TempDir,
    over: AtomicBool,
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene { folder: tempfile::tempdir().unwrap(), over: AtomicBool::new(false) };
        let mut connection = Connection::open(scene.path()).unwrap();
        install(&mut connection, &[System::ExecutorJobs, System::TaskQueue, System::MergeQueue]).unwrap();
        connection.execute_batch(LEDGER).unwrap();
        TaskQueue::new(scene.database()).register_type("render", "1", None).unwrap();
        let config = format!(
            "[source.queue]\nat = {:?}\nprofiles = ['executor-jobs', 'task-queue']\n[source.queue.limits]\n\
             orphan_after = '2s'\n[source.queue.board.job.kind]\nbuild_artifact = {{ ttl = '500ms' }}\n",
            scene.path()
        );
        std::fs::write(scene.config(), config).unwrap();
        scene
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("queue.db")
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("config.toml")
    }

    fn database(&self) -> Database {
        Database::open(&self.path()).unwrap()
    }

    fn observer(&self) -> Connection {
        let connection = Connection::open(self.path()).unwrap();
        connection.busy_timeout(Duration::from_secs(20)).unwrap();
        connection
    }

    fn until_over(&self, mut work: impl FnMut()) -> u64 {
        let mut rounds = 0;
        while !self.over.load(Ordering::SeqCst) {
            work();
            rounds += 1;
        }
        rounds
    }

    /// The systems' own recovery, as often as it gets its turn.
    fn recover(&self) {
        // The other type is left to the program.
        let mut jobs = ExecutorJobs::new(self.database()).with_ttl(KINDS[0], Span::millis(500));
        let mut tasks = TaskQueue::new(self.database());
        let mut merges = MergeQueue::new(self.database()).with_lock_timeout(1).unwrap();
        self.until_over(|| {
            patiently(jobs.reclaim_stale_jobs());
            patiently(tasks.check_stale_workers(Span::seconds(1)));
            for entry in merges.entries().unwrap() {
                match (entry.status, entry.agent_id) {
                    (Status::FailedRetryable, _) => patiently(merges.retry_entry(entry.id)),
                    // Self-healing knows no way back from the later states.
                    (status, Some(agent)) if status != Status::Claimed && is_dead(&agent) => {
                        let error = "its agent was killed";
                        patiently(merges.mark_failed(entry.id, &agent, error, FailureKind::Retryable));
                    }
                    _ => {}
                }
            }
            park_timeout(Duration::from_millis(50));
        });
    }

    /// The program's own recovery beside it.
    fn reclaim(&self) -> u64 {
        let mut applied = 0;
        self.until_over(|| {
            let mut reclaim = command(&["reclaim", "queue", "--set", "stale,orphaned", "--yes", "--json"]);
            reclaim.args(["--profile", "executor-jobs", "--profile", "task-queue", "--config"]);
            let output =
                reclaim.arg(self.config()).env("XDG_STATE_HOME", self.folder.path()).output().unwrap();
            applied += String::from_utf8_lossy(&output.stdout).matches("\"applied\"").count() as u64;
            park_timeout(Duration::from_millis(300));
        });
        applied
    }

    /// At every read nothing is done twice, and the invariants of merge-queue hold.
    fn observe(&self) -> u64 {
        let connection = self.observer();
        self.until_over(|| {
            assert_invariants(&connection);
            let twice = "SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY what, id HAVING count(*) > 1)";
            assert_eq!(number(&connection, twice), 0, "done twice");
            park_timeout(Duration::from_millis(5));
        })
    }

    /// Brings work and kills workers for as long as the test may take; how many were killed.
    fn kill(&self, time: Duration, workers: &mut [(&str, Child)]) -> u64 {
        let connection = self.observer();
        let mut jobs = ExecutorJobs::new(self.database());
        let mut tasks = TaskQueue::new(self.database());
        let mut merges = MergeQueue::new(self.database());
        let mut dice = Dice(0x5eed);
        let (mut kills, mut added) = (0, 0);
        let (until, latest) = (Instant::now() + time, Instant::now() + time + Duration::from_secs(300));
        let is_enough = |kills| is_fast() || kills > 50 && number(&connection, DONE) > 100;
        while Instant::now() < until || !is_enough(kills) && Instant::now() < latest {
            if number(&connection, "SELECT count(*) FROM executor_jobs WHERE status = 'queued'") < 20 {
                patiently(jobs.enqueue(&NewJob::of(KINDS[(kills % 2) as usize], json!({}))));
            }
            if number(&connection, "SELECT count(*) FROM tasks WHERE status = 'pending'") < 20 {
                patiently(tasks.enqueue(&NewTask::of("render")));
            }
            if number(&connection, "SELECT count(*) FROM merge_queue WHERE status = 'pending'") < 5 {
                added = number(&connection, "SELECT count(*) FROM merge_queue") + 1;
                patiently(
                    merges.enqueue(&NewEntry::of(&format!("w-{added}")).for_bead(&format!("bd-{added}"))),
                );
            }
            if dice.below(4) == 0 {
                let (role, child) = &mut workers[dice.below(9) as usize];
                child.kill().unwrap();
                child.wait().unwrap();
                *child = start(&self.path(), role);
                kills += 1;
            }
            dice.pause(25);
        }
        assert!(added > 0);
        kills
    }
}

fn patiently<T>(done: Result<T, WorkerError>) {
    match done {
        Ok(_) | Err(WorkerError::Busy { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

fn is_dead(agent: &str) -> bool {
    let pid = agent.strip_prefix("agent-").expect("a name with a number");
    !Path::new("/proc").join(pid).exists()
}

fn number(connection: &Connection, sql: &str) -> i64 {
    connection.prepare_cached(sql).expect(sql).query_row([], |row| row.get(0)).expect(sql)
}

/// Nothing is held or waits any more.
const UNSETTLED: &str = "
    SELECT (SELECT count(*) FROM executor_jobs WHERE status NOT IN ('succeeded', 'dead'))
         + (SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed'))
         + (SELECT count(*) FROM merge_queue WHERE status NOT IN ('merged', 'failed_terminal')
              AND NOT (status = 'failed_retryable' AND attempt_count >= max_attempts))";

const DONE: &str = "SELECT count(*) FROM ledger";

/// Each finds what is neither done once nor dead with a reason.
const WRONG: [&str; 6] = [
    "SELECT id FROM executor_jobs j WHERE status = 'succeeded'
       AND (SELECT count(*) FROM ledger l WHERE l.what = 'job' AND l.id = j.id) <> 1",
    "SELECT id FROM executor_jobs j WHERE status = 'dead' AND (coalesce(last_error, '') = ''
       OR EXISTS (SELECT 1 FROM ledger l WHERE l.what = 'job' AND l.id = j.id))",
    "SELECT id FROM tasks t WHERE (SELECT count(*) FROM ledger l WHERE l.what = 'task' AND l.id = t.id)
       <> (t.status = 'completed')",
    "SELECT id FROM tasks WHERE status = 'failed' AND coalesce(error_message, '') = ''",
    "SELECT id FROM merge_queue m WHERE (SELECT count(*) FROM ledger l WHERE l.what = 'merge' AND l.id = m.id)
       <> (m.status = 'merged')",
    "SELECT id FROM merge_queue WHERE status <> 'merged' AND coalesce(error_message, '') = ''",
];

#[test]
fn whoever_is_killed_every_task_is_done_once_or_dead_with_its_reason() {
    let time = match std::env::var_os("CLAIMTOP_ROUNDS") {
        Some(_) => 60,
        None if is_fast() => 3,
        None => 15,
    };
    let scene = Scene::new();
    let mut workers: Vec<(&str, Child)> =
        ROLES.into_iter().cycle().take(9).map(|role| (role, start(&scene.path(), role))).collect();
    let (kills, reads, reclaimed) = thread::scope(|scope| {
        let _ending = Ending(&scene.over);
        scope.spawn(|| scene.recover());
        let program = scope.spawn(|| scene.reclaim());
        let observer = scope.spawn(|| scene.observe());
        let kills = scene.kill(Duration::from_secs(time), &mut workers);
        let connection = scene.observer();
        let until = Instant::now() + Duration::from_secs(300);
        while number(&connection, UNSETTLED) > 0 && Instant::now() < until && !observer.is_finished() {
            park_timeout(Duration::from_millis(50));
        }
        scene.over.store(true, Ordering::SeqCst);
        (kills, observer.join().unwrap(), program.join().unwrap())
    });
    for (_, child) in &mut workers {
        assert_eq!(child.try_wait().unwrap(), None, "a worker gave up by itself");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let connection = scene.observer();
    assert_eq!(number(&connection, UNSETTLED), 0, "left");
    for sql in WRONG {
        let mut statement = connection.prepare(sql).unwrap();
        let wrong = statement.query_map([], |row| row.get::<_, rusqlite::types::Value>(0)).unwrap();
        let wrong: Vec<_> = wrong.map(Result::unwrap).collect();
        assert!(wrong.is_empty(), "{sql}: {wrong:?}");
    }
    let done = number(&connection, DONE);
    let dead = number(&connection, "SELECT count(*) FROM executor_jobs WHERE status = 'dead'");
    println!("{kills} kills, {done} done, {dead} dead, {reads} reads, {reclaimed} reclaimed by the program");
    if !is_fast() {
        assert!(kills > 50 && done > 100, "{kills} kills, {done} done: too few to mean anything");
        assert!(reclaimed > 0, "the program took nothing from the dead");
    }
}
