//! More time for a slow holder: as much as was asked for, or a refusal.

use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::domain::time::Span;

use super::systems_more::{JOBS, LEASES, MERGE};
use super::{act, actor, fast, is_refused, look, undo};
use crate::support::engine::on_both;
use crate::support::{Database, NOW};

const EVENTS: &str = "CREATE TABLE queue_events (id INTEGER PRIMARY KEY, queue_id INTEGER NOT NULL,
    event_type TEXT NOT NULL, details_json TEXT, created_at INTEGER NOT NULL);";

fn entry(database: &Database) {
    let seconds = NOW / 1_000;
    database.run(
        "INSERT INTO merge_queue (workspace, status, added_at, started_at, state_changed_at, agent_id)
         VALUES ('w', 'claimed', ?1, ?2, ?2, 'build1-4312')",
        (seconds - 900, seconds - 400),
    );
}

fn by(minutes: i64) -> Authorization {
    Authorization { by: Some(Span::minutes(minutes)), ..Authorization::default() }
}

#[test]
fn a_length_that_the_system_cannot_keep_is_refused() {
    on_both(|| {
        let database = fast(JOBS);
        database.either(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by)
             VALUES ('j', 'run_tsa', 'running', '2026-11-15T11:40:00Z', 'w')",
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by)
             VALUES ('j', 'run_tsa', 'running', '2026-11-15T11:40:00Z', 'w')",
        );
        let mut actor = actor(&database);
        let seen = look(&mut actor, "j");
        let acted = act(&mut actor, &seen, Action::Extend, &by(10));
        assert!(is_refused(&acted.outcome), "{:?}", acted.outcome);
        assert!(acted.outcome.why().is_some_and(|why| why.contains("--by")), "{:?}", acted.outcome);
        let acted = act(&mut actor, &seen, Action::Extend, &Authorization::default());
        assert_eq!(acted.outcome, Outcome::Applied);
    });
}

#[test]
fn a_length_that_the_system_can_keep_is_kept() {
    on_both(|| {
        let database = fast(LEASES);
        database.either(
            "INSERT INTO task_queue (id, type, status, locked_by, reserved_at_utc, lease_until_utc)
             VALUES (1, 'x', 'leased', 'w', '2026-11-15 11:59:30', '2026-11-15 12:00:20')",
            "INSERT INTO task_queue (id, type, status, locked_by, reserved_at_utc, lease_until_utc)
             VALUES (1, 'x', 'leased', 'w', '2026-11-15 11:59:30', '2026-11-15 12:00:20')",
        );
        let mut actor = actor(&database);
        let seen = look(&mut actor, "1");
        assert_eq!(act(&mut actor, &seen, Action::Extend, &by(7)).outcome, Outcome::Applied);
        let until = database.text("SELECT CAST(lease_until_utc AS TEXT) FROM task_queue");
        assert_eq!(until, "2026-11-15 12:07:00");
    });
}

#[test]
fn acts_on_entries_of_the_merge_queue_are_in_its_journal_and_can_be_undone() {
    on_both(|| {
        for (action, event, from) in [
            (Action::Extend, "heartbeat", None),
            (Action::Reclaim, "transitioned", Some("claimed")),
            (Action::Release, "transitioned", Some("claimed")),
        ] {
            let database = fast(&[MERGE, EVENTS].concat());
            entry(&database);
            let before = dump_of(&database);
            let mut actor = actor(&database);
            let seen = look(&mut actor, "1");
            let acted = act(&mut actor, &seen, action, &Authorization::default());
            assert_eq!(acted.outcome, Outcome::Applied, "{action}");
            assert_eq!(database.text("SELECT event_type FROM queue_events"), event, "{action}");
            let details: serde_json::Value =
                serde_json::from_str(&database.text("SELECT details_json FROM queue_events")).expect("JSON");
            assert_eq!(
                (details["from"].as_str(), &details["agent"]),
                (from, &"build1-4312".into()),
                "{action}"
            );
            assert_eq!(database.number("SELECT queue_id FROM queue_events"), 1);
            assert_eq!(database.number("SELECT created_at FROM queue_events"), NOW / 1_000);
            let sound =
                "SELECT count(*) FROM merge_queue WHERE started_at <= state_changed_at OR started_at IS NULL";
            assert_eq!(database.number(sound), 1, "{action}");
            assert_eq!(undo(&mut actor, &acted), Outcome::Applied, "{action}");
            assert_eq!(dump_of(&database), before, "{action}");
        }
    });
}

#[test]
fn a_merge_queue_without_a_journal_is_acted_on_all_the_same() {
    on_both(|| {
        let database = fast(MERGE);
        entry(&database);
        let mut actor = actor(&database);
        let seen = look(&mut actor, "1");
        assert_eq!(
            act(&mut actor, &seen, Action::Reclaim, &Authorization::default()).outcome,
            Outcome::Applied
        );
        assert_eq!(database.text("SELECT status FROM merge_queue"), "pending");
    });
}

fn dump_of(database: &Database) -> Vec<String> {
    let mut rows = Vec::new();
    for table in ["merge_queue", "queue_events", "queue_processing_lock"] {
        rows.push(format!("{:?}", database.rows(&format!("SELECT * FROM {table}"))));
    }
    rows
}
