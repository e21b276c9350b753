//! The records of some time are found without reading the whole journal, and none of them is missed.

use claimtop::domain::audit::Period;
use claimtop::domain::time::{Moment, Span};
use std::ops::ControlFlow;

use super::*;

fn noon() -> Moment {
    Moment::parse("2026-11-15T12:00:00Z").expect("a time")
}

/// A journal of many files with an act every minute, some of them written by a clock that is half an hour wrong.
fn long_journal(count: usize) -> Place {
    let mut place = Place::new();
    place.trail = Trail::open(&place.folder()).expect("a trail").with_files_of(40_000);
    for number in 0..count {
        let minutes = i64::try_from(number).expect("a number");
        let wrong = if number % 7 == 3 { Span::minutes(-30) } else { Span::ZERO };
        let at = noon().plus(Span::minutes(minutes)).plus(wrong).rfc3339();
        // Some lines are far longer than what is read rather than searched.
        let before = if number % 50 == 9 { json!("x".repeat(100_000)) } else { json!([]) };
        place.trail.append(&[Record { at, before, ..intent() }]).expect("appended");
    }
    place
}

#[test]
fn a_period_has_exactly_its_records_from_both_ends() {
    let place = long_journal(400);
    let all = place.trail.entries().expect("entries");
    for (since, until) in [
        (None, None),
        (Some(0), Some(0)),
        (Some(100), Some(160)),
        (Some(399), None),
        (None, Some(20)),
        (Some(-500), Some(-400)),
        (Some(500), Some(600)),
        (Some(210), None),
    ] {
        let moment = |minutes: Option<i64>| minutes.map(|minutes| noon().plus(Span::minutes(minutes)));
        let period = Period { since: moment(since), until: moment(until) };
        let is_inside = |entry: &&JournalEntry| period.contains(entry.record.moment().expect("a time"));
        let expected: Vec<u64> = all.iter().filter(is_inside).map(|entry| entry.seq).collect();
        let (mut forward, mut back) = (Vec::new(), Vec::new());
        let read = place.trail.each_entry_of(&period, |entry| {
            forward.push(entry.seq);
            ControlFlow::Continue(())
        });
        read.expect("read");
        let read = place.trail.each_entry_back_of(&period, |entry| {
            back.push(entry.seq);
            ControlFlow::Continue(())
        });
        read.expect("read");
        back.reverse();
        assert_eq!(forward, expected, "{since:?} {until:?}");
        assert_eq!(back, expected, "{since:?} {until:?}");
    }
}

#[test]
fn a_torn_line_in_the_middle_is_passed_over() {
    let mut place = long_journal(30);
    let mut bytes = place.bytes();
    bytes.extend_from_slice(b"{\"seq\":31,\"pre");
    place.put(&bytes);
    place.trail = Trail::open(&place.folder()).expect("a trail");
    let late = Record { at: noon().plus(Span::minutes(600)).rfc3339(), ..intent() };
    place.trail.append(&[late]).expect("appended");
    let mut found = 0;
    let period = Period { since: Some(noon().plus(Span::minutes(590))), until: None };
    let read = place.trail.each_entry_of(&period, |_| {
        found += 1;
        ControlFlow::Continue(())
    });
    read.expect("read");
    assert_eq!(found, 1);
}
