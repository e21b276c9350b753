//! Executor-jobs in SQLite: whatever form a time is stored in, it is the same instant; and what
//! databases from before its migrations lack.

use rusqlite::ToSql;
use serde_json::json;

use super::executor_jobs::{SCHEMA, job_with};
use super::{assert_counts, assert_verdict, instant, iso, naive, naive_micros};
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, NOW, SECOND};

/// The forms in which one instant, on a whole second, is found in databases.
fn forms(offset: i64) -> Vec<(&'static str, Box<dyn ToSql>)> {
    let zoned = |format: &str| -> Box<dyn ToSql> { Box::new(instant(offset).format(format).to_string()) };
    // Two hours to the east of the same instant.
    let east = instant(offset + 120 * MINUTE).format("%Y-%m-%dT%H:%M:%S+02:00").to_string();
    vec![
        ("Z", Box::new(iso(offset))),
        ("Z without a fraction", zoned("%Y-%m-%dT%H:%M:%SZ")),
        ("zone +00:00", zoned("%Y-%m-%dT%H:%M:%S+00:00")),
        ("zone +00", zoned("%Y-%m-%d %H:%M:%S%.6f+00")),
        ("zone +02:00", Box::new(east)),
        ("no zone", Box::new(naive(offset))),
        ("no zone, micros", Box::new(naive_micros(offset))),
        ("milliseconds", Box::new(NOW + offset)),
        ("seconds", Box::new((NOW + offset) / 1_000)),
    ]
}

#[test]
fn a_lock_time_is_read_in_every_form() {
    let database = Database::new(SCHEMA);
    for (form, locked_at) in forms(-35 * MINUTE) {
        job_with(&database, form, "run_tsa", &locked_at, &None::<String>);
        let claim = database.claim(form);
        assert_verdict(&claim, "stale", &["ttl_exceeded"]);
        assert_eq!(claim["claimed_at"], iso(-35 * MINUTE), "{form}");
        assert_eq!(claim["remaining_ms"], -5 * MINUTE, "{form}");
    }
    let all = forms(0).len() as u64;
    assert_counts(&database.check().0["boards"]["job"], all, &[("stale", all)]);
}

#[test]
fn the_end_of_the_time_is_strict_in_every_form() {
    let database = Database::new(SCHEMA);
    for (form, locked_at) in forms(-30 * MINUTE) {
        job_with(&database, &format!("{form} at"), "run_tsa", &locked_at, &None::<String>);
    }
    for (form, locked_at) in forms(-30 * MINUTE - SECOND) {
        job_with(&database, &format!("{form} after"), "run_tsa", &locked_at, &None::<String>);
    }
    let all = forms(0).len() as u64;
    let (found, _) = database.check();
    assert_counts(&found["boards"]["job"], 2 * all, &[("expiring", all), ("stale", all)]);
}

#[test]
fn lock_and_heartbeat_may_be_stored_in_different_forms() {
    let database = Database::new(SCHEMA);
    for (lock_form, locked_at) in forms(-90 * MINUTE) {
        for (beat_form, heartbeat_at) in forms(-10 * MINUTE) {
            job_with(
                &database,
                &format!("{lock_form} and {beat_form}"),
                "run_tsa",
                &locked_at,
                &heartbeat_at,
            );
        }
    }
    let all = (forms(0).len() * forms(0).len()) as u64;
    assert_counts(&database.check().0["boards"]["job"], all, &[("healthy", all)]);
    for claim in database.list(&[]) {
        assert_eq!(claim["deadline_at"], iso(20 * MINUTE), "{}", claim["id"]);
    }
}

#[test]
fn a_time_that_is_none_is_unknown_and_spares_the_others() {
    let database = Database::new(SCHEMA);
    let bad: [(&str, &dyn ToSql); 5] = [
        ("word", &"yesterday"),
        ("empty", &""),
        ("small", &17),
        ("infinity", &"infinity"),
        ("bytes", &b"\xff"),
    ];
    for (id, locked_at) in bad {
        job_with(&database, id, "run_tsa", locked_at, &None::<String>);
        assert_verdict(&database.claim(id), "unknown", &["unreadable"]);
    }
    job_with(&database, "bad beat", "run_tsa", &iso(-SECOND), &"soon");
    assert_verdict(&database.claim("bad beat"), "unknown", &["unreadable"]);
    job_with(&database, "good", "run_tsa", &iso(-SECOND), &None::<String>);
    let (found, exit) = database.check();
    assert_counts(&found["boards"]["job"], 7, &[("healthy", 1), ("unknown", 6)]);
    assert_eq!(exit, 1);
}

#[test]
fn the_oldest_queued_job_is_found_among_all_forms() {
    for (form, run_at) in forms(-2 * MINUTE) {
        let database = Database::new(SCHEMA);
        database.run(
            "INSERT INTO executor_jobs (id, type, status, run_at) VALUES ('old', 'run_tsa', 'queued', ?1)",
            [run_at],
        );
        for (other, run_at) in forms(-MINUTE) {
            database.run(
                "INSERT INTO executor_jobs (id, type, status, run_at) VALUES (?1, 'run_tsa', 'queued', ?2)",
                [&other as &dyn ToSql, &run_at],
            );
        }
        let (found, _) = database.check();
        assert_eq!(found["backlog"]["oldest_queued_s"], 120, "{form}");
    }
}

fn reclaimed(database: &Database, id: &str, updated_at: &dyn ToSql) {
    database.run(
        "INSERT INTO executor_jobs (id, type, status, last_error, updated_at)
         VALUES (?1, 'run_tsa', 'queued', 'RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 1. ', ?2)",
        [&id as &dyn ToSql, &updated_at],
    );
}

fn times_of_history(database: &Database, options: &[&str]) -> Vec<String> {
    let traces = database.list(&[&["--history"], options].concat());
    traces.iter().map(|trace| trace["at"].as_str().expect("a time").into()).collect()
}

#[test]
fn the_history_is_newest_first_in_every_form() {
    for number in 0..forms(0).len() {
        let database = Database::new(SCHEMA);
        for minutes in [30, 10, 20] {
            let (form, updated_at) = forms(-minutes * MINUTE).swap_remove(number);
            reclaimed(&database, &format!("{minutes} minutes, {form}"), &updated_at);
        }
        let expected = [10, 20, 30].map(|minutes| iso(-minutes * MINUTE));
        assert_eq!(times_of_history(&database, &[]), expected);
    }
}

#[test]
fn the_history_is_newest_first_though_writers_used_different_forms() {
    let database = Database::new(SCHEMA);
    for minutes in [30, 10, 20] {
        for (form, updated_at) in forms(-minutes * MINUTE) {
            reclaimed(&database, &format!("{minutes} minutes, {form}"), &updated_at);
        }
    }
    let all = forms(0).len();
    let expected: Vec<String> =
        [10, 20, 30].into_iter().flat_map(|minutes| vec![iso(-minutes * MINUTE); all]).collect();
    assert_eq!(times_of_history(&database, &[]), expected);
    // What a limit leaves out are the oldest.
    assert_eq!(times_of_history(&database, &["--limit", &all.to_string()]), expected[..all]);
}

#[test]
fn before_the_migrations_there_is_neither_a_heartbeat_nor_a_maximum() {
    on_both(|| {
        let database = Database::new(
            "CREATE TABLE executor_jobs (id uuid PRIMARY KEY NOT NULL, type text NOT NULL,
           payload jsonb NOT NULL DEFAULT '{}', status text NOT NULL DEFAULT 'queued',
           attempts int NOT NULL DEFAULT 0, run_at timestamptz, dedupe_key text, locked_at timestamptz,
           locked_by text, last_error text, created_at timestamptz, updated_at timestamptz);",
        );
        for (id, attempts, locked_ago) in [("first", 1, 29), ("ninth", 9, 31), ("tenth", 10, 31)] {
            database.run(
                "INSERT INTO executor_jobs (id, type, status, attempts, locked_at, locked_by)
             VALUES (?1, 'run_tsa', 'running', ?2, ?3, 'w')",
                (id, attempts, iso(-locked_ago * MINUTE)),
            );
        }
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["job"], 3, &[("expiring", 1), ("stale", 2)]);
        assert_eq!(exit, 2);
        let ninth = database.claim("ninth");
        assert_eq!((&ninth["max_attempts"], &ninth["exhausted"]), (&json!(10), &json!(false)));
        let tenth = database.claim("tenth");
        assert_eq!((&tenth["max_attempts"], &tenth["exhausted"]), (&json!(10), &json!(true)));
        assert!(tenth["beat_at"].is_null());
    });
}

#[test]
fn the_error_of_an_earlier_attempt_and_the_holder_are_listed() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        job_with(&database, "job-1", "run_tsa", &iso(-MINUTE), &iso(-15 * SECOND));
        database.run("UPDATE executor_jobs SET last_error = 'TSA unreachable'", []);
        let claim = database.claim("job-1");
        assert_eq!(claim["error"], "TSA unreachable");
        assert_eq!(claim["holder"], "orchestrator-1");
        assert_eq!(claim["beat_at"], iso(-15 * SECOND));
        assert_eq!(claim["conclusion"], "alive");
        assert!(claim["session"].is_null());
    });
}
