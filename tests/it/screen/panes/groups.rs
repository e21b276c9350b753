//! The Groups pane, by host and by every other thing.

use claimtop::app::Msg;
use claimtop::app::bulk::{Ready, Unnamed};
use claimtop::domain::tally::{BulkTally, Foreseen};

use super::super::stage::{MIDDLE, SMALL, Stage};
use super::dialogs::listed;
use super::fleet::{busy, calm, one_dead_host};
use super::{picture, pictures};

#[test]
fn groups_of_a_dead_host() {
    let mut stage = Stage::on(&one_dead_host()).then("3");
    pictures("groups_dead_host", &mut stage);
    stage.press("g");
    picture("groups_by_holder", &mut stage, MIDDLE);
    stage.press("g g g g");
    picture("groups_by_reason", &mut stage, MIDDLE);
}

#[test]
fn groups_without_trouble_and_with_a_little() {
    picture("groups_calm", &mut Stage::on(&calm()).then("3"), SMALL);
    picture("groups_busy", &mut Stage::on(&busy()).then("3"), MIDDLE);
}

#[test]
fn the_preview_of_a_group() {
    let mut stage = Stage::on(&one_dead_host()).then("3 R");
    let mut tally = BulkTally { applied: 6, ..BulkTally::of(9) };
    tally.refused = 3;
    let line = |at: usize| {
        let foreseen = if at < 6 { Foreseen::Done } else { Foreseen::NeedsName };
        listed(&format!("taskqueue/tasks/mail-3{at:02}"), foreseen)
    };
    let ready = Ready {
        tally,
        lines: (0..9).map(line).collect(),
        unnamed: Unnamed { count: 3, holders: vec!["web-3-1".into()] },
        left_alone: "workers may take 6 at once, 3 within 18m".into(),
        ..Ready::default()
    };
    stage.tell(Msg::BulkReady { question: 1, ready: Ok(ready) });
    pictures("bulk_of_a_group", &mut stage);
    stage.press("tab");
    stage.write("INC-204");
    picture("bulk_of_a_group_with_reason", &mut stage, MIDDLE);
}
