//! The specification's two integration cases: a session that leaves, and the timer.

use serde_json::json;

use super::{Arc, ClaimOptions, Coordination, Database, Event, Mutex, Registration, World, pair};
use crate::support::MINUTE;

#[test]
fn a_session_that_deregisters_takes_its_locks_and_claims_along() {
    let mut world = World::new();
    world.session("ann");
    world.session("bob");
    world.claim("task-1", "ann", 30);
    world.claim("task-2", "ann", 30);
    world.claim("task-3", "bob", 30);
    world.coordination.acquire_lock("file", "ann", None).expect("an answer");
    world.heard();
    let gone = world.coordination.deregister("ann").expect("a deregistration");
    let expected = json!({"sessionId": "ann", "deregistered": true, "locksReleased": 1, "claimsReleased": 2});
    assert_eq!(serde_json::to_value(gone).expect("JSON"), expected);
    let heard = world.heard();
    let reason = serde_json::to_value(&heard[0]).expect("JSON")["reason"].clone();
    assert_eq!(reason, "session_deregistered");
    let expected = json!({"event": "session:deregistered", "sessionId": "ann", "locksReleased": 1,
        "claimsReleased": 2});
    assert_eq!(serde_json::to_value(heard.last().expect("an event")).expect("JSON"), expected);
    assert_eq!(world.claims(), [pair("task-3", "bob")]);
    assert_eq!(world.number("SELECT count(*) FROM locks"), 0);
}

#[test]
fn the_timer_cleans_everything_in_its_order() {
    let mut world = World::new();
    for session in ["silent", "busy"] {
        world.session(session);
    }
    world.claim("of-silent", "silent", 60);
    world.claim("over", "busy", 2);
    world.claim("kept", "busy", 60);
    world.coordination.acquire_lock("file", "busy", None).expect("an answer");
    world.run(&format!(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES ('of-nobody', 'gone', 0, {}, 0);
         INSERT INTO change_journal (session_id, resource, operation, created_at, applied)
         VALUES ('busy', 'file', 'old', 0, 1), ('busy', 'file', 'open', 0, 0);",
        i64::MAX
    ));
    world.minutes_pass(6);
    world.coordination.heartbeat("busy").expect("a heartbeat");
    world.heard();
    let done = world.coordination.cleanup().expect("a cleanup");
    assert_eq!((done.expired_locks.count, done.stale_sessions.count, done.pruned_changes.count), (1, 1, 1));
    assert_eq!((done.expired_claims.count, done.orphaned_claims.count), (1, 1));
    let order = [
        "lock:expired",
        "locks:cleanup",
        "claim:released",
        "claims:session_cleanup",
        "session:deregistered",
        "sessions:cleanup",
        "journal:pruned",
        "claim:expired",
        "claims:cleanup",
        "claim:orphaned",
        "claims:cleanup",
    ];
    assert_eq!(world.names_heard(), order);
    assert_eq!(world.claims(), [pair("kept", "busy")]);
    assert_eq!(world.number("SELECT count(*) FROM change_journal"), 1, "what is not applied stays");
}

#[test]
fn a_second_run_of_the_timer_does_nothing() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 1);
    world.minutes_pass(20);
    world.coordination.cleanup().expect("a cleanup");
    world.heard();
    let again = serde_json::to_value(world.coordination.cleanup().expect("a cleanup")).expect("JSON");
    for part in ["expiredLocks", "staleSessions", "prunedChanges", "expiredClaims", "orphanedClaims"] {
        assert_eq!(again[part]["count"], 0, "{part}");
    }
    assert!(world.heard().is_empty());
}

#[test]
fn a_session_silent_for_exactly_the_threshold_is_no_stale_one() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 60);
    world.minutes_pass(5);
    assert_eq!(world.coordination.cleanup_stale_sessions().expect("a cleanup").count, 0);
    world.millis_pass(1);
    let cleaned = world.coordination.cleanup_stale_sessions().expect("a cleanup");
    let expected = json!({"count": 1, "sessions": [{"sessionId": "ann", "staleForMs": 5 * MINUTE + 1,
        "locksReleased": 0, "claimsReleased": 1}]});
    assert_eq!(serde_json::to_value(cleaned).expect("JSON"), expected);
}

#[test]
fn summary_events_leave_out_single_claims() {
    use claimtop::worker::SummaryEvents;
    let world = World::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let database = Database::open(&world.path()).expect("a database").with_clock(world.clock.clone());
    let database = database.with_events(Arc::new(SummaryEvents(heard.clone())));
    let mut coordination = Coordination::new(database);
    coordination.register(&Registration::new("ann", "/project")).expect("a session");
    for task in ["task-1", "task-2"] {
        coordination.claim_task(task, "ann", &ClaimOptions::default()).expect("an answer");
    }
    world.minutes_pass(31);
    coordination.cleanup_expired_claims().expect("a cleanup");
    let heard = heard.lock().expect("the events");
    assert!(matches!(&heard[..], [Event::ClaimsCleanup { count: 2, .. }]), "{heard:?}");
}
