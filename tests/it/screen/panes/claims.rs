//! Claims and locks: lists of claims with columns.

use claimtop::app::{Effect, Msg};

use super::super::stage::{SMALL, Stage, World, claim, lock_board, task_board};
use super::fleet::{browsing, busy, calm, thousands};
use super::{picture, pictures};

#[test]
fn a_board_is_browsed_in_the_order_of_its_table() {
    pictures("claims_busy", &mut browsing(&busy(), 200));
    pictures("claims_calm", &mut browsing(&calm(), 200));
}

#[test]
fn a_large_board_says_which_part_of_it_is_shown() {
    let mut stage = browsing(&thousands(), 200);
    stage.press("pagedown pagedown");
    pictures("claims_thousands", &mut stage);
}

#[test]
fn a_board_without_claims_says_so() {
    picture("claims_loading", &mut Stage::on(&busy()).then("2"), SMALL);
    picture("claims_empty", &mut browsing(&World::of([task_board([])]), 200), SMALL);
}

#[test]
fn a_page_that_cannot_be_read_says_why() {
    let mut stage = Stage::on(&busy());
    let effects = stage.press("2");
    let [Effect::LoadPage { request, .. }] = &effects[..] else { panic!("{effects:?}") };
    let page = Err("database is locked".into());
    stage.tell(Msg::Paged { source: 0, request: request.clone(), page });
    picture("claims_failed", &mut stage, SMALL);
}

#[test]
fn a_filter_says_who_filters() {
    let mut stage = browsing(&busy(), 200);
    stage.press("/");
    stage.write("mail");
    stage.press("enter space");
    pictures("claims_filtered", &mut stage);
    stage.press("esc /");
    stage.write("kind=render");
    stage.press("enter");
    picture("claims_filtered_by_database", &mut stage, SMALL);
    stage.press("/");
    stage.write(" nobody");
    stage.press("enter");
    picture("claims_filtered_away", &mut stage, SMALL);
}

#[test]
fn a_lost_source_keeps_its_page() {
    let mut stage = browsing(&busy(), 200);
    stage.poll_fails("database is locked");
    stage.later("5s");
    picture("claims_link_down", &mut stage, SMALL);
}

#[test]
fn locks_that_need_a_look_are_listed() {
    pictures("locks_busy", &mut Stage::on(&busy()).then("5"));
    picture("locks_calm", &mut Stage::on(&calm()).then("5"), SMALL);
    let held = (1..=60).map(|at| claim(&format!("lock-{at:02}")).session_silent_for("41m"));
    let mut many = Stage::on(&World::of([lock_board(held)])).then("5 pagedown pagedown");
    picture("locks_many", &mut many, SMALL);
}
