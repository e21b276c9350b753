//! Claiming: all the answers that a session can get.

use claimtop::domain::time::Span;
use claimtop::worker::coordination::{AgentType, ClaimOptions, CoordinationClaim, OwnClaim};
use serde_json::json;

use super::{World, pair};
use crate::support::{MINUTE, NOW};

fn two_sessions() -> World {
    let mut world = World::new();
    world.session("ann");
    world.session("bob");
    world.heard();
    world
}

#[test]
fn a_free_task_is_claimed_for_half_an_hour() {
    let mut world = two_sessions();
    let answer = world.try_claim("task-1", "ann");
    assert_eq!(answer, CoordinationClaim::Claimed { expires_at: NOW + 30 * MINUTE });
    let expected = json!({"event": "claim:acquired", "taskId": "task-1", "sessionId": "ann",
        "expiresAt": NOW + 30 * MINUTE});
    assert_eq!(serde_json::to_value(&world.heard()[0]).expect("JSON"), expected);
    let row = "SELECT count(*) FROM task_claims WHERE agent_type = 'unknown' AND task_status = 'in-progress'
               AND heartbeat_count = 0 AND claimed_at = last_heartbeat AND metadata IS NULL";
    assert_eq!(world.number(row), 1);
}

#[test]
fn a_claim_carries_its_time_its_agent_and_its_metadata() {
    let mut world = two_sessions();
    let options = ClaimOptions {
        ttl: Some(Span::seconds(5)),
        agent_type: AgentType::Autonomous,
        metadata: Some(json!({"branch": "it's"})),
        ..ClaimOptions::default()
    };
    let answer = world.coordination.claim_task("task-1", "ann", &options).expect("an answer");
    assert_eq!(answer, CoordinationClaim::Claimed { expires_at: NOW + 5_000 });
    let row = "SELECT count(*) FROM task_claims WHERE agent_type = 'autonomous'
               AND json_extract(metadata, '$.branch') = 'it''s'";
    assert_eq!(world.number(row), 1);
}

#[test]
fn the_own_claim_is_extended() {
    let mut world = two_sessions();
    world.try_claim("task-1", "ann");
    world.minutes_pass(10);
    world.heard();
    let answer = world.try_claim("task-1", "ann");
    assert_eq!(answer, CoordinationClaim::Extended { expires_at: NOW + 40 * MINUTE, heartbeat_count: 1 });
    assert_eq!(world.names_heard(), ["claim:extended"]);
    let claim = world.coordination.claim("task-1").expect("a look").expect("a claim");
    assert_eq!((claim.claimed_at, claim.last_heartbeat), (NOW, NOW + 10 * MINUTE));
}

#[test]
fn the_own_claim_is_extended_even_after_its_end() {
    let mut world = two_sessions();
    world.try_claim("task-1", "ann");
    world.minutes_pass(45);
    assert!(matches!(world.try_claim("task-1", "ann"), CoordinationClaim::Extended { .. }));
}

#[test]
fn the_own_claim_starts_anew_if_asked_to() {
    let mut world = two_sessions();
    world.try_claim("task-1", "ann");
    world.minutes_pass(10);
    let options = ClaimOptions { own_claim: OwnClaim::Restart, ..ClaimOptions::default() };
    let answer = world.coordination.claim_task("task-1", "ann", &options).expect("an answer");
    assert_eq!(answer, CoordinationClaim::Claimed { expires_at: NOW + 40 * MINUTE });
    assert_eq!(world.number("SELECT claimed_at FROM task_claims"), NOW + 10 * MINUTE);
    let foreign = world.coordination.claim_task("task-1", "bob", &options).expect("an answer");
    assert!(!foreign.is_held(), "nobody can force a live claim: {foreign:?}");
}

#[test]
fn a_live_claim_of_another_is_refused_naming_the_holder_and_the_time_left() {
    let mut world = two_sessions();
    world.try_claim("task-1", "ann");
    world.minutes_pass(10);
    world.heard();
    let answer = world.try_claim("task-1", "bob");
    let expected = json!({"answer": "already_claimed", "existingClaim": {"taskId": "task-1",
        "sessionId": "ann", "agentType": "unknown", "claimedAt": NOW, "expiresAt": NOW + 30 * MINUTE,
        "lastHeartbeat": NOW, "heartbeatCount": 0, "remainingMs": 20 * MINUTE}});
    assert_eq!(serde_json::to_value(answer).expect("JSON"), expected);
    assert!(world.heard().is_empty());
    assert_eq!(world.claims(), [pair("task-1", "ann")]);
}

#[test]
fn an_expired_claim_of_another_is_taken_over() {
    let mut world = two_sessions();
    world.try_claim("task-1", "ann");
    world.minutes_pass(30);
    assert!(!world.try_claim("task-1", "bob").is_held(), "at its last millisecond it still holds");
    world.millis_pass(1);
    world.heard();
    let answer = world.try_claim("task-1", "bob");
    let expected = CoordinationClaim::TookOver {
        expires_at: NOW + 60 * MINUTE + 1,
        previous_holder: "ann".into(),
        expired_at: NOW + 30 * MINUTE,
    };
    assert_eq!(answer, expected);
    let heard = world.heard();
    let expired = serde_json::to_value(&heard[0]).expect("JSON");
    assert_eq!((&expired["event"], &expired["sessionId"]), (&json!("claim:expired"), &json!("ann")));
    assert_eq!(serde_json::to_value(&heard[1]).expect("JSON")["event"], "claim:acquired");
    assert_eq!(world.claims(), [pair("task-1", "bob")]);
}

#[test]
fn whoever_has_an_ancestor_has_all_below_it() {
    let mut world = two_sessions();
    world.try_claim("epic", "ann");
    let options = ClaimOptions { ancestors: vec!["story".into(), "epic".into()], ..ClaimOptions::default() };
    let answer = world.coordination.claim_task("task-1", "bob", &options).expect("an answer");
    let CoordinationClaim::AncestorClaimed { blocked_by_ancestor, existing_claim } = answer else {
        panic!("{answer:?}")
    };
    assert_eq!((blocked_by_ancestor.as_str(), existing_claim.session_id.as_str()), ("epic", "ann"));
    let own = world.coordination.claim_task("task-1", "ann", &options).expect("an answer");
    assert!(own.is_held(), "the own ancestor is no obstacle: {own:?}");
}

#[test]
fn an_expired_ancestor_is_no_obstacle() {
    let mut world = two_sessions();
    world.try_claim("epic", "ann");
    world.minutes_pass(31);
    let options = ClaimOptions { ancestors: vec!["epic".into()], ..ClaimOptions::default() };
    assert!(world.coordination.claim_task("task-1", "bob", &options).expect("an answer").is_held());
    assert_eq!(world.claims().len(), 2, "it is left for whoever cleans up");
}

#[test]
fn an_unknown_session_hears_that_it_is_unknown() {
    let mut world = two_sessions();
    assert_eq!(world.try_claim("task-1", "nobody"), CoordinationClaim::UnknownSession);
    assert!(world.heard().is_empty());
    assert!(world.claims().is_empty());
}

#[test]
fn a_claim_for_no_time_is_refused_in_words() {
    let mut world = two_sessions();
    for ttl in [Span::ZERO, Span::seconds(-5), Span::micros(999)] {
        let options = ClaimOptions { ttl: Some(ttl), ..ClaimOptions::default() };
        let error = world.coordination.claim_task("task-1", "ann", &options).expect_err("no time");
        assert!(error.to_string().contains("1ms or more"), "{error}");
    }
    let options = ClaimOptions { ttl: Some(Span::micros(i64::MAX)), ..ClaimOptions::default() };
    assert!(world.coordination.claim_task("task-1", "ann", &options).expect("an answer").is_held());
}
