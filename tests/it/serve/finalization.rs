//! The metrics of finalization from the attempts table: all of them, under their names, and both alerts on them.

use claimtop::domain::time::Span;
use claimtop::worker::Database as WorkerDatabase;
use claimtop::worker::finalization::{Finalization, StepEnd};

use super::alert_rules::assert_rate_alert;
use super::*;
use crate::support::Database;
use crate::support::postgres::PgDatabase;

const SQLITE: &str = include_str!("../../../assets/schema/sqlite/finalization.sql");
const POSTGRES: &str = include_str!("../../../assets/schema/postgres/finalization.sql");
const ATTEMPTS: &str = "finalization_claim_attempts_total";

/// A task with a step that has ended.
fn desk(database: &Database) -> Finalization {
    let mut desk = Finalization::new(WorkerDatabase::open(&database.path()).expect("a database"));
    desk.add_task("t", 0).expect("a task");
    desk.add_step("t", "s").expect("a step");
    desk.end_step("s", StepEnd::Completed).expect("its end");
    desk
}

#[test]
fn serve_tells_every_metric_of_the_workers_under_its_name() {
    let database = Database::new(SQLITE);
    let mut desk = desk(&database);
    let server = Server::start(&[], &[&database.path()]);
    server.wait_until_read();
    for processor in ["p-1", "p-1", "p-2"] {
        desk.claim_task_for_finalization("t", processor, Span::seconds(30)).expect("an answer");
    }
    desk.claim_task_for_finalization("nowhere", "p-1", Span::seconds(30)).expect("an answer");
    for processor in ["p-1", "p-2"] {
        desk.extend("t", processor).expect("an answer");
    }
    for processor in ["p-2", "p-1", "p-1"] {
        desk.release("t", processor).expect("an answer");
    }
    let released = "finalization_claim_release_attempts_total";
    let told = server.wait("the last release", |told| told.get(released, &[]) == Some(3.0));
    let metrics = desk.metrics();
    for counter in metrics.counters() {
        let labels: Vec<(&str, &str)> =
            counter.reason.iter().map(|reason| ("reason", reason.as_str())).collect();
        assert_eq!(told.get(counter.name, &labels), Some(counter.value as f64), "{counter:?}");
    }
    for (name, histogram) in metrics.histograms() {
        assert_eq!(told.get(&format!("{name}_count"), &[]), Some(histogram.count() as f64), "{name}");
        // The row is written before the commit, so its time is the shorter one.
        let sum = told.get(&format!("{name}_sum"), &[]).expect("a sum");
        assert!(sum > 0.0 && sum <= histogram.sum(), "{name}: {sum} of {}", histogram.sum());
        for (bound, _) in histogram.buckets() {
            let bound = if bound.fract() == 0.0 { format!("{bound:.1}") } else { bound.to_string() };
            let bucket = told.get(&format!("{name}_bucket"), &[("le", &bound)]);
            assert!(bucket.is_some(), "{name} has no bucket {bound}");
        }
    }
}

#[test]
fn the_functions_on_a_server_are_counted_and_timed() {
    let database = PgDatabase::new(POSTGRES);
    let task = "00000000-0000-7000-8000-000000000001";
    database.run(&format!(
        "INSERT INTO tasker_tasks (task_uuid) VALUES ('{task}');
         INSERT INTO tasker_workflow_steps (task_uuid, state) VALUES ('{task}', 'completed')"
    ));
    let server = Server::start(&[], &[Path::new(&database.url())]);
    server.wait_until_read();
    for call in ["claim_task_for_finalization", "extend_finalization_claim", "release_finalization_claim"] {
        for processor in ["p-1", "p-2"] {
            database.run(&format!("SELECT {call}('{task}', '{processor}')"));
        }
    }
    // The last claim is after the release of the first.
    let told = server.wait("both releases", |told| {
        told.get("finalization_claim_release_attempts_total", &[]) == Some(2.0)
    });
    for (name, value) in [
        ("attempts", 2.0),
        ("success", 1.0),
        ("contention", 1.0),
        ("extend_attempts", 2.0),
        ("extend_success", 1.0),
        ("extend_failed", 1.0),
        ("release_success", 1.0),
        ("release_not_owned", 1.0),
    ] {
        assert_eq!(told.get(&format!("finalization_claim_{name}_total"), &[]), Some(value), "{name}");
    }
    for name in ["", "_extend", "_release"] {
        let count = told.get(&format!("finalization_claim{name}_duration_seconds_count"), &[]);
        assert_eq!(count, Some(2.0), "{name}");
    }
}

#[test]
fn an_attempt_that_is_committed_after_a_later_one_is_counted() {
    let database = PgDatabase::new(POSTGRES);
    let server = Server::start(&[], &[Path::new(&database.url())]);
    server.wait_until_read();
    let attempt = "INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed, message)
                   VALUES (gen_random_uuid(), 'p', true, 'Successfully claimed for finalization')";
    let slow = database.connect();
    slow.run("BEGIN");
    slow.run(attempt);
    database.run(attempt);
    server.wait("the later one", |told| told.get(ATTEMPTS, &[]) == Some(1.0));
    slow.run("COMMIT");
    server.wait("the earlier one", |told| told.get(ATTEMPTS, &[]) == Some(2.0));
}

/// The alert fires on what `serve` prints before and after these attempts.
#[track_caller]
fn assert_attempts_fire(alert: &str, attempts: &[(bool, &str, f64)]) {
    let database = Database::new(SQLITE);
    let server = Server::start(&[], &[&database.path()]);
    let before = server.wait_until_read();
    for (claimed, message, seconds) in attempts {
        database.run(
            "INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed, message, attempted_at,
               operation, duration_seconds) VALUES ('t', 'p', ?1, ?2, '2026-11-15 12:00:00.000000', 'claim', ?3)",
            (claimed, message, seconds),
        );
    }
    let count = attempts.len() as f64;
    let after = server.wait("the attempts", |told| told.get(ATTEMPTS, &[]) == Some(count));
    assert_rate_alert(alert, &before, &after);
}

#[test]
fn high_contention_fires_on_what_serve_prints() {
    let held = (false, "Task already claimed for finalization", 0.002);
    let got = (true, "Successfully claimed for finalization", 0.002);
    assert_attempts_fire("HighFinalizationContention", &[held, held, held, got]);
}

#[test]
fn slow_claims_fire_on_what_serve_prints() {
    let slow = (true, "Successfully claimed for finalization", 0.8);
    assert_attempts_fire("SlowFinalizationClaims", &[slow; 5]);
}

#[test]
fn attempts_without_the_new_columns_are_counted_by_what_they_say() {
    let old = SQLITE
        .replace(",\n    -- claim, extend or release; NULL in the rows of writers that do not say.", "");
    let old = old
        .replace("\n    operation TEXT,\n    -- How long it took until this row was written; waiting for others included.", "")
        .replace("\n    duration_seconds REAL", "");
    assert!(!old.contains("operation"), "{old}");
    let database = Database::new(&old);
    let server = Server::start(&[], &[&database.path()]);
    server.wait_until_read();
    for (claimed, message) in [
        (true, "Successfully claimed for finalization"),
        (true, "Claim extended"),
        (false, "Failed to extend claim"),
        (false, "Failed to claim - race condition"),
    ] {
        database.run(
            "INSERT INTO tasker_finalization_attempts (task_uuid, processor_id, claimed, message, attempted_at)
             VALUES ('t', 'p', ?1, ?2, '2026-11-15 12:00:00.000000')",
            (claimed, message),
        );
    }
    let told =
        server.wait("the last one", |told| told.get("finalization_claim_contention_total", &[]) == Some(1.0));
    // Whoever extends by claiming has done both.
    assert_eq!(told.get(ATTEMPTS, &[]), Some(3.0));
    assert_eq!(told.get("finalization_claim_extend_success_total", &[]), Some(1.0));
    assert_eq!(told.get("finalization_claim_extend_failed_total", &[]), Some(1.0));
    assert_eq!(told.get("finalization_claim_duration_seconds_count", &[]), Some(0.0));
}
