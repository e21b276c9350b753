//! The processing lock: taking, keeping, losing, letting go.

use claimtop::worker::WorkerError;

use super::*;

#[test]
fn a_lock_is_taken_for_five_minutes() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    assert_eq!(queue.get_processing_lock().unwrap(), None);
    assert!(queue.acquire_processing_lock("a-1").unwrap());
    assert_eq!(queue.get_processing_lock().unwrap(), Some(lock("a-1", START, START + 300)));
}

#[test]
fn a_live_lock_is_refused_to_everybody_its_holder_included() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    assert!(queue.acquire_processing_lock("a-1").unwrap());
    scene.pass(10);
    for agent in ["a-2", "a-1"] {
        assert!(!queue.acquire_processing_lock(agent).unwrap(), "{agent}");
    }
    assert_eq!(queue.get_processing_lock().unwrap(), Some(lock("a-1", START, START + 300)));
}

#[test]
fn an_expired_lock_is_taken_over_and_not_a_second_earlier() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    assert!(queue.acquire_processing_lock("a-1").unwrap());
    scene.pass(300);
    assert!(!queue.is_lock_stale().unwrap());
    assert!(!queue.acquire_processing_lock("a-2").unwrap());
    // Throughout the whole second.
    scene.clock.advance(Span::millis(999));
    assert!(!queue.acquire_processing_lock("a-2").unwrap());
    scene.clock.advance(Span::millis(1));
    assert!(queue.is_lock_stale().unwrap());
    assert!(queue.acquire_processing_lock("a-2").unwrap());
    assert!(!queue.is_lock_stale().unwrap());
    assert_eq!(queue.get_processing_lock().unwrap(), Some(lock("a-2", START + 301, START + 601)));
}

#[test]
fn no_lock_is_not_stale() {
    assert!(!Scene::new().queue().is_lock_stale().unwrap());
}

#[test]
fn only_its_holder_lets_a_lock_go_and_only_once() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    assert!(!queue.release_processing_lock("a-1").unwrap());
    queue.acquire_processing_lock("a-1").unwrap();
    assert!(!queue.release_processing_lock("a-2").unwrap());
    assert!(queue.get_processing_lock().unwrap().is_some());
    assert!(queue.release_processing_lock("a-1").unwrap());
    assert!(!queue.release_processing_lock("a-1").unwrap());
    assert_eq!(queue.get_processing_lock().unwrap(), None);
    assert!(queue.acquire_processing_lock("a-2").unwrap());
}

#[test]
fn an_extension_counts_from_now_and_never_shortens() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    queue.acquire_processing_lock("a-1").unwrap();
    scene.pass(100);
    for (extra, expires_at) in [(300, START + 400), (10, START + 400), (301, START + 401)] {
        assert!(queue.extend_lock("a-1", extra).unwrap());
        assert_eq!(queue.get_processing_lock().unwrap(), Some(lock("a-1", START, expires_at)));
    }
    // However often it is asked for, it does not pile up.
    for _ in 0..50 {
        assert!(queue.extend_lock("a-1", 300).unwrap());
    }
    assert_eq!(queue.get_processing_lock().unwrap(), Some(lock("a-1", START, START + 401)));
}

#[test]
fn only_the_holder_of_a_live_lock_extends_it() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    assert!(!queue.extend_lock("a-1", 300).unwrap());
    queue.acquire_processing_lock("a-1").unwrap();
    assert!(!queue.extend_lock("a-2", 300).unwrap());
    scene.pass(300);
    assert!(queue.extend_lock("a-1", 300).unwrap());
    scene.pass(301);
    assert!(!queue.extend_lock("a-1", 300).unwrap());
    assert!(queue.acquire_processing_lock("a-2").unwrap());
    assert!(!queue.extend_lock("a-1", 300).unwrap());
    assert_eq!(queue.get_processing_lock().unwrap().unwrap().agent_id, "a-2");
}

#[test]
fn the_timeout_can_be_set() {
    let scene = Scene::new();
    let mut queue = scene.queue().with_lock_timeout(5).unwrap();
    queue.acquire_processing_lock("a-1").unwrap();
    assert_eq!(queue.get_processing_lock().unwrap(), Some(lock("a-1", START, START + 5)));
    scene.pass(6);
    assert_eq!(queue.get_recovery_stats().unwrap().locks_cleaned, 1);
}

#[test]
fn what_makes_no_sense_is_refused_with_a_sentence() {
    let scene = Scene::new();
    let mut queue = scene.queue();
    let refused = [
        queue.acquire_processing_lock(" ").unwrap_err(),
        queue.extend_lock("a-1", 0).unwrap_err(),
        queue.reclaim_stale(-1).unwrap_err(),
        queue.next_with_lock("").unwrap_err(),
        queue.enqueue(&NewEntry::of("")).unwrap_err(),
        scene.queue().with_lock_timeout(0).unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error, WorkerError::Invalid(_)), "{error}");
    }
}

#[test]
fn the_database_itself_has_room_for_one_lock_only() {
    let (scene, mut queue) = Scene::with_entries(0);
    queue.acquire_processing_lock("a-1").unwrap();
    for sql in [
        "INSERT INTO queue_processing_lock VALUES (2, 'a-2', 0, 1)",
        "INSERT INTO queue_processing_lock VALUES (1, 'a-2', 0, 1)",
    ] {
        assert!(scene.raw.execute(sql, []).is_err(), "{sql}");
    }
}
