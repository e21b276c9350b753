//! What is asked before an act.

use claimtop::app::Msg;
use claimtop::app::bulk::{PreviewLine, Ready};
use claimtop::domain::tally::{BulkTally, Foreseen};

use super::super::stage::holders::session;
use super::super::stage::outcomes::renewed;
use super::super::stage::{SMALL, Stage, TINY, World, claim, task_board};
use super::fleet::busy;
use super::picture;

fn both(name: &str, stage: &mut Stage) {
    picture(name, stage, SMALL);
    picture(name, stage, TINY);
}

/// A claim as a preview lists it.
pub fn listed(address: &str, foreseen: Foreseen) -> PreviewLine {
    let why = match foreseen {
        Foreseen::Done => "its lease ran out 11m ago",
        Foreseen::NeedsName => "its lease still runs and the holder may be alive",
        Foreseen::Skipped => "renewed 2s ago by worker-7",
    };
    PreviewLine::Claim { address: address.into(), foreseen, why: why.into() }
}

fn ready(count: usize, holder: Option<&str>) -> Msg {
    let done = (1..=count.min(20)).map(|at| listed(&format!("tasks/render-{at:04}"), Foreseen::Done));
    let moved = ["tasks/render-0007", "tasks/render-0008"].map(|address| listed(address, Foreseen::Skipped));
    let lines = done.chain(moved).collect();
    let mut tally = BulkTally { applied: count, ..BulkTally::of(count + 2) };
    tally.add(&renewed("2s", "worker-7"), || "render-0007".into());
    tally.add(&renewed("4s", "worker-7"), || "render-0008".into());
    let (notes, holder) = (Vec::new(), holder.map(Into::into));
    let ready = Ready { tally, lines, notes, holder, ..Ready::default() };
    Msg::BulkReady { question: 1, ready: Ok(ready) }
}

#[test]
fn a_yes_is_asked_for_with_its_reason() {
    let board = task_board([claim("render-0041").lease_ran_out("11m")]).unfenced().that_heals_after("1h");
    both("confirm_yes", &mut Stage::on(&World::of([board])).then("r"));
}

#[test]
fn a_profile_is_asked_about() {
    let world = World::of([task_board([claim("render-0041").lease_ran_out("11m")])]).generic();
    both("confirm_profile", &mut Stage::on(&world).then("x"));
}

#[test]
fn a_name_is_asked_for_and_a_wrong_one_is_said() {
    let mut stage = Stage::on(&busy()).then("l r");
    both("confirm_name", &mut stage);
    stage.write("worker-9");
    stage.press("enter");
    both("confirm_wrong_name", &mut stage);
    stage.press("backspace");
    stage.write("3");
    stage.press("tab");
    stage.write("it has hung since the network change of last night; see ticket OPS-4711 for all of it");
    picture("confirm_reason", &mut stage, SMALL);
}

#[test]
fn many_are_looked_at_previewed_and_done() {
    let mut stage = Stage::on(&busy()).then("R");
    picture("bulk_looking", &mut stage, SMALL);
    stage.tell(ready(1_204, None));
    both("bulk_preview", &mut stage);
    stage.press("y");
    stage.tell(Msg::BulkProgress { done: 377 });
    both("bulk_running", &mut stage);
}

#[test]
fn marked_ones_are_previewed() {
    let mut stage = Stage::on(&busy()).then("space space X");
    stage.tell(ready(2, None));
    picture("bulk_marked", &mut stage, SMALL);
}

#[test]
fn a_session_that_may_live_is_asked_about() {
    let mut stage = Stage::on(&busy()).then("4");
    stage.tell(Msg::Holders { source: 0, holders: Ok(vec![session("worker-7", "4s", 3)]) });
    stage.press("x");
    stage.tell(ready(3, Some("worker-7")));
    stage.write("worker-7");
    stage.press("enter");
    both("bulk_typed", &mut stage);
}

#[test]
fn a_look_that_failed_says_why() {
    let mut stage = Stage::on(&busy()).then("R");
    stage.tell(Msg::BulkReady { question: 1, ready: Err("database is locked".into()) });
    both("bulk_failed", &mut stage);
}

#[test]
fn the_form_of_a_saved_screen_is_asked_for() {
    both("save", &mut Stage::on(&busy()).then("w"));
}
