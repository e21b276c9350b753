//! Task-queue: forms of its tables, its log, and the oddities of its times.

use serde_json::json;

use super::task_queue::{HEARTBEATS, TASKS, task, with_workers, worker};
use super::{assert_counts, assert_no_profile_fits, assert_verdict, history, iso, naive};
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, NOW, SECOND, json as parsed, lines, stderr};

#[test]
fn a_registry_may_share_the_name_of_a_column_with_the_tasks() {
    on_both(|| {
        // The specification's workers have a status, as its tasks do; those of a simpler table do not.
        let simple = HEARTBEATS.replace("status VARCHAR(20) DEFAULT 'active', ", "");
        assert!(!simple.contains("status"));
        for heartbeats in [simple.as_str(), HEARTBEATS] {
            let database = Database::new(&[TASKS, heartbeats].concat());
            worker(&database, "alive", SECOND, Some(r#"{"hostname": "web-1", "pid": 4312}"#));
            worker(&database, "silent", 301 * SECOND, None);
            let kept = task(&database, "alive", 600 * MINUTE);
            let stale = task(&database, "silent", SECOND);
            let unheard_of = task(&database, "unheard-of", SECOND);
            let (found, exit) = database.check();
            assert_counts(&found["boards"]["task"], 3, &[("healthy", 2), ("orphaned", 1)]);
            assert_eq!(found["reasons"], json!({"session_stale": 1}));
            assert_eq!(exit, 2);
            let claim = database.claim(&kept);
            assert_verdict(&claim, "healthy", &[]);
            assert_eq!(
                (&claim["session"]["pid"], &claim["session"]["host"]),
                (&json!(4312), &json!("web-1"))
            );
            assert_verdict(&database.claim(&stale), "orphaned", &["session_stale"]);
            assert_verdict(&database.claim(&unheard_of), "healthy", &[]);
        }
    });
}

#[test]
fn a_registry_without_the_time_it_needs_is_named() {
    on_both(|| {
        let other =
            "CREATE TABLE worker_heartbeats (worker_id TEXT PRIMARY KEY, last_heartbeat TEXT NOT NULL);";
        let database = Database::new(&[TASKS, other].concat());
        let output = database.claimtop(&["check", "--json"]);
        assert_eq!(output.status.code(), Some(3));
        assert!(stderr(&output).contains("last_seen_at"), "{}", stderr(&output));
    });
}

#[test]
fn a_claimed_task_that_names_no_worker_is_judged_by_its_age() {
    on_both(|| {
        let database = with_workers();
        let young = task(&database, "w", SECOND);
        let old = task(&database, "w", 301 * SECOND);
        database.run("UPDATE tasks SET worker_id = NULL", []);
        assert_verdict(&database.claim(&young), "healthy", &[]);
        assert_verdict(&database.claim(&old), "stale", &["ttl_exceeded"]);
        assert_counts(&database.check().0["boards"]["task"], 2, &[("healthy", 1), ("stale", 1)]);
    });
}

#[test]
fn a_worker_lives_throughout_its_three_hundredth_second() {
    let database = with_workers();
    worker(&database, "w", 300 * SECOND, None);
    task(&database, "w", SECOND);
    for (offset, orphaned) in [(0, 0), (900, 0), (999, 0), (1_000, 1)] {
        let now = (NOW + offset).to_string();
        let checked = parsed(&database.claimtop(&["check", "--json", "--now", &now]));
        assert_eq!(checked["sources"][0]["claims"]["orphaned"], orphaned, "{offset} ms later");
        assert_eq!(checked["sources"][0]["sessions"]["stale"], orphaned, "{offset} ms later");
        let listed = lines(&database.claimtop(&["list", "--json", "--now", &now]));
        let verdict = if orphaned == 1 { "orphaned" } else { "expiring" };
        assert_eq!(listed[0]["verdict"], verdict, "{offset} ms later");
    }
}

#[test]
fn a_local_time_ahead_of_utc_is_a_clock_that_disagrees() {
    on_both(|| {
        // The specification's code writes the server's local time; its schema's defaults write UTC.
        let database = Database::new(TASKS);
        let noise = task(&database, "w", -2 * SECOND);
        assert_verdict(&database.claim(&noise), "healthy", &[]);
        let east = task(&database, "w", -60 * MINUTE);
        assert_verdict(&database.claim(&east), "unknown", &["clock_skew"]);
        // Who writes another zone than expected makes every time without one doubtful.
        assert_verdict(&database.claim(&noise), "unknown", &["clock_skew"]);
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["task"], 2, &[("unknown", 2)]);
        assert_eq!(exit, 1);
    });
}

#[test]
fn without_a_table_of_types_a_task_has_no_kind_but_a_verdict() {
    on_both(|| {
        let database = with_workers();
        database.batch("DROP TABLE task_types");
        worker(&database, "w", SECOND, None);
        let id = task(&database, "w", SECOND);
        let claim = database.claim(&id);
        assert_verdict(&claim, "healthy", &[]);
        assert!(claim["kind"].is_null());
    });
}

#[test]
fn attempts_are_counted_against_the_rows_maximum() {
    on_both(|| {
        let database = with_workers();
        worker(&database, "w", SECOND, None);
        let id = task(&database, "w", SECOND);
        for (attempts, exhausted) in [(2, false), (3, true)] {
            database.run("UPDATE tasks SET attempts = ?1, error_message = 'timeout'", [attempts]);
            let claim = database.claim(&id);
            assert_eq!((&claim["attempts"], &claim["max_attempts"]), (&json!(attempts), &json!(3)));
            assert_eq!((&claim["exhausted"], &claim["error"]), (&json!(exhausted), &json!("timeout")));
        }
    });
}

#[test]
fn the_history_holds_the_requeued_tasks_newest_first() {
    on_both(|| {
        let database = with_workers();
        for (event, message, ago) in [
            ("requeued", "worker silent for 301 s", 60),
            ("claimed", "Task claimed by worker", 50),
            ("requeued", "worker silent for 400 s", 20),
            ("retried", "attempt 2", 40),
            ("completed", "done", 10),
        ] {
            database.run(
                "INSERT INTO task_logs (task_id, event, worker_id, message, created_at)
             VALUES (123, ?1, 'worker-youtube-01', ?2, ?3)",
                (event, message, naive(-ago * SECOND)),
            );
        }
        let traces = history(&database);
        let messages: Vec<&str> = traces.iter().map(|trace| trace["what"].as_str().unwrap()).collect();
        assert_eq!(messages, ["worker silent for 400 s", "attempt 2", "worker silent for 301 s"]);
        let newest = &traces[0];
        assert_eq!((&newest["history"], &newest["id"]), (&json!("requeued"), &json!("123")));
        assert_eq!(
            (&newest["holder"], &newest["at"]),
            (&json!("worker-youtube-01"), &json!(iso(-20 * SECOND)))
        );
    });
}

#[test]
fn tables_of_the_same_name_in_other_systems_are_not_mistaken_for_it() {
    on_both(|| {
        // The successor of this specification's system, and somebody's list of things to do.
        for schema in [
            "CREATE TABLE tasks (id INTEGER PRIMARY KEY, type_id INTEGER, status TEXT, params_json TEXT,
           dedupe_key TEXT NOT NULL UNIQUE, attempts INTEGER, claimed_by TEXT, claimed_at DATETIME);",
            "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT, done BOOLEAN);",
        ] {
            assert_no_profile_fits(&Database::new(schema));
        }
    });
}
