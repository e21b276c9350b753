//! Where a cause is told: in the summary of a sweep, in the stream of events, in the metrics.

use serde_json::Value as Json;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::{fleet, silence};
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, NOW, lines, stdout};

/// Moves every time to the real clock: sweeps and watchers go by it.
fn by_the_real_clock(database: &Database) {
    let shift = claimtop::store::clock().micros() / 1_000 - NOW;
    database.run(
        "UPDATE sessions SET last_heartbeat = last_heartbeat + ?1, started_at = started_at + ?1",
        [shift],
    );
    database.run(
        "UPDATE task_claims SET claimed_at = claimed_at + ?1, expires_at = expires_at + ?1, last_heartbeat = last_heartbeat + ?1",
        [shift],
    );
}

#[test]
fn a_sweep_names_the_cause_in_its_summary() {
    on_both(|| {
        let database = fleet();
        silence(&database, "web-3", 11 * MINUTE);
        by_the_real_clock(&database);
        let sweep = |options: &[&str]| {
            let mut command = database.command(&["sweep"]);
            command.args(["--once", "--dry-run"]).args(options);
            command.env("XDG_STATE_HOME", database.beside("state")).env_remove("HOME");
            command.output().expect("claimtop runs")
        };
        let summary = lines(&sweep(&["--json"])).pop().expect("a summary");
        assert_eq!(summary["event"], "summary", "{summary}");
        let causes = summary["causes"].as_array().expect("causes");
        assert_eq!(causes.len(), 1, "{summary}");
        let told = ["by", "name", "claims", "of"].map(|key| causes[0][key].clone());
        assert_eq!(told, ["host".into(), "web-3".into(), Json::from(9), Json::from(9)], "{summary}");
        let text = stdout(&sweep(&[]));
        assert!(text.contains("\n  cause: web-3 silent since"), "{text}");
    });
}

/// A program that writes events to a file, ended with the test.
struct Watching {
    child: Child,
    file: std::path::PathBuf,
}

impl Watching {
    fn start(database: &Database) -> Watching {
        let file = database.beside("events.jsonl");
        let mut command = database.command(&["check"]);
        command.args(["--watch", "100ms", "--json", "--events"]).arg(&file);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("claimtop starts");
        let mut rounds = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        // A round is printed before its look for events: after the second, the first look is over.
        for _ in 0..2 {
            rounds.next().expect("a round").expect("UTF-8");
        }
        std::thread::spawn(move || rounds.for_each(drop));
        Watching { child, file }
    }

    /// Waits for an event about a cause.
    #[track_caller]
    fn wait(&self, event: &str) -> Json {
        let end = Instant::now() + Duration::from_secs(180);
        loop {
            let written = std::fs::read_to_string(&self.file).unwrap_or_default();
            let whole = written.rsplit_once('\n').map_or("", |(lines, _)| lines);
            let mut all = whole.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
            if let Some(found) = all.find(|found| found["event"] == event) {
                return found;
            }
            assert!(Instant::now() < end, "no {event}: {written}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_beginning_and_the_end_of_a_cause_are_events() {
    on_both(|| {
        let database = fleet();
        by_the_real_clock(&database);
        let watching = Watching::start(&database);
        let move_beats = |by: i64| {
            for (table, session) in [("sessions", "id"), ("task_claims", "session_id")] {
                database.run(
                    &format!("UPDATE {table} SET last_heartbeat = last_heartbeat + ?1 WHERE {session} LIKE 'web-3-%'"),
                    [by],
                );
            }
        };
        move_beats(-11 * MINUTE);
        let began = watching.wait("cause:began");
        assert_eq!((&began["by"], &began["name"]), (&"host".into(), &"web-3".into()), "{began}");
        move_beats(11 * MINUTE);
        let ended = watching.wait("cause:ended");
        assert_eq!((&ended["by"], &ended["name"]), (&"host".into(), &"web-3".into()), "{ended}");
    });
}
