//! Statistics: the specification's two cases, and the rest of `getStats()`.

use claimtop::domain::time::Span;
use serde_json::json;

use super::World;

#[test]
fn claims_are_counted_total_active_and_expiring() {
    let mut world = World::new();
    world.session("ann");
    for (task, minutes) in [("over", 1), ("soon", 4), ("at-the-edge", 7), ("later", 30), ("latest", 60)] {
        world.claim(task, "ann", minutes);
    }
    world.minutes_pass(2);
    let stats = world.coordination.stats().expect("statistics");
    assert_eq!(
        serde_json::to_value(stats.claims).expect("JSON"),
        json!({"total": 5, "active": 4, "expiring": 2})
    );
}

#[test]
fn a_missing_table_counts_as_empty() {
    let world = World::new();
    world.run("DROP TABLE task_claims; DROP TABLE locks; DROP TABLE change_journal; DROP TABLE sessions;");
    let stats = world.coordination.stats().expect("statistics");
    let expected = json!({"sessions": {"total": 0, "active": 0, "stale": 0}, "locks": {"total": 0},
        "changes": {"total": 0}, "claims": {"total": 0, "active": 0, "expiring": 0}});
    assert_eq!(serde_json::to_value(stats).expect("JSON"), expected);
}

#[test]
fn sessions_locks_and_changes_are_counted_too() {
    let mut world = World::new();
    world.session("ann");
    world.coordination.acquire_lock("file", "ann", Some(Span::seconds(1))).expect("an answer");
    world.run("INSERT INTO change_journal (session_id, resource, operation) VALUES ('ann', 'file', 'edit')");
    world.minutes_pass(5);
    world.session("bob");
    let stats = world.coordination.stats().expect("statistics");
    assert_eq!((stats.sessions.total, stats.sessions.active, stats.sessions.stale), (2, 2, 0));
    assert_eq!((stats.locks.total, stats.changes.total), (1, 1), "an expired lock counts");
    world.millis_pass(1);
    let stats = world.coordination.stats().expect("statistics");
    assert_eq!((stats.sessions.active, stats.sessions.stale), (1, 1));
}

#[test]
fn counting_changes_nothing() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 1);
    world.minutes_pass(2);
    world.heard();
    world.coordination.stats().expect("statistics");
    assert!(world.coordination.claim("task-1").expect("a look").is_some());
    assert_eq!(world.claims().len(), 1);
    assert!(world.heard().is_empty());
}
