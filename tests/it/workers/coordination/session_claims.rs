//! Releasing all claims of a session: the specification's seven cases.

use serde_json::json;

use super::{World, pair};
use crate::support::{MINUTE, NOW};

/// Ann with two tasks and Bob with one, five minutes ago.
fn three_claims() -> World {
    let mut world = World::new();
    world.session("ann");
    world.session("bob");
    world.claim("task-1", "ann", 30);
    world.claim("task-2", "ann", 30);
    world.claim("task-3", "bob", 30);
    world.minutes_pass(5);
    world.heard();
    world
}

#[test]
fn a_session_without_claims_releases_none() {
    let mut world = World::new();
    world.session("ann");
    world.heard();
    let released = world.coordination.release_session_claims("ann", None).expect("a release");
    let expected = json!({"count": 0, "sessionId": "ann", "reason": "session_ended", "claims": []});
    assert_eq!(serde_json::to_value(released).expect("JSON"), expected);
    assert!(world.heard().is_empty());
}

#[test]
fn one_claim_is_released_with_the_time_it_was_held() {
    let mut world = three_claims();
    let released = world.coordination.release_session_claims("bob", Some("manual")).expect("a release");
    let expected = json!({"count": 1, "sessionId": "bob", "reason": "manual", "claims": [
        {"taskId": "task-3", "claimedAt": NOW, "expiresAt": NOW + 30 * MINUTE, "heldForMs": 5 * MINUTE}]});
    assert_eq!(serde_json::to_value(released).expect("JSON"), expected);
}

#[test]
fn all_claims_of_a_session_are_released_together() {
    let mut world = three_claims();
    let released = world.coordination.release_session_claims("ann", None).expect("a release");
    let tasks: Vec<&str> = released.claims.iter().map(|claim| claim.task_id.as_str()).collect();
    assert_eq!((released.count, tasks), (2, vec!["task-1", "task-2"]));
    assert_eq!(world.coordination.release_session_claims("ann", None).expect("a second release").count, 0);
}

#[test]
fn the_claims_of_other_sessions_stay() {
    let mut world = three_claims();
    world.coordination.release_session_claims("ann", None).expect("a release");
    assert_eq!(world.claims(), [pair("task-3", "bob")]);
    assert_eq!(world.number("SELECT count(*) FROM sessions"), 2, "the session itself stays too");
}

#[test]
fn every_released_claim_is_announced() {
    let mut world = three_claims();
    world.coordination.release_session_claims("ann", Some("manual")).expect("a release");
    let expected = json!({"event": "claim:released", "taskId": "task-1", "sessionId": "ann",
        "reason": "manual", "heldForMs": 5 * MINUTE});
    assert_eq!(serde_json::to_value(&world.heard()[0]).expect("JSON"), expected);
}

#[test]
fn the_release_of_a_session_is_summed_up() {
    let mut world = three_claims();
    world.coordination.release_session_claims("ann", Some("manual")).expect("a release");
    let heard = world.heard();
    let expected =
        json!({"event": "claims:session_cleanup", "sessionId": "ann", "reason": "manual", "count": 2});
    assert_eq!(serde_json::to_value(heard.last().expect("a summary")).expect("JSON"), expected);
    assert_eq!(heard.len(), 3);
}

#[test]
fn without_a_reason_the_session_has_ended() {
    let mut world = three_claims();
    let released = world.coordination.release_session_claims("bob", None).expect("a release");
    assert_eq!(released.reason, "session_ended");
    let heard = world.heard();
    assert_eq!(serde_json::to_value(&heard[0]).expect("JSON")["reason"], "session_ended");
}
