//! The selection is a claim, not a line.

use claimtop::app::model::Pane;

use super::super::stage::{Stage, World, claim, task_board};
use super::{act, acts};

fn three() -> World {
    World::of([task_board([
        claim("a").lease_ran_out("30m"),
        claim("b").lease_ran_out("20m"),
        claim("c").lease_ran_out("10m"),
    ])])
}

#[test]
fn the_selected_claim_stays_selected_when_polls_reorder_the_rows() {
    let mut stage = Stage::on(&three());
    stage.press("j");
    assert_eq!(stage.selected().as_deref(), Some("b"));
    stage.poll(&World::of([task_board([
        claim("c").lease_ran_out("50m"),
        claim("a").lease_ran_out("40m"),
        claim("b").lease_ran_out("20m"),
    ])]));
    assert_eq!(stage.listed(), ["c", "a", "b"]);
    assert_eq!(stage.selected().as_deref(), Some("b"));
}

#[test]
fn a_claim_that_comes_in_above_does_not_take_the_selection() {
    let mut stage = Stage::on(&three());
    assert_eq!(stage.selected().as_deref(), Some("a"));
    stage.poll(&World::of([task_board([
        claim("worse").lease_ran_out("2h"),
        claim("a").lease_ran_out("30m"),
    ])]));
    assert_eq!(stage.listed(), ["worse", "a"]);
    assert_eq!(stage.selected().as_deref(), Some("a"), "nobody pressed a key");
}

#[test]
fn the_next_claim_takes_the_place_of_one_that_went() {
    let mut stage = Stage::on(&three());
    stage.press("j");
    stage.poll(&World::of([task_board([claim("a").lease_ran_out("30m"), claim("c").lease_ran_out("10m")])]));
    assert_eq!(stage.selected().as_deref(), Some("c"));
    stage.poll(&World::of([task_board([claim("a").lease_ran_out("30m")])]));
    assert_eq!(stage.selected().as_deref(), Some("a"), "the last one, where there is none after it");
    stage.poll(&World::of([task_board([])]));
    assert_eq!(stage.selected(), None);
}

#[test]
fn a_key_does_nothing_to_a_claim_that_was_not_on_the_frame() {
    let mut stage = Stage::on(&World::of([task_board([claim("old").lease_ran_out("9m")])]));
    stage.look();
    stage.poll(&World::of([task_board([claim("new").lease_ran_out("9m")])]));
    assert!(acts(&stage.press_blindly("r")).is_empty());
    assert!(stage.notice().1.contains("not on the screen yet"), "{:?}", stage.notice());
    assert_eq!(act(&stage.press("r")).claim, "taskqueue/tasks/new");
}

#[test]
fn what_was_drawn_is_what_the_act_carries() {
    let drawn = World::of([task_board([claim("a").lease_ran_out("9m").seen_as("drawn")])]);
    let newer = World::of([task_board([claim("a").lease_ran_out("9m").seen_as("newer")])]);
    let mut stage = Stage::on(&drawn);
    stage.look();
    stage.poll(&newer);
    assert_eq!(act(&stage.press_blindly("r")).seen.as_deref(), Some("drawn"));
    assert_eq!(act(&stage.press("r")).seen.as_deref(), Some("newer"));
}

#[test]
fn what_was_drawn_is_what_the_act_carries_in_the_detail_as_well() {
    let drawn = World::of([task_board([claim("a").lease_ran_out("9m").seen_as("drawn")])]);
    let newer = World::of([task_board([claim("a").lease_ran_out("9m").seen_as("newer")])]);
    let mut stage = Stage::on(&drawn);
    stage.press("enter");
    stage.look();
    stage.poll(&newer);
    assert_eq!(act(&stage.press_blindly("r")).seen.as_deref(), Some("drawn"));
    assert_eq!(act(&stage.press("r")).seen.as_deref(), Some("newer"));
}

#[test]
fn what_was_drawn_when_a_dialog_opened_is_what_its_act_carries() {
    let alive = || claim("a").runs_out_in("2m");
    let mut stage = Stage::on(&World::of([task_board([alive().seen_as("drawn")])]));
    stage.press("l x");
    stage.poll(&World::of([task_board([alive().seen_as("newer")])]));
    stage.write("worker-7");
    stage.press("tab");
    stage.write("why");
    assert_eq!(act(&stage.press("enter")).seen.as_deref(), Some("drawn"));
}

#[test]
fn every_set_and_every_pane_has_a_selection_of_its_own() {
    let mut stage = Stage::on(&World::of([task_board([
        claim("a").lease_ran_out("30m"),
        claim("b").lease_ran_out("20m"),
        claim("c").runs_out_in("2m"),
        claim("d").runs_out_in("3m"),
    ])]));
    stage.press("j l j");
    assert_eq!(stage.selected().as_deref(), Some("d"));
    stage.press("h");
    assert_eq!(stage.selected().as_deref(), Some("b"));
    stage.press("tab backtab");
    assert_eq!((stage.model.pane, stage.selected().as_deref()), (Pane::Overview, Some("b")));
}

#[test]
fn steps_end_at_the_ends() {
    let mut stage = Stage::on(&three());
    stage.press("k");
    assert_eq!(stage.selected().as_deref(), Some("a"));
    stage.press("G j");
    assert_eq!(stage.selected().as_deref(), Some("c"));
    stage.press("g");
    assert_eq!(stage.selected().as_deref(), Some("a"));
    stage.press("pagedown");
    assert_eq!(stage.selected().as_deref(), Some("c"));
    stage.press("pageup");
    assert_eq!(stage.selected().as_deref(), Some("a"));
}

#[test]
fn sorting_keeps_the_selected_claim() {
    let mut stage = Stage::on(&three());
    stage.press("j s");
    assert_eq!(stage.selected().as_deref(), Some("b"));
    for _ in 0..5 {
        stage.press("s");
        assert_eq!(stage.selected().as_deref(), Some("b"));
    }
}
