//! Views by name, and what is kept for the next start.

use claimtop::app::Effect;
use claimtop::app::model::Pane;
use claimtop::app::overlay::Overlay;
use claimtop::domain::saved_view::{SavedView, ScreenState};
use std::collections::BTreeMap;

use super::super::stage::{Stage, World, claim, task_board};

fn world() -> World {
    World::of([task_board([
        claim("mail-1").of_kind("mail").lease_ran_out("3m"),
        claim("mail-2").of_kind("mail").lease_ran_out("9m"),
        claim("render-1").of_kind("render").lease_ran_out("60m"),
    ])])
}

/// Writes a command, and hands back what is to be kept.
fn command(stage: &mut Stage, text: &str) -> Option<ScreenState> {
    stage.press(":");
    stage.write(text);
    let effects = stage.press("enter");
    let kept = effects.iter().rev().find_map(|effect| match effect {
        Effect::Remember(state) => Some(state.clone()),
        _ => None,
    });
    stage.answer_lists(&[world()], effects);
    kept
}

#[test]
fn a_view_is_saved_and_opened_in_the_next_session() {
    let mut stage = Stage::on(&world());
    stage.browse(&[world()], "2");
    stage.press("/");
    let effects = stage.write("kind=mail");
    stage.answer_lists(&[world()], effects);
    stage.press("enter");
    command(&mut stage, "sort -left");
    command(&mut stage, "columns id,left");
    let kept = command(&mut stage, "save view mails").expect("something to keep");
    let view = SavedView {
        filter: "kind=mail".into(),
        sort: "-left".into(),
        columns: vec!["id".into(), "left".into()],
    };
    assert_eq!(kept.view.get("mails"), Some(&view));

    let mut next = Stage::on(&world());
    next.model.restore(kept).expect("all of it is understood");
    assert!(next.model.query.is_empty(), "a filter comes back only with its view");
    command(&mut next, "view mails");
    assert_eq!(next.listed(), ["mail-1", "mail-2"]);
    assert!(next.text().contains("LEFT▲") && !next.text().contains("HOLDER"), "{}", next.text());
}

#[test]
fn views_of_the_config_are_offered_and_unknown_words_are_errors() {
    let mut stage = Stage::on(&world());
    let view = |filter: &str, column: &str| {
        let view = SavedView { filter: filter.into(), columns: vec![column.into()], ..SavedView::default() };
        BTreeMap::from([("mine".to_owned(), view)])
    };
    let refused = |stage: &mut Stage, filter: &str, column: &str| {
        stage.model.offer_views(&view(filter, column)).expect_err("a word that nobody knows")
    };
    assert!(refused(&mut stage, "hodler:x", "id").contains("view.mine: no filter key"));
    assert!(refused(&mut stage, "", "hodler").contains("did you mean holder?"));
    stage.model.offer_views(&view("render", "id")).expect("a view");
    command(&mut stage, "view mine");
    assert_eq!(stage.listed(), ["render-1"]);
    command(&mut stage, "view mien");
    assert!(stage.notice().1.contains("did you mean mine?"), "{:?}", stage.notice());
    command(&mut stage, "columns id,hodler");
    assert!(stage.notice().1.contains("did you mean holder?"), "{:?}", stage.notice());
}

#[test]
fn what_is_kept_and_not_understood_is_named_and_harms_nothing() {
    let mut stage = Stage::on(&world());
    let state = ScreenState { sort: "colour".into(), columns: vec!["id".into()], ..ScreenState::default() };
    let said = stage.model.restore(state).expect_err("a sort that nobody knows");
    assert!(said.contains("colour"), "{said}");
    stage.browse(&[world()], "2");
    assert_eq!(stage.listed().len(), 3);
}

#[test]
fn a_theme_is_kept_for_the_next_start() {
    let mut stage = Stage::on(&world());
    let kept = command(&mut stage, "theme light").expect("something to keep");
    assert_eq!(kept.theme.as_deref(), Some("light"));
    let kept = command(&mut stage, "sort age").expect("something to keep");
    assert_eq!(kept.theme.as_deref(), Some("light"), "another choice does not forget it");
}

#[test]
fn panes_views_themes_and_sources_are_completed() {
    let mut stage = Stage::of(&[world().named("billing"), world().named("search")]);
    let run = |stage: &mut Stage, text: &str| {
        stage.press(":");
        stage.write(text);
        stage.press("enter")
    };
    run(&mut stage, "save view mails");
    for (typed, completed) in [
        ("gro", "groups "),
        ("view m", "view mails "),
        ("mai", "view mails "),
        ("theme li", "theme light "),
        ("source sea", "source search "),
    ] {
        stage.press(":");
        stage.write(typed);
        stage.press("tab");
        let Some(Overlay::Palette(palette)) = stage.model.overlay.last() else { panic!("{typed}") };
        assert_eq!(palette.input.value(), completed, "{typed}");
        stage.press("esc");
    }
    run(&mut stage, "view mails");
    assert_eq!(stage.model.pane, Pane::Claims);
}
