//! Coordination: the forms its database takes, from the design to the running code.

use super::{assert_counts, assert_no_profile_fits, assert_verdict};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND, in_their_words, stderr};

const SESSIONS: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, project_path TEXT NOT NULL, agent_type TEXT,
      started_at INTEGER NOT NULL DEFAULT (SECONDS * 1000),
      last_heartbeat INTEGER NOT NULL DEFAULT (SECONDS * 1000), metadata TEXT, pid INTEGER);";

const JOURNAL: &str = "
    CREATE TABLE change_journal (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
      resource TEXT NOT NULL, operation TEXT NOT NULL, change_data TEXT, created_at INTEGER NOT NULL,
      applied INTEGER NOT NULL DEFAULT 0, checksum TEXT);";

/// With everything that the running code declares on the table.
const CONSTRAINED: &str = "
    CREATE TABLE task_claims (task_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL,
      claimed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL,
      heartbeat_count INTEGER NOT NULL DEFAULT 0,
      agent_type TEXT CHECK (agent_type IN ('cli', 'autonomous', 'unknown')),
      release_reason TEXT CHECK (release_reason IN
        (NULL, 'completed', 'failed', 'manual', 'expired', 'session_dead', 'timeout')),
      metadata TEXT,
      FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE);
    CREATE INDEX idx_claims_session ON task_claims(session_id);
    CREATE INDEX idx_claims_expires ON task_claims(expires_at);
    CREATE INDEX idx_claims_heartbeat ON task_claims(last_heartbeat);";

/// With the clock of the engine in the defaults.
fn made(schema: &[&str]) -> Database {
    let by = |clock| schema.concat().replace("SECONDS", clock);
    Database::with(&by("strftime('%s', 'now')"), &in_their_words(&by("extract(epoch FROM now())")))
}

fn constrained() -> Database {
    let database = made(&[SESSIONS, CONSTRAINED]);
    database.either("PRAGMA foreign_keys = ON", "");
    database
}

#[test]
fn the_documents_table_has_no_kind_and_needs_no_other_columns() {
    on_both(|| {
        let database = made(&[
            SESSIONS,
            "CREATE TABLE task_claims (task_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL,
               claimed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL,
               task_status TEXT NOT NULL DEFAULT 'in-progress');",
        ]);
        database.session("active", SECOND);
        database.task("task-1", "active", 20 * MINUTE);
        // Whatever the status says: a row is a claim.
        database.task("task-2", "active", -SECOND);
        database.run("UPDATE task_claims SET task_status = 'completed' WHERE task_id = 'task-2'", []);
        let (found, exit) = database.check();
        assert_eq!(found["profile"], "coordination");
        assert_counts(&found["boards"]["task"], 2, &[("healthy", 1), ("stale", 1)]);
        assert!(found["boards"]["lock"].is_null());
        assert_eq!(exit, 2);
        assert!(database.claim("task-1")["kind"].is_null());
    });
}

#[test]
fn the_running_codes_table_tells_the_kind_of_agent() {
    on_both(|| {
        let database = constrained();
        database.session("active", SECOND);
        database.task("task-1", "active", 20 * MINUTE);
        database.run("UPDATE task_claims SET agent_type = 'autonomous', metadata = '{\"n\": 1}'", []);
        let claim = database.claim("task-1");
        assert_eq!(claim["kind"], "autonomous");
        assert_verdict(&claim, "healthy", &[]);
    });
}

#[test]
fn a_writer_without_foreign_keys_leaves_claims_of_missing_sessions() {
    on_both(|| {
        let database = constrained();
        database.session("crashed", SECOND);
        database.session("other", SECOND);
        database.task("task-1", "crashed", 20 * MINUTE);
        database.task("task-2", "other", 20 * MINUTE);
        database.without_foreign_keys("DELETE FROM sessions WHERE id = 'crashed'");
        let (found, _) = database.check();
        assert_counts(&found["boards"]["task"], 2, &[("healthy", 1), ("orphaned", 1)]);
        assert_verdict(&database.claim("task-1"), "orphaned", &["session_missing"]);
    });
}

#[test]
fn registering_a_session_anew_takes_its_claims_along_and_leaves_nothing_to_judge() {
    on_both(|| {
        let database = constrained();
        database.session("active", SECOND);
        database.task("task-1", "active", -MINUTE);
        assert_eq!(database.check().1, 2);
        // REPLACE deletes the row that the claims refer to.
        database.run("DELETE FROM sessions WHERE id = 'active'", []);
        database.run("INSERT INTO sessions VALUES ('active', '/project', 'cli', ?1, ?1, '{}', 99)", [NOW]);
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["task"], 0, &[]);
        assert_eq!(exit, 0);
    });
}

#[test]
fn a_session_that_deregisters_takes_its_own_claims_and_no_others() {
    on_both(|| {
        let database = constrained();
        database.session("leaving", SECOND);
        database.session("staying", SECOND);
        for (task, session) in [("task-1", "leaving"), ("task-2", "leaving"), ("task-3", "staying")] {
            database.task(task, session, 20 * MINUTE);
        }
        assert_eq!(database.list(&["--holder", "leaving"]).len(), 2);
        database.run("DELETE FROM sessions WHERE id = 'leaving'", []);
        assert_counts(&database.check().0["boards"]["task"], 1, &[("healthy", 1)]);
        assert!(database.list(&["--holder", "leaving"]).is_empty());
    });
}

#[test]
fn without_a_sessions_table_leases_are_judged_and_holders_are_not() {
    on_both(|| {
        let database = Database::new(
            "CREATE TABLE task_claims (task_id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL,
           claimed_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, last_heartbeat INTEGER NOT NULL);",
        );
        database.task("task-1", "nobody-knows", 20 * MINUTE);
        database.task("task-2", "nobody-knows", -1);
        let (found, _) = database.check();
        assert_counts(&found["boards"]["task"], 2, &[("healthy", 1), ("stale", 1)]);
        assert!(found["sessions"].is_null());
        assert!(found["notices"].to_string().contains("sessions"), "{}", found["notices"]);
        assert!(database.claim("task-1")["session"].is_null());
    });
}

#[test]
fn without_a_table_of_claims_there_is_nothing_to_watch_and_that_is_said() {
    on_both(|| {
        let database = made(&[SESSIONS, JOURNAL]);
        database.session("active", SECOND);
        let output = assert_no_profile_fits(&database);
        // One sentence for people, and the same for programs.
        assert_eq!(stderr(&output).trim_end().lines().count(), 1, "{}", stderr(&output));
        let found = &crate::support::json(&output)["sources"][0];
        assert_eq!(found["ok"], false);
        assert!(found["error"].as_str().unwrap().contains("no profile fits"), "{found}");
        let listed = database.claimtop(&["list", "--json"]);
        assert_eq!(listed.status.code(), Some(3));
        assert!(listed.stdout.is_empty());
    });
}

#[test]
fn a_database_of_locks_only_shows_its_locks() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        database.batch("DROP TABLE task_claims");
        database.session("active", SECOND);
        database
            .run("INSERT INTO locks VALUES ('tasks.json', 'active', ?1, ?2, 'exclusive', 0)", (NOW, NOW - 1));
        let (found, exit) = database.check();
        assert_counts(&found["boards"]["lock"], 1, &[("stale", 1)]);
        assert!(found["boards"]["task"].is_null());
        assert_eq!(exit, 2);
    });
}

#[test]
fn other_tables_of_the_running_code_do_not_disturb() {
    on_both(|| {
        let database = Database::new(&[COORDINATION, JOURNAL].concat());
        database.batch(
            "CREATE TABLE conflicts (id TEXT PRIMARY KEY, type TEXT NOT NULL, resource TEXT,
               detected_at INTEGER, severity TEXT DEFAULT 'warning', status TEXT DEFAULT 'pending');
             CREATE TABLE delegation_metrics (id INTEGER PRIMARY KEY, session_id TEXT, duration REAL);",
        );
        database.session("active", SECOND);
        database.task("task-1", "active", 20 * MINUTE);
        let (found, exit) = database.check();
        assert_eq!(found["generic"], false);
        assert_counts(&found["boards"]["task"], 1, &[("healthy", 1)]);
        assert_counts(&found["boards"]["lock"], 0, &[]);
        assert_eq!(exit, 0);
    });
}
