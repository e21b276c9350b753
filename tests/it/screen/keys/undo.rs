//! What was done can be taken back: the last act, or the one that is selected in Audit.

use claimtop::app::message::Done;
use claimtop::app::model::Tone;
use claimtop::app::{Effect, Msg};
use claimtop::domain::recovery::{Moved, Outcome};

use super::super::stage::{Stage, World, acts, claim, entry, task_board};

fn stage() -> Stage {
    Stage::on(&World::of([task_board([claim("t-1").lease_ran_out("11m")])]))
}

fn done(action: &str, id: &str, outcome: Outcome) -> Msg {
    Msg::Acted(Done {
        source: 0,
        address: "taskqueue/tasks/t-1".into(),
        action_id: id.into(),
        action: action.into(),
        outcome,
        shown: "t-1".into(),
        holder: Some("worker-7".into()),
    })
}

/// Presses the keys, sees what would be written, and says yes; answers the id of the act that is taken back.
#[track_caller]
fn undone(stage: &mut Stage, keys: &str) -> String {
    let prepared = match &stage.press(keys)[..] {
        [Effect::PrepareUndo { source: 0, action_id }] => action_id.clone(),
        other => panic!("{other:?}"),
    };
    assert!(stage.press("y").is_empty(), "nothing was shown yet");
    let lines = vec!["tasks 7".into(), "  status: \"queued\" → \"running\"".into()];
    stage.tell(Msg::UndoReady { action_id: prepared.clone(), ready: Ok(lines) });
    match &stage.press("y")[..] {
        [Effect::Undo { source: 0, action_id }] => assert_eq!(*action_id, prepared),
        other => panic!("{other:?}"),
    }
    prepared
}

#[test]
fn the_last_act_is_taken_back_first() {
    let mut stage = stage();
    stage.tell(done("reclaim", "first", Outcome::Applied));
    stage.tell(done("release", "second", Outcome::Applied));
    assert_eq!(undone(&mut stage, "u"), "second");
    stage.tell(done("undo", "second", Outcome::Applied));
    assert_eq!(stage.notice(), (Tone::Done, "undone: t-1 (worker-7) is as it was"));
    assert_eq!(undone(&mut stage, "u"), "first");
    assert!(stage.press("u").is_empty());
    assert!(stage.notice().1.starts_with("there is nothing to undo"));
}

#[test]
fn an_act_that_was_not_done_leaves_nothing_to_undo() {
    let mut stage = stage();
    stage.tell(done("reclaim", "first", Outcome::Moved(Moved::NoLongerClaimed)));
    assert!(stage.press("u").is_empty());
}

#[test]
fn in_audit_the_selected_act_is_taken_back() {
    let mut stage = stage();
    assert!(matches!(&stage.press("8")[..], [Effect::LoadTrail(_)]));
    let line = |seq| entry(seq, "reclaim", Some("applied"), "taskqueue/tasks/t-1");
    stage.tell(acts([line(3), line(2), line(1)]));
    stage.tell(done("reclaim", "0193-0003", Outcome::Applied));
    assert_eq!(undone(&mut stage, "j u"), "0193-0002");
}

#[test]
fn an_open_entry_is_the_one_that_is_taken_back() {
    let mut stage = stage();
    stage.press("8");
    let line = |seq| entry(seq, "reclaim", Some("applied"), "taskqueue/tasks/t-1");
    stage.tell(acts([line(3), line(2)]));
    assert_eq!(undone(&mut stage, "j enter u"), "0193-0002");
}

#[test]
fn an_act_on_a_source_that_is_not_open_is_refused() {
    let mut stage = stage();
    stage.press("8");
    let mut line = entry(3, "reclaim", Some("applied"), "taskqueue/tasks/t-1");
    line.on = None;
    stage.tell(acts([line]));
    assert!(stage.press("u").is_empty());
    assert_eq!(stage.notice(), (Tone::Refused, "that act was done to a source that is not open here"));
}

#[test]
fn an_act_that_ends_while_audit_is_open_reads_the_trail_again() {
    let mut stage = stage();
    stage.press("8");
    assert!(matches!(&stage.tell(done("reclaim", "1", Outcome::Applied))[..], [Effect::LoadTrail(_)]));
}

#[test]
fn every_row_and_column_is_shown_before_it_is_written() {
    let mut stage = stage();
    stage.tell(done("reclaim", "first", Outcome::Applied));
    stage.press("u");
    assert!(stage.text().contains("looking at the rows"), "{}", stage.text());
    let mut lines = vec!["tasks 7".to_owned()];
    lines.extend((0..60).map(|number| format!("  column_{number}: 0 → \u{202e}{number}")));
    stage.tell(Msg::UndoReady { action_id: "first".into(), ready: Ok(lines) });
    let mut seen = stage.text();
    for _ in 0..60 {
        stage.press("j");
        seen.push_str(&stage.text());
    }
    for number in 0..60 {
        assert!(seen.contains(&format!("column_{number}: 0 → \\u{{202e}}{number}")), "{number}: {seen}");
    }
    assert!(stage.text().contains("y undo"));
    // What was not taken back can still be.
    assert!(stage.press("n").is_empty());
    assert_eq!(stage.notice(), (Tone::Info, "nothing was done"));
    assert_eq!(undone(&mut stage, "u"), "first");
}

#[test]
fn an_undo_that_would_not_go_through_says_why_and_does_nothing() {
    let mut stage = stage();
    stage.tell(done("reclaim", "first", Outcome::Applied));
    stage.press("u");
    let why = "t-1: somebody has claimed it since".to_owned();
    stage.tell(Msg::UndoReady { action_id: "first".into(), ready: Err(why) });
    assert!(stage.text().contains("somebody has claimed it since"), "{}", stage.text());
    assert!(stage.press("y").is_empty() && stage.press("enter").is_empty());
    stage.press("esc");
    assert_eq!(stage.notice(), (Tone::Info, "nothing was done"));
}
