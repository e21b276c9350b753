//! The verbs that look, on the reference tables of a server.

use crate::support::postgres::PgDatabase;
use crate::support::{command, json, lines, stderr, stdout};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const JOBS: &str = include_str!("../../assets/schema/postgres/executor-jobs.sql");
const FINALIZATION: &str = include_str!("../../assets/schema/postgres/finalization.sql");
const TASK_QUEUE: &str = include_str!("../../assets/schema/postgres/task-queue.sql");

/// All three systems, with a stale job that was reclaimed before, a dead one, and a worker with a process.
fn database() -> PgDatabase {
    let database = PgDatabase::new(&format!("BEGIN; {JOBS} {FINALIZATION} {TASK_QUEUE} COMMIT;"));
    database.run(
        "INSERT INTO executor_jobs (type, status, locked_by, locked_at, heartbeat_at, last_error)
           VALUES ('run_tsa', 'running', 'worker-1', now() - interval '3 hours', now() - interval '2 hours',
                   'RECLAIMED_TTL: once before');
         INSERT INTO executor_jobs (type, status, attempts, last_error)
           VALUES ('run_tsa', 'dead', 10, 'the printer burns');",
    );
    database
}

#[test]
fn every_verb_that_looks_answers_on_a_server() {
    let database = database();
    let run = |arguments: &[&str], code: i32| {
        let output = database.claimtop(arguments);
        let said = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        output
    };
    let checked = json(&run(&["check", "--json", "--profile", "executor-jobs"], 2));
    assert_eq!(checked["sources"][0]["claims"]["stale"], 1);
    assert_eq!(checked["sources"][0]["engine"], "postgres");
    let listed = lines(&run(&["list", "--json", "--profile", "executor-jobs"], 0));
    assert_eq!((listed.len(), listed[0]["holder"].as_str()), (1, Some("worker-1")));
    let dead = stdout(&run(&["list", "--dead"], 0));
    assert!(dead.contains("the printer burns"), "{dead}");
    let history = stdout(&run(&["list", "--history"], 0));
    assert!(history.contains("RECLAIMED_TTL: once before"), "{history}");
    let csv = stdout(&run(&["list", "--csv"], 0));
    assert!(csv.contains("worker-1"), "{csv}");
    run(&["pid"], 0);
    let detected = stdout(&run(&["profile", "detect"], 0));
    for profile in ["executor-jobs", "finalization", "task-queue"] {
        let fits = |line: &str| line.split_whitespace().collect::<Vec<_>>().starts_with(&[profile, "fits"]);
        assert!(detected.lines().any(fits), "{detected}");
    }
    let fit = stdout(&run(&["profile", "check", "executor-jobs"], 0));
    assert!(fit.contains("locked_by"), "{fit}");
}

#[test]
fn check_watches_a_server_until_it_is_told_to_end() {
    let database = database();
    let mut child = database
        .command(&["check", "--watch", "1s", "--json", "--profile", "executor-jobs"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("claimtop runs");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut stale = || {
        let line = answers.next().expect("another look").expect("UTF-8");
        let look: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        look["sources"][0]["claims"]["stale"].clone()
    };
    assert_eq!(stale(), 1);
    database.run("UPDATE executor_jobs SET heartbeat_at = now() WHERE status = 'running'");
    while stale() != 0 {}
    child.kill().expect("our own child");
    child.wait().expect("our own child");
}

#[test]
fn a_warning_of_the_address_is_on_standard_error_once() {
    let url = "postgres://ann@192.0.2.1/app?sslmode=prefer&connect_timeout=1";
    for verb in [&["check", "--json"][..], &["list"], &["profile", "detect"], &["doctor"]] {
        let output = command(verb).arg(url).output().unwrap();
        let said = stderr(&output);
        assert_eq!(said.matches("are taken as require").count(), 1, "{verb:?}: {said}");
        assert!(!stdout(&output).contains("are taken as require"), "{verb:?}");
    }
}
