//! What a crash in the middle of a write leaves behind is told apart from tampering.

use super::*;

/// Three lines, the last of them cut after so many bytes.
fn cut(whole: &[u8], start: usize, kept: usize) -> &[u8] {
    &whole[..start + kept]
}

fn last_line(bytes: &[u8]) -> usize {
    bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
}

#[test]
fn a_last_line_cut_anywhere_is_torn_and_the_chain_goes_on() {
    let mut place = Place::with(3);
    let whole = place.bytes();
    let start = last_line(&whole);
    let all_but_newline = whole.len() - start - 1;
    for kept in 1..=all_but_newline {
        place.put(cut(&whole, start, kept));
        assert_eq!(place.findings(), [JournalFinding::Torn { line: 3 }], "cut after {kept} bytes");
        place.assert_whole(2);
        assert_eq!(place.anchor().count, 2);

        place.add(2);
        // A record that lost nothing but its newline lost nothing.
        let (torn, entries) =
            if kept == all_but_newline { (vec![], 5) } else { (vec![JournalFinding::Torn { line: 3 }], 4) };
        assert_eq!(place.findings(), torn, "cut after {kept} bytes");
        place.assert_whole(entries);
        assert!(place.bytes().starts_with(cut(&whole, start, kept)), "what was torn stays as it was");
    }
}

#[test]
fn the_very_first_line_can_be_torn() {
    let mut place = Place::with(1);
    let whole = place.bytes();
    place.put(&whole[..40]);
    assert_eq!(place.findings(), [JournalFinding::Torn { line: 1 }]);
    place.add(1);
    assert_eq!(place.findings(), [JournalFinding::Torn { line: 1 }]);
    place.assert_whole(1);
}

#[test]
fn blocks_of_zeros_at_the_end_are_torn() {
    let mut place = Place::with(2);
    place.put(&[place.bytes().as_slice(), &[0; 5_000]].concat());
    assert_eq!(place.findings(), [JournalFinding::Torn { line: 3 }]);
    place.add(1);
    place.assert_whole(3);
}

#[test]
fn a_crash_while_a_torn_line_is_sealed_is_no_tampering_either() {
    let mut place = Place::with(3);
    let torn = place.bytes().len() - 100;
    place.put(&place.bytes()[..torn]);
    let torn = place.bytes();
    place.add(1);
    let sealed = place.bytes();
    // With the newline alone the torn line looks like a damaged one: that single byte is reported.
    for length in torn.len() + 2..sealed.len() {
        place.put(&sealed[..length]);
        place.assert_whole(2);
        place.add(1);
        assert!(place.findings().contains(&JournalFinding::Torn { line: 3 }), "cut after {length} bytes");
        place.assert_whole(if length == sealed.len() - 1 { 4 } else { 3 });
    }
    place.put(&sealed[..=torn.len()]);
    assert_eq!(place.findings(), [JournalFinding::Unreadable { line: 3 }]);
}

#[test]
fn many_crashes_in_a_row_leave_one_chain() {
    let mut place = Place::with(2);
    for round in 0..20 {
        place.add(3);
        let bytes = place.bytes();
        place.put(&bytes[..bytes.len() - 50 - round]);
    }
    place.add(1);
    let verification = place.trail.verify(None).expect("verified");
    assert!(verification.is_whole, "{:?}", verification.findings);
    assert_eq!(verification.findings.len(), 20);
    place.assert_whole(2 + 20 * 2 + 1);
}

#[test]
fn a_torn_line_does_not_hide_a_cut_from_the_anchor() {
    let place = Place::with(3);
    let anchor = place.anchor();
    let whole = place.bytes();
    place.put(cut(&whole, last_line(&whole), 10));
    let verification = place.trail.verify(Some(&anchor)).expect("verified");
    assert!(!verification.is_whole);
    assert_eq!(
        only_findings(verification),
        [JournalFinding::Torn { line: 3 }, JournalFinding::Truncated { expected: 3, found: 2 }]
    );
}

#[test]
fn damage_to_the_last_line_is_reported_and_stops_no_append() {
    let place = Place::with(3);
    let whole = String::from_utf8(place.bytes()).expect("UTF-8");
    let edit = |from: &str, to: &str| {
        let (head, last) = whole.split_at(last_line(whole.as_bytes()));
        format!("{head}{}", last.replacen(from, to, 1))
    };
    for (damaged, finding) in [
        (edit("task-1", "task-2"), JournalFinding::Edited { line: 3 }),
        (edit("\"who\":", "\"who\""), JournalFinding::Unreadable { line: 3 }),
    ] {
        let mut place = Place::new();
        place.put(damaged.as_bytes());
        assert_eq!(place.findings(), std::slice::from_ref(&finding));
        place.add(2);
        assert_eq!(place.findings(), [finding]);
        assert_eq!(place.anchor().count, 5, "two lines that hold, a seal, two new ones");
    }
}
