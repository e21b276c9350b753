//! Merge-queue: entries claimed for five minutes, and the one processing lock; whole seconds.

use serde_json::json;

use super::{assert_counts, assert_verdict, count, iso};
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, NOW, SECOND, json as parsed};

/// What the running code creates, all its later columns included.
pub const SCHEMA: &str = "
    CREATE TABLE merge_queue (id INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL UNIQUE,
      bead_id TEXT, priority INTEGER NOT NULL DEFAULT 5, status TEXT NOT NULL DEFAULT 'pending',
      added_at INTEGER NOT NULL, started_at INTEGER, completed_at INTEGER, error_message TEXT, agent_id TEXT,
      dedupe_key TEXT, workspace_state TEXT DEFAULT 'created', previous_state TEXT, state_changed_at INTEGER,
      head_sha TEXT, tested_against_sha TEXT, attempt_count INTEGER DEFAULT 0,
      max_attempts INTEGER DEFAULT 3, rebase_count INTEGER DEFAULT 0, last_rebase_at INTEGER,
      parent_workspace TEXT, stack_depth INTEGER NOT NULL DEFAULT 0, dependents TEXT NOT NULL DEFAULT '[]',
      stack_root TEXT, stack_merge_state TEXT NOT NULL DEFAULT 'independent');
    CREATE INDEX idx_merge_queue_status ON merge_queue(status);
    CREATE INDEX idx_merge_queue_priority_added ON merge_queue(priority, added_at);
    CREATE TABLE queue_processing_lock (id INTEGER PRIMARY KEY CHECK (id = 1), agent_id TEXT NOT NULL,
      acquired_at INTEGER NOT NULL, expires_at INTEGER NOT NULL);
    CREATE TABLE queue_events (id INTEGER PRIMARY KEY AUTOINCREMENT, queue_id INTEGER NOT NULL,
      event_type TEXT NOT NULL, details_json TEXT, created_at INTEGER NOT NULL);";

pub const NOW_S: i64 = NOW / SECOND;

/// An entry that an agent took this many seconds ago; answers its id.
pub fn entry(database: &Database, status: &str, agent: &str, started_ago: i64) -> String {
    let number = database.number("SELECT count(*) FROM merge_queue") + 1;
    database.run(
        "INSERT INTO merge_queue (workspace, status, added_at, started_at, agent_id)
         VALUES ('workspace-' || ?1 || '-' || ?2 || '-' || ?3, ?1, ?4, ?5, ?2)",
        (status, agent, number, NOW_S - 3_600, NOW_S - started_ago),
    );
    database.text("SELECT max(id) FROM merge_queue")
}

pub fn lock(database: &Database, agent: &str, expires_in: i64) {
    database.run(
        "INSERT INTO queue_processing_lock (agent_id, acquired_at, expires_at) VALUES (?1, ?2, ?3)",
        (agent, NOW_S + expires_in - 300, NOW_S + expires_in),
    );
}

/// How many are stale on a board, at a moment given in milliseconds after [`NOW`].
fn stale_at(database: &Database, board: &str, offset: i64) -> u64 {
    let now = (NOW + offset).to_string();
    let output = database.claimtop(&["check", "--json", "--now", &now]);
    count(&parsed(&output)["sources"][0]["boards"][board], "stale")
}

/// The entry with this id, among locks that may be numbered alike.
fn listed(database: &Database, board: &str, id: &str) -> serde_json::Value {
    let all = database.list(&["--board", board]);
    all.iter().find(|claim| claim["id"] == id).unwrap_or_else(|| panic!("no {id} in {all:#?}")).clone()
}

#[test]
fn the_recovery_statistics_can_be_read_off_check() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        lock(&database, "crashed", -1);
        entry(&database, "claimed", "crashed", 301);
        entry(&database, "claimed", "crashed-too", 4_000);
        entry(&database, "claimed", "working", 300);
        entry(&database, "claimed", "working", 10);
        entry(&database, "testing", "working", 4_000);
        let (found, exit) = database.check();
        let (entries, locks) = (&found["boards"]["entry"], &found["boards"]["lock"]);
        // RecoveryStats { locks_cleaned: 1, entries_reclaimed: 2 }.
        assert_eq!((&locks["stale"], &entries["stale"]), (&json!(1), &json!(2)));
        assert_counts(locks, 1, &[("stale", 1)]);
        assert_counts(entries, 5, &[("healthy", 1), ("expiring", 1), ("stale", 2), ("unknown", 1)]);
        assert_eq!(entries["reasons"], json!({"ttl_exceeded": 2, "no_deadline": 1, "deadline_near": 1}));
        assert_eq!(locks["reasons"], json!({"lease_expired": 1}));
        assert_eq!(entries["runaway"], 1);
        assert_eq!(exit, 2);
    });
}

#[test]
fn an_empty_queue_has_nothing_to_recover() {
    on_both(|| {
        let (found, exit) = Database::new(SCHEMA).check();
        assert_counts(&found["boards"]["entry"], 0, &[]);
        assert_counts(&found["boards"]["lock"], 0, &[]);
        assert_eq!(found["generic"], false);
        assert_eq!(exit, 0);
    });
}

#[test]
fn the_lock_is_stale_only_when_its_second_has_passed() {
    on_both(|| {
        for (expires_in, verdict, reason) in [
            (16, "healthy", None),
            (15, "expiring", Some("deadline_near")),
            (1, "expiring", Some("deadline_near")),
            (0, "expiring", Some("deadline_near")),
            (-1, "stale", Some("lease_expired")),
        ] {
            let database = Database::new(SCHEMA);
            lock(&database, "web1-4312", expires_in);
            let claim = listed(&database, "lock", "1");
            assert_verdict(&claim, verdict, reason.as_slice());
            assert_eq!(claim["holder"], "web1-4312");
            assert_eq!(claim["deadline_at"], iso(expires_in * SECOND));
        }
    });
}

#[test]
fn the_lock_holds_throughout_its_last_second() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        lock(&database, "web1-4312", 0);
        assert_eq!(stale_at(&database, "lock", 0), 0);
        assert_eq!(stale_at(&database, "lock", 900), 0);
        assert_eq!(stale_at(&database, "lock", 999), 0);
        assert_eq!(stale_at(&database, "lock", 1_000), 1);
    });
}

#[test]
fn an_entry_holds_throughout_its_three_hundredth_second() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        entry(&database, "claimed", "web1-4312", 300);
        assert_eq!(stale_at(&database, "entry", 0), 0);
        assert_eq!(stale_at(&database, "entry", 900), 0);
        assert_eq!(stale_at(&database, "entry", 1_000), 1);
    });
}

#[test]
fn a_list_in_the_middle_of_a_second_agrees_with_the_check() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        lock(&database, "web1-4312", 0);
        entry(&database, "claimed", "other", 300);
        let now = (NOW + 900).to_string();
        let output = database.claimtop(&["list", "--json", "--now", &now]);
        let claims = crate::support::lines(&output);
        assert_eq!(claims.len(), 2);
        for claim in claims {
            assert_verdict(&claim, "expiring", &["deadline_near"]);
        }
    });
}

#[test]
fn an_entry_warns_in_its_last_minute() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let before = entry(&database, "claimed", "a", 239);
        let from = entry(&database, "claimed", "b", 240);
        assert_verdict(&database.claim(&before), "healthy", &[]);
        assert_verdict(&database.claim(&from), "expiring", &["deadline_near"]);
    });
}

#[test]
fn only_claimed_entries_are_ever_stale() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let later = ["rebasing", "testing", "ready_to_merge", "merging", "processing"];
        let ids: Vec<String> = later.iter().map(|status| entry(&database, status, "a", 100_000)).collect();
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["entry"], 5, &[("unknown", 5)]);
        assert_eq!(found["reasons"], json!({"no_deadline": 5}));
        assert_eq!(exit, 1);
        for (id, status) in ids.iter().zip(later) {
            let claim = database.claim(id);
            assert_verdict(&claim, "unknown", &["no_deadline"]);
            assert_eq!(claim["kind"], status);
            assert!(claim["deadline_at"].is_null());
        }
    });
}

#[test]
fn entries_that_nobody_has_are_no_claims() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let others =
            ["pending", "merged", "cancelled", "failed_retryable", "failed_terminal", "completed", "failed"];
        for status in others {
            entry(&database, status, "a", 100_000);
        }
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["entry"], 0, &[]);
        let backlog = json!({"queued": 1, "dead": 2, "retryable": 1, "oldest_queued_s": 3_600});
        assert_eq!(found["backlog"], backlog);
        assert_eq!(exit, 0);
    });
}

#[test]
fn a_claimed_entry_without_a_start_cannot_be_judged() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let id = entry(&database, "claimed", "a", 0);
        database.run("UPDATE merge_queue SET started_at = NULL", []);
        assert_verdict(&database.claim(&id), "unknown", &["unreadable"]);
    });
}

#[test]
fn an_entry_lives_as_long_as_its_agents_lock_is_renewed() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        // Taken twenty minutes ago; the lock, taken with it, was extended since.
        let working = entry(&database, "claimed", "working", 1_200);
        let crashed = entry(&database, "claimed", "crashed", 1_200);
        lock(&database, "working", 200);
        let (found, _) = database.check();
        assert_counts(&found["boards"]["entry"], 2, &[("healthy", 1), ("stale", 1)]);
        let claim = listed(&database, "entry", &working);
        assert_verdict(&claim, "healthy", &[]);
        assert_eq!(claim["deadline_at"], iso(200 * SECOND));
        assert_eq!(claim["conclusion"], "alive");
        assert_verdict(&listed(&database, "entry", &crashed), "stale", &["ttl_exceeded"]);
    });
}

#[test]
fn a_lock_extended_far_ahead_is_no_beat_from_the_future() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let id = entry(&database, "claimed", "working", 1_200);
        lock(&database, "working", 5_000);
        let claim = listed(&database, "entry", &id);
        assert_verdict(&claim, "healthy", &[]);
        assert_eq!(claim["beat_at"], iso(0));
        assert_eq!(claim["deadline_at"], iso(5 * MINUTE));
    });
}

#[test]
fn a_lock_at_its_end_keeps_the_entry_and_one_second_later_does_not() {
    on_both(|| {
        for (expires_in, verdict, reason) in [(0, "expiring", "deadline_near"), (-1, "stale", "ttl_exceeded")]
        {
            let database = Database::new(SCHEMA);
            let id = entry(&database, "claimed", "working", 1_200);
            lock(&database, "working", expires_in);
            assert_verdict(&listed(&database, "entry", &id), verdict, &[reason]);
        }
    });
}

#[test]
fn a_fresh_entry_is_not_harmed_by_a_lock_that_is_nearly_over() {
    on_both(|| {
        let database = Database::new(SCHEMA);
        let id = entry(&database, "claimed", "working", 10);
        lock(&database, "working", 20);
        let claim = listed(&database, "entry", &id);
        assert_verdict(&claim, "healthy", &[]);
        assert_eq!(claim["deadline_at"], iso(290 * SECOND));
    });
}
