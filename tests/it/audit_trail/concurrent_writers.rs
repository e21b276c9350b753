//! Several dashboards and sweepers on one journal.

use super::child_process::{Again, HERE};
use super::*;
use std::thread;

const BATCHES: usize = 25;
const BATCH: usize = 4;

pub(super) fn append(trail: &mut Trail) {
    for _ in 0..BATCHES {
        let records: Vec<Record> = (0..BATCH).map(|_| intent()).collect();
        let entries = trail.append(&records).expect("appended");
        assert!(entries.windows(2).all(|pair| pair[1].prev == pair[0].hash), "a batch stays together");
        trail.open_actions().expect("open");
    }
}

#[test]
fn processes_that_append_at_once_make_one_chain() {
    let place = Place::new();
    let mut all: Vec<_> = (0..4).map(|_| Again::new(HERE, "append", &place.folder()).start()).collect();
    all.iter_mut().for_each(|one| assert_eq!(one.next_answer(), "ready"));
    all.iter_mut().for_each(|one| one.go());
    all.into_iter().for_each(|one| one.end());
    assert_eq!(place.findings(), []);
    place.assert_whole(4 * BATCHES * BATCH);
}

#[test]
fn threads_that_append_at_once_make_one_chain() {
    let place = Place::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| append(&mut Trail::open(&place.folder()).expect("a trail")));
        }
    });
    assert_eq!(place.findings(), []);
    place.assert_whole(4 * BATCHES * BATCH);
}

#[test]
fn a_reader_never_sees_half_a_batch_of_a_running_writer() {
    let place = Place::new();
    thread::scope(|scope| {
        let writer = scope.spawn(|| append(&mut Trail::open(&place.folder()).expect("a trail")));
        while !writer.is_finished() {
            let reader = Trail::read_only(&place.folder()).expect("a trail");
            assert_eq!(only_findings(reader.verify(None).expect("verified")), []);
            assert_eq!(reader.entries().expect("entries").len() % BATCH, 0);
        }
    });
}

#[test]
fn what_append_answered_survives_a_kill() {
    let mut place = Place::new();
    for round in 1..=10 {
        let mut writer = Again::new(HERE, "forever", &place.folder()).start();
        let answered = (0..round).map(|_| writer.next_answer()).last().expect("an answer");
        writer.kill();
        let count = place.trail.entries().expect("entries").len();
        assert!(count >= answered.parse().expect("a number"));
        place.assert_whole(count);
        place.add(1);
        assert!(place.trail.verify(None).expect("verified").is_whole);
    }
}
