//! Five tries, and the waits between them.

use claimtop::worker::WorkerError;
use std::time::Duration;

use super::*;

/// Nobody can take the lock.
fn block(scene: &Scene) {
    let sql = "CREATE TRIGGER blocked BEFORE INSERT ON queue_processing_lock
               BEGIN SELECT RAISE(ABORT, 'somebody was faster'); END";
    scene.raw.execute_batch(sql).expect("a trigger");
}

/// A queue that notes its waits, and does this at each of them.
fn noting(
    queue: MergeQueue,
    mut at_wait: impl FnMut(usize) + Send + 'static,
) -> (MergeQueue, Arc<Mutex<Vec<u128>>>) {
    let waits: Arc<Mutex<Vec<u128>>> = Arc::default();
    let noted = waits.clone();
    let pause = move |wait: Duration| {
        let mut waits = noted.lock().expect("the waits");
        waits.push(wait.as_millis());
        at_wait(waits.len());
    };
    (queue.with_pause(pause), waits)
}

#[test]
fn contention_is_met_with_five_tries_and_growing_waits() {
    let (scene, queue) = Scene::with_entries(1);
    block(&scene);
    let (mut queue, waits) = noting(queue, |_| {});
    let error = queue.next_with_lock("a-1").unwrap_err();
    assert!(matches!(&error, WorkerError::Sql(_)), "{error:?}");
    assert!(error.to_string().contains("somebody was faster"), "{error}");
    assert_eq!(*waits.lock().unwrap(), [50, 100, 200, 400]);
    assert_eq!(status(&queue, 1), Status::Pending);
}

#[test]
fn a_contention_that_passes_costs_only_its_waits() {
    let (scene, queue) = Scene::with_entries(1);
    block(&scene);
    let other = scene.observer();
    let (mut queue, waits) = noting(queue, move |wait| {
        if wait == 3 {
            other.execute_batch("DROP TRIGGER blocked").expect("no trigger");
        }
    });
    assert_eq!(take(&mut queue, "a-1").id, 1);
    assert_eq!(*waits.lock().unwrap(), [50, 100, 200]);
    assert_eq!(scene.number("SELECT count(*) FROM queue_events WHERE event_type = 'claimed'"), 1);
}

#[test]
fn what_does_not_pass_is_not_tried_again() {
    let (scene, queue) = Scene::with_entries(1);
    scene.run("DROP TABLE queue_events", []);
    let (mut queue, waits) = noting(queue, |_| {});
    assert!(queue.next_with_lock("a-1").is_err());
    assert!(waits.lock().unwrap().is_empty());
    // The failed claim left nothing, not even the lock.
    assert_eq!(queue.get_processing_lock().unwrap(), None);
    assert_eq!(status(&queue, 1), Status::Pending);
}

#[test]
fn an_answer_is_not_contention() {
    let (_scene, queue) = Scene::with_entries(0);
    let (mut queue, waits) = noting(queue, |_| {});
    assert_eq!(queue.next_with_lock("a-1").unwrap().claimed, Claimed::Nothing);
    queue.acquire_processing_lock("a-2").unwrap();
    assert!(matches!(queue.next_with_lock("a-1").unwrap().claimed, Claimed::Locked(_)));
    assert!(waits.lock().unwrap().is_empty());
}
