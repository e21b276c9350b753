//! Sessions: registering, staying, leaving.

use claimtop::worker::coordination::Registration;
use serde_json::json;

use super::{World, pair};
use crate::support::{MINUTE, NOW};

#[test]
fn registering_again_keeps_the_claims_and_the_start() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 30);
    world.minutes_pass(3);
    let again = Registration {
        agent_type: Some("autonomous".into()),
        metadata: Some(json!({"model": "x"})),
        pid: Some(77),
        ..Registration::new("ann", "/elsewhere")
    };
    let registered = world.coordination.register(&again).expect("a session");
    let expected = json!({"sessionId": "ann", "startedAt": NOW, "claimsKept": 1});
    assert_eq!(serde_json::to_value(registered).expect("JSON"), expected);
    assert_eq!(world.claims(), [pair("task-1", "ann")]);
    let row = "SELECT count(*) FROM sessions WHERE project_path = '/elsewhere' AND pid = 77
               AND agent_type = 'autonomous' AND json_extract(metadata, '$.model') = 'x'";
    assert_eq!(world.number(row), 1);
    assert_eq!(world.number("SELECT last_heartbeat FROM sessions"), NOW + 3 * MINUTE);
}

#[test]
fn a_heartbeat_of_an_unknown_session_is_not_taken() {
    let mut world = World::new();
    assert!(!world.coordination.heartbeat("nobody").expect("an answer"));
    assert!(world.heard().is_empty());
    world.session("ann");
    world.minutes_pass(2);
    assert!(world.coordination.heartbeat("ann").expect("an answer"));
    assert_eq!(world.number("SELECT last_heartbeat FROM sessions"), NOW + 2 * MINUTE);
    assert_eq!(world.names_heard(), ["session:registered", "session:heartbeat"]);
}

#[test]
fn an_unknown_session_can_leave_twice() {
    let mut world = World::new();
    world.session("ann");
    assert!(world.coordination.deregister("ann").expect("an answer").deregistered);
    let again = world.coordination.deregister("ann").expect("an answer");
    let expected =
        json!({"sessionId": "ann", "deregistered": false, "locksReleased": 0, "claimsReleased": 0});
    assert_eq!(serde_json::to_value(again).expect("JSON"), expected);
}

#[test]
fn a_session_deleted_by_another_program_takes_its_claims_along() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 30);
    let stranger = world.stranger();
    stranger.pragma_update(None, "foreign_keys", true).expect("a pragma");
    stranger.execute("DELETE FROM sessions", []).expect("a deletion");
    assert!(world.claims().is_empty());
}

#[test]
fn what_fails_changes_nothing_and_is_not_announced() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 30);
    world.coordination.acquire_lock("file", "ann", None).expect("an answer");
    world.heard();
    world.run("CREATE TRIGGER stays BEFORE DELETE ON sessions BEGIN SELECT RAISE(ABORT, 'ann stays'); END");
    let error = world.coordination.deregister("ann").expect_err("the trigger refuses");
    assert!(error.to_string().contains("ann stays"), "{error}");
    assert!(world.heard().is_empty(), "the claim was released in a transaction that never was");
    assert_eq!(world.claims(), [pair("task-1", "ann")]);
    assert_eq!(world.number("SELECT count(*) FROM locks"), 1);
}
