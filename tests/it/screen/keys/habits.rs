//! What users of other terminal programs try first.

use claimtop::app::model::Pane;
use claimtop::app::{Effect, Msg};
use claimtop::domain::verdict::Set;

use super::super::panes::fleet::{busy, with_lists};
use super::super::stage::holders::session;
use super::super::stage::{Stage, World, claim, task_board};

#[test]
fn ctrl_c_clears_a_text_field_and_only_then_leaves() {
    let mut stage = Stage::on(&busy()).then("/");
    stage.write("mail");
    assert!(stage.press("ctrl-c").is_empty());
    assert!(stage.model.query.is_empty() && !stage.model.overlay.is_empty());
    assert!(matches!(stage.press("ctrl-c")[..], [Effect::Quit]));
}

#[test]
fn esc_goes_back_to_where_a_list_was_opened_from_and_then_to_the_overview() {
    let mut stage = Stage::on(&busy());
    with_lists(&mut stage);
    let sessions = Pane::Sessions;
    stage.model.pane = sessions;
    stage.press("enter");
    assert_eq!(stage.model.pane, Pane::Claims);
    stage.press("esc");
    assert_eq!((stage.model.pane, stage.model.query.is_empty()), (sessions, true));
    stage.press("esc");
    assert_eq!(stage.model.pane, Pane::Overview);
}

#[test]
fn the_selection_moves_through_all_panes_and_to_their_ends() {
    let mut stage = Stage::on(&busy());
    let all = stage.in_trouble();
    assert_eq!(stage.selected(), all.first().cloned());
    for id in &all[1..] {
        stage.press("j");
        assert_eq!(stage.selected().as_ref(), Some(id));
    }
    stage.press("home home home home home home home home");
    assert_eq!(stage.selected(), all.first().cloned());
    stage.press("end");
    assert_eq!(stage.model.column, Set::Orphaned, "first to the end of the pane");
    stage.press("end");
    assert_eq!(stage.selected(), all.last().cloned());
}

#[test]
fn the_end_of_every_text_is_one_key_away_and_so_is_its_beginning() {
    for keys in ["?", "enter", "O"] {
        let mut stage = Stage::on(&busy()).sized((80, 12)).then(keys);
        let first = stage.text();
        stage.press("G");
        let last = stage.text();
        assert!(keys == "O" || first != last, "{keys}");
        assert!(!last.contains("more ↓"), "{keys}: {last}");
        stage.press("k");
        assert!(keys == "O" || stage.text() != last, "{keys}: one line up is one line up");
        stage.press("g");
        assert_eq!(stage.text(), first, "{keys}");
    }
}

#[test]
fn the_header_can_be_made_small_and_a_pane_large() {
    let mut stage = Stage::on(&busy());
    assert!(stage.text().contains("7 stale"));
    stage.press("ctrl-e");
    assert!(!stage.text().contains("7 stale"));
    stage.press("ctrl-e Z");
    let text = stage.text();
    assert!(
        text.contains("Orphaned 4") && !text.contains("Expiring 4") && !text.contains("Timeline"),
        "{text}"
    );
    stage.press("esc");
    assert!(stage.text().contains("Timeline"));
}

#[test]
fn a_second_click_opens_what_is_selected_and_the_footer_answers_to_the_mouse() {
    let mut stage = Stage::on(&busy());
    let text = stage.text();
    let y = text.lines().position(|line| line.contains("import-2 ")).expect("the row");
    stage.click(4, u16::try_from(y).expect("a line"));
    assert_eq!(stage.selected().as_deref(), Some("import-2"));
    let last = text.lines().last().expect("the footer").to_owned();
    let x = last[..last.find("? help").expect("the key")].chars().count();
    stage.click(u16::try_from(x).expect("a column"), 39);
    assert!(stage.text().contains("Put it right"));
    stage.press("esc");
    stage.look();
    stage.click(4, u16::try_from(y).expect("a line"));
    assert!(stage.text().contains("Every column"));
}

#[test]
fn a_dialog_answers_to_clicks_on_its_buttons_and_to_none_beside_them() {
    let claims = [claim("t-1").lease_ran_out("9m").beat("1s")];
    let mut stage = Stage::on(&World::of([task_board(claims).unfenced()])).then("r");
    let text = stage.text();
    assert!(text.contains("y reclaim"), "{text}");
    assert!(stage.click(2, 6).is_empty() && !stage.model.overlay.is_empty());
    let y = text.lines().position(|line| line.contains("y reclaim")).expect("the buttons");
    let line = text.lines().nth(y).expect("the line");
    let x = line[..line.find("y reclaim").expect("the button")].chars().count();
    let effects = stage.click(u16::try_from(x).expect("a column"), u16::try_from(y).expect("a line"));
    assert!(matches!(effects[..], [Effect::Act { .. }]), "{effects:?}");
}

#[test]
fn a_session_is_late_by_the_interval_that_is_usual_for_it() {
    let mut stage = Stage::on(&busy());
    stage.model.pane = Pane::Sessions;
    let mut holders: Vec<_> =
        (1..=6).map(|at| session(&format!("quick-{at}"), &format!("{at}s"), 1)).collect();
    holders.push(session("stuck", "7m", 1));
    stage.tell(Msg::Holders { source: 0, holders: Ok(holders) });
    let text = stage.text();
    let line = |name: &str| text.lines().find(|line| line.contains(name)).expect("the session").to_owned();
    assert!(line("stuck").contains("late") && line("quick-6").contains("beats"), "{text}");
}
