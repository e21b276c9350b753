//! Locks: the same answers as for claims, for a minute.

use claimtop::domain::time::Span;
use claimtop::worker::coordination::{LockOutcome, RefreshOutcome, ReleaseOutcome};

use super::World;
use crate::support::{MINUTE, NOW, SECOND};

fn locked_by_ann() -> World {
    let mut world = World::new();
    world.session("ann");
    world.session("bob");
    world.heard();
    let answer = world.coordination.acquire_lock("file", "ann", None).expect("an answer");
    assert_eq!(answer, LockOutcome::Acquired { expires_at: NOW + MINUTE });
    assert_eq!(world.names_heard(), ["lock:acquired"]);
    world
}

#[test]
fn a_lock_is_refused_to_others_naming_its_holder() {
    let mut world = locked_by_ann();
    world.millis_pass(20 * SECOND);
    let answer = world.coordination.acquire_lock("file", "bob", None).expect("an answer");
    let LockOutcome::AlreadyLocked { existing_lock } = answer else { panic!("{answer:?}") };
    assert_eq!((existing_lock.session_id.as_str(), existing_lock.remaining_ms), ("ann", 40 * SECOND));
    assert!(world.heard().is_empty());
}

#[test]
fn the_own_lock_is_extended() {
    let mut world = locked_by_ann();
    world.millis_pass(20 * SECOND);
    let answer = world.coordination.acquire_lock("file", "ann", None).expect("an answer");
    assert_eq!(answer, LockOutcome::Extended { expires_at: NOW + 80 * SECOND });
    assert_eq!(world.number("SELECT refresh_count FROM locks"), 1);
    assert_eq!(world.names_heard(), ["lock:extended"]);
}

#[test]
fn an_expired_lock_is_taken_over() {
    let mut world = locked_by_ann();
    world.millis_pass(MINUTE + 1);
    let answer = world.coordination.acquire_lock("file", "bob", None).expect("an answer");
    let expires_at = NOW + 2 * MINUTE + 1;
    assert_eq!(answer, LockOutcome::TookOver { expires_at, previous_holder: "ann".into() });
    assert_eq!(world.names_heard(), ["lock:expired", "lock:acquired"]);
}

#[test]
fn a_lock_of_an_unknown_session_is_not_given() {
    let mut world = locked_by_ann();
    let answer = world.coordination.acquire_lock("other", "nobody", None).expect("an answer");
    assert_eq!(answer, LockOutcome::UnknownSession);
    assert!(world.coordination.lock("other").expect("a look").is_none());
}

#[test]
fn a_lock_is_refreshed_by_its_owner_while_it_holds() {
    let mut world = locked_by_ann();
    let foreign = world.coordination.refresh_lock("file", "bob", None).expect("an answer");
    assert_eq!(foreign, RefreshOutcome::NotOwner { actual_owner: "ann".into() });
    let own = world.coordination.refresh_lock("file", "ann", Some(Span::minutes(2))).expect("an answer");
    assert_eq!(own, RefreshOutcome::Refreshed { expires_at: NOW + 2 * MINUTE });
    world.minutes_pass(3);
    let late = world.coordination.refresh_lock("file", "ann", None).expect("an answer");
    assert_eq!(late, RefreshOutcome::Expired { expired_at: NOW + 2 * MINUTE });
    let gone = world.coordination.refresh_lock("file", "ann", None).expect("an answer");
    assert_eq!(gone, RefreshOutcome::NotFound);
    assert_eq!(world.names_heard(), ["lock:refreshed", "lock:expired"]);
}

#[test]
fn a_lock_is_released_by_its_owner_once() {
    let mut world = locked_by_ann();
    world.millis_pass(5 * SECOND);
    let foreign = world.coordination.release_lock("file", "bob").expect("an answer");
    assert_eq!(foreign, ReleaseOutcome::NotOwner { actual_owner: "ann".into() });
    let own = world.coordination.release_lock("file", "ann").expect("an answer");
    assert_eq!(own, ReleaseOutcome::Released { held_for_ms: 5 * SECOND });
    assert_eq!(world.coordination.release_lock("file", "ann").expect("an answer"), ReleaseOutcome::NotFound);
    assert_eq!(world.names_heard(), ["lock:released"]);
}

#[test]
fn an_expired_lock_is_released_as_expired() {
    let mut world = locked_by_ann();
    world.minutes_pass(2);
    let answer = world.coordination.release_lock("file", "ann").expect("an answer");
    assert_eq!(answer, ReleaseOutcome::WasExpired { expired_at: NOW + MINUTE });
    assert!(world.coordination.lock("file").expect("a look").is_none());
}

#[test]
fn expired_locks_are_cleaned_and_others_stay() {
    let mut world = locked_by_ann();
    world.coordination.acquire_lock("long", "bob", Some(Span::minutes(9))).expect("an answer");
    world.minutes_pass(1);
    assert_eq!(world.coordination.cleanup_expired_locks().expect("a cleanup").count, 0);
    world.millis_pass(1);
    let cleaned = world.coordination.cleanup_expired_locks().expect("a cleanup");
    assert_eq!((cleaned.count, cleaned.locks[0].resource.as_str()), (1, "file"));
    assert!(world.coordination.lock("long").expect("a look").is_some());
}
