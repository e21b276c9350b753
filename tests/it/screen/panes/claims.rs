//! Claims and locks: lists of claims with columns.

use claimtop::app::{Effect, Msg};

use super::super::stage::{Stage, World, claim, job_board, lock_board, task_board};
use super::fleet::{browsing, busy, calm, thousands};
use super::picture;

/// The sizes of terminals that people have.
const SIZES: [(u16, u16); 4] = [(160, 45), (120, 40), (80, 24), (60, 20)];
const SMALL: (u16, u16) = SIZES[2];

fn pictures(name: &str, stage: &mut Stage) {
    SIZES.into_iter().for_each(|size| picture(name, stage, size));
}

fn filter(stage: &mut Stage, world: &World, text: &str) {
    stage.press("/");
    for letter in text.chars() {
        let effects = stage.write(&letter.to_string());
        stage.answer_lists(std::slice::from_ref(world), effects);
    }
    stage.press("enter");
}

#[test]
fn all_boards_are_one_list_worst_first() {
    pictures("claims_busy", &mut browsing(&busy()));
    pictures("claims_calm", &mut browsing(&calm()));
}

#[test]
fn all_sources_are_one_list() {
    let staging = World::of([job_board([
        claim("job-7").held_by("runner-4").of_kind("backup").taken("55m").beat("40m"),
        claim("job-8").held_by("runner-4").of_kind("backup").taken("1m").beat("1m"),
    ])]);
    let worlds = [busy().named("billing"), staging.named("staging")];
    let mut stage = Stage::of(&worlds);
    stage.browse(&worlds, "2");
    pictures("claims_several_sources", &mut stage);
}

#[test]
fn a_large_list_is_counted_and_loaded_in_parts() {
    let world = thousands();
    let mut stage = browsing(&world);
    stage.browse(std::slice::from_ref(&world), "pagedown pagedown");
    pictures("claims_thousands", &mut stage);
}

#[test]
fn a_list_without_claims_says_so() {
    pictures("claims_loading", &mut Stage::on(&busy()).then("2"));
    pictures("claims_empty", &mut browsing(&World::of([task_board([])])));
}

#[test]
fn a_list_that_cannot_be_read_says_why() {
    let mut stage = Stage::on(&busy());
    let effects = stage.press("2");
    let [Effect::LoadList { request, .. }] = &effects[..] else { panic!("{effects:?}") };
    let part = Err("database is locked".into());
    stage.tell(Msg::Listed { source: 0, request: request.clone(), part });
    pictures("claims_failed", &mut stage);
}

#[test]
fn a_filter_counts_what_passes() {
    let world = busy();
    let mut stage = browsing(&world);
    filter(&mut stage, &world, "mail");
    stage.press("space");
    pictures("claims_filtered", &mut stage);
    filter(&mut stage, &world, " nobody");
    pictures("claims_filtered_away", &mut stage);
}

#[test]
fn an_unknown_key_of_the_filter_is_an_error() {
    let world = busy();
    let mut stage = browsing(&world);
    stage.press("/");
    stage.write("hodler:w");
    pictures("claims_filter_error", &mut stage);
}

#[test]
fn the_heading_shows_the_order() {
    let world = busy();
    let mut stage = browsing(&world);
    stage.press("s S");
    pictures("claims_sorted", &mut stage);
    stage.press(":");
    stage.write("columns id,holder,why");
    stage.press("enter");
    pictures("claims_columns", &mut stage);
}

#[test]
fn a_lost_source_keeps_its_rows() {
    let mut stage = browsing(&busy());
    stage.poll_fails("database is locked");
    stage.later("5s");
    pictures("claims_link_down", &mut stage);
}

#[test]
fn locks_that_need_a_look_are_listed() {
    super::pictures("locks_busy", &mut Stage::on(&busy()).then("6"));
    picture("locks_calm", &mut Stage::on(&calm()).then("6"), SMALL);
    let held = (1..=60).map(|at| claim(&format!("lock-{at:02}")).session_silent_for("41m"));
    let mut many = Stage::on(&World::of([lock_board(held)])).then("6 pagedown pagedown");
    picture("locks_many", &mut many, SMALL);
}
