//! The five systems, each on databases of its own schemas and with its own cases: as it is
//! written, and as its running code differs from it.

mod coordination;
mod coordination_forms;
mod executor_jobs;
mod executor_times;
mod finalization;
mod merge_forms;
mod merge_queue;
mod task_forms;
mod task_lease;
mod task_queue;

use chrono::{DateTime, Utc};
use serde_json::Value as Json;
use std::process::Output;

use crate::support::{Database, NOW, stderr};

/// The instant this many milliseconds from [`NOW`].
fn instant(offset: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(NOW + offset).expect("an instant")
}

/// As the program prints it, and as JavaScript's `toISOString` does.
fn iso(offset: i64) -> String {
    instant(offset).format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// As SQLite's `datetime('now')` and PHP's `date` write it.
fn naive(offset: i64) -> String {
    instant(offset).format("%Y-%m-%d %H:%M:%S").to_string()
}

/// As PostgreSQL prints a `timestamp(6)`.
fn naive_micros(offset: i64) -> String {
    instant(offset).format("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// A number of `check`; a reason that nothing has is not listed.
fn count(counts: &Json, name: &str) -> u64 {
    counts[name].as_u64().unwrap_or(0)
}

/// The counts of one board must be these, and every set that is not named must be empty.
#[track_caller]
fn assert_counts(board: &Json, total: u64, expected: &[(&str, u64)]) {
    assert_eq!(board["total"], total, "total of {board:#}");
    for set in ["healthy", "expiring", "stale", "orphaned", "unknown"] {
        let wanted = expected.iter().find(|(name, _)| *name == set).map_or(0, |(_, count)| *count);
        assert_eq!(board[set], wanted, "{set} of {board:#}");
    }
    assert_eq!(board["exact"], true, "{board:#}");
}

/// The claim must be in these sets for these reasons, worst first.
#[track_caller]
fn assert_verdict(claim: &Json, verdict: &str, reasons: &[&str]) {
    assert_eq!(claim["verdict"], verdict, "{claim:#}");
    assert_eq!(claim["reasons"], serde_json::json!(reasons), "{claim:#}");
}

/// No profile may take this database for its own: exit code 3 and a sentence that says so.
#[track_caller]
fn assert_no_profile_fits(database: &Database) -> Output {
    let output = database.claimtop(&["check", "--json"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("no profile fits"), "{}", stderr(&output));
    output
}

/// The traces of earlier recoveries that the system itself keeps, in the order they come.
fn history(database: &Database) -> Vec<Json> {
    database.list(&["--history"])
}
