//! Ctrl-Z: the process stops between transactions only, and goes on where it was.

use rusqlite::Connection;
use rustix::process::Signal;
use std::thread;
use std::time::Duration;

use super::*;
use crate::dashboard::pty::{Pty, Start, until};
use crate::support::engine::{Engine, engine};
use crate::support::figures::promise;

/// A terminal with the program on this scene in it.
fn start(scene: &Scene, arguments: &[&str]) -> Pty {
    let source = scene.database.source();
    let mut start = Start::claimtop(&scene.state());
    for argument in arguments {
        start = start.with(if *argument == "DB" { source.as_str() } else { argument });
    }
    start.run()
}

fn many(mode: &str, count: usize) -> Scene {
    let scene = Scene::new();
    if scene.database.server().is_none() {
        scene.database.connection.pragma_update(None, "journal_mode", mode).expect("a mode");
        scene.database.connection.pragma_update(None, "synchronous", "OFF").expect("no waiting");
    }
    scene.session("worker-1", SECOND);
    scene.tasks(count);
    scene
}

fn left(scene: &Scene) -> i64 {
    scene.number("SELECT count(*) FROM task_claims")
}

/// What a worker does all the time: it writes, and waits for nobody who is stopped.
fn write(scene: &Scene) {
    let sql = "UPDATE sessions SET metadata = '{}' WHERE id = 'worker-1'";
    match scene.database.server() {
        Some(server) => server.run(&format!("SET lock_timeout = '60s'; {sql}")),
        None => {
            let writer = Connection::open(scene.database.path()).expect("a connection");
            writer.busy_timeout(Duration::from_secs(60)).expect("patience");
            assert_eq!(writer.execute(sql, []).expect("a stopped program keeps nobody waiting"), 1);
        }
    }
}

/// Stops the program in the middle of its work, again and again; how often.
fn stop_again_and_again(scene: &Scene, pty: &Pty, times: usize) -> usize {
    let mut before = left(scene);
    for number in 0..times {
        until("it has gone on", || {
            let now = left(scene);
            (now < before || now == 0).then(|| before = now)
        });
        if before == 0 {
            return number;
        }
        // Not always at the same place in a transaction.
        thread::park_timeout(Duration::from_millis(u64::try_from(number * 11 % 37).expect("small")));
        pty.signal(Signal::TSTP);
        if !pty.stops_or_ends() {
            return number;
        }
        write(scene);
        pty.signal(Signal::CONT);
        before = left(scene);
    }
    times
}

/// Runs the program until it was stopped this often: on a busy machine it may be over before.
#[track_caller]
fn until_stopped(wanted: usize, mut run: impl FnMut() -> usize) {
    let mut stops = 0;
    for _ in 0..10 {
        stops += run();
        if stops >= wanted {
            return;
        }
    }
    panic!("stopped {stops} times only");
}

#[test]
fn a_bulk_that_is_stopped_keeps_no_worker_waiting_and_goes_on() {
    for mode in ["WAL", "DELETE"] {
        until_stopped(3, || {
            let scene = many(mode, 4_000);
            scene.slow_tasks();
            let mut pty = start(&scene, &["reclaim", "DB", "--set", "stale", "--yes"]);
            let stops = stop_again_and_again(&scene, &pty, 12);
            let ended = pty.end();
            assert_eq!(ended.status.exit_code(), 0, "{mode}: {}", ended.left);
            assert!(ended.left.contains("4000 of 4000 claims reclaimed"), "{mode}: {}", ended.left);
            assert_eq!(left(&scene), 0);
            assert_eq!(scene.run(&["audit", "verify"]).code, 0);
            stops
        });
    }
}

#[test]
fn a_bulk_on_a_server_that_is_stopped_keeps_no_worker_waiting_and_goes_on() {
    on_both(|| {
        if engine() == Engine::Sqlite {
            return;
        }
        until_stopped(1, || {
            let scene = many("", 6_000);
            let mut pty = start(&scene, &["reclaim", "DB", "--set", "stale", "--yes"]);
            let stops = stop_again_and_again(&scene, &pty, 12);
            let ended = pty.end();
            assert_eq!(ended.status.exit_code(), 0, "{}", ended.left);
            assert!(ended.left.contains("6000 of 6000 claims reclaimed"), "{}", ended.left);
            assert_eq!(left(&scene), 0);
            stops
        });
    });
}

/// Every row takes long, and with it the transaction that changes it.
const SLOW_ROWS: [&str; 2] = [
    "CREATE TRIGGER slow AFTER DELETE ON task_claims BEGIN
       UPDATE sessions SET metadata = '{}' WHERE id = 'nobody' AND 0 < (WITH RECURSIVE n(x) AS
         (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 30000) SELECT count(*) FROM n); END",
    "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN PERFORM pg_sleep(0.02); RETURN OLD; END';
     CREATE TRIGGER slow AFTER DELETE ON task_claims FOR EACH ROW EXECUTE FUNCTION slow()",
];

/// Whether the program is in the middle of a transaction now.
fn is_in_a_transaction(scene: &Scene) -> bool {
    if let Some(server) = scene.database.server() {
        let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                        AND wait_event = 'PgSleep'";
        return server.query(sleeping)[0][0].as_deref() == Some("1");
    }
    let other = Connection::open(scene.database.path()).expect("a connection");
    other.busy_timeout(Duration::ZERO).expect("no patience");
    other.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err()
}

/// Stops the program while it has a transaction open: it stops after that. How often it was caught in one.
fn stop_in_transactions(scene: &Scene, rows: usize) -> u64 {
    let mut pty = start(scene, &["reclaim", "DB", "--set", "stale", "--yes"]);
    let mut stops = 0;
    for _ in 0..3 {
        until("a transaction, or the end", || (is_in_a_transaction(scene) || left(scene) == 0).then_some(()));
        if left(scene) == 0 {
            break;
        }
        pty.signal(Signal::TSTP);
        if !pty.stops_or_ends() {
            break;
        }
        stops += 1;
        write(scene);
        pty.signal(Signal::CONT);
    }
    let ended = pty.end();
    assert_eq!(ended.status.exit_code(), 0, "{}", ended.left);
    assert!(ended.left.contains(&format!("{rows} of {rows} claims reclaimed")), "{}", ended.left);
    promise("A stop (Ctrl-Z) keeps no worker waiting, and what was stopped goes on.", stops, 0);
    stops
}

#[test]
fn a_stop_waits_for_the_open_transaction() {
    on_both(|| {
        let modes: &[&str] = if engine() == Engine::Sqlite { &["WAL", "DELETE"] } else { &[""] };
        for mode in modes {
            // On a busy machine the program may be over before it is caught; then another one is.
            let is_caught = (0..10).any(|_| {
                let scene = many(mode, 150);
                scene.database.either(SLOW_ROWS[0], SLOW_ROWS[1]);
                stop_in_transactions(&scene, 150) > 0
            });
            assert!(is_caught, "never caught in a transaction");
        }
    });
}

#[test]
fn a_sweep_that_is_stopped_keeps_no_worker_waiting_and_goes_on() {
    for mode in ["WAL", "DELETE"] {
        until_stopped(2, || {
            let scene = many(mode, 3_000);
            scene.slow_tasks();
            let arguments = ["sweep", "DB", "--once", "--max", "5000", "--max-share", "100%"];
            let mut pty = start(&scene, &arguments);
            let stops = stop_again_and_again(&scene, &pty, 8);
            let ended = pty.end();
            assert_eq!(ended.status.exit_code(), 0, "{mode}: {}", ended.left);
            assert!(ended.left.contains("3000 swept"), "{mode}: {}", ended.left);
            stops
        });
    }
}

#[test]
fn a_look_that_is_stopped_keeps_no_writer_waiting() {
    // In this mode a reader in the middle of a transaction keeps every writer from committing.
    let scene = many("DELETE", 5_000);
    let pty = start(&scene, &["check", "DB", "--watch", "100ms"]);
    pty.wait("stale");
    for number in 0..10_u64 {
        thread::park_timeout(Duration::from_millis(number * 13 % 90));
        pty.signal(Signal::TSTP);
        pty.wait_until_stopped();
        write(&scene);
        pty.signal(Signal::CONT);
    }
}

#[test]
fn a_stop_that_whoever_started_it_ignores_stays_ignored() {
    let scene = many("WAL", 1);
    let script = format!(
        "trap '' TSTP; exec {} check {} --watch 100ms",
        env!("CARGO_BIN_EXE_claimtop"),
        scene.database.source()
    );
    let pty = Start::program("sh").with("-c").with(script).run();
    pty.wait("stale");
    pty.signal(Signal::TSTP);
    let before = pty.bytes().len();
    until("it goes on", || (pty.bytes().len() > before + 500).then_some(()));
}
