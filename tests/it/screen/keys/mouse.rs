//! The mouse selects and switches; it never acts.

use claimtop::app::Msg;
use claimtop::app::model::Pane;
use claimtop::domain::verdict::Set;

use super::super::stage::{Stage, World, claim, task_board};

fn fleet() -> Stage {
    Stage::on(&World::of([task_board([
        claim("stale-a").lease_ran_out("30m"),
        claim("stale-b").lease_ran_out("20m"),
        claim("near-c").runs_out_in("2m"),
        claim("near-d").runs_out_in("3m"),
    ])]))
}

/// Where a text stands on the screen.
fn place(stage: &mut Stage, text: &str) -> (u16, u16) {
    let screen = stage.text();
    let found = screen.lines().enumerate().find_map(|(line, said)| Some((line, said.find(text)?)));
    let (line, byte) = found.unwrap_or_else(|| panic!("{text} is not in\n{screen}"));
    let column = screen.lines().nth(line).expect("a line")[..byte].chars().count();
    (u16::try_from(column).expect("a column"), u16::try_from(line).expect("a line"))
}

fn click_on(stage: &mut Stage, text: &str) {
    let (column, line) = place(stage, text);
    assert!(
        stage.click(column, line).iter().all(|effect| !matches!(effect, claimtop::app::Effect::Act { .. }))
    );
}

#[test]
fn a_click_on_a_tab_shows_its_pane() {
    let mut stage = fleet();
    click_on(&mut stage, "Locks");
    assert_eq!(stage.model.pane, Pane::Locks);
    click_on(&mut stage, "Overview");
    assert_eq!(stage.model.pane, Pane::Overview);
}

#[test]
fn a_click_on_a_claim_selects_it_in_its_own_set() {
    let mut stage = fleet();
    click_on(&mut stage, "stale-b");
    assert_eq!(stage.selected().as_deref(), Some("stale-b"));
    click_on(&mut stage, "near-d");
    assert_eq!((stage.model.column, stage.selected().as_deref()), (Set::Expiring, Some("near-d")));
}

#[test]
fn a_click_on_a_set_goes_there() {
    let mut stage = fleet();
    click_on(&mut stage, "Orphaned 0");
    assert_eq!(stage.model.column, Set::Orphaned);
}

#[test]
fn a_click_beside_a_dialog_reaches_nothing_below_it() {
    let mut stage = fleet();
    let (column, line) = place(&mut stage, "Locks");
    stage.press("w");
    stage.look();
    stage.click(column, line);
    assert_eq!((stage.model.pane, stage.model.overlay.len()), (Pane::Overview, 1));
}

#[test]
fn the_wheel_moves_the_selection() {
    let mut stage = fleet();
    stage.tell(Msg::Scrolled(1));
    assert_eq!(stage.selected().as_deref(), Some("stale-b"));
    stage.tell(Msg::Scrolled(-3));
    assert_eq!(stage.selected().as_deref(), Some("stale-a"));
}

#[test]
fn the_wheel_does_not_move_what_lies_under_a_dialog() {
    let mut stage = fleet();
    stage.press("?");
    stage.tell(Msg::Scrolled(1));
    stage.press("esc");
    assert_eq!(stage.selected().as_deref(), Some("stale-a"));
}
