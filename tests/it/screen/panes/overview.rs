//! The overview.

use super::super::stage::{Stage, World, claim, task_board};
use super::fleet::{busy, calm, empty, thousands};
use super::pictures;

#[test]
fn without_a_source_it_says_how_to_start() {
    pictures("overview_no_source", &mut Stage::without_source());
}

#[test]
fn before_the_first_answer_it_waits() {
    let mut stage = Stage::waiting_for(&[busy()]);
    pictures("overview_waiting", &mut stage);
    stage.poll_fails("unable to open database file: /srv/tasks.db");
    stage.later("3s");
    pictures("overview_never_answered", &mut stage);
}

#[test]
fn with_nothing_wrong_it_is_calm() {
    pictures("overview_empty", &mut Stage::on(&empty()));
    pictures("overview_calm", &mut Stage::on(&calm()));
}

#[test]
fn with_much_wrong_it_shows_the_worst_first() {
    pictures("overview_busy", &mut Stage::on(&busy()));
}

#[test]
fn thousands_are_counted_and_the_worst_are_shown() {
    let mut stage = Stage::on(&thousands());
    stage.press("G");
    pictures("overview_thousands", &mut stage);
}

#[test]
fn a_lost_source_keeps_its_rows_and_says_since_when() {
    let mut stage = Stage::on(&busy());
    stage.poll_fails("unable to open database file: /srv/tasks.db");
    stage.later("42s");
    pictures("overview_link_down", &mut stage);
}

#[test]
fn a_read_only_session_dims_its_act_keys() {
    pictures("overview_read_only", &mut Stage::on(&busy().read_only("--read-only was given")));
}

#[test]
fn a_pause_says_so() {
    let mut stage = Stage::on(&busy());
    stage.press("f");
    pictures("overview_paused", &mut stage);
}

#[test]
fn a_filter_says_what_it_hides() {
    let mut stage = Stage::on(&busy());
    stage.press("/");
    stage.write("holder:worker-7");
    stage.press("enter");
    pictures("overview_filtered", &mut stage);
}

#[test]
fn marks_and_snoozes_are_seen() {
    let mut stage = Stage::on(&busy());
    stage.press("space space z esc");
    stage.press("space space l z");
    stage.later("30s");
    pictures("overview_marked", &mut stage);
}

#[test]
fn several_sources_are_told_apart() {
    let other = World::of([task_board([
        claim("far-1").lease_ran_out("3m"),
        claim("far-2").runs_out_in("1m").held_by("worker-99"),
    ])]);
    let mut stage = Stage::of(&[busy(), other.named("/srv/eu/jobs.db").noting("an index is missing")]);
    pictures("overview_several_sources", &mut stage);
}
