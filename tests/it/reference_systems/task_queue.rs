//! Task-queue: typed tasks claimed by workers that report in.

use serde_json::json;

use super::{assert_counts, assert_verdict, iso, naive};
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, SECOND};

pub const TASKS: &str = "
    CREATE TABLE task_types (id INTEGER PRIMARY KEY, name VARCHAR(255) NOT NULL, version VARCHAR(50),
      param_schema TEXT, is_active BOOLEAN DEFAULT true, created_at DATETIME, updated_at DATETIME,
      UNIQUE (name, version));
    CREATE TABLE tasks (id INTEGER PRIMARY KEY AUTOINCREMENT, task_type_id INTEGER NOT NULL,
      status VARCHAR(20) NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'claimed', 'completed', 'failed')),
      params TEXT, result TEXT, error_message TEXT, dedupe_key VARCHAR(64) UNIQUE,
      priority INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
      max_attempts INTEGER NOT NULL DEFAULT 3, worker_id VARCHAR(255), claimed_at DATETIME,
      completed_at DATETIME, created_at DATETIME, updated_at DATETIME);
    CREATE INDEX idx_tasks_claim ON tasks(status, task_type_id, priority DESC, created_at);
    CREATE TABLE task_logs (id INTEGER PRIMARY KEY, task_id INTEGER, event VARCHAR(20), worker_id VARCHAR(255),
      message TEXT, metadata TEXT, created_at DATETIME);
    INSERT INTO task_types (id, name, version) VALUES (1, 'youtube_video_scrape', '1'),
      (2, 'reddit_post_fetch', '1'), (3, 'youtube_video_scrape', '2');";

pub const HEARTBEATS: &str = "
    CREATE TABLE worker_heartbeats (id INTEGER PRIMARY KEY, worker_id VARCHAR(255) NOT NULL UNIQUE,
      status VARCHAR(20) DEFAULT 'active', last_seen_at DATETIME NOT NULL, metadata JSONB);";

pub fn with_workers() -> Database {
    Database::new(&[TASKS, HEARTBEATS].concat())
}

/// A claimed task; answers its id.
pub fn task(database: &Database, worker: &str, claimed_ago: i64) -> String {
    database.run(
        "INSERT INTO tasks (task_type_id, status, worker_id, claimed_at, created_at)
         VALUES (1, 'claimed', ?1, ?2, ?3)",
        (worker, naive(-claimed_ago), naive(-claimed_ago - MINUTE)),
    );
    database.text("SELECT max(id) FROM tasks")
}

pub fn worker(database: &Database, id: &str, seen_ago: i64, metadata: Option<&str>) {
    database.run(
        "INSERT INTO worker_heartbeats (worker_id, last_seen_at, metadata) VALUES (?1, ?2, ?3)",
        (id, naive(-seen_ago), metadata),
    );
}

#[test]
fn a_living_workers_task_is_healthy_however_old() {
    on_both(|| {
        let database = with_workers();
        worker(&database, "worker-youtube-01", 30 * SECOND, None);
        let old = task(&database, "worker-youtube-01", 600 * MINUTE);
        let (found, exit) = database.check();
        assert_eq!(found["profile"], "task-queue");
        assert_counts(&found["boards"]["task"], 1, &[("healthy", 1)]);
        assert_eq!(exit, 0);
        let claim = database.claim(&old);
        assert_verdict(&claim, "healthy", &[]);
        assert_eq!(claim["claimed_at"], iso(-600 * MINUTE));
        // Its end moves with the worker's heartbeat.
        assert_eq!(claim["deadline_at"], iso(270 * SECOND));
        assert_eq!(claim["conclusion"], "alive");
    });
}

#[test]
fn a_worker_is_stale_after_more_than_three_hundred_seconds() {
    on_both(|| {
        let database = with_workers();
        for (seen_ago, verdict, reasons) in [
            (239, "healthy", &[][..]),
            (240, "expiring", &["deadline_near"]),
            (300, "expiring", &["deadline_near"]),
            (301, "orphaned", &["session_stale"]),
            (3_600, "orphaned", &["session_stale"]),
        ] {
            let name = format!("worker-{seen_ago}");
            worker(&database, &name, seen_ago * SECOND, None);
            // Claimed a moment ago: that does not help a worker that has been silent since before.
            let id = task(&database, &name, SECOND);
            let claim = database.claim(&id);
            assert_verdict(&claim, verdict, reasons);
            let state = if seen_ago > 300 { "stale" } else { "alive" };
            assert_eq!(claim["session"]["state"], state);
            assert_eq!(claim["session"]["beat_at"], iso(-seen_ago * SECOND));
        }
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["task"], 5, &[("healthy", 1), ("expiring", 2), ("orphaned", 2)]);
        assert_eq!(found["sessions"], json!({"total": 5, "alive": 3, "stale": 2}));
        assert_eq!(exit, 2);
    });
}

#[test]
fn the_claim_of_a_worker_that_never_registered_is_judged_by_its_age() {
    on_both(|| {
        let database = with_workers();
        worker(&database, "worker-01", SECOND, None);
        let young = task(&database, "worker-02", SECOND);
        let near = task(&database, "worker-02", 290 * SECOND);
        let old = task(&database, "worker-02", 301 * SECOND);
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["task"], 3, &[("healthy", 1), ("expiring", 1), ("stale", 1)]);
        assert_eq!(found["reasons"], json!({"ttl_exceeded": 1, "deadline_near": 1}));
        assert_eq!(exit, 2);
        assert_verdict(&database.claim(&young), "healthy", &[]);
        assert_verdict(&database.claim(&near), "expiring", &["deadline_near"]);
        let claim = database.claim(&old);
        assert_verdict(&claim, "stale", &["ttl_exceeded"]);
        assert_eq!(claim["session"]["state"], "unregistered");
    });
}

#[test]
fn process_and_host_of_a_worker_come_out_of_its_metadata() {
    on_both(|| {
        let database = with_workers();
        let metadata = r#"{"hostname": "web-1", "pid": 4312, "version": "1.0", "tasks_processed": 5}"#;
        worker(&database, "told", SECOND, Some(metadata));
        let id = task(&database, "told", SECOND);
        let session = &database.claim(&id)["session"];
        assert_eq!((&session["pid"], &session["host"]), (&json!(4312), &json!("web-1")));
        assert_eq!(session["process"], "unknown");
    });
}

#[test]
fn metadata_that_is_no_json_harms_nothing() {
    on_both(|| {
        let database = Database::new(&[TASKS, HEARTBEATS].concat().replace("JSONB", "TEXT"));
        let odd =
            [None, Some(""), Some("{"), Some("not json"), Some("[]"), Some("null"), Some(r#"{"pid": "x"}"#)];
        for (number, metadata) in odd.into_iter().enumerate() {
            let name = format!("worker-{number}");
            worker(&database, &name, SECOND, metadata);
            let id = task(&database, &name, SECOND);
            let claim = database.claim(&id);
            assert_verdict(&claim, "healthy", &[]);
            assert_eq!(claim["session"]["state"], "alive", "{metadata:?}");
            assert!(claim["session"]["pid"].is_null() && claim["session"]["host"].is_null(), "{metadata:?}");
        }
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["task"], 7, &[("healthy", 7)]);
        assert_eq!(exit, 0);
    });
}

#[test]
fn without_heartbeats_a_claim_is_stale_three_hundred_seconds_after_it_was_made() {
    on_both(|| {
        let database = Database::new(TASKS);
        for (claimed_ago, verdict, reasons) in [
            (239, "healthy", &[][..]),
            (240, "expiring", &["deadline_near"]),
            (300, "expiring", &["deadline_near"]),
            (301, "stale", &["ttl_exceeded"]),
            (600, "stale", &["ttl_exceeded"]),
        ] {
            let id = task(&database, "worker-01", claimed_ago * SECOND);
            let claim = database.claim(&id);
            assert_verdict(&claim, verdict, reasons);
            assert!(claim["session"].is_null());
        }
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["task"], 5, &[("healthy", 1), ("expiring", 2), ("stale", 2)]);
        assert_eq!(found["claims"]["runaway"], 1);
        assert!(found["sessions"].is_null());
        assert!(found["notices"].to_string().contains("worker_heartbeats"), "{}", found["notices"]);
        assert_eq!(exit, 2);
    });
}

#[test]
fn the_kind_of_a_task_is_the_name_of_its_type() {
    on_both(|| {
        let database = with_workers();
        worker(&database, "w", SECOND, None);
        for (kind, name) in
            [(1, json!("youtube_video_scrape")), (2, json!("reddit_post_fetch")), (77, json!(null))]
        {
            let id = task(&database, "w", SECOND);
            database.run("UPDATE tasks SET task_type_id = ?1 WHERE id = ?2", (kind, &id));
            assert_eq!(database.claim(&id)["kind"], name);
        }
        assert_eq!(database.list(&["--kind", "reddit_post_fetch"]).len(), 1);
        // An unknown type has a worker like any other: it is judged by it.
        assert_counts(&database.check().0["boards"]["task"], 3, &[("healthy", 3)]);
    });
}

#[test]
fn the_profile_of_so_common_a_table_is_generic() {
    on_both(|| {
        assert_eq!(with_workers().check().0["generic"], true);
    });
}

#[test]
fn only_claimed_tasks_are_claims_and_the_rest_is_the_backlog() {
    on_both(|| {
        let database = with_workers();
        worker(&database, "w", SECOND, None);
        for (status, waited) in
            [("pending", 44), ("pending", 12), ("completed", 900), ("failed", 900), ("claimed", 900)]
        {
            database.run(
                "INSERT INTO tasks (task_type_id, status, worker_id, claimed_at, created_at)
             VALUES (1, ?1, 'w', ?2, ?3)",
                (status, naive(-SECOND), naive(-waited * SECOND)),
            );
        }
        let (found, _) = database.check();
        assert_counts(&found["boards"]["task"], 1, &[("healthy", 1)]);
        assert_eq!(found["backlog"], json!({"queued": 2, "dead": 1, "oldest_queued_s": 44}));
    });
}

#[test]
fn ten_workers_and_five_tasks_make_five_claims() {
    on_both(|| {
        let database = with_workers();
        for number in 1..=10 {
            worker(&database, &format!("worker-{number}"), SECOND, None);
        }
        for number in 1..=5 {
            task(&database, &format!("worker-{number}"), SECOND);
        }
        let (found, _) = database.check();
        assert_counts(&found["boards"]["task"], 5, &[("healthy", 5)]);
        assert_eq!(found["sessions"], json!({"total": 10, "alive": 10, "stale": 0}));
        let mut holders: Vec<String> =
            database.list(&[]).iter().map(|claim| claim["holder"].as_str().unwrap().into()).collect();
        holders.sort();
        assert_eq!(holders, ["worker-1", "worker-2", "worker-3", "worker-4", "worker-5"]);
    });
}
