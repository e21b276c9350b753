//! A long journal: files that are sealed when they are full, an index of the past, and what can happen to them.

use super::*;

/// Files of one record, or two.
const SMALL: u64 = 1_500;

/// A journal of so many records in small files, with an index that reaches to its end.
pub(super) fn long(count: usize) -> Place {
    let mut place = Place::new();
    place.trail = Trail::open(&place.folder()).expect("a trail").with_files_of(SMALL);
    for _ in 0..count {
        place.add(1);
    }
    index(&mut place);
    place
}

/// Has the index cover all there is.
fn index(place: &mut Place) {
    place.trail = Trail::open(&place.folder()).expect("a trail").with_files_of(SMALL).with_lag_of(0);
    place.trail.open_actions().expect("open");
    assert!(place.folder().join("journal.index").exists());
}

fn files(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.folder()).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.retain(|name| name.ends_with(".jsonl"));
    names.sort();
    names
}

fn sealed(place: &Place, number: u32) -> PathBuf {
    place.folder().join(format!("journal.{number:06}.jsonl"))
}

fn ids(entries: &[JournalEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.record.action_id.as_str()).collect()
}

fn newest(trail: &Trail) -> Vec<JournalEntry> {
    let mut entries = Vec::new();
    let read = trail.each_entry_back(|entry| {
        entries.push(entry);
        std::ops::ControlFlow::Continue(())
    });
    read.expect("entries");
    entries
}

#[test]
fn the_chain_goes_on_over_files() {
    let mut place = long(12);
    assert!(files(&place).len() > 3, "{:?}", files(&place));
    place.assert_whole(12);
    let all = place.trail.entries().expect("entries");
    assert_eq!(all.iter().map(|entry| entry.seq).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
    assert!(all.windows(2).all(|pair| pair[1].prev == pair[0].hash));
    let back = newest(&place.trail);
    assert_eq!(back.iter().rev().cloned().collect::<Vec<_>>(), all);
    // Another process goes on where this one stopped.
    place.trail = Trail::open(&place.folder()).expect("reopened").with_files_of(SMALL);
    place.add(3);
    place.assert_whole(15);
    let mode = |path: PathBuf| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!((mode(sealed(&place, 1)), mode(place.folder().join("journal.index"))), (0o600, 0o600));
}

#[test]
fn a_journal_of_an_earlier_version_is_read_and_continued() {
    let mut place = Place::new();
    let old = include_bytes!("old/journal.jsonl");
    place.put(old);
    assert_eq!(place.findings(), [JournalFinding::Torn { line: 4 }]);
    let before = place.trail.entries().expect("entries");
    assert_eq!(before.len(), 16);
    let open = place.trail.open_actions().expect("open");
    assert_eq!(ids(&open), ["01a1ec09-d1b0-76dd-b474-dfe1d44f0000"]);
    let batch = place.trail.batch("01a1ec09-cf60-752a-b09b-a6a68bd13ffa").expect("a batch");
    assert_eq!(batch.len(), 8);
    // Its file is far too long by today's measure: it is sealed as it is.
    place.trail = Trail::open(&place.folder()).expect("a trail").with_files_of(SMALL).with_lag_of(0);
    let added = place.add(2);
    assert_eq!(added[0].seq, 12);
    assert_eq!(fs::read(sealed(&place, 1)).expect("the old file"), old);
    assert_eq!(place.trail.entries().expect("entries")[..16], before);
    assert_eq!(place.trail.open_actions().expect("open").len(), 3);
    assert_eq!(place.trail.batch("01a1ec09-cf60-752a-b09b-a6a68bd13ffa").expect("a batch"), batch);
    assert!(place.trail.verify(None).expect("verified").is_whole);
}

#[test]
fn open_acts_are_found_without_reading_the_past() {
    let mut place = Place::new();
    place.trail = Trail::open(&place.folder()).expect("a trail").with_files_of(SMALL);
    let [lost, done, later] = [intent(), intent(), intent()];
    place.trail.append(&[lost.clone(), done.clone(), outcome(&done, "applied")]).expect("appended");
    for _ in 0..30 {
        let one = intent();
        place.trail.append(&[one.clone(), outcome(&one, "applied")]).expect("appended");
    }
    index(&mut place);
    // What cannot be read any more is not read, but for the file of the act that is open.
    for number in 2..20 {
        fs::set_permissions(sealed(&place, number), fs::Permissions::from_mode(0o600)).expect("a mode");
        fs::write(sealed(&place, number), "nobody reads this\n").expect("written over");
    }
    place.trail.append(&[later.clone(), outcome(&lost, "unknown")]).expect("appended");
    assert_eq!(ids(&place.trail.open_actions().expect("open")), [&lost.action_id, &later.action_id]);
    assert_eq!(place.trail.batch(&lost.action_id).expect("records").len(), 2);
    place.trail.append(&[outcome(&lost, "applied")]).expect("appended");
    assert_eq!(ids(&place.trail.open_actions().expect("open")), [&later.action_id]);
}

#[test]
fn an_index_that_is_missing_or_damaged_is_made_again() {
    let place = long(30);
    let open = place.trail.open_actions().expect("open");
    let path = place.folder().join("journal.index");
    let made = fs::read(&path).expect("the index");
    let half = &made[..made.len() / 2];
    for damage in [None, Some(&b""[..]), Some(b"no database"), Some(half), Some(&[0; 8_192])] {
        match damage {
            None => fs::remove_file(&path).expect("removed"),
            Some(bytes) => fs::write(&path, bytes).expect("damaged"),
        }
        let reader = Trail::read_only(&place.folder()).expect("a trail");
        assert_eq!(reader.open_actions().expect("open"), open);
        assert_eq!(place.trail.open_actions().expect("open"), open);
        assert!(place.trail.verify(None).expect("verified").is_whole);
        assert!(fs::read(&path).expect("the index").len() > 8_192);
    }
}

#[test]
fn an_index_of_another_journal_is_not_believed() {
    let (place, other) = (long(20), long(25));
    fs::copy(other.folder().join("journal.index"), place.folder().join("journal.index")).expect("copied");
    assert_eq!(place.findings(), [JournalFinding::BehindIndex { count: 25 }]);
    assert_eq!(place.trail.open_actions().expect("open").len(), 20);
    assert_eq!(place.findings(), []);
}

#[test]
fn a_reader_makes_no_index() {
    let place = long(20);
    fs::remove_file(place.folder().join("journal.index")).expect("removed");
    let reader = Trail::read_only(&place.folder()).expect("a trail").with_lag_of(0);
    assert_eq!(reader.open_actions().expect("open").len(), 20);
    assert!(!place.folder().join("journal.index").exists());
}

#[test]
fn an_index_that_hides_an_act_is_found() {
    let place = long(20);
    let hidden = place.trail.entries().expect("entries")[7].record.action_id.clone();
    let index = rusqlite::Connection::open(place.folder().join("journal.index")).expect("the index");
    let change = |sql: &str| {
        index.execute_batch("BEGIN").and_then(|()| index.execute_batch(sql)).expect(sql);
        index.execute_batch("COMMIT").expect("committed");
        place.findings()
    };
    let saved = fs::read(place.folder().join("journal.index")).expect("the index");
    let restore = || fs::write(place.folder().join("journal.index"), &saved).expect("restored");
    assert!(matches!(change("DELETE FROM line WHERE seq = 8")[0], JournalFinding::Unindexed { .. }));
    restore();
    assert_eq!(change("DELETE FROM open WHERE seq = 8"), [JournalFinding::Misindexed]);
    restore();
    assert!(matches!(
        change("UPDATE line SET offset = offset + 1 WHERE seq = 8")[0],
        JournalFinding::Unindexed { .. }
    ));
    // A place that does not fit is not believed, and the act is found all the same.
    assert_eq!(place.trail.batch(&hidden).expect("records").len(), 1);
    restore();
    assert_eq!(change("INSERT INTO line VALUES (x'00', 8, 1, 0)"), [JournalFinding::Misindexed]);
    restore();
    assert_eq!(place.findings(), []);
}

#[test]
fn files_that_were_removed_swapped_edited_or_cut_are_found() {
    let mut place = long(30);
    let anchor = place.anchor();
    let last = u32::try_from(files(&place).len()).expect("a number") - 1;
    assert!(last > 5);
    let keep = |number| fs::read(sealed(&place, number)).expect("a file");
    let assert_found = |what: &str| {
        for with_index in [true, false] {
            let index = place.folder().join("journal.index");
            let saved = fs::read(&index).expect("the index");
            if !with_index {
                fs::remove_file(&index).expect("removed");
            }
            let verified = place.trail.verify(None).expect("verified");
            assert!(!verified.is_whole, "{what}, with the index: {with_index}");
            fs::write(&index, saved).expect("restored");
        }
    };
    for number in 1..=last {
        let bytes = keep(number);
        fs::remove_file(sealed(&place, number)).expect("removed");
        assert_found("a file removed");
        fs::write(sealed(&place, number), &bytes[..bytes.len() / 2]).expect("cut");
        assert_found("a sealed file cut");
        let text = String::from_utf8(bytes.clone()).expect("UTF-8").replacen("task-1", "task-2", 1);
        fs::write(sealed(&place, number), text).expect("edited");
        assert_found("a sealed file edited");
        fs::write(sealed(&place, number), &bytes).expect("restored");
    }
    for number in 1..last {
        let (one, other) = (keep(number), keep(number + 1));
        fs::write(sealed(&place, number), &other).expect("swapped");
        fs::write(sealed(&place, number + 1), &one).expect("swapped");
        assert_found("files swapped");
        fs::write(sealed(&place, number + 1), &other).expect("restored");
        assert_found("a file twice");
        fs::write(sealed(&place, number), &one).expect("restored");
    }
    place.assert_whole(30);
    // The end: by the index, or by an anchor.
    let end = place.bytes();
    place.put(b"");
    assert!(matches!(place.findings()[..], [JournalFinding::BehindIndex { count: 30 }]));
    fs::remove_file(place.folder().join("journal.index")).expect("removed");
    let findings = only_findings(place.trail.verify(Some(&anchor)).expect("verified"));
    assert!(matches!(findings[..], [JournalFinding::Truncated { expected: 30, .. }]));
    place.put(&end);
    place.add(1);
    assert!(place.trail.verify(Some(&anchor)).expect("verified").is_whole);
}

#[test]
fn a_finding_names_the_file() {
    let place = long(10);
    let text = String::from_utf8(fs::read(sealed(&place, 2)).expect("a file")).expect("UTF-8");
    fs::write(sealed(&place, 2), text.replacen("task-1", "task-2", 1)).expect("edited");
    let verified = place.trail.verify(None).expect("verified");
    assert!(verified.findings[0].to_string().starts_with("journal.000002.jsonl: line 1 "), "{verified:?}");
}

#[test]
fn a_crash_at_any_step_of_sealing_loses_nothing() {
    let mut place = long(10);
    // Renamed, and the next file was not made yet.
    let number = u32::try_from(files(&place).len()).expect("a number");
    fs::rename(place.journal(), sealed(&place, number)).expect("renamed");
    assert!(place.trail.verify(None).expect("verified").is_whole);
    assert_eq!(place.trail.entries().expect("entries").len(), 10);
    let added = place.add(1);
    assert_eq!(added[0].seq, 11);
    // Made, and the first line of it was cut off by the crash.
    let bytes = place.bytes();
    for kept in [0, 1, 100, bytes.len() - 2] {
        place.put(&bytes[..kept]);
        let added = place.add(1);
        assert_eq!(added[0].seq, if kept == 0 { 11 } else { 12 });
        let verified = place.trail.verify(None).expect("verified");
        assert!(verified.is_whole, "{verified:?}");
    }
}

#[test]
fn processes_that_seal_and_index_at_once_make_one_chain() {
    let place = Place::new();
    let mut all: Vec<_> = (0..4)
        .map(|_| child_process::Again::new(child_process::HERE, "seal", &place.folder()).start())
        .collect();
    all.iter_mut().for_each(|one| assert_eq!(one.next_answer(), "ready"));
    all.iter_mut().for_each(child_process::Running::go);
    while !all.is_empty() {
        let reader = Trail::read_only(&place.folder()).expect("a trail");
        assert!(reader.verify(None).expect("verified").is_whole);
        all.pop().expect("a process").end();
    }
    place.assert_whole(4 * 25 * 4);
    assert!(files(&place).len() > 20, "{:?}", files(&place));
}

#[test]
fn killed_while_it_seals_and_indexes_it_loses_nothing() {
    let mut place = Place::new();
    let rounds = super::rounds("CLAIMTOP_KILLS", 20);
    for round in 1..=rounds {
        let mut writer =
            child_process::Again::new(child_process::HERE, "seal forever", &place.folder()).start();
        let answered = (0..round % 17 + 1).map(|_| writer.next_answer()).last().expect("an answer");
        writer.kill();
        let verified = place.trail.verify(None).expect("verified");
        assert!(verified.is_whole, "{verified:?}");
        let reader = Trail::read_only(&place.folder()).expect("a trail");
        let entries = reader.entries().expect("entries");
        assert!(entries.len() >= answered.parse().expect("a number"));
        assert_eq!(reader.open_actions().expect("open").len(), entries.len(), "all of them are open");
        assert_eq!(place.trail.open_actions().expect("open").len(), entries.len());
    }
    place.add(1);
    assert!(place.trail.verify(None).expect("verified").is_whole);
    let kept = "A process that is killed while it fills, seals and indexes the journal loses no record.";
    crate::support::figures::promise(kept, rounds as u64, 0);
}
