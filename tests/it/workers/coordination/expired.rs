//! Expired claims: the specification's seven cases, and the last millisecond.

use claimtop::worker::Event;
use serde_json::json;

use super::{World, pair};
use crate::support::{MINUTE, NOW};

/// Two tasks that are over and one that is not.
fn two_expired_and_one_active() -> World {
    let mut world = World::new();
    world.session("ann");
    world.session("bob");
    world.claim("short", "ann", 5);
    world.claim("shorter", "bob", 3);
    world.claim("long", "ann", 60);
    world.minutes_pass(10);
    world.heard();
    world
}

#[test]
fn nothing_is_cleaned_in_an_empty_database() {
    let mut world = World::new();
    let cleaned = world.coordination.cleanup_expired_claims().expect("a cleanup");
    assert_eq!(serde_json::to_value(cleaned).expect("JSON"), json!({"count": 0, "claims": []}));
    assert!(world.heard().is_empty(), "an empty cleanup is no news");
}

#[test]
fn active_claims_stay() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 30);
    world.minutes_pass(29);
    assert_eq!(world.coordination.cleanup_expired_claims().expect("a cleanup").count, 0);
    assert_eq!(world.claims(), [pair("task-1", "ann")]);
}

#[test]
fn one_expired_claim_is_removed() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 30);
    world.minutes_pass(31);
    let cleaned = world.coordination.cleanup_expired_claims().expect("a cleanup");
    let expected = json!({"count": 1, "claims": [{"taskId": "task-1", "sessionId": "ann",
        "claimedAt": NOW, "expiresAt": NOW + 30 * MINUTE}]});
    assert_eq!(serde_json::to_value(cleaned).expect("JSON"), expected);
    assert!(world.claims().is_empty());
}

#[test]
fn several_expired_claims_are_removed_together_the_oldest_first() {
    let mut world = two_expired_and_one_active();
    let cleaned = world.coordination.cleanup_expired_claims().expect("a cleanup");
    let tasks: Vec<&str> = cleaned.claims.iter().map(|claim| claim.task_id.as_str()).collect();
    assert_eq!((cleaned.count, tasks), (2, vec!["shorter", "short"]));
}

#[test]
fn expired_claims_go_and_active_ones_stay() {
    let mut world = two_expired_and_one_active();
    world.coordination.cleanup_expired_claims().expect("a cleanup");
    assert_eq!(world.claims(), [pair("long", "ann")]);
    assert_eq!(world.coordination.cleanup_expired_claims().expect("a second cleanup").count, 0);
}

#[test]
fn every_expired_claim_is_announced() {
    let mut world = two_expired_and_one_active();
    world.coordination.cleanup_expired_claims().expect("a cleanup");
    let first = Event::ClaimExpired {
        task_id: "shorter".into(),
        session_id: "bob".into(),
        expired_at: NOW + 3 * MINUTE,
        age_ms: 10 * MINUTE,
    };
    let heard = world.heard();
    assert_eq!(heard[0], first);
    let expected = json!({"event": "claim:expired", "taskId": "short", "sessionId": "ann",
        "expiredAt": NOW + 5 * MINUTE, "ageMs": 10 * MINUTE});
    assert_eq!(serde_json::to_value(&heard[1]).expect("JSON"), expected);
}

#[test]
fn the_cleanup_of_expired_claims_is_summed_up() {
    let mut world = two_expired_and_one_active();
    world.coordination.cleanup_expired_claims().expect("a cleanup");
    let heard = world.heard();
    let expected = json!({"event": "claims:cleanup", "type": "expired", "count": 2,
        "timestamp": NOW + 10 * MINUTE});
    assert_eq!(serde_json::to_value(heard.last().expect("a summary")).expect("JSON"), expected);
    assert_eq!(heard.len(), 3);
}

#[test]
fn at_its_last_millisecond_a_claim_still_holds() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 30);
    world.minutes_pass(30);
    assert_eq!(world.coordination.cleanup_expired_claims().expect("a cleanup").count, 0);
    world.millis_pass(1);
    assert_eq!(world.coordination.cleanup_expired_claims().expect("a cleanup").count, 1);
}
