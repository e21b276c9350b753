//! Panes, pace, sight: what changes the screen and not the database.

use claimtop::app::message::Format;
use claimtop::app::model::{Pane, PollIntake};
use claimtop::app::{Effect, Msg};
use claimtop::domain::time::Span;
use claimtop::domain::value::percent;
use claimtop::domain::visible::is_deceptive;

use super::super::stage::{Stage, World, claim, job_board, task_board};

fn two() -> World {
    World::of([task_board([claim("a").lease_ran_out("30m"), claim("b").lease_ran_out("20m")])])
}

#[test]
fn numbers_and_tabs_go_through_the_panes() {
    let mut stage = Stage::on(&two());
    for (at, pane) in stage.model.panes().enumerate() {
        stage.press(&(at + 1).to_string());
        assert_eq!(stage.model.pane, pane);
    }
    stage.press("tab");
    assert_eq!(stage.model.pane, Pane::Overview, "round and round");
    stage.press("backtab");
    assert_eq!(stage.model.pane, Pane::Audit);
}

#[test]
fn a_pane_asks_for_what_it_needs() {
    let mut stage = Stage::on(&two());
    assert!(matches!(&stage.press("4")[..], [Effect::LoadHolders { source: 0 }]));
    assert!(matches!(&stage.poll(&two())[..], [Effect::LoadHolders { source: 0 }]), "and with each poll");
    assert!(matches!(&stage.press("5")[..], [Effect::LoadKinds { source: 0 }]));
    assert!(matches!(&stage.press("8")[..], [Effect::LoadTrail(_)]));
    assert!(stage.press("6 7 1").is_empty());
}

#[test]
fn a_pause_drops_polls_until_it_ends() {
    let mut stage = Stage::on(&two());
    assert!(matches!(&stage.press("f")[..], [Effect::SetPace { paused: true, .. }]));
    assert_eq!(stage.model.pace, PollIntake::Paused);
    stage.poll(&World::of([task_board([])]));
    assert_eq!(stage.listed(), ["a", "b"]);
    assert!(stage.text().contains("PAUSED"));
    assert!(matches!(&stage.press("f")[..], [Effect::SetPace { paused: false, .. }]));
    stage.poll(&World::of([task_board([])]));
    assert!(stage.listed().is_empty());
}

#[test]
fn the_interval_stays_within_its_bounds() {
    let mut stage = Stage::on(&two());
    stage.press("+");
    assert_eq!(stage.model.settings.interval, Span::millis(500));
    for _ in 0..5 {
        stage.press("+");
    }
    assert_eq!(stage.model.settings.interval, Span::millis(250));
    for _ in 0..12 {
        stage.press("-");
    }
    assert_eq!(stage.model.settings.interval, Span::minutes(1));
    let effects = stage.press("-");
    assert!(
        matches!(&effects[..], [Effect::SetPace { interval, paused: false }] if *interval == Span::minutes(1))
    );
}

#[test]
fn a_snoozed_claim_comes_back_after_a_quarter_of_an_hour() {
    let mut stage = Stage::on(&two());
    stage.press("z");
    assert_eq!(stage.listed(), ["b"]);
    stage.later("14m59s");
    assert_eq!(stage.listed(), ["b"]);
    stage.later("1s");
    assert_eq!(stage.listed(), ["a", "b"]);
    assert_eq!(stage.selected().as_deref(), Some("b"), "what was selected meanwhile stays selected");
}

#[test]
fn esc_shows_what_was_snoozed_and_clears_the_marks() {
    let mut stage = Stage::on(&two());
    stage.press("z space");
    assert_eq!((stage.listed().len(), stage.model.marked.len()), (1, 1));
    stage.press("esc");
    assert_eq!((stage.listed().len(), stage.model.marked.len()), (2, 0));
}

#[test]
fn the_bell_rings_for_the_first_trouble_after_a_calm() {
    let calm = World::of([task_board([claim("a")])]);
    let mut stage = Stage::on(&calm);
    let bells = |effects: Vec<Effect>| effects.iter().filter(|one| matches!(one, Effect::Bell)).count();
    assert_eq!(bells(stage.poll(&two())), 1);
    assert_eq!(bells(stage.poll(&two())), 0, "it is known");
    let worse = World::of([task_board([claim("a").lease_ran_out("30m"), claim("c").without_session()])]);
    assert_eq!(bells(stage.poll(&worse)), 0, "there was no calm in between");
    assert_eq!(bells(stage.poll(&calm)), 0);
    assert_eq!(bells(stage.poll(&two())), 1);
    stage.poll(&calm);
    stage.model.settings.bell = false;
    assert_eq!(bells(stage.poll(&two())), 0, "the config says so");
}

#[test]
fn a_claim_that_is_about_to_expire_rings_no_bell() {
    let mut stage = Stage::on(&World::of([task_board([claim("a")])]));
    let effects = stage.poll(&World::of([task_board([claim("a").runs_out_in("1m")])]));
    assert!(effects.iter().all(|effect| !matches!(effect, Effect::Bell)));
}

#[test]
fn one_source_at_a_time_or_all() {
    let other = World::of([job_board([claim("j").taken("15m").beat("15m")])]).named("jobs.db");
    let mut stage = Stage::of(&[two(), other]);
    assert_eq!(stage.listed(), ["a", "b", "j"]);
    stage.press("o");
    assert_eq!(stage.listed(), ["a", "b"]);
    stage.press("o");
    assert_eq!(stage.listed(), ["j"]);
    stage.press("o");
    assert_eq!(stage.listed().len(), 3);
}

#[test]
fn the_next_deadline_of_a_calm_fleet_is_the_nearest_of_all_sources() {
    let far = World::of([task_board([claim("a")])]).with_horizon([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let near = World::of([task_board([claim("b")])]).with_horizon([0, 1]).named("other.db");
    let mut stage = Stage::of(&[far, near]);
    assert!(stage.text().contains("the next deadline is 1 to 2 minutes away"), "{}", stage.text());
}

#[test]
fn an_id_is_copied_as_it_is_unless_it_could_act_on_a_terminal() {
    let copied = |id: &str| {
        let mut stage = Stage::on(&World::of([task_board([claim(id).lease_ran_out("9m")])]));
        match &stage.press("y")[..] {
            [Effect::Copy(text)] => text.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(copied("back\\slash \u{4efb}"), "back\\slash \u{4efb}");
    // Pasted into a shell, a line end would be Enter: every command takes the address as well.
    for id in ["tab\there", "rm -rf /\n", "\u{1b}[2J", "a\u{202e}b"] {
        let text = copied(id);
        assert!(text.ends_with(&*percent(id)), "{text}");
        assert!(!text.chars().any(is_deceptive), "{text:?}");
    }
}

#[test]
fn the_screen_is_saved_in_the_form_that_was_asked_for() {
    for (key, wanted) in [("t", Format::Text), ("a", Format::Ansi), ("s", Format::Svg)] {
        let mut stage = Stage::on(&two());
        let effects = stage.press(&format!("w {key}"));
        assert!(matches!(&effects[..], [Effect::Save(format)] if *format == wanted), "{effects:?}");
        assert!(stage.model.overlay.is_empty(), "the dialog is not in the picture");
    }
    let mut stage = Stage::on(&two());
    assert!(stage.press("w esc").is_empty());
}

#[test]
fn q_leaves_and_closes_what_is_open_first() {
    let mut stage = Stage::on(&two());
    assert!(stage.press("? q").is_empty());
    assert!(matches!(&stage.press("q")[..], [Effect::Quit]));
    assert!(matches!(&stage.press("? ctrl-c")[..], [Effect::Quit]), "ctrl-c leaves from anywhere");
}

#[test]
fn the_detail_follows_its_claim() {
    use claimtop::app::overlay::{Examination, Overlay};
    let mut stage = Stage::on(&two());
    let effects = stage.press("enter");
    let [Effect::Examine { target }, Effect::LoadHistory(_)] = &effects[..] else { panic!("{effects:?}") };
    let id = target.id.clone();
    assert!(matches!(&stage.poll(&two())[..], [Effect::Examine { .. }]), "read again with each poll");
    stage.tell(Msg::Examined { id, found: Ok(None) });
    let Some(Overlay::Detail(detail)) = stage.model.overlay.last() else { panic!("no detail") };
    assert!(matches!(detail.examined, Examination::Gone));
    stage.press("esc");
    assert!(stage.model.overlay.is_empty());
}
