//! Sources on a server: recorded, replayed and tested as files are, with the queries of the dashboard and no other.

use claimtop::recording::Recording;
use claimtop::reference::System;
use std::collections::BTreeSet;

use super::program::{AT_NOW, database, frames, recorded, recorder, terminate};
use crate::dashboard::pty::{Start, until};
use crate::support::engine::{Engine, on};
use crate::support::server::Server;
use crate::support::{COORDINATION, Database, command, json, lines, stderr, stdout};

#[test]
fn a_server_is_recorded_replayed_and_tested() {
    on(Engine::Postgres, || {
        let database = database();
        let live = database.command(&["check", "--json"]).args(AT_NOW).output().expect("it runs");
        let path = recorded(&database, &[]);
        database.run("DELETE FROM task_claims", []);
        let check = command(&["check", "--json"]).arg(&path).output().expect("it runs");
        assert_eq!(check.status.code(), live.status.code());
        for field in ["claims", "reasons", "sessions", "boards", "profile", "engine"] {
            assert_eq!(json(&check)["sources"][0][field], json(&live)["sources"][0][field], "{field}");
        }
        let pty = Start::claimtop(&database.beside("state")).with(&path).size(150, 40).run();
        pty.wait("REPLAY");
        pty.wait("lost");
        pty.quit();
    });
}

#[test]
fn thresholds_are_tested_on_a_recorded_server() {
    on(Engine::Postgres, || {
        let database = Database::of(System::ExecutorJobs);
        let ago = chrono::Utc::now() - chrono::TimeDelta::minutes(35);
        database.run(
            "INSERT INTO executor_jobs (id, dedupe_key, type, status, locked_at, locked_by, attempts)
             VALUES (?1, 'silent', 'run_tsa', 'running', ?2, 'worker-1', 1)",
            (uuid::Uuid::now_v7().to_string(), ago.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()),
        );
        let path = database.beside("jobs.rec");
        let out = path.to_str().expect("UTF-8");
        let ran = database.claimtop(&["record", "--every", "100ms", "--for", "1s", "--out", out]);
        assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
        let arguments = ["sweep", "--backtest", "--json", "--ttl", "1m..60m"];
        let tested = command(&arguments).arg(&path).output().expect("it runs");
        assert_eq!(tested.status.code(), Some(0), "{}", stderr(&tested));
        let taken = |minutes: i64| {
            let all = lines(&tested);
            let of = |line: &&serde_json::Value| {
                line["kind"] == "run_tsa" && line["threshold_ms"] == minutes * 60_000
            };
            all.iter().find(of).map(|line| line["taken"].clone()).unwrap_or_else(|| panic!("{all:#?}"))
        };
        assert_eq!((taken(30), taken(40)), (1.into(), 0.into()), "{}", stdout(&tested));
    });
}

/// What one session asked, in the words of the server's log, without the numbers in it.
fn asked(log: &str, application: &str) -> BTreeSet<String> {
    let mine = log.lines().filter_map(|line| line.split_once(&format!("[{application}] LOG:  ")));
    mine.filter_map(|(_, said)| said.split_once(": ").map(|(_, statement)| statement.trim().to_owned()))
        .collect()
}

#[test]
fn a_recording_asks_a_server_nothing_that_the_dashboard_does_not_ask() {
    let server = Server::start_with("log_statement = 'all'\nlog_line_prefix = '[%a] '\n");
    server.create_database("tasks", &crate::support::in_their_words(COORDINATION));
    let connection = server.connect("tasks");
    for number in 0..700 {
        connection.run(&format!(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat) \
             VALUES ('t{number}', 's', 1, 2, 1)"
        ));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.rec");
    let with = |url: &str, name: &str| {
        format!("{url}{}application_name={name}", if url.contains('?') { "&" } else { "?" })
    };
    let url = server.url("tasks");
    let pty =
        Start::claimtop(folder.path()).with(with(&url, "shown")).with("--read-only").size(150, 40).run();
    pty.wait("t0");
    // Everything that is asked now and then has been asked twice.
    until("the horizon again", || (server.log().matches("[shown]").count() > 150).then_some(()));
    pty.quit();
    let mut command = command(&["record", "--every", "100ms", "--read-only", "--out"]);
    let child = command.arg(&path).arg(with(&url, "recorded")).stdout(std::process::Stdio::null());
    let child = child.stderr(std::process::Stdio::piped()).spawn().expect("it runs");
    until("frames", || (frames(&path) >= 40).then_some(()));
    assert_eq!(terminate(child).status.code(), Some(0));
    let log = server.log();
    let (shown, recorded) = (asked(&log, "shown"), asked(&log, "recorded"));
    assert!(!recorded.is_empty(), "{log}");
    let more: Vec<&String> = recorded.difference(&shown).collect();
    assert!(more.is_empty(), "{more:#?}");
}

#[test]
fn recording_into_the_same_file_again_continues_it() {
    let database = database();
    let path = recorded(&database, &[]);
    let before = frames(&path);
    terminate(recorder(&database, &path, &[], before + 2));
    let recording = Recording::open(&path).expect("a recording");
    assert_eq!(recording.sources().len(), 1, "the same source");
    assert!(recording.frames().expect("frames").len() > before);
}
