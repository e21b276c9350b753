//! Many acts in one line: each is still an act of its own to whoever reads the trail.

use super::*;
use claimtop::recovery::trail::{BatchRows, RecordedEvidence, RowToWrite, SortedKeys};

fn line<'a>(
    n: usize,
    before: Option<&'a Json>,
    outcome: Option<&'a str>,
) -> RowToWrite<'a, SortedKeys<'a>, SortedKeys<'a>> {
    RowToWrite {
        address: ["task/a", "task/b", "task/c", "task/d"][n - 1],
        after: None,
        before: before.map(SortedKeys),
        evidence: Some(RecordedEvidence {
            conclusion: "probably dead",
            kind: None,
            forced: false,
            process: "unknown",
            reasons: vec!["lease_expired"],
            why: "its lease ran out",
        }),
        holder: Some("worker-1"),
        n,
        outcome,
        why: outcome.map(|_| "renewed \u{202e} 1s ago"),
    }
}

fn lines<'a>(all: impl IntoIterator<Item = RowToWrite<'a, SortedKeys<'a>, SortedKeys<'a>>>) -> BatchRows {
    let mut lines = BatchRows::default();
    for line in all {
        lines.add(&line).expect("a line");
    }
    lines
}

/// An intent for the first, second and fourth of four claims; the third had moved.
fn intended() -> (Place, Record) {
    let mut place = Place::with(1);
    let of = Record { evidence: Json::Null, before: Json::Null, ..intent() };
    let before = json!([{"table": "t", "rowid": 1, "row": {"z": 1, "a": "x"}}]);
    let all = lines([1, 2, 4].map(|n| line(n, Some(&before), None)));
    place.trail.append_batch(&of, &all).expect("appended");
    (place, of)
}

fn done(place: &mut Place, of: &Record) {
    let all = lines([line(3, None, Some("moved"))]);
    place.trail.append_outcomes(&outcome(of, "applied"), &all, 3).expect("appended");
}

fn told(place: &Place, of: &Record) -> Vec<(String, RecordStage, Option<String>)> {
    let entries = place.trail.entries().expect("entries").into_iter();
    entries
        .filter_map(|entry| {
            let number = entry.record.action_id.strip_prefix(&format!("{}.", of.action_id))?.to_owned();
            Some((number, entry.record.stage, entry.record.outcome))
        })
        .collect()
}

#[test]
fn a_line_is_read_as_a_record_for_each_act() {
    let (mut place, of) = intended();
    done(&mut place, &of);
    place.add(1);
    assert_eq!(String::from_utf8(place.bytes()).expect("UTF-8").lines().count(), 4);
    let intents = ["1", "2", "4"].map(|number| (number.to_owned(), RecordStage::Intent, None));
    let outcomes = [("1", "applied"), ("2", "applied"), ("3", "moved"), ("4", "applied")]
        .map(|(number, outcome)| (number.to_owned(), RecordStage::Outcome, Some(outcome.to_owned())));
    assert_eq!(told(&place, &of), [&intents[..], &outcomes[..]].concat());
    let entries = place.trail.entries().expect("entries");
    assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2, 2, 2, 3, 3, 3, 3, 4]);
    let first = &entries[1].record;
    assert_eq!((first.address.as_str(), first.holder.as_deref()), ("task/a", Some("worker-1")));
    assert_eq!(first.before[0]["row"], json!({"z": 1, "a": "x"}));
    assert_eq!(first.evidence["reasons"], json!(["lease_expired"]));
    assert_eq!((&first.who, &first.reason, &first.tool), (&of.who, &of.reason, &of.tool));
    let moved = &entries[6].record;
    assert_eq!(moved.why.as_deref(), Some("renewed \u{202e} 1s ago"));
    assert_eq!(place.findings(), []);
}

#[test]
fn it_is_written_like_everything_else() {
    let (mut place, of) = intended();
    done(&mut place, &of);
    let text = String::from_utf8(place.bytes()).expect("UTF-8");
    assert!(text.chars().all(|c| c == '\n' || !is_deceptive(c)), "{text}");
    for (_, body) in text.lines().filter_map(|line| line.split_once("\"batch\":")) {
        let mut value: Json = serde_json::from_str(body.strip_suffix('}').expect("a body")).expect("JSON");
        value.sort_all_objects();
        assert_eq!(format!("{value}}}").replace('\u{202e}', "\\u202e"), body);
    }
}

#[test]
fn each_act_of_it_is_open_until_its_outcome_is_known() {
    let (mut place, of) = intended();
    let open = |place: &Place| -> Vec<String> {
        let open = place.trail.open_actions().expect("open").into_iter();
        open.filter_map(|entry| Some(entry.record.action_id.rsplit_once('.')?.1.to_owned())).collect()
    };
    assert_eq!(open(&place), ["1", "2", "4"]);
    // One of them is found out by itself.
    let one = place.trail.entries().expect("entries")[2].record.clone();
    place.trail.append(&[outcome(&one, "refused")]).expect("appended");
    assert_eq!(open(&place), ["1", "4"]);
    done(&mut place, &of);
    assert_eq!(open(&place), [""; 0]);
}

#[test]
fn what_was_settled_is_not_read_again() {
    let (mut place, of) = intended();
    done(&mut place, &of);
    let (_, here) =
        place.trail.open_actions_since(claimtop::recovery::trail::Position::default()).expect("open");
    let added = place.add(1);
    let (open, _) = place.trail.open_actions_since(here).expect("open");
    assert_eq!(open, added);
    // Another journal under the same name, even with the same number, is read from its beginning.
    fs::remove_file(place.journal()).expect("removed");
    place.put(&Place::with(20).bytes());
    let (open, _) = place.trail.open_actions_since(here).expect("open");
    assert_eq!(open.len(), 20);
}

#[test]
fn an_edit_of_any_act_in_it_is_found() {
    let (mut place, of) = intended();
    done(&mut place, &of);
    let text = String::from_utf8(place.bytes()).expect("UTF-8");
    for (from, to, line) in
        [("task/b", "task/x", 2), ("\"n\":4", "\"n\":5", 2), ("\"count\":3", "\"count\":2", 3)]
    {
        place.put(text.replacen(from, to, 1).as_bytes());
        assert_eq!(place.findings(), [JournalFinding::Edited { line }], "{from}");
    }
}

#[test]
fn a_batch_cut_anywhere_is_torn_and_the_chain_goes_on() {
    let (mut place, _) = intended();
    let whole = place.bytes();
    let start = place.bytes()[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
    for kept in (1..whole.len() - start - 1).step_by(7) {
        place.put(&whole[..start + kept]);
        assert_eq!(place.findings(), [JournalFinding::Torn { line: 2 }], "cut after {kept} bytes");
        place.add(1);
        place.assert_whole(2);
    }
}

#[test]
fn somebody_elses_line_in_between_is_noticed() {
    let (mut place, of) = intended();
    Trail::open(&place.folder()).expect("another trail").append(&[intent()]).expect("appended");
    done(&mut place, &of);
    assert_eq!(place.findings(), []);
    // Also one that takes exactly as much room as what it replaces.
    let bytes = place.bytes();
    let end = bytes.iter().rposition(|byte| *byte == b'}').expect("an end");
    let mut edited = bytes;
    edited[end - 2] = b' ';
    place.put(&edited);
    place.add(1);
    assert_eq!(place.findings(), [JournalFinding::Unreadable { line: 4 }]);
}
