//! Finalization: tasks claimed for finalization, each with its own timeout. Its database is
//! PostgreSQL; here it is the same tables in SQLite.

use serde_json::{Value as Json, json};

use super::{assert_counts, assert_no_profile_fits, assert_verdict, history, iso, naive, naive_micros};
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, SECOND};

/// The columns that the specification's function uses.
const DOCUMENT: &str = "
    CREATE TABLE tasker_tasks (task_uuid uuid PRIMARY KEY NOT NULL, complete boolean NOT NULL DEFAULT false,
      claimed_by character varying, claimed_at timestamp, claim_timeout_seconds integer,
      updated_at timestamp);
    CREATE INDEX idx_tasker_tasks_finalization_claim
      ON tasker_tasks(task_uuid, complete, claimed_by, claimed_at) WHERE complete = false;
    CREATE TABLE tasker_finalization_attempts (id INTEGER PRIMARY KEY, task_uuid uuid NOT NULL,
      processor_id character varying NOT NULL, claimed boolean NOT NULL,
      already_claimed_by character varying, task_state character varying, message character varying,
      attempted_at timestamp NOT NULL);";

/// What its migrations had made of them.
const RUNNING: &str = "
    CREATE TABLE tasker_tasks (task_uuid uuid PRIMARY KEY NOT NULL, named_task_uuid uuid NOT NULL DEFAULT 'n',
      complete boolean NOT NULL DEFAULT false, requested_at timestamp, completed_at timestamp,
      initiator varchar(128), source_system varchar(128), reason varchar(128), bypass_steps json, tags jsonb,
      context jsonb, identity_hash varchar(128) NOT NULL DEFAULT 'h', created_at timestamp(6),
      updated_at timestamp(6), claim_id varchar, reference_id varchar(255), priority int NOT NULL DEFAULT 0,
      claim_timeout_seconds int DEFAULT 60, claimed_at timestamp(6), claimed_by varchar);
    CREATE INDEX idx_tasker_tasks_claimed ON tasker_tasks(claimed_at, claimed_by)
      WHERE claimed_at IS NOT NULL;
    CREATE TABLE tasker_finalization_attempts (finalization_attempt_uuid uuid ,
      task_uuid uuid NOT NULL, processor_id varchar NOT NULL, claimed boolean NOT NULL,
      already_claimed_by varchar, task_state varchar, message varchar, attempted_at timestamp NOT NULL);";

fn both() -> [Database; 2] {
    [Database::new(DOCUMENT), Database::new(RUNNING)]
}

fn task(database: &Database, id: &str, claimed_ago: i64, timeout: impl Into<Option<i64>>) {
    database.run(
        "INSERT INTO tasker_tasks (task_uuid, claimed_by, claimed_at, claim_timeout_seconds)
         VALUES (?1, 'result_processor_1', ?2, ?3)",
        (id, naive_micros(-claimed_ago), timeout.into()),
    );
}

#[test]
fn each_row_has_its_own_timeout_and_holds_until_exactly_its_end() {
    on_both(|| {
        for database in both() {
            for timeout in [1, 30, 60, 300, 600] {
                task(&database, &format!("{timeout} at"), timeout * SECOND, timeout);
                task(&database, &format!("{timeout} after"), timeout * SECOND + 1, timeout);
            }
            let (found, exit) = database.check();
            assert_counts(&found["boards"]["task"], 10, &[("expiring", 5), ("stale", 5)]);
            assert_eq!(found["reasons"], json!({"lease_expired": 5, "deadline_near": 5}));
            assert_eq!(exit, 2);
            assert_verdict(&database.claim("30 at"), "expiring", &["deadline_near"]);
            let stale = database.claim("30 after");
            assert_verdict(&stale, "stale", &["lease_expired"]);
            assert_eq!((&stale["deadline_at"], &stale["remaining_ms"]), (&json!(iso(-1)), &json!(-1)));
            assert_eq!(stale["holder"], "result_processor_1");
        }
    });
}

#[test]
fn a_claim_warns_in_the_last_fifth_of_its_timeout_but_never_longer_than_five_minutes() {
    on_both(|| {
        for database in both() {
            for (timeout, warning) in [(30, 6), (60, 12), (600, 120), (1_500, 300), (3_600, 300)] {
                task(&database, &format!("{timeout} before"), (timeout - warning) * SECOND - 1, timeout);
                task(&database, &format!("{timeout} from"), (timeout - warning) * SECOND, timeout);
                assert_verdict(&database.claim(&format!("{timeout} before")), "healthy", &[]);
                assert_verdict(&database.claim(&format!("{timeout} from")), "expiring", &["deadline_near"]);
            }
            let (found, exit) = database.check();
            assert_counts(&found["boards"]["task"], 10, &[("healthy", 5), ("expiring", 5)]);
            assert_eq!(exit, 1);
        }
    });
}

#[test]
fn complete_and_unclaimed_tasks_are_no_claims() {
    on_both(|| {
        for database in both() {
            task(&database, "held", 5 * SECOND, 30);
            task(&database, "complete", 90 * MINUTE, 30);
            database.run("UPDATE tasker_tasks SET complete = true WHERE task_uuid = 'complete'", []);
            task(&database, "released", 90 * MINUTE, 30);
            // The specification's release leaves the timeout as it was.
            database.run(
                "UPDATE tasker_tasks SET claimed_at = NULL, claimed_by = NULL WHERE task_uuid = 'released'",
                [],
            );
            database.run("INSERT INTO tasker_tasks (task_uuid) VALUES ('never claimed')", []);
            let (found, exit) = database.check();
            assert_counts(&found["boards"]["task"], 1, &[("healthy", 1)]);
            assert_eq!(found["backlog"]["queued"], 2);
            assert_eq!(exit, 0);
        }
    });
}

#[test]
fn a_claim_without_a_timeout_or_a_time_cannot_be_judged() {
    on_both(|| {
        for database in both() {
            task(&database, "no timeout", 90 * MINUTE, None);
            task(&database, "no time", 0, 30);
            database.run("UPDATE tasker_tasks SET claimed_at = NULL WHERE task_uuid = 'no time'", []);
            task(&database, "good", SECOND, 30);
            let (found, exit) = database.check();
            assert_counts(&found["boards"]["task"], 3, &[("healthy", 1), ("unknown", 2)]);
            assert_eq!(found["reasons"], json!({"unreadable": 2}));
            assert_eq!(exit, 1);
            for id in ["no timeout", "no time"] {
                let claim = database.claim(id);
                assert_verdict(&claim, "unknown", &["unreadable"]);
                assert!(claim["deadline_at"].is_null());
            }
        }
    });
}

#[test]
fn a_time_without_a_zone_is_taken_as_utc() {
    on_both(|| {
        for database in both() {
            let forms =
                [naive(-40 * SECOND), naive_micros(-40 * SECOND), naive(-40 * SECOND).replace(' ', "T")];
            for (id, claimed_at) in ["seconds", "micros", "with a T"].into_iter().zip(forms) {
                task(&database, id, 0, 30);
                database
                    .run("UPDATE tasker_tasks SET claimed_at = ?1 WHERE task_uuid = ?2", (claimed_at, id));
                let claim = database.claim(id);
                assert_verdict(&claim, "stale", &["lease_expired"]);
                assert_eq!(claim["claimed_at"], iso(-40 * SECOND), "{id}");
                assert_eq!(claim["deadline_at"], iso(-10 * SECOND), "{id}");
            }
        }
    });
}

#[test]
fn a_processor_that_extends_its_claim_starts_its_time_anew() {
    on_both(|| {
        for database in both() {
            task(&database, "task", 40 * SECOND, 30);
            assert_verdict(&database.claim("task"), "stale", &["lease_expired"]);
            // 'Claim extended'.
            database.run("UPDATE tasker_tasks SET claimed_at = ?1, updated_at = ?1", [naive(0)]);
            let claim = database.claim("task");
            assert_verdict(&claim, "healthy", &[]);
            assert_eq!(claim["deadline_at"], iso(30 * SECOND));
            // Nothing but the claim itself tells of the processor.
            assert_eq!(claim["conclusion"], "unknown");
        }
    });
}

#[test]
fn an_overrun_is_measured_in_the_rows_own_timeout() {
    on_both(|| {
        for database in both() {
            task(&database, "almost", 60 * SECOND - 1, 30);
            task(&database, "twice", 60 * SECOND, 30);
            task(&database, "patient", 60 * SECOND, 40);
            let (found, _) = database.check();
            assert_eq!(found["claims"]["runaway"], 1);
            assert_eq!(database.claim("twice")["overrun"], 2.0);
            assert_eq!(database.claim("patient")["overrun"], 1.5);
        }
    });
}

#[test]
fn the_history_holds_the_attempts_newest_first() {
    on_both(|| {
        for database in both() {
            for (uuid, processor, claimed, message, ago) in [
                ("t-1", "p-1", true, "Successfully claimed for finalization", 90),
                ("t-1", "p-2", false, "Task already claimed for finalization", 80),
                ("t-2", "p-2", false, "Task has no completed or failed steps", 20),
                ("t-1", "p-1", true, "Claim extended", 60),
            ] {
                database.run(
                    "INSERT INTO tasker_finalization_attempts
                   (task_uuid, processor_id, claimed, message, attempted_at)
                   VALUES (?1, ?2, CAST(?3 AS boolean), ?4, ?5)",
                    (uuid, processor, claimed, message, naive_micros(-ago * SECOND)),
                );
            }
            let traces = history(&database);
            let messages: Vec<&str> = traces.iter().map(|trace| trace["what"].as_str().unwrap()).collect();
            assert_eq!(
                messages,
                [
                    "Task has no completed or failed steps",
                    "Claim extended",
                    "Task already claimed for finalization",
                    "Successfully claimed for finalization",
                ]
            );
            let trace: &Json = &traces[1];
            assert_eq!((&trace["history"], &trace["id"]), (&json!("attempts"), &json!("t-1")));
            assert_eq!((&trace["holder"], &trace["at"]), (&json!("p-1"), &json!(iso(-60 * SECOND))));
        }
    });
}

#[test]
fn without_the_optional_table_of_attempts_the_history_is_empty() {
    on_both(|| {
        let database = Database::new(DOCUMENT);
        database.batch("DROP TABLE tasker_finalization_attempts");
        task(&database, "task", SECOND, 30);
        assert!(history(&database).is_empty());
        assert_eq!(database.check().1, 0);
    });
}

#[test]
fn the_backlog_counts_what_waits_and_since_when() {
    on_both(|| {
        let database = Database::new(RUNNING);
        for (id, waited, complete) in [("a", 20, false), ("b", 95, false), ("c", 9_000, true)] {
            database.run(
            "INSERT INTO tasker_tasks (task_uuid, created_at, complete) VALUES (?1, ?2, CAST(?3 AS boolean))",
            (id, naive_micros(-waited * SECOND), complete),
        );
        }
        task(&database, "held", SECOND, 30);
        let (found, _) = database.check();
        assert_eq!(found["backlog"], json!({"queued": 2, "oldest_queued_s": 95}));
    });
}

#[test]
fn todays_schema_without_claims_is_not_mistaken_for_it() {
    on_both(|| {
        let database = Database::new(
            "CREATE TABLE tasks (task_uuid uuid PRIMARY KEY, named_task_uuid uuid NOT NULL,
           complete boolean NOT NULL DEFAULT false, requested_at timestamp, completed_at timestamp,
           created_at timestamp, updated_at timestamp, priority int, correlation_id uuid);
         CREATE TABLE task_transitions (task_transition_uuid uuid PRIMARY KEY, task_uuid uuid,
           to_state varchar, most_recent boolean, processor_uuid uuid, created_at timestamp);",
        );
        assert_no_profile_fits(&database);
    });
}
