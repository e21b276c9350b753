//! The mouse selects and switches; it acts only on the buttons of a dialog.

use claimtop::app::bulk::Ready;
use claimtop::app::model::Pane;
use claimtop::app::{Effect, Msg};
use claimtop::domain::tally::BulkTally;
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
    assert!(stage.click(column, line).iter().all(|effect| !matches!(effect, Effect::Act { .. })));
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

/// A preview of both stale claims.
fn preview() -> Stage {
    let mut stage = fleet().then("R");
    let tally = BulkTally { applied: 2, ..BulkTally::of(2) };
    let ready = Ready { tally, profiles: vec!["taskqueue".into()], ..Ready::default() };
    stage.tell(Msg::BulkReady { question: 1, ready: Ok(ready) });
    stage
}

#[test]
fn the_buttons_of_a_bulk_act_answer_to_clicks() {
    let click = |stage: &mut Stage, text: &str| {
        let (column, line) = place(stage, text);
        stage.click(column, line)
    };
    let mut stage = preview();
    click(&mut stage, "tab reason");
    stage.write("INC-204");
    let effects = click(&mut stage, "enter reclaim 2");
    assert!(
        matches!(&effects[..], [Effect::RunBulk { authorization, .. }] if authorization.reason.as_deref() == Some("INC-204"))
    );
    assert!(matches!(click(&mut stage, "esc cancel the rest")[..], [Effect::CancelBulk { source: 0 }]));

    let mut stage = preview();
    assert!(matches!(click(&mut stage, "c copy")[..], [Effect::Copy(_)]));
    assert!(click(&mut stage, "n cancel").is_empty());
    assert!(stage.model.overlay.is_empty());

    let mut stage = fleet().then("R");
    stage.tell(Msg::BulkReady { question: 1, ready: Err("database is locked".into()) });
    click(&mut stage, "esc close");
    assert!(stage.model.overlay.is_empty());
}
