//! Clocks that are set while a sweep runs, and workers whose clocks are an hour wrong: real processes under
//! libfaketime.

use crate::support::Ending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::two_sightings::{Going, NO_GAP};
use super::*;
use crate::support::engine::{Engine, engine};
use crate::support::faketime::FakeClock;
use crate::support::uuid_of;

const HOUR: i64 = 3_600;

/// Renews the claims of living workers until the body is done, by the real clock.
fn while_they_live(scene: &Scene, renew: &str, body: impl FnOnce()) {
    let done = AtomicBool::new(false);
    let source = scene.database.source();
    thread::scope(|scope| {
        let renewing = scope.spawn(|| {
            let mut renew = renewer(&source, renew);
            while !done.load(Ordering::SeqCst) {
                renew();
                thread::park_timeout(Duration::from_millis(50));
            }
        });
        let ending = Ending(&done);
        body();
        drop(ending);
        renewing.join().expect("the workers");
    });
}

/// A connection of its own that runs one statement; `:now` stands for the milliseconds of the real clock.
fn renewer(source: &str, sql: &str) -> Box<dyn FnMut()> {
    let sql = sql.to_owned();
    let filled = move || sql.replace(":now", &now().to_string());
    if source.starts_with("postgres") {
        let mut client = postgres::Client::connect(source, postgres::NoTls).expect("a connection");
        return Box::new(move || client.batch_execute(&filled()).expect("renewed"));
    }
    let file = rusqlite::Connection::open(source).expect("the file");
    file.busy_timeout(Duration::from_secs(60)).expect("patience");
    Box::new(move || file.execute_batch(&filled()).expect("renewed"))
}

/// Waits for looks until this many claims were taken in all.
fn until_taken(going: &mut Going, wanted: i64) {
    let mut looks = Vec::new();
    until_taken_after(&mut looks, going, wanted);
}

/// The same, counting what was taken in earlier looks.
fn until_taken_after(looks: &mut Vec<Json>, going: &mut Going, wanted: i64) {
    let taken = |looks: &[Json]| -> i64 { looks.iter().filter_map(|look| look["applied"].as_i64()).sum() };
    while taken(looks) < wanted {
        let look = going.summary();
        assert!(look["error"].is_null() && looks.len() < 2_000, "{wanted} were never taken: {look:#}");
        looks.push(look);
    }
}

#[test]
fn a_sweepers_clock_that_jumps_costs_no_living_worker_its_claim() {
    on_both(|| {
        let scene = Scene::new();
        let Some(clock) = FakeClock::beside(scene.database.folder(), "clock") else { return };
        scene.config("[sweep]\nsighted_for = \"5s\"\n");
        scene.session("well", SECOND);
        for number in 0..5 {
            scene.task(&format!("alive-{number}"), "well", 30 * MINUTE, SECOND);
        }
        let renew = "UPDATE task_claims SET last_heartbeat = :now, expires_at = :now + 1800000
                     WHERE task_id LIKE 'alive%'; UPDATE sessions SET last_heartbeat = :now";
        while_they_live(&scene, renew, || {
            let mut going = Going::start_under(&scene, "200ms", Some(&clock));
            going.summary();
            for (round, seconds) in [2 * HOUR, 0, -2 * HOUR, 0].into_iter().enumerate() {
                clock.set(seconds);
                // What is left behind by a worker that died is taken in spite of it, once it was watched.
                scene.task(&format!("dead-{round}"), "well", -60 * MINUTE, 61 * MINUTE);
                // A file has no clock of its own: by a sweeper's clock that is behind, nothing has ended yet, or all
                // of it lies in the future. A server's clock was not set.
                let is_file = engine() == Engine::Sqlite;
                if is_file && seconds < 0 {
                    for _ in 0..10 {
                        assert_eq!(going.summary()["applied"], 0);
                    }
                } else {
                    let taken = 1 + i64::from(is_file && round == 3);
                    until_taken(&mut going, taken);
                }
            }
            assert_eq!(going.end(), 0);
        });
        let alive: Vec<String> = (0..5).map(|number| format!("alive-{number}")).collect();
        assert_eq!(scene.held(), alive);
    });
}

#[test]
fn where_the_database_stamps_the_times_the_sweepers_own_clock_does_not_matter() {
    on_both(|| {
        if engine() == Engine::Sqlite {
            return;
        }
        let scene = Scene::of(System::ExecutorJobs);
        let Some(clock) = FakeClock::beside(scene.database.folder(), "clock") else { return };
        let job = |name: &str, age: &str| {
            scene.database.server().expect("a server").run(&format!(
                "INSERT INTO executor_jobs (id, dedupe_key, type, status, locked_at, locked_by, attempts)
                 VALUES ('{0}', '{0}', 'run_tsa', 'running', now() - interval '{age}', 'worker', 1)",
                uuid_of(name)
            ));
        };
        job("alive", "1 minute");
        job("late", "30 minutes - 10 seconds");
        // The clock is set right after a look, and none is due for a while.
        let mut going = Going::start_under(&scene, NO_GAP, Some(&clock));
        let mut looks = vec![going.summary()];
        for seconds in [2 * HOUR, -2 * HOUR] {
            clock.set(seconds);
            looks.push(going.summary());
        }
        until_taken_after(&mut looks, &mut going, 1);
        assert!(looks.iter().all(|look| look["watching"] == 0), "{looks:#?}");
        assert_eq!(going.end(), 0);
        assert_eq!(
            scene.text("SELECT dedupe_key FROM executor_jobs WHERE status = 'running'"),
            uuid_of("alive")
        );
    });
}

/// Lets it seem that the database's clock was set since the last run.
fn set_database_clock(scene: &Scene, seconds: i64) {
    super::two_sightings::edit(scene, |kept| {
        let shown = &mut kept["database_clock"]["last"]["now_us"];
        *shown = Json::from(shown.as_i64().expect("µs") - seconds * 1_000_000);
    });
}

#[test]
fn after_the_databases_clock_was_set_what_it_stamped_before_is_watched() {
    on_both(|| {
        if engine() == Engine::Sqlite {
            return;
        }
        for jump in [HOUR, -HOUR] {
            let scene = Scene::of(System::ExecutorJobs);
            scene.sweep(&["--sighted"]).summary(0);
            set_database_clock(&scene, jump);
            scene.database.server().expect("a server").run(&format!(
                "INSERT INTO executor_jobs (id, dedupe_key, type, status, locked_at, locked_by, attempts)
                 VALUES ('{0}', '{0}', 'run_tsa', 'running', now() - interval '31 minutes', 'worker', 1)",
                uuid_of("alive")
            ));
            let run = scene.sweep(&["--sighted"]);
            let summary = run.summary(0);
            assert_eq!((&summary["applied"], &summary["watching"]), (&0.into(), &1.into()), "{run:#?}");
            assert!(run.err.contains("the database's clock jumped by"), "{run:#?}");
            let again = scene.sweep(&["--sighted"]).summary(0);
            assert_eq!((&again["applied"], &again["watching"]), (&0.into(), &1.into()));
        }
    });
}

const SOURCE: &str = "CLAIMTOP_CLOCKS_SOURCE";
const NAME: &str = "CLAIMTOP_CLOCKS_NAME";

/// Does nothing unless another test starts it: a worker that claims a task and renews it by its own clock, until
/// its input ends.
#[test]
#[ignore = "a part of another test"]
fn worker() {
    let (Ok(source), Ok(name)) = (std::env::var(SOURCE), std::env::var(NAME)) else { return };
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    let claim = format!(
        "INSERT INTO sessions VALUES ('{name}', '/project', 'cli', :now, :now, '{{}}', NULL);
         INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES ('{name}', '{name}', :now, :now + 1800000, :now)"
    );
    renewer(&source, &claim)();
    println!("\nCLAIMED");
    if name.starts_with("dead") {
        return;
    }
    let mut renew = renewer(
        &source,
        &format!(
            "UPDATE sessions SET last_heartbeat = :now WHERE id = '{name}';
             UPDATE task_claims SET last_heartbeat = :now, expires_at = :now + 1800000 WHERE task_id = '{name}'"
        ),
    );
    loop {
        renew();
        thread::park_timeout(Duration::from_millis(50));
    }
}

/// Starts a worker, and waits until it has its task.
fn start_worker(scene: &Scene, clock: &FakeClock, name: &str) -> std::process::Child {
    use std::io::{BufRead, BufReader};
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["sweep::clock_jumps::worker", "--exact", "--ignored", "--nocapture"]);
    command.env(SOURCE, scene.database.source()).env(NAME, name);
    clock.rules(&mut command);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a worker");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert!(lines.any(|line| line.expect("UTF-8").contains("CLAIMED")), "{name} has no task");
    // Nobody reads on: what it says beyond that must not stop it.
    thread::spawn(move || lines.for_each(drop));
    child
}

#[test]
fn workers_whose_clocks_are_an_hour_wrong_keep_what_they_renew() {
    on_both(|| {
        let scene = Scene::new();
        let folder = scene.database.folder();
        let Some(slow) = FakeClock::beside(folder, "slow") else { return };
        let Some(fast) = FakeClock::beside(folder, "fast") else { return };
        slow.set(-HOUR);
        fast.set(HOUR);
        scene.config("[sweep]\nsighted_for = \"5s\"\n");
        let mut living =
            [start_worker(&scene, &slow, "alive-slow"), start_worker(&scene, &fast, "alive-fast")];
        let mut dead = start_worker(&scene, &slow, "dead-slow");
        assert!(dead.wait().expect("its end").success());
        // By its own times the living one's claim ended half an hour ago as well. Counted, not watched: a sweep may miss
        // a claim that is renewed while it reads.
        let checked = scene.run(&["check", "DB", "--json"]).lines().remove(0);
        assert_eq!(checked["sources"][0]["claims"]["stale"], 2, "{checked:#}");
        let mut going = Going::start(&scene, "200ms");
        until_taken(&mut going, 1);
        for _ in 0..10 {
            assert_eq!(going.summary()["applied"], 0);
        }
        assert_eq!(going.end(), 0);
        for worker in &mut living {
            assert!(worker.try_wait().expect("our own child").is_none(), "a worker has ended");
            worker.kill().and_then(|()| worker.wait().map(drop)).expect("its end");
        }
        assert_eq!(scene.held(), ["alive-fast", "alive-slow"]);
    });
}
