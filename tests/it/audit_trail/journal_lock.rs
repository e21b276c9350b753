//! Waiting for the journal while another process has it, and not forever.

use super::*;
use rustix::fs::{FlockOperation, flock};
use std::time::Duration;

fn held(place: &Place) -> fs::File {
    let file = fs::OpenOptions::new().read(true).open(place.journal()).expect("the journal");
    flock(&file, FlockOperation::LockExclusive).expect("locked");
    file
}

#[test]
fn a_lock_that_is_never_given_back_is_an_error_that_names_its_holder() {
    let mut place = Place::with(1);
    place.trail = Trail::open(&place.folder()).expect("a trail").with_lock_timeout(Duration::from_millis(50));
    let bytes = place.bytes();
    let _held = held(&place);
    for error in [place.trail.append(&[intent()]).err(), place.trail.open_actions().err()] {
        let error = error.expect("an error");
        assert!(matches!(error, TrailError::Busy { .. }), "{error:?}");
        let said = error.to_string();
        let pid = std::process::id();
        assert!(said.contains(&format!("process {pid} (")) && said.contains("nothing was written"), "{said}");
        assert!(said.contains(&place.journal().display().to_string()), "{said}");
    }
    assert_eq!(place.bytes(), bytes);
}

#[test]
fn whoever_waits_goes_on_when_the_lock_is_free() {
    let mut place = Place::with(1);
    let held = held(&place);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| place.add(1));
        assert!(!waiting.is_finished());
        drop(held);
        waiting.join().expect("appended");
    });
    place.assert_whole(2);
}

#[test]
fn a_wait_that_was_given_up_keeps_nothing_locked() {
    let mut place = Place::with(1);
    place.trail = Trail::open(&place.folder()).expect("a trail").with_lock_timeout(Duration::from_millis(20));
    let held = held(&place);
    assert!(place.trail.append(&[intent()]).is_err());
    drop(held);
    place.trail = Trail::open(&place.folder()).expect("a trail");
    place.add(1);
    place.assert_whole(2);
}
