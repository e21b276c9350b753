//! Executor-jobs: claiming, heartbeats, the reclaim and the three views.

use super::{EXECUTOR_JOBS, all, database};
use crate::support::postgres::PgDatabase;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

/// A running job that was taken and last beat this many minutes ago.
fn running(database: &PgDatabase, key: &str, kind: &str, attempts: i32, locked: f64, beat: Option<f64>) {
    let ago = |minutes: f64| format!("now() - interval '1 minute' * {minutes}");
    let beat = beat.map_or("NULL".into(), ago);
    database.run(&format!(
        "INSERT INTO executor_jobs (dedupe_key, type, status, attempts, locked_at, locked_by, heartbeat_at)
         VALUES ('{key}', '{kind}', 'running', {attempts}, {}, 'w-{key}', {beat})",
        ago(locked)
    ));
}

fn reclaim(database: &PgDatabase) -> Json {
    serde_json::from_str(&database.value("SELECT reclaim_stale_jobs()").unwrap()).unwrap()
}

#[test]
fn a_silent_job_is_queued_again_and_an_exhausted_one_is_dead() {
    let database = database(&[EXECUTOR_JOBS]);
    for attempts in [1, 8, 9, 10, 11] {
        running(&database, &format!("a{attempts:02}"), "run_tsa", attempts, 35.0 + f64::from(attempts), None);
    }
    database.run("UPDATE executor_jobs SET last_error = 'before' WHERE attempts = 1");
    let answer = reclaim(&database);
    assert_eq!((&answer["reclaimed_count"], &answer["dead_count"]), (&Json::from(3), &Json::from(2)));
    assert_eq!(
        all(
            &database,
            "SELECT dedupe_key, status, attempts, locked_at, locked_by, last_error FROM executor_jobs ORDER BY 1"
        ),
        [
            "a01|queued|2|-|-|RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 1. before",
            "a08|queued|9|-|-|RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 8. ",
            "a09|queued|10|-|-|RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 9. ",
            "a10|dead|10|-|-|RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 10. Max attempts reached (10). ",
            "a11|dead|11|-|-|RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 11. Max attempts reached (10). ",
        ]
    );
    let job = &answer["dead_jobs"][1];
    assert_eq!((&job["type"], &job["attempts"]), (&Json::from("run_tsa"), &Json::from(10)));
    assert_eq!((&job["ttl_minutes"], &job["locked_by"]), (&Json::from(30), &Json::from("w-a10")));
    assert!(answer["timestamp"].is_string());

    let again = reclaim(&database);
    assert_eq!((&again["reclaimed_count"], &again["dead_count"]), (&Json::from(0), &Json::from(0)));
    assert_eq!((&again["reclaimed_jobs"], &again["dead_jobs"]), (&Json::Array(vec![]), &Json::Array(vec![])));
}

#[test]
fn every_type_has_its_own_time_and_one_without_is_left_alone() {
    let database = database(&[EXECUTOR_JOBS]);
    let types = [
        ("protect_document_v2", 5.0),
        ("document.protected", 5.0),
        ("run_tsa", 30.0),
        ("submit_anchor_polygon", 60.0),
        ("submit_anchor_bitcoin", 60.0),
        ("build_artifact", 15.0),
    ];
    for (kind, minutes) in types {
        running(&database, &format!("over {kind}"), kind, 0, minutes + 0.5, None);
        running(&database, &format!("within {kind}"), kind, 0, minutes - 0.5, None);
    }
    running(&database, "within: unknown", "generate_signature_evidence", 0, 6000.0, None);
    running(&database, "within: beats", "run_tsa", 0, 300.0, Some(1.0));
    running(&database, "within: beat before its claim", "run_tsa", 0, 1.0, Some(300.0));
    running(&database, "over: beat long ago", "run_tsa", 0, 300.0, Some(31.0));
    database.run("UPDATE executor_jobs SET status = 'processing' WHERE dedupe_key = 'over run_tsa'");
    database.run(
        "INSERT INTO executor_jobs (dedupe_key, type, status, locked_at) VALUES
           ('within: no time', 'run_tsa', 'running', NULL), ('within: infinity', 'run_tsa', 'running', 'infinity'),
           ('within: succeeded', 'run_tsa', 'succeeded', '-infinity')",
    );
    assert_eq!(reclaim(&database)["reclaimed_count"], 7);
    let odd = "SELECT dedupe_key FROM executor_jobs
               WHERE (last_error IS NOT NULL) <> (dedupe_key LIKE 'over%') ORDER BY 1";
    assert_eq!(all(&database, odd), [""; 0]);
}

#[test]
fn a_heartbeat_is_heard_from_the_owner_of_a_running_job_only() {
    let database = database(&[EXECUTOR_JOBS]);
    running(&database, "mine", "run_tsa", 1, 40.0, None);
    let beat = |worker: &str| {
        database.value(&format!("SELECT update_job_heartbeat(id, '{worker}') FROM executor_jobs")).unwrap()
    };
    assert_eq!(beat("w-other"), "f");
    assert_eq!(database.value("SELECT heartbeat_at FROM executor_jobs"), None);
    assert_eq!(beat("w-mine"), "t");
    assert_eq!(reclaim(&database)["reclaimed_count"], 0, "it beat");

    database.run("UPDATE executor_jobs SET status = 'succeeded'");
    assert_eq!(beat("w-mine"), "f");
    let nobody = "SELECT update_job_heartbeat(gen_random_uuid(), 'w-mine')";
    assert_eq!(database.value(nobody).as_deref(), Some("f"));
}

#[test]
fn a_claim_takes_what_has_been_due_longest_and_counts_the_attempt() {
    let database = database(&[EXECUTOR_JOBS]);
    database.run(
        "INSERT INTO executor_jobs (dedupe_key, type, status, run_at) VALUES
           ('later', 'run_tsa', 'queued', now() - interval '1 minute'),
           ('first', 'build_artifact', 'retry_scheduled', now() - interval '1 hour'),
           ('not due', 'run_tsa', 'queued', now() + interval '1 hour'),
           ('dead', 'run_tsa', 'dead', now() - interval '2 hours')",
    );
    let claim = |arguments: &str| {
        all(
            &database,
            &format!(
                "SELECT dedupe_key, status, attempts, locked_by, locked_at = heartbeat_at OR locked_at < heartbeat_at
                 FROM claim_executor_job({arguments})"
            ),
        )
    };
    assert_eq!(claim("'w', ARRAY['run_tsa']"), ["later|running|1|w|t"]);
    assert_eq!(claim("'w', '{}'"), ["first|running|1|w|t"]);
    assert_eq!(claim("'w'"), [""; 0]);
    let runs = "SELECT j.dedupe_key, r.status, r.attempt, r.worker_id, r.started_at = j.locked_at
                FROM executor_job_runs r JOIN executor_jobs j ON j.id = r.job_id ORDER BY 1";
    assert_eq!(all(&database, runs), ["first|started|1|w|t", "later|started|1|w|t"]);
    database.connect().attempt("SELECT claim_executor_job(' ')").expect_err("a worker needs a name");
}

#[test]
fn two_claimers_never_get_the_same_job() {
    let database = database(&[EXECUTOR_JOBS]);
    database.run("INSERT INTO executor_jobs (type) SELECT 'run_tsa' FROM generate_series(1, 400)");
    let ready = Barrier::new(32);
    let taken: Vec<String> = thread::scope(|scope| {
        let claimers: Vec<_> = (0..32)
            .map(|who| {
                let (database, ready) = (&database, &ready);
                scope.spawn(move || {
                    let session = database.connect();
                    ready.wait();
                    let mut mine = Vec::new();
                    while let Some(row) =
                        session.query(&format!("SELECT id FROM claim_executor_job('w{who}')")).pop()
                    {
                        mine.extend(row.into_iter().flatten());
                    }
                    mine
                })
            })
            .collect();
        claimers.into_iter().flat_map(|claimer| claimer.join().unwrap()).collect()
    });
    assert_eq!(taken.len(), 400);
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 400);
    assert_eq!(
        database.value("SELECT count(*) FROM executor_jobs WHERE attempts = 1").as_deref(),
        Some("400")
    );
}

#[test]
fn reclaims_at_once_count_each_job_once_and_never_wait() {
    let database = database(&[EXECUTOR_JOBS]);
    database.run(
        "INSERT INTO executor_jobs (type, status, locked_at, locked_by, attempts)
         SELECT 'run_tsa', 'running', now() - interval '1 hour', 'w', n % 11 FROM generate_series(1, 550) n",
    );
    // One that a worker is just settling: it is passed by, not waited for.
    let worker = database.connect();
    worker.run("BEGIN; SELECT 1 FROM executor_jobs LIMIT 1 FOR UPDATE");
    let ready = Barrier::new(4);
    let counted: i64 = thread::scope(|scope| {
        let sweepers: Vec<_> = (0..4)
            .map(|_| {
                let (database, ready) = (&database, &ready);
                scope.spawn(move || {
                    let session = database.connect();
                    ready.wait();
                    let answer: Json =
                        serde_json::from_str(&session.value("SELECT reclaim_stale_jobs()").unwrap()).unwrap();
                    answer["reclaimed_count"].as_i64().unwrap() + answer["dead_count"].as_i64().unwrap()
                })
            })
            .collect();
        sweepers.into_iter().map(|sweeper| sweeper.join().unwrap()).sum()
    });
    worker.run("COMMIT");
    let last = reclaim(&database);
    let last = last["reclaimed_count"].as_i64().unwrap() + last["dead_count"].as_i64().unwrap();
    assert_eq!(counted + last, 550);
    let twice = "SELECT count(*) FROM executor_jobs WHERE last_error LIKE '%RECLAIMED%RECLAIMED%'";
    assert_eq!(database.value(twice).as_deref(), Some("0"));
    let dead = "SELECT count(*) FROM executor_jobs WHERE status = 'dead' AND attempts = 10";
    assert_eq!(database.value(dead).as_deref(), Some("50"));
}

#[test]
fn a_beat_after_the_reclaims_moment_saves_the_job() {
    let database = database(&[EXECUTOR_JOBS]);
    running(&database, "slow", "run_tsa", 1, 35.0, None);
    let sweeper = database.connect();
    // Its moment is from before the beat, its look from after.
    sweeper.run("BEGIN");
    assert_eq!(
        database.value("SELECT update_job_heartbeat(id, locked_by) FROM executor_jobs").as_deref(),
        Some("t")
    );
    assert_eq!(sweeper.value("SELECT reclaim_stale_jobs() -> 'reclaimed_count'").as_deref(), Some("0"));
    sweeper.run("COMMIT");
}

#[test]
fn the_views_show_the_documents_numbers_and_know_what_they_do_not_know() {
    let database = database(&[EXECUTOR_JOBS]);
    running(&database, "stale", "run_tsa", 1, 75.0, Some(60.0));
    running(&database, "critical", "run_tsa", 1, 61.0, None);
    running(&database, "warning", "run_tsa", 1, 24.5, None);
    running(&database, "fine", "run_tsa", 1, 300.0, Some(6.0));
    running(&database, "nameless", "generate_signature_evidence", 1, 600.0, None);
    running(&database, "fresh", "build_artifact", 1, 0.0, Some(300.0));
    database.run(
        "INSERT INTO executor_jobs (dedupe_key, type, status, locked_at, heartbeat_at) VALUES
           ('no time', 'run_tsa', 'running', NULL, now()), ('never', 'run_tsa', 'running', 'infinity', NULL)",
    );
    // In one statement with the view's own now() the numbers are exact to its two places.
    let monitor =
        "SELECT dedupe_key, ttl_minutes, health_status, ttl_ratio BETWEEN expected AND expected + 0.1
         FROM executor_jobs_stale_monitor JOIN (VALUES ('stale', 2.0), ('critical', 2.03), ('warning', 0.81),
           ('fine', 0.2), ('nameless', NULL), ('fresh', 0.0), ('no time', NULL), ('never', NULL))
           AS known (key, expected) ON key = dedupe_key";
    let mut seen = all(&database, monitor);
    seen.sort();
    assert_eq!(
        seen,
        [
            "critical|30|STALE|t",
            "fine|30|OK|t",
            "fresh|15|OK|t",
            "nameless|-|UNKNOWN|-",
            "never|30|OK|-",
            "no time|30|UNKNOWN|-",
            "stale|30|STALE|t",
            "warning|30|WARNING|t",
        ]
    );
    let order = all(&database, "SELECT dedupe_key FROM executor_jobs_stale_monitor");
    assert_eq!(order[..6], ["critical", "stale", "warning", "fine", "fresh", "never"]);
    let mut unknown = order[6..].to_vec();
    unknown.sort();
    assert_eq!(unknown, ["nameless", "no time"]);

    // An hour ago is twice the TTL only once some time has passed: both may be shown, `critical` is.
    let validation = all(
        &database,
        "SELECT dedupe_key, issue FROM executor_jobs_stale_validation WHERE dedupe_key <> 'stale'",
    );
    assert_eq!(validation, ["critical|CRITICAL: Running > 2x TTL"]);

    assert_eq!(all(&database, "SELECT * FROM executor_jobs_reclaim_history"), [""; 0]);
    assert_eq!(reclaim(&database)["reclaimed_count"], 2);
    database.run("UPDATE executor_jobs SET last_error = last_error || 'later' WHERE dedupe_key = 'stale'");
    let history = all(&database, "SELECT dedupe_key, status, attempts FROM executor_jobs_reclaim_history");
    assert_eq!(history, ["stale|queued|2", "critical|queued|2"], "the last changed one comes first");
    assert_eq!(all(&database, "SELECT 1 FROM executor_jobs_stale_validation"), [""; 0]);
}

#[test]
fn the_reclaim_finds_its_jobs_by_the_partial_index() {
    let database = database(&[EXECUTOR_JOBS]);
    database.run(
        "INSERT INTO executor_jobs (type, status) SELECT 'run_tsa', 'succeeded' FROM generate_series(1, 20000);
         INSERT INTO executor_jobs (type, status, locked_at) SELECT 'run_tsa', 'running', now()
           FROM generate_series(1, 20);
         ANALYZE executor_jobs;",
    );
    let plan = all(
        &database,
        "EXPLAIN SELECT id FROM executor_jobs WHERE status IN ('running', 'processing') AND type = 'run_tsa'
         AND locked_at < now() - interval '30 minutes'",
    )
    .join("\n");
    assert!(plan.contains("executor_jobs_reclaim_idx"), "{plan}");
}
