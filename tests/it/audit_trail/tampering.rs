//! Whoever changes the journal without writing it all anew is found out.

use super::*;
use sha2::{Digest, Sha256};

/// A small generator (xorshift), so that every run makes the same changes.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).expect("64 bits") % limit
    }
}

pub(super) type Lines = Vec<Vec<u8>>;

pub(super) fn lines(bytes: &[u8]) -> Lines {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// A journal with a history: nine records, a torn line after the fourth, and its seal.
fn storied() -> (Place, Lines) {
    let mut place = Place::with(5);
    let bytes = place.bytes();
    place.put(&bytes[..bytes.len() - 200]);
    place.add(5);
    place.assert_whole(9);
    let lines = lines(&place.bytes());
    assert_eq!(lines.len(), 11);
    (place, lines)
}

/// The line with another task in it and a hash that fits: by the letter of the format, not by our code.
fn forged(line: &[u8]) -> Vec<u8> {
    let text = str::from_utf8(line).expect("UTF-8").trim_end().replace("task-1", "task-9");
    let (start, rest) = text.split_once("\"hash\":\"").expect("a hash");
    let rest = &rest[64 + 2..];
    let digest = Sha256::digest(format!("{start}{rest}"));
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{start}\"hash\":\"{hash}\",{rest}\n").into_bytes()
}

/// One random change that a chain without an anchor must show: anything but a cut at the end.
fn changed(original: &Lines, dice: &mut Dice) -> (&'static str, Vec<u8>) {
    let mut lines = original.clone();
    let last = lines.len() - 1;
    let at = dice.below(lines.len());
    let other = (at + 1 + dice.below(last)) % lines.len();
    let what = match dice.below(8) {
        0 => {
            let column = dice.below(lines[at].len() - usize::from(at == last));
            let shift = u8::try_from(1 + dice.below(255)).expect("a byte");
            lines[at][column] = lines[at][column].wrapping_add(shift);
            "a byte changed"
        }
        1 => {
            let column = dice.below(lines[at].len() - usize::from(at == last));
            lines[at].remove(column);
            "a byte removed"
        }
        2 => {
            let column = dice.below(lines[at].len());
            let byte = *b" \n\"{},:0aZ\0\xff".get(dice.below(12)).expect("a byte");
            lines[at].insert(column, byte);
            "a byte inserted"
        }
        3 => {
            lines.remove(at % last);
            "a line removed"
        }
        4 => {
            lines.swap(at, other);
            "lines swapped"
        }
        5 => {
            lines.insert(other, original[at].clone());
            "a line repeated"
        }
        6 => {
            let strangers: [&[u8]; 4] = [b"\n", b"hello\n", b"{}\n", b"{\"seq\":3}\n"];
            lines.insert(dice.below(lines.len() + 1), strangers[dice.below(4)].to_vec());
            "a line inserted"
        }
        _ => {
            let records: Vec<usize> = (0..last).filter(|at| ![4, 5].contains(at)).collect();
            let at = records[dice.below(records.len())];
            lines[at] = forged(&lines[at]);
            "a line changed and hashed anew"
        }
    };
    (what, lines.concat())
}

#[test]
fn every_random_change_is_found() {
    let (place, original) = storied();
    let mut dice = Dice(0x2026_1115);
    for round in 0..6_000 {
        let (what, bytes) = changed(&original, &mut dice);
        if bytes == original.concat() {
            continue;
        }
        place.put(&bytes);
        let verification = place.trail.verify(None).expect("verified");
        assert!(!verification.is_whole, "round {round}: {what}: {}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn every_kind_of_change_has_its_finding() {
    let place = Place::with(5);
    let original = lines(&place.bytes());
    let found = |lines: &[&[u8]]| {
        place.put(&lines.concat());
        place.findings()
    };
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|at| original[at].as_slice());
    let edited = str::from_utf8(c).expect("UTF-8").replace("task-1", "task-2");
    let extended = str::from_utf8(c).expect("UTF-8").replace("\"tool\":", "\"extra\":1,\"tool\":");
    assert_eq!(found(&[a, b, edited.as_bytes(), d, e]), [JournalFinding::Edited { line: 3 }]);
    assert_eq!(found(&[a, b, extended.as_bytes(), d, e]), [JournalFinding::Edited { line: 3 }]);
    assert_eq!(found(&[a, b, d, e]), [JournalFinding::Missing { line: 3 }]);
    assert_eq!(found(&[b, c, d, e]), [JournalFinding::Missing { line: 1 }]);
    assert_eq!(found(&[a, b, &forged(c), d, e]), [JournalFinding::Missing { line: 4 }]);
    assert_eq!(found(&[a, b, c, c, d, e]), [JournalFinding::Repeated { line: 4 }]);
    assert_eq!(found(&[a, b, b"hello\n", c, d, e]), [JournalFinding::Unreadable { line: 3 }]);
    assert_eq!(
        found(&[a, c, b, d, e]),
        [
            JournalFinding::Missing { line: 2 },
            JournalFinding::Repeated { line: 3 },
            JournalFinding::Missing { line: 4 }
        ]
    );
    assert_eq!(found(&[a, b, c, d, e]), []);
}

#[test]
fn a_cut_at_the_end_shows_only_against_the_anchor() {
    let (place, original) = storied();
    let anchor = place.anchor();
    assert!(place.trail.verify(Some(&anchor)).expect("verified").is_whole);
    for kept in (0..original.len()).filter(|kept| *kept != 5) {
        place.put(&original[..kept].concat());
        assert!(place.trail.verify(None).expect("verified").is_whole, "{kept} lines kept");
        let verification = place.trail.verify(Some(&anchor)).expect("verified");
        assert!(!verification.is_whole);
        let findings = only_findings(verification);
        assert!(matches!(findings.last(), Some(JournalFinding::Truncated { expected: 10, .. })));
    }
}

#[test]
fn a_journal_written_anew_shows_only_against_the_anchor() {
    let (old, new) = (Place::with(3), Place::with(4));
    let anchor = old.anchor();
    assert!(new.trail.verify(None).expect("verified").is_whole);
    let findings = only_findings(new.trail.verify(Some(&anchor)).expect("verified"));
    assert_eq!(findings, [JournalFinding::Rewritten { count: 3 }]);
}

#[test]
fn an_old_anchor_still_fits_a_longer_journal() {
    let mut place = Place::new();
    for _ in 0..5 {
        let anchor = place.anchor();
        place.add(2);
        assert_eq!(only_findings(place.trail.verify(Some(&anchor)).expect("verified")), []);
    }
}

#[test]
fn every_finding_says_where() {
    let all = [
        JournalFinding::Edited { line: 7 },
        JournalFinding::Missing { line: 7 },
        JournalFinding::Repeated { line: 7 },
        JournalFinding::Torn { line: 7 },
        JournalFinding::Unreadable { line: 7 },
        JournalFinding::Truncated { expected: 7, found: 3 },
        JournalFinding::Rewritten { count: 7 },
    ];
    assert!(all.iter().all(|finding| finding.to_string().contains('7')));
    assert_eq!(all.iter().filter(|finding| !finding.is_tampering()).count(), 1);
}
