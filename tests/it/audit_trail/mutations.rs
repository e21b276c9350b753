//! Thousands of single changes to a journal of several files and to its index: each is found, or changes nothing.

use super::tampering::{Dice, lines};
use super::*;
use crate::support::figures::promise;
use claimtop::recovery::trail::BatchRows;

/// What whoever reads the journal is told.
#[derive(Debug, PartialEq)]
struct Told {
    entries: Vec<JournalEntry>,
    open: Vec<JournalEntry>,
    act: Vec<JournalEntry>,
}

struct Target {
    place: Place,
    files: Vec<(PathBuf, Vec<u8>)>,
    index: Vec<u8>,
    anchor: Anchor,
    told: Told,
}

impl Target {
    /// A journal with a history: acts, a batch, a crash, what is open, in several files, and an index.
    fn new() -> Target {
        let mut place = Place::new();
        let trail = |place: &Place| {
            Trail::open(&place.folder()).expect("a trail").with_files_of(4_000).with_lag_of(0)
        };
        place.trail = trail(&place);
        for number in 0..12 {
            let act = intent();
            place.trail.append(std::slice::from_ref(&act)).expect("appended");
            if number % 3 > 0 {
                place.trail.append(&[outcome(&act, "applied")]).expect("appended");
            }
            if number == 4 {
                let of = intent();
                place.trail.append_batch(&of, &BatchRows::default()).expect("appended");
                place
                    .trail
                    .append_outcomes(&outcome(&of, "applied"), &BatchRows::default(), 0)
                    .expect("appended");
            }
            if number == 7 {
                let bytes = place.bytes();
                place.put(&[&bytes[..], &bytes[..200.min(bytes.len())]].concat());
                place.trail = trail(&place);
            }
        }
        place.trail.open_actions().expect("open");
        let names =
            fs::read_dir(place.folder()).expect("a folder").map(|entry| entry.expect("an entry").path());
        let mut files: Vec<PathBuf> =
            names.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
        // By their order in the chain: the one without a number is the last.
        files.sort_by_key(|path| (path.ends_with("journal.jsonl"), path.clone()));
        assert!(files.len() > 3, "{files:?}");
        let files = files.into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
        let index = fs::read(place.folder().join("journal.index")).expect("the index");
        let (anchor, told) = (place.anchor(), told(&place));
        assert!(told.open.len() == 4 && told.act.len() == 2, "{told:?}");
        Target { place, files, index, anchor, told }
    }

    fn index_path(&self) -> PathBuf {
        self.place.folder().join("journal.index")
    }

    fn restore(&self) {
        for (path, bytes) in &self.files {
            fs::write(path, bytes).expect("restored");
        }
        fs::write(self.index_path(), &self.index).expect("restored");
    }

    /// One change; what it was.
    fn mutate(&self, dice: &mut Dice) -> String {
        let at = dice.below(self.files.len());
        let other = (at + 1 + dice.below(self.files.len() - 1)) % self.files.len();
        let ((path, bytes), (other_path, other_bytes)) = (&self.files[at], &self.files[other]);
        let mut changed = lines(bytes);
        let line = dice.below(changed.len());
        let what = match dice.below(9) {
            0..=2 => {
                let (byte, bits) = (dice.below(bytes.len()), 1 + dice.below(255));
                let mut bytes = bytes.clone();
                bytes[byte] ^= u8::try_from(bits).expect("a byte");
                changed = vec![bytes];
                format!("byte {byte} xor {bits:#x}")
            }
            3 => {
                let mut others = lines(other_bytes);
                let with = dice.below(others.len());
                std::mem::swap(&mut changed[line], &mut others[with]);
                fs::write(other_path, others.concat()).expect("written");
                format!("line {line} swapped with line {with} of {}", other_path.display())
            }
            4 => {
                let with = dice.below(changed.len());
                changed.swap(line, with);
                format!("line {line} swapped with line {with}")
            }
            5 => {
                changed.remove(line);
                format!("line {line} removed")
            }
            6 => {
                let copy = changed[line].clone();
                changed.insert(dice.below(changed.len() + 1), copy);
                format!("line {line} repeated")
            }
            7 => {
                let kept = dice.below(bytes.len());
                changed = vec![bytes[..kept].to_vec()];
                format!("cut after {kept} bytes")
            }
            _ => match dice.below(3) {
                0 => {
                    fs::remove_file(path).expect("removed");
                    return format!("{} removed", path.display());
                }
                1 => {
                    fs::write(other_path, bytes).expect("written");
                    changed = lines(other_bytes);
                    format!("swapped with {}", other_path.display())
                }
                _ => {
                    changed = lines(other_bytes);
                    format!("replaced by {}", other_path.display())
                }
            },
        };
        fs::write(path, changed.concat()).expect("written");
        format!("{}: {what}", path.display())
    }
}

fn told(place: &Place) -> Told {
    let reader = Trail::read_only(&place.folder()).expect("a trail");
    let entries = reader.entries().expect("entries");
    let act = entries[2].record.action_id.clone();
    Told { open: reader.open_actions().expect("open"), act: reader.batch(&act).expect("an act"), entries }
}

fn mutations() -> usize {
    rounds("CLAIMTOP_MUTATIONS", 600)
}

#[test]
fn every_change_of_a_file_is_found_or_harmless() {
    let target = Target::new();
    let (mut dice, mut found) = (Dice(0x2026_1118), 0);
    for round in 0..mutations() {
        let what = target.mutate(&mut dice);
        // Half of them without the index: it must not be needed.
        if round % 2 == 1 {
            fs::remove_file(target.index_path()).expect("removed");
        }
        let verified = target.place.trail.verify(Some(&target.anchor)).expect("verified");
        found += usize::from(!verified.is_whole);
        let is_harmless = || target.place.trail.entries().expect("entries") == target.told.entries;
        assert!(!verified.is_whole || is_harmless(), "round {round}: {what}");
        target.restore();
    }
    promise(
        "A change of the journal's files is found, or changes nothing that is read.",
        mutations() as u64,
        0,
    );
    assert!(found > mutations() / 2, "{found} found");
    assert_eq!(told(&target.place), target.told);
}

#[test]
fn every_change_of_the_index_is_found_or_harmless() {
    let target = Target::new();
    let (mut dice, mut found) = (Dice(0x2026_1119), 0);
    for round in 0..mutations() / 2 {
        let mut bytes = target.index.clone();
        let at = dice.below(bytes.len());
        let what = match dice.below(3) {
            0 => {
                bytes.truncate(at);
                format!("cut after {at} bytes")
            }
            _ => {
                bytes[at] ^= u8::try_from(1 + dice.below(255)).expect("a byte");
                format!("byte {at} changed")
            }
        };
        fs::write(target.index_path(), bytes).expect("written");
        let verified = target.place.trail.verify(Some(&target.anchor)).expect("verified");
        found += usize::from(!verified.is_whole);
        assert!(!verified.is_whole || told(&target.place) == target.told, "round {round}: {what}");
        // Whoever acts may make it anew, and appends to a whole chain either way.
        target.place.trail.open_actions().expect("open");
        target.restore();
    }
    promise(
        "A change of the journal's index is found, or changes nothing that is read.",
        mutations() as u64 / 2,
        0,
    );
    assert!(found > 0);
}
