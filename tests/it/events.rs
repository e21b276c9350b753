//! The stream of events with the program itself: what two looks reveal, what a sweep did, in order.

use serde_json::Value as Json;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use claimtop::reference::System;

use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, SECOND, command};

/// A database with a file for events beside it, by the real clock.
struct Scene {
    database: Database,
}

/// The program at work; it ends with the test.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene { database: Database::new(COORDINATION) };
        scene.session("worker-1");
        scene.session("worker-2");
        scene
    }

    fn session(&self, id: &str) {
        self.database.run(
            "INSERT INTO sessions VALUES (?1, '/project', 'cli', ?2, ?3, '{}', NULL)",
            (id, now() - 180 * MINUTE, now()),
        );
    }

    fn task(&self, id: &str, session: &str, expires_in: i64) {
        self.database.run(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (id, session, now() - 120 * MINUTE, now() + expires_in, now() - SECOND),
        );
    }

    fn many(&self, count: usize) {
        self.database.at_once(|| {
            for number in 0..count {
                self.task(&format!("task-{number:04}"), "worker-1", -MINUTE);
            }
        });
    }

    fn file(&self) -> PathBuf {
        self.database.beside("events.jsonl")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.database.command(arguments);
        command.arg("--events").arg(self.file());
        command.env("XDG_STATE_HOME", self.database.beside("state")).env_remove("HOME");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    fn start(&self, arguments: &[&str]) -> Running {
        let mut child = self.command(arguments).spawn().expect("claimtop starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Running { child, lines }
    }

    fn written(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap_or_default()
    }

    fn events(&self) -> Vec<Json> {
        let whole = self.written();
        let whole = whole.rsplit_once('\n').map_or("", |(lines, _)| lines);
        whole.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Waits until so many events were written since `from`; those.
    #[track_caller]
    fn wait(&self, from: usize, count: usize) -> Vec<Json> {
        let deadline = Instant::now() + Duration::from_secs(180);
        loop {
            let events = self.events();
            if events.len() >= from + count {
                return events[from..].to_vec();
            }
            assert!(Instant::now() < deadline, "waited in vain for {count} events: {events:#?}");
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

impl Running {
    /// Waits for the end of a round.
    fn round(&mut self) {
        self.lines.next().expect("a line").expect("UTF-8");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn assert_told(event: &Json, expected: &[(&str, Json)]) {
    for (field, value) in expected {
        assert_eq!(event[field], *value, "{field} of {event:#}");
    }
}

#[test]
fn somebody_can_watch_without_acting_and_is_told_what_two_looks_reveal() {
    on_both(|| {
        let scene = Scene::new();
        scene.task("a", "worker-1", 30 * MINUTE);
        let mut watching = scene.start(&["check", "--watch", "100ms", "--json"]);
        // A round is printed before its look for events: after the second, the first look is over.
        watching.round();
        watching.round();
        let run = |sql: &str| scene.database.run(sql, ());

        scene.task("b", "worker-2", 30 * MINUTE);
        assert_told(
            &scene.wait(0, 1)[0],
            &[("event", "claim:acquired".into()), ("taskId", "b".into()), ("sessionId", "worker-2".into())],
        );
        run("UPDATE task_claims SET expires_at = expires_at - 3600000 WHERE task_id = 'a'");
        let expired = &scene.wait(1, 1)[0];
        assert_told(
            expired,
            &[("event", "claim:expired".into()), ("taskId", "a".into()), ("by", "look".into())],
        );
        assert!(expired["actionId"].is_null() && expired["expiredAt"].is_i64() && expired["ageMs"].is_i64());
        run("UPDATE task_claims SET expires_at = expires_at + 3600000, last_heartbeat = last_heartbeat + 1
         WHERE task_id = 'a'");
        assert_told(&scene.wait(2, 1)[0], &[("event", "claim:extended".into()), ("taskId", "a".into())]);
        run("UPDATE task_claims SET session_id = 'worker-2' WHERE task_id = 'a'");
        assert_told(
            &scene.wait(3, 1)[0],
            &[
                ("event", "claim:changed_hands".into()),
                ("sessionId", "worker-2".into()),
                ("fromSessionId", "worker-1".into()),
            ],
        );
        run("DELETE FROM task_claims WHERE task_id = 'a'");
        assert_told(
            &scene.wait(4, 1)[0],
            &[("event", "claim:released".into()), ("reason", "finished_or_released".into())],
        );
        run("UPDATE sessions SET last_heartbeat = last_heartbeat - 3600000 WHERE id = 'worker-2'");
        let lost = scene.wait(5, 2);
        assert_told(
            &lost[0],
            &[
                ("event", "session:lost".into()),
                ("sessionId", "worker-2".into()),
                ("reason", "session_stale".into()),
                ("count", 1.into()),
            ],
        );
        assert_told(
            &lost[1],
            &[("event", "claim:orphaned".into()), ("taskId", "b".into()), ("reason", "session_stale".into())],
        );
        run("UPDATE sessions SET last_heartbeat = last_heartbeat + 3600000 WHERE id = 'worker-2'");
        assert_told(&scene.wait(7, 1)[0], &[("event", "claim:extended".into()), ("taskId", "b".into())]);
        let held = scene.database.number("SELECT count(*) FROM task_claims");
        assert_eq!(held, 1, "nothing was done to any claim");
    });
}

#[test]
fn events_on_standard_output_have_it_for_themselves() {
    on_both(|| {
        let scene = Scene::new();
        let mut watch = scene.database.command(&["check", "--watch", "100ms", "--events", "-"]);
        let mut child = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut rounds = 0;
        while rounds < 2 {
            rounds += usize::from(errors.next().expect("a line").expect("UTF-8").contains("coordination"));
        }
        scene.task("a", "worker-1", 30 * MINUTE);
        let first = BufReader::new(child.stdout.take().expect("a pipe")).lines().next();
        let event: Json = serde_json::from_str(&first.expect("a line").expect("UTF-8")).expect("JSON");
        assert_told(&event, &[("event", "claim:acquired".into()), ("taskId", "a".into())]);
        child.kill().expect("killed");
        child.wait().expect("its end");
        let alone = command(&["check", "--events", "-", "x.db"]).output().expect("runs");
        assert_eq!(alone.status.code(), Some(3), "events take two looks, and so --watch");
    });
}

#[test]
fn a_source_that_is_lost_and_comes_back_is_told_once_each() {
    let scene = Scene::new();
    let mut watching = scene.start(&["check", "--watch", "100ms", "--json"]);
    watching.round();
    watching.round();
    let (path, away) = (scene.database.path(), scene.database.beside("away.db"));
    std::fs::rename(&path, &away).expect("away");
    assert_told(&scene.wait(0, 1)[0], &[("event", "source:lost".into())]);
    watching.round();
    watching.round();
    std::fs::rename(&away, &path).expect("back");
    let told = scene.wait(0, 2);
    assert_eq!(told.len(), 2, "{told:#?}");
    assert_told(&told[1], &[("event", "source:back".into())]);
}

#[test]
fn a_continuous_sweep_tells_what_it_sees_then_what_it_does_and_its_own_acts_only_once() {
    on_both(|| {
        let scene = Scene::new();
        std::fs::write(scene.database.beside("config.toml"), "[sweep]\nsighted_for = \"0s\"\n")
            .expect("a config");
        let config = scene.database.beside("config.toml");
        scene.task("a", "worker-1", 30 * MINUTE);
        let mut sweeping = scene.start(&[
            "sweep",
            "--every",
            "200ms",
            "--json",
            "--config",
            config.to_str().expect("UTF-8"),
        ]);
        sweeping.round();
        scene.database.run("UPDATE task_claims SET expires_at = expires_at - 3600000", ());
        let told = scene.wait(0, 3);
        assert_told(&told[0], &[("event", "claim:expired".into()), ("by", "look".into())]);
        assert_told(&told[1], &[("event", "claim:expired".into()), ("by", "sweep".into())]);
        assert!(told[1]["actionId"].is_string());
        assert_told(&told[2], &[("event", "claims:cleanup".into()), ("count", 1.into())]);
        // Later looks do not tell of it again.
        scene.task("b", "worker-2", 30 * MINUTE);
        assert_told(&scene.wait(3, 1)[0], &[("event", "claim:acquired".into()), ("taskId", "b".into())]);
    });
}

#[test]
fn a_large_cleanup_is_one_event_and_those_who_ask_for_json_or_a_rehearsal_get_every_claim() {
    on_both(|| {
        let scene = Scene::new();
        scene.many(120);
        let arguments = ["sweep", "--once", "--max-share", "100%"];
        let rehearsed = scene.command(&[&arguments[..], &["--dry-run"]].concat()).output().expect("runs");
        assert_eq!(rehearsed.status.code(), Some(0));
        assert_eq!(scene.events().len(), 121);
        std::fs::remove_file(scene.file()).expect("removed");
        let swept = scene.command(&[&arguments[..], &["--json"]].concat()).output().expect("runs");
        assert_eq!(
            String::from_utf8_lossy(&swept.stdout).lines().count(),
            122,
            "each, the cleanup, the summary"
        );
        let told = scene.events();
        assert_eq!(told.len(), 2, "{told:#?}");
        assert_told(
            &told[0],
            &[
                ("event", "claims:batch".into()),
                ("type", "claim:expired".into()),
                ("count", 120.into()),
                ("by", "sweep".into()),
            ],
        );
        let first = told[0]["first"].as_array().expect("addresses");
        assert_eq!((first.len(), &first[0]), (10, &"coordination/task/task-0000".into()));
        assert_told(&told[1], &[("event", "claims:cleanup".into()), ("count", 120.into())]);
    });
}

#[test]
fn the_fields_of_an_event_come_in_a_fixed_order() {
    on_both(|| {
        let scene = Scene::new();
        scene.many(1);
        scene.command(&["sweep", "--once"]).output().expect("runs");
        let written = scene.written();
        let mut from = 0;
        for field in [
            "event",
            "taskId",
            "sessionId",
            "expiredAt",
            "ageMs",
            "source",
            "profile",
            "board",
            "address",
            "why",
            "by",
            "actionId",
            "timestamp",
        ] {
            let at = written[from..].find(&format!("\"{field}\":"));
            from += at.unwrap_or_else(|| panic!("{field} is not in its place in {written}"));
        }
    });
}

#[test]
fn a_healthy_claim_whose_lease_is_renewed_is_told() {
    on_both(|| {
        let scene = Scene::new();
        scene.task("a", "worker-1", 30 * MINUTE);
        let mut watching = scene.start(&["check", "--watch", "100ms", "--json"]);
        watching.round();
        watching.round();
        // A heartbeat alone is no news.
        scene.database.run("UPDATE task_claims SET last_heartbeat = last_heartbeat + 1", ());
        watching.round();
        watching.round();
        scene.database.run(
            "UPDATE task_claims SET expires_at = expires_at + 60000, last_heartbeat = last_heartbeat + 1",
            (),
        );
        let told = scene.wait(0, 1);
        assert_told(&told[0], &[("event", "claim:extended".into()), ("taskId", "a".into())]);
        assert_eq!(told.len(), 1, "{told:#?}");
    });
}

#[test]
fn what_the_systems_own_recovery_did_is_told_as_its_row_says() {
    on_both(|| {
        let scene = Scene { database: Database::of(System::ExecutorJobs) };
        let job = |id: &str| {
            let at = chrono::Utc::now() - chrono::TimeDelta::minutes(47);
            scene.database.run(
                "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts)
                 VALUES (?1, 'run_tsa', 'running', ?2, 'w', 3)",
                (id, at.to_rfc3339()),
            );
        };
        let (again, dead) = ("00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b");
        job(again);
        job(dead);
        let mut watching = scene.start(&["check", "--watch", "100ms", "--json"]);
        watching.round();
        watching.round();
        let recover = |id: &str, status: &str| {
            scene.database.run(
                "UPDATE executor_jobs SET status = ?2, locked_at = NULL, locked_by = NULL,
                 last_error = 'RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 3. ' WHERE id = ?1",
                (id, status),
            );
        };
        recover(again, "queued");
        let told = &scene.wait(0, 1)[0];
        assert_told(told, &[("event", "claim:released".into()), ("reason", "requeued".into())]);
        assert!(told["why"].as_str().is_some_and(|why| why.contains("RECLAIMED_TTL")), "{told:#}");
        recover(dead, "dead");
        assert_told(&scene.wait(1, 1)[0], &[("event", "claim:released".into()), ("reason", "dead".into())]);
    });
}

/// What a single run of a sweep over so many expired claims wrote.
fn swept(count: usize, more: &[&str], config: &str) -> Vec<Json> {
    let scene = Scene::new();
    scene.many(count);
    let path = scene.database.beside("config.toml");
    std::fs::write(&path, format!("[sweep]\nmax_share = '100%'\n{config}")).expect("a config");
    let arguments = [&["--config", path.to_str().expect("UTF-8"), "sweep", "--once"][..], more].concat();
    let status = scene.command(&arguments).status().expect("claimtop runs");
    assert_eq!(status.code(), Some(0));
    scene.events()
}

fn kinds(events: &[Json]) -> Vec<String> {
    let name = |event: &Json| match event["type"].as_str() {
        Some(what) => format!("{} {what} {}", event["event"].as_str().expect("a name"), event["count"]),
        None => event["event"].as_str().expect("a name").to_owned(),
    };
    events.iter().map(name).collect()
}

#[test]
fn events_become_one_batch_above_the_size_that_was_set() {
    on_both(|| {
        let cleanup = "claims:cleanup expired 3";
        let batched = ["claims:batch claim:expired 3", cleanup];
        assert_eq!(kinds(&swept(3, &[], "")), ["claim:expired", "claim:expired", "claim:expired", cleanup]);
        assert_eq!(kinds(&swept(3, &["--batch-above", "2"], "")), batched);
        assert_eq!(kinds(&swept(3, &[], "[events]\nbatch_above = 2\n")), batched);
        // The command line is stronger than the config.
        assert_eq!(kinds(&swept(3, &["--batch-above", "3"], "[events]\nbatch_above = 2\n")).len(), 4);
    });
}

#[test]
fn single_events_can_be_turned_off() {
    on_both(|| {
        let only = ["claims:batch claim:expired 1", "claims:cleanup expired 1"];
        assert_eq!(kinds(&swept(1, &["--no-single-events"], "")), only);
        assert_eq!(kinds(&swept(1, &[], "[events]\nsingle = false\n")), only);
    });
}

#[test]
fn events_are_collected_for_the_interval_that_was_set_and_written_at_the_end_at_the_latest() {
    on_both(|| {
        let scene = Scene::new();
        let arguments = [
            "check",
            "--watch",
            "100ms",
            "--json",
            "--batch-every",
            "1h",
            "--no-single-events",
            "--count",
            "40",
        ];
        let mut watching = scene.start(&arguments);
        watching.round();
        watching.round();
        for number in 0..3 {
            scene.task(&format!("task-{number}"), "worker-1", 30 * MINUTE);
            // The next round has seen it, and has written nothing.
            watching.round();
            watching.round();
            assert_eq!(scene.written(), "");
        }
        while watching.lines.next().is_some() {}
        watching.child.wait().expect("its end");
        assert_eq!(kinds(&scene.events()), ["claims:batch claim:acquired 3"]);
    });
}

#[test]
fn settings_of_batches_need_events() {
    let alone = command(&["sweep", "--once", "--batch-above", "2", "x.db"]).output().expect("runs");
    assert_eq!(alone.status.code(), Some(3));
}
