//! Where nothing may be done, a sentence says why.

use claimtop::app::message::Done;
use claimtop::app::model::Tone;
use claimtop::app::{Effect, Msg};
use claimtop::domain::recovery::{Action, Outcome};

use super::super::stage::outcomes::{alive, lost, renewed};
use super::super::stage::{Stage, World, claim, task_board};

fn stale() -> World {
    World::of([task_board([claim("t-1").lease_ran_out("11m")])])
}

#[test]
fn a_read_only_session_refuses_every_act() {
    let mut stage = Stage::on(&stale().read_only("--read-only was given"));
    for key in ["r", "x", "e", "R", "X"] {
        assert!(stage.press(key).is_empty(), "{key}");
        let (tone, said) = stage.notice();
        assert_eq!(tone, Tone::Refused);
        assert_eq!(said, "this source is read-only: --read-only was given");
        assert!(stage.model.overlay.is_empty());
    }
}

#[test]
fn a_lost_source_refuses_every_act_and_says_for_how_long() {
    let mut stage = Stage::on(&stale());
    stage.poll_fails("unable to open database file");
    stage.later("42s");
    for key in ["r", "x", "e", "R", "X"] {
        assert!(stage.press(key).is_empty(), "{key}");
        let (tone, said) = stage.notice();
        assert_eq!(tone, Tone::Refused);
        assert!(said.ends_with("no answer for 42s from tasks.db"), "{said}");
    }
}

#[test]
fn a_source_that_is_back_can_be_acted_on_again() {
    let mut stage = Stage::on(&stale());
    stage.poll_fails("locked");
    stage.poll(&stale());
    assert!(matches!(&stage.press("r")[..], [Effect::Act { .. }]));
}

#[test]
fn undo_is_an_act_as_well() {
    let mut stage = Stage::on(&stale().read_only("the file is read-only"));
    stage.tell(Msg::Acted(Done {
        source: 0,
        address: "taskqueue/tasks/t-1".into(),
        action_id: "1".into(),
        action: "reclaim".into(),
        outcome: Outcome::Applied,
        shown: "t-1".into(),
        holder: None,
    }));
    assert!(stage.press("u").is_empty());
    assert_eq!(stage.notice().0, Tone::Refused);
}

#[test]
fn what_the_profile_cannot_do_is_said() {
    let board = task_board([claim("t-1").lease_ran_out("11m")]).that_cannot(Action::Extend);
    let mut stage = Stage::on(&World::of([board]));
    assert!(stage.press("e").is_empty());
    assert_eq!(stage.notice(), (Tone::Refused, "the profile taskqueue does not say how to extend this"));
}

#[test]
fn without_a_claim_there_is_nothing_to_act_on() {
    let mut stage = Stage::on(&World::of([task_board([])]));
    for key in ["r", "x", "e", "R", "X", "u", "p", "enter", "space", "y"] {
        assert!(stage.press(key).is_empty(), "{key}");
    }
    let mut stage = Stage::without_source();
    for key in ["r", "x", "e", "R", "X", "u", "p", "enter", "space", "y", "2", "3", "4", "5", "6", "1", "j"] {
        assert!(stage.press(key).is_empty(), "{key}");
    }
}

#[test]
fn each_outcome_is_said_in_its_own_tone() {
    let mut stage = Stage::on(&stale());
    let done = |outcome| Done {
        source: 0,
        address: "taskqueue/tasks/t-1".into(),
        action_id: "1".into(),
        action: "reclaim".into(),
        outcome,
        shown: "t-1".into(),
        holder: Some("worker-7".into()),
    };
    stage.tell(Msg::Acted(done(renewed("1200ms", "worker-7"))));
    assert_eq!(stage.notice(), (Tone::Moved, "t-1 moved, nothing was written: renewed 1.2s ago by worker-7"));
    stage.tell(Msg::Acted(done(alive(4312, "worker-7"))));
    let refused = "reclaim of t-1 refused: its process (pid 4312) is alive";
    assert_eq!(stage.notice(), (Tone::Refused, refused), "options of the command line help nobody here");
    stage.tell(Msg::Acted(done(lost())));
    assert_eq!(stage.notice().0, Tone::Unknown);
    assert!(stage.model.undoable.is_empty(), "only what was done can be taken back");
    stage.tell(Msg::Acted(done(Outcome::Applied)));
    assert_eq!(stage.notice(), (Tone::Done, "done, u undoes it: reclaim t-1 (worker-7)"));
}
