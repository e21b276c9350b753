//! Coordination: claims and locks with leases, held by sessions that beat.

use super::{assert_counts, assert_verdict, count, iso};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND};

/// The specification's own table, with its two indexes.
const DOCUMENT: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, project_path TEXT NOT NULL, agent_type TEXT,
      started_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL, metadata TEXT, pid INTEGER);
    CREATE TABLE task_claims (
      task_id TEXT PRIMARY KEY NOT NULL,
      session_id TEXT NOT NULL,
      claimed_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      last_heartbeat INTEGER NOT NULL,
      task_status TEXT NOT NULL DEFAULT 'in-progress'
    );
    CREATE INDEX idx_task_claims_session ON task_claims(session_id);
    CREATE INDEX idx_task_claims_expires ON task_claims(expires_at);";

/// Both forms of the database: what holds must hold in each.
fn both() -> [Database; 2] {
    [Database::new(DOCUMENT), Database::new(COORDINATION)]
}

fn lock(database: &Database, resource: &str, session: &str, expires_in: i64) {
    database.run(
        "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
        (resource, session, NOW + expires_in - MINUTE, NOW + expires_in),
    );
}

#[test]
fn the_documents_statistics_can_be_read_off_check() {
    on_both(|| {
        for database in both() {
            database.session("session-abc", 20 * SECOND);
            database.task("task-expired", "session-abc", -1);
            // The last instant that counts as expiring: exactly the warning threshold ahead.
            database.task("task-expiring", "session-abc", 5 * MINUTE);
            database.task("task-not-yet", "session-abc", 5 * MINUTE + 1);
            database.task("task-half", "session-abc", 15 * MINUTE);
            database.task("task-fresh", "session-abc", 30 * MINUTE);

            let (found, exit) = database.check();
            let claims = &found["boards"]["task"];
            // The specification's example: { total: 5, active: 4, expiring: 1 }.
            assert_eq!(claims["total"], 5);
            assert_eq!(count(claims, "total") - count(&claims["reasons"], "lease_expired"), 4);
            assert_eq!(claims["expiring"], 1);
            assert_counts(claims, 5, &[("healthy", 3), ("expiring", 1), ("stale", 1)]);
            assert_eq!(exit, 2);
        }
    });
}

#[test]
fn an_empty_database_of_the_document_is_fine() {
    on_both(|| {
        for database in both() {
            let (found, exit) = database.check();
            assert_counts(&found["boards"]["task"], 0, &[]);
            assert_eq!(found["sessions"], serde_json::json!({"total": 0, "alive": 0, "stale": 0}));
            assert_eq!(exit, 0);
        }
    });
}

#[test]
fn a_claim_is_held_exactly_until_it_expires() {
    on_both(|| {
        for database in both() {
            database.session("session-abc", SECOND);
            database.task("at-the-deadline", "session-abc", 0);
            database.task("one-later", "session-abc", -1);

            let (found, _) = database.check();
            assert_counts(&found["boards"]["task"], 2, &[("expiring", 1), ("stale", 1)]);
            let held = database.claim("at-the-deadline");
            assert_verdict(&held, "expiring", &["deadline_near"]);
            assert_eq!(held["remaining_ms"], 0);
            let expired = database.claim("one-later");
            assert_verdict(&expired, "stale", &["lease_expired"]);
            assert_eq!(expired["remaining_ms"], -1);
        }
    });
}

#[test]
fn an_expired_claim_tells_what_the_cleanup_would_report() {
    on_both(|| {
        for database in both() {
            database.session("session-abc", SECOND);
            database.task("task-1", "session-abc", -10 * MINUTE);
            let claim = database.claim("task-1");
            assert_eq!(claim["holder"], "session-abc");
            assert_eq!(claim["claimed_at"], iso(-20 * MINUTE));
            assert_eq!(claim["deadline_at"], iso(-10 * MINUTE));
            assert_eq!(claim["beat_at"], iso(-10 * SECOND));
            assert_eq!(claim["address"], "coordination/task/task-1");
            // The system's own reads delete an expired row that they meet; ours must not.
            assert_eq!(database.number("SELECT count(*) FROM task_claims"), 1);
        }
    });
}

#[test]
fn claims_of_missing_and_of_stale_sessions_are_orphaned_and_those_of_beating_ones_are_not() {
    on_both(|| {
        for database in both() {
            database.session("active", 30 * SECOND);
            database.session("stale", 10 * MINUTE + 1);
            database.task("kept", "active", 20 * MINUTE);
            database.task("task-2", "dead-session", 20 * MINUTE);
            database.task("task-3", "dead-session", 20 * MINUTE);
            database.task("task-4", "stale", 20 * MINUTE);

            let (found, exit) = database.check();
            let claims = &found["boards"]["task"];
            assert_counts(claims, 4, &[("healthy", 1), ("orphaned", 3)]);
            assert_eq!(claims["reasons"]["session_missing"], 2);
            assert_eq!(claims["reasons"]["session_stale"], 1);
            assert_eq!(exit, 2);
            assert_verdict(&database.claim("kept"), "healthy", &[]);
            assert_verdict(&database.claim("task-2"), "orphaned", &["session_missing"]);
            assert_verdict(&database.claim("task-4"), "orphaned", &["session_stale"]);
        }
    });
}

#[test]
fn how_long_a_session_has_been_stale_follows_from_its_last_beat() {
    on_both(|| {
        for database in both() {
            database.session("stale", 700 * SECOND);
            database.task("task-1", "stale", 20 * MINUTE);
            database.task("task-2", "missing", 20 * MINUTE);
            // The specification's staleForMs is now less this; for a missing session it is null.
            let session = &database.claim("task-1")["session"];
            assert_eq!(session["state"], "stale");
            assert_eq!(session["beat_at"], iso(-700 * SECOND));
            assert_eq!(session["pid"], 4312);
            let missing = &database.claim("task-2")["session"];
            assert_eq!(missing["state"], "missing");
            assert!(missing["beat_at"].is_null());
        }
    });
}

#[test]
fn a_session_silent_for_exactly_the_orphan_threshold_is_not_stale() {
    on_both(|| {
        for database in both() {
            database.session("edge", 10 * MINUTE);
            database.task("task-1", "edge", 20 * MINUTE);
            let claim = database.claim("task-1");
            assert_verdict(&claim, "healthy", &[]);
            assert_eq!(claim["session"]["state"], "alive");
        }
    });
}

#[test]
fn an_orphan_whose_lease_is_over_is_counted_in_both_sets() {
    on_both(|| {
        for database in both() {
            database.session("stale", 11 * MINUTE);
            database.task("task-1", "stale", -MINUTE);
            let (found, _) = database.check();
            assert_counts(&found["boards"]["task"], 1, &[("orphaned", 1), ("stale", 1)]);
            let claim = database.claim("task-1");
            assert_verdict(&claim, "orphaned", &["session_stale", "lease_expired"]);
            assert_eq!(claim["sets"], serde_json::json!(["orphaned", "stale"]));
        }
    });
}

#[test]
fn a_claim_that_beats_under_a_stale_session_is_concluded_to_be_alive() {
    on_both(|| {
        // In the running code nothing refreshes a session: all go stale, also those of living workers.
        for database in both() {
            database.session("never-refreshed", 40 * MINUTE);
            database.task("worked-on", "never-refreshed", 29 * MINUTE);
            database.task("left-behind", "never-refreshed", 29 * MINUTE);
            database.run(
                "UPDATE task_claims SET last_heartbeat = ?1 WHERE task_id = 'left-behind'",
                [NOW - 40 * MINUTE],
            );
            let alive = database.claim("worked-on");
            assert_verdict(&alive, "orphaned", &["session_stale"]);
            assert_eq!(alive["conclusion"], "alive");
            let dead = database.claim("left-behind");
            assert_verdict(&dead, "orphaned", &["session_stale", "heartbeat_silent"]);
            assert_eq!(dead["conclusion"], "probably dead");
        }
    });
}

#[test]
fn a_claim_is_silent_after_more_than_five_minutes_without_its_own_heartbeat() {
    on_both(|| {
        for database in both() {
            database.session("active", SECOND);
            for (id, silent_for) in [("at-the-edge", 5 * MINUTE), ("silent", 5 * MINUTE + 1)] {
                database.task(id, "active", 20 * MINUTE);
                database.run(
                    "UPDATE task_claims SET last_heartbeat = ?1 WHERE task_id = ?2",
                    (NOW - silent_for, id),
                );
            }
            let (found, _) = database.check();
            assert_counts(&found["boards"]["task"], 2, &[("healthy", 1), ("stale", 1)]);
            assert_eq!(found["reasons"]["heartbeat_silent"], 1);
            assert_verdict(&database.claim("at-the-edge"), "healthy", &[]);
            let silent = database.claim("silent");
            assert_verdict(&silent, "stale", &["heartbeat_silent"]);
            // Its session beats: it may be slow, but nothing says that it is dead.
            assert_eq!(silent["conclusion"], "slow");
        }
    });
}

#[test]
fn locks_are_a_board_of_their_own_and_warn_fifteen_seconds_ahead() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        database.session("active", SECOND);
        lock(&database, "tasks.json", "active", 15 * SECOND + 1);
        lock(&database, "soon", "active", 15 * SECOND);
        lock(&database, "edge", "active", 0);
        lock(&database, "expired", "active", -1);
        lock(&database, "orphan", "gone", 40 * SECOND);
        database.task("task-1", "active", 20 * MINUTE);

        let (found, exit) = database.check();
        let locks = &found["boards"]["lock"];
        // The specification counts locks with those that have expired.
        assert_counts(locks, 5, &[("healthy", 1), ("expiring", 2), ("stale", 1), ("orphaned", 1)]);
        assert_counts(&found["boards"]["task"], 1, &[("healthy", 1)]);
        assert_eq!(found["claims"]["total"], 6);
        assert_eq!(exit, 2);
        let claim = database.claim("expired");
        assert_eq!(claim["board"], "lock");
        assert_eq!(claim["kind"], "exclusive");
        assert_verdict(&claim, "stale", &["lease_expired"]);
        assert_verdict(&database.claim("orphan"), "orphaned", &["session_missing"]);
    });
}

#[test]
fn a_lock_that_overran_its_minute_by_another_is_a_runaway() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        database.session("active", SECOND);
        lock(&database, "almost", "active", -MINUTE + 1);
        lock(&database, "twice", "active", -MINUTE);
        let (found, _) = database.check();
        assert_eq!(found["boards"]["lock"]["runaway"], 1);
        assert_eq!(database.claim("twice")["overrun"], 2.0);
    });
}

#[test]
fn sessions_are_counted_once_though_two_boards_share_them() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        for (id, silent_for) in [("a", 0), ("b", 6 * MINUTE), ("c", 10 * MINUTE), ("d", 10 * MINUTE + 1)] {
            database.session(id, silent_for);
        }
        lock(&database, "tasks.json", "a", 40 * SECOND);
        database.task("task-1", "b", 20 * MINUTE);
        let (found, exit) = database.check();
        assert_eq!(found["sessions"], serde_json::json!({"total": 4, "alive": 3, "stale": 1}));
        // A stale session that holds nothing harms nobody.
        assert_eq!(exit, 0);
    });
}
