//! A hot standby is judged as of what it has heard.

use super::{JOBS, first_source};
use crate::support::server::{Server, until};
use crate::support::{command, lines, stderr, stdout};
use std::process::Output;

fn run(server: &Server, arguments: &[&str]) -> Output {
    command(arguments).arg(server.url("fleet")).output().expect("claimtop runs")
}

#[test]
fn a_claim_that_was_renewed_after_the_replay_stopped_is_not_called_stale() {
    let primary = Server::start();
    primary.create_database("fleet", JOBS);
    let session = primary.connect("fleet");
    let standby = primary.standby();
    // Five minutes are its time to live; it has two seconds left.
    session.run(
        "INSERT INTO executor_jobs (type, status, locked_by, locked_at)
         VALUES ('protect_document_v2', 'running', 'w1', clock_timestamp() - interval '4 minutes 58 seconds')",
    );
    standby.catch_up_with(&primary);
    standby.pause_replay();
    session.run("UPDATE executor_jobs SET heartbeat_at = clock_timestamp()");
    let shown = standby.connect("fleet");
    until("the lease to run out by the clock", || {
        let over = "SELECT clock_timestamp() - locked_at > interval '5 minutes 1 second' FROM executor_jobs";
        shown.value(over).as_deref() == Some("t")
    });
    let output = run(&standby, &["check", "--json"]);
    let source = first_source(&output);
    assert_eq!(source["claims"]["stale"], 0, "{source:#}");
    assert_eq!(source["claims"]["total"], 1, "{source:#}");
    assert!(source["replica_lag_ms"].as_i64().expect("a lag") > 1_000, "{source:#}");
    let notice = source["notices"][0].as_str().expect("a notice");
    assert!(notice.contains("standby") && notice.contains("behind"), "{notice}");
    let page = run(&standby, &["check"]);
    assert!(stdout(&page).contains("this is a standby"), "{}", stdout(&page));
    let listed = run(&standby, &["list", "--json"]);
    assert_eq!(lines(&listed).len(), 1, "{}", stderr(&listed));
    assert_ne!(lines(&listed)[0]["verdict"], "stale");
    let source = first_source(&run(&primary, &["check", "--json"]));
    assert_eq!(source["replica_lag_ms"], serde_json::Value::Null);
    standby.resume_replay();
    standby.catch_up_with(&primary);
    let source = first_source(&run(&standby, &["check", "--json"]));
    assert_eq!((&source["claims"]["stale"], &source["claims"]["healthy"]), (&0.into(), &1.into()));
}
