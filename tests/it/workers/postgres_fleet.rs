//! A fleet on one server: threads with a connection each, and processes that are killed at any moment.
//!
//! Triggers write down every change of hands and every end in the very transaction that makes it, apart
//! from what the library records itself.

#![cfg(target_os = "linux")]

use crate::support::Ending;
use claimtop::domain::time::Span;
use claimtop::reference::System;
use claimtop::worker::executor_jobs::NewJob;
use claimtop::worker::finalization::{Completion, FinalizationClaim, StepEnd};
use claimtop::worker::task_queue::{HeartbeatInfo, NewTask, TaskFilter, WorkerId};
use claimtop::worker::{Clock, WorkerError};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::json;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, park_timeout};
use std::time::{Duration, Instant};

use super::both_engines::{Heard, Place};
use crate::support::postgres::PgDatabase;

const DATABASE: &str = "CLAIMTOP_FLEET_DATABASE";
const ROLE: &str = "CLAIMTOP_FLEET_ROLE";
const ROLES: [&str; 3] = ["jobs", "tasks", "orders"];

const LEDGER: &str = "
    CREATE TABLE hands (n bigserial, what text, id text, was text, becomes text);
    CREATE TABLE ends (what text, id text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      was jsonb := to_jsonb(old);
      becomes jsonb := to_jsonb(new);
      holder text := tg_argv[0];
    BEGIN
      IF was ->> holder IS DISTINCT FROM becomes ->> holder THEN
        INSERT INTO hands (what, id, was, becomes)
        VALUES (tg_table_name, becomes ->> tg_argv[1], was ->> holder, becomes ->> holder);
      END IF;
      IF becomes ->> tg_argv[2] = tg_argv[3] AND was ->> tg_argv[2] <> tg_argv[3] THEN
        INSERT INTO ends VALUES (tg_table_name, becomes ->> tg_argv[1]);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER note AFTER UPDATE ON executor_jobs FOR EACH ROW
      EXECUTE FUNCTION note('locked_by', 'id', 'status', 'succeeded');
    CREATE TRIGGER note AFTER UPDATE ON tasks FOR EACH ROW
      EXECUTE FUNCTION note('worker_id', 'id', 'status', 'completed');
    CREATE TRIGGER note AFTER UPDATE ON tasker_tasks FOR EACH ROW
      EXECUTE FUNCTION note('claimed_by', 'task_uuid', 'complete', 'true');";

pub fn database() -> PgDatabase {
    let systems = [System::ExecutorJobs, System::Finalization, System::TaskQueue];
    let database = PgDatabase::new(&systems.map(|system| system.postgres().expect("its tables")).concat());
    database.run(LEDGER);
    database
}

pub fn number(database: &PgDatabase, sql: &str) -> i64 {
    database.value(sql).expect("a number").parse().expect("a number")
}

/// Once more after others were in the way, which has changed nothing.
fn patiently<T>(mut work: impl FnMut() -> Result<T, WorkerError>) -> T {
    loop {
        match work() {
            Ok(done) => return done,
            Err(WorkerError::Busy { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn order(number: usize) -> String {
    format!("order-{number}")
}

/// Every kind of work, this often.
fn stock(place: &Place, each: usize) {
    let (clock, silence) = (Clock::system(), Heard::default());
    let mut jobs = place.jobs(&clock, &silence, &[]);
    let mut tasks = place.task_queue(&clock, &silence);
    let mut orders = place.finalization(&clock, &silence);
    tasks.register_type("render", "1", None).unwrap();
    for number in 0..each {
        jobs.enqueue(&NewJob::of("run_tsa", json!({}))).unwrap();
        tasks.enqueue(&NewTask::of("render")).unwrap();
        let (task, step) = (order(number), format!("step-{number}"));
        assert!(orders.add_task(&task, 0).unwrap() && orders.add_step(&task, &step).unwrap());
        assert!(orders.end_step(&step, StepEnd::Completed).unwrap());
    }
}

/// Works until nothing is left; how much it did.
fn work_off(place: &Place, name: &str, each: usize) -> usize {
    let (clock, silence) = (Clock::system(), Heard::default());
    let mut jobs = place.jobs(&clock, &silence, &[]);
    let mut tasks = place.task_queue(&clock, &silence);
    let mut orders = place.finalization(&clock, &silence);
    let worker = WorkerId::new(name).unwrap();
    let mut done = 0;
    while let Some(job) = patiently(|| jobs.claim(name, &[])) {
        patiently(|| jobs.succeed(&job.id, name));
        done += 1;
    }
    while let Some(task) = patiently(|| tasks.claim(&worker, &TaskFilter::default())).task() {
        patiently(|| tasks.complete(&worker, task.id, &json!(1)));
        done += 1;
    }
    for task in (0..each).map(order) {
        match patiently(|| orders.claim_task_for_finalization(&task, name, Span::seconds(3_600))) {
            FinalizationClaim::Claimed { .. } => {
                assert_eq!(patiently(|| orders.complete(&task, name)), Completion::Completed);
                done += 1;
            }
            FinalizationClaim::AlreadyClaimed { by, .. } => assert_ne!(by, name),
            FinalizationClaim::AlreadyComplete => {}
            other => panic!("{other:?}"),
        }
    }
    done
}

#[test]
fn thirty_two_workers_never_take_one_thing_twice() {
    const EACH: usize = 60;
    let database = database();
    let place = Place(database.url());
    stock(&place, EACH);
    let done: usize = thread::scope(|scope| {
        let place = &place;
        let workers: Vec<_> = (0..32)
            .map(|number| scope.spawn(move || work_off(place, &format!("worker-{number}"), EACH)))
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(done, 3 * EACH, "each once, none lost");
    assert_eq!(number(&database, "SELECT count(*) FROM ends"), 3 * EACH as i64);
    assert_eq!(number(&database, "SELECT count(DISTINCT (what, id)) FROM ends"), 3 * EACH as i64);
    // Taken by one from nobody, and left by that one: a task keeps the name of who completed it.
    let twice = "SELECT count(*) FROM (SELECT 1 FROM hands GROUP BY what, id
                 HAVING count(*) FILTER (WHERE becomes IS NOT NULL) <> 1 OR count(DISTINCT coalesce(becomes, was)) <> 1
                   OR count(*) FILTER (WHERE was IS NOT NULL AND becomes IS NOT NULL) > 0) wrong";
    assert_eq!(number(&database, twice), 0);
}

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

/// Does nothing unless another test starts it: a worker that works until it is killed.
#[test]
#[ignore = "a part of another test"]
fn child() {
    let (Ok(place), Ok(role)) = (std::env::var(DATABASE), std::env::var(ROLE)) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let (place, name) = (Place(place), format!("agent-{}", std::process::id()));
    let (clock, silence) = (Clock::system(), Heard::default());
    let mut dice = Dice(u64::from(std::process::id()) | 1 << 40);
    match role.as_str() {
        "jobs" => {
            let mut jobs = place.jobs(&clock, &silence, &[]);
            loop {
                let Some(job) = patiently(|| jobs.claim(&name, &[])) else {
                    dice.pause(10);
                    continue;
                };
                dice.pause(10);
                patiently(|| jobs.heartbeat(&job.id, &name));
                dice.pause(10);
                match dice.below(30) {
                    0 => patiently(|| jobs.bury(&job.id, &name, "hopeless")),
                    _ => patiently(|| jobs.succeed(&job.id, &name)),
                };
            }
        }
        "tasks" => {
            let mut tasks = place.task_queue(&clock, &silence);
            let worker = WorkerId::new(&name).unwrap();
            loop {
                patiently(|| tasks.heartbeat(&worker, &HeartbeatInfo::here("1", 0)));
                let claim = patiently(|| tasks.claim(&worker, &TaskFilter::default()));
                dice.pause(15);
                if let Some(task) = claim.task() {
                    patiently(|| tasks.complete(&worker, task.id, &json!("done")));
                }
            }
        }
        _ => {
            let mut orders = place.finalization(&clock, &silence);
            let all: usize = role.parse().expect("how many orders there are");
            loop {
                let task = order(usize::try_from(dice.below(all as u64)).unwrap());
                let claim = patiently(|| orders.claim_task_for_finalization(&task, &name, Span::seconds(1)));
                dice.pause(15);
                if claim.is_claimed() {
                    patiently(|| orders.complete(&task, &name));
                }
            }
        }
    }
}

fn start(place: &Place, role: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "workers::postgres_fleet::child", "--ignored", "--nocapture"]);
    command.env(DATABASE, &place.0).env(ROLE, role);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("a worker")
}

/// What is neither over nor given up.
const UNSETTLED: &str = "
    SELECT (SELECT count(*) FROM executor_jobs WHERE status NOT IN ('succeeded', 'dead'))
         + (SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed'))
         + (SELECT count(*) FROM tasker_tasks WHERE NOT complete)";

/// What is neither done once nor dead with a reason.
const WRONG: [&str; 4] = [
    "SELECT id FROM executor_jobs j WHERE (status = 'succeeded')::int
       <> (SELECT count(*) FROM ends WHERE what = 'executor_jobs' AND ends.id = j.id::text)",
    "SELECT id FROM executor_jobs WHERE status = 'dead' AND coalesce(last_error, '') = ''",
    "SELECT id FROM tasks t WHERE (status = 'completed')::int
       <> (SELECT count(*) FROM ends WHERE what = 'tasks' AND ends.id = t.id::text)",
    "SELECT task_uuid FROM tasker_tasks t WHERE complete::int
       <> (SELECT count(*) FROM ends WHERE what = 'tasker_tasks' AND ends.id = t.task_uuid::text)",
];

#[test]
fn whoever_is_killed_every_task_is_done_once_or_dead_with_its_reason() {
    const EACH: usize = 250;
    let database = database();
    let place = Place(database.url());
    stock(&place, EACH);
    let all = EACH.to_string();
    let role = |role: &'static str| if role == "orders" { all.as_str() } else { role };
    let mut workers: Vec<(&str, Child)> =
        ROLES.into_iter().cycle().take(9).map(|it| (role(it), start(&place, role(it)))).collect();
    let over = AtomicBool::new(false);
    let kills = thread::scope(|scope| {
        let _ending = Ending(&over);
        scope.spawn(|| {
            let (clock, silence) = (Clock::system(), Heard::default());
            let mut jobs = place.jobs(&clock, &silence, &[("run_tsa", Span::millis(500))]);
            let mut tasks = place.task_queue(&clock, &silence);
            while !over.load(Ordering::SeqCst) {
                patiently(|| jobs.reclaim_stale_jobs());
                patiently(|| tasks.check_stale_workers(Span::seconds(1)));
                park_timeout(Duration::from_millis(50));
            }
        });
        let (mut dice, mut kills) = (Dice(0x5eed), 0);
        let until = Instant::now() + Duration::from_secs(300);
        while number(&database, UNSETTLED) > 0 && Instant::now() < until {
            // The last ones may end in peace: whoever is killed again and again gets nothing done.
            if kills < 60 {
                let (role, child) = &mut workers[usize::try_from(dice.below(9)).unwrap()];
                child.kill().unwrap();
                child.wait().unwrap();
                *child = start(&place, role);
                kills += 1;
            }
            dice.pause(60);
        }
        over.store(true, Ordering::SeqCst);
        kills
    });
    for (_, child) in &mut workers {
        assert_eq!(child.try_wait().unwrap(), None, "a worker gave up by itself");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(number(&database, UNSETTLED), 0, "left");
    for sql in WRONG {
        assert!(database.query(sql).is_empty(), "{sql}: {:?}", database.query(sql));
    }
    let done = number(&database, "SELECT count(*) FROM ends");
    println!("{kills} kills, {done} done");
    assert!(kills > 20 && done > 500, "{kills} kills, {done} done: too few to mean anything");
}
