//! Refreshing and releasing a claim.

use claimtop::domain::time::Span;
use claimtop::worker::coordination::{RefreshOutcome, ReleaseOutcome};

use super::{World, pair};
use crate::support::{MINUTE, NOW};

fn claimed_by_ann() -> World {
    let mut world = World::new();
    world.session("ann");
    world.session("bob");
    world.claim("task-1", "ann", 30);
    world.heard();
    world
}

#[test]
fn a_refreshed_claim_ends_so_long_from_now() {
    let mut world = claimed_by_ann();
    world.minutes_pass(10);
    let answer =
        world.coordination.refresh_claim("task-1", "ann", Some(Span::minutes(5))).expect("an answer");
    assert_eq!(answer, RefreshOutcome::Refreshed { expires_at: NOW + 15 * MINUTE }, "not from its old end");
    assert_eq!(world.number("SELECT heartbeat_count FROM task_claims"), 1);
    assert_eq!(world.number("SELECT last_heartbeat FROM task_claims"), NOW + 10 * MINUTE);
    assert_eq!(world.names_heard(), ["claim:refreshed"]);
}

#[test]
fn an_expired_claim_cannot_be_refreshed_and_is_gone() {
    let mut world = claimed_by_ann();
    world.minutes_pass(31);
    let answer = world.coordination.refresh_claim("task-1", "ann", None).expect("an answer");
    assert_eq!(answer, RefreshOutcome::Expired { expired_at: NOW + 30 * MINUTE });
    assert_eq!(world.names_heard(), ["claim:expired"]);
    assert!(world.claims().is_empty());
    assert_eq!(
        world.coordination.refresh_claim("task-1", "ann", None).expect("an answer"),
        RefreshOutcome::NotFound
    );
}

#[test]
fn only_the_owner_can_refresh() {
    let mut world = claimed_by_ann();
    let answer = world.coordination.refresh_claim("task-1", "bob", None).expect("an answer");
    assert_eq!(answer, RefreshOutcome::NotOwner { actual_owner: "ann".into() });
    assert_eq!(world.number("SELECT heartbeat_count FROM task_claims"), 0);
    assert!(world.heard().is_empty());
}

#[test]
fn a_claim_is_released_once_with_the_time_it_was_held() {
    let mut world = claimed_by_ann();
    world.minutes_pass(4);
    let answer = world.coordination.release_claim("task-1", "ann", "completed").expect("an answer");
    assert_eq!(answer, ReleaseOutcome::Released { held_for_ms: 4 * MINUTE });
    assert_eq!(world.names_heard(), ["claim:released"]);
    assert!(world.claims().is_empty());
    let again = world.coordination.release_claim("task-1", "ann", "completed").expect("an answer");
    assert_eq!(again, ReleaseOutcome::NotFound);
}

#[test]
fn only_the_owner_can_release() {
    let mut world = claimed_by_ann();
    let answer = world.coordination.release_claim("task-1", "bob", "manual").expect("an answer");
    assert_eq!(answer, ReleaseOutcome::NotOwner { actual_owner: "ann".into() });
    assert_eq!(world.claims(), [pair("task-1", "ann")]);
    assert!(world.heard().is_empty());
}

#[test]
fn an_expired_claim_is_released_as_expired_whoever_asks() {
    let mut world = claimed_by_ann();
    world.minutes_pass(31);
    let answer = world.coordination.release_claim("task-1", "bob", "manual").expect("an answer");
    assert_eq!(answer, ReleaseOutcome::WasExpired { expired_at: NOW + 30 * MINUTE });
    assert_eq!(world.names_heard(), ["claim:expired"]);
    assert!(world.claims().is_empty());
}

#[test]
fn who_comes_late_cannot_touch_the_next_holders_claim() {
    let mut world = claimed_by_ann();
    world.minutes_pass(31);
    assert!(world.try_claim("task-1", "bob").is_held());
    let released = world.coordination.release_claim("task-1", "ann", "completed").expect("an answer");
    assert_eq!(released, ReleaseOutcome::NotOwner { actual_owner: "bob".into() });
    assert_eq!(world.claims(), [pair("task-1", "bob")]);
}
