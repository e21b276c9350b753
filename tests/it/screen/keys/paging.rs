//! One list of all boards, part by part.

use claimtop::app::{Effect, Msg};
use claimtop::domain::claim_list::{ListRequest, Start};
use claimtop::domain::detail::Cursor;
use claimtop::domain::snapshot::Mark;
use std::collections::BTreeSet;

use super::super::stage::{Held, Stage, World, claim, job_board, task_board};

/// Five stale claims on two boards, and many healthy ones.
fn many() -> World {
    let tasks = (1..=2_000).map(|at| claim(&format!("t-{at:04}")));
    let late = |at: i64| claim(&format!("late-{at}")).lease_ran_out(&format!("{at}m"));
    let tasks: Vec<Held> = (1..=4).map(late).chain(tasks).collect();
    let jobs = [claim("j-late").taken("31m").beat("31m"), claim("j-1"), claim("j-2")];
    World::of([task_board(tasks), job_board(jobs)])
}

fn request(effects: &[Effect]) -> ListRequest {
    match effects {
        [Effect::LoadList { request, .. }] => request.clone(),
        other => panic!("one part should be asked for: {other:?}"),
    }
}

/// The Claims pane with what it asked for.
fn browsing(world: &World) -> Stage {
    let mut stage = Stage::on(world);
    stage.browse(std::slice::from_ref(world), "2");
    stage
}

#[test]
fn the_worst_of_all_boards_come_first_and_then_the_others_in_the_order_of_their_rows() {
    let stage = browsing(&many());
    let listed = stage.listed();
    assert_eq!(listed[..7], ["j-late", "late-4", "late-3", "late-2", "late-1", "t-0001", "t-0002"]);
    assert_eq!(listed.len(), 205, "only a part is loaded");
}

#[test]
fn moving_down_loads_more_and_lets_go_of_what_is_far_above() {
    let world = many();
    let mut stage = browsing(&world);
    let mut seen: BTreeSet<String> = BTreeSet::new();
    while stage.selected().as_deref() != Some("j-2") {
        stage.browse(std::slice::from_ref(&world), "pagedown");
        seen.extend(stage.listed());
        assert!(stage.listed().len() <= 1_205, "{}", stage.listed().len());
    }
    assert_eq!(seen.len(), 2_007, "no row is skipped, and those of the next board follow");
    assert!(!stage.listed().contains(&"j-late".to_owned()), "the worst are far above");
}

#[test]
fn moving_up_from_the_end_reaches_the_worst_again() {
    let world = many();
    let mut stage = browsing(&world);
    stage.browse(std::slice::from_ref(&world), "G");
    assert_eq!(stage.selected().as_deref(), Some("j-2"));
    assert!(stage.press("j").is_empty(), "there is nothing below");
    let mut seen: BTreeSet<String> = BTreeSet::new();
    while stage.selected().as_deref() != Some("j-late") {
        stage.browse(std::slice::from_ref(&world), "pageup");
        seen.extend(stage.listed());
    }
    assert_eq!(seen.len(), 2_007, "no row is skipped");
    assert!(stage.press("k").is_empty(), "there is nothing above");
    stage.browse(std::slice::from_ref(&world), "G g");
    assert_eq!(stage.selected().as_deref(), Some("j-late"));
}

#[test]
fn a_key_that_comes_before_the_rows_moves_the_selection_when_they_are_there() {
    let world = many();
    let mut stage = browsing(&world);
    let mut effects = Vec::new();
    while stage.place() + 1 < stage.listed().len() {
        effects.extend(stage.press("pagedown"));
    }
    let last = stage.selected();
    effects.extend(stage.press("pagedown"));
    assert_eq!(stage.selected(), last);
    stage.answer_lists(std::slice::from_ref(&world), effects);
    assert_ne!(stage.selected(), last);
}

#[test]
fn a_poll_reads_what_is_loaded_again_and_the_selection_stays() {
    let world = many();
    let mut stage = browsing(&world);
    stage.browse(std::slice::from_ref(&world), "G k k");
    let selected = stage.selected();
    stage.later("1s");
    let again = stage.poll(&world);
    let asked = request(&again).others.expect("the loaded rows");
    assert!(matches!(asked.from, Start::At(place) if matches!(place.cursor, Cursor::From(Mark::Rowid(_)))));
    stage.answer_lists(std::slice::from_ref(&world), again);
    assert_eq!(stage.selected(), selected);
}

#[test]
fn a_claim_that_gets_worse_moves_up_and_the_selection_goes_with_it() {
    let world = |left: &str| {
        let tasks = (1..=30).map(|at| claim(&format!("t-{at:02}")));
        World::of([task_board(tasks.chain([claim("near").runs_out_in(left)]).collect::<Vec<_>>())])
    };
    let mut stage = browsing(&world("29m"));
    stage.browse(&[world("29m")], "G");
    assert_eq!(stage.selected().as_deref(), Some("near"));
    stage.later("1s");
    let again = stage.poll(&world("1m"));
    stage.answer_lists(&[world("1m")], again);
    assert_eq!((stage.selected().as_deref(), stage.place()), (Some("near"), 0));
}

#[test]
fn a_board_is_a_filter() {
    let world = many();
    let mut stage = browsing(&world);
    assert!(stage.press("h").is_empty(), "all boards are before the first");
    stage.browse(std::slice::from_ref(&world), "l");
    assert_eq!(stage.model.query.text, "board=jobs");
    assert_eq!(stage.listed(), ["j-late", "j-1", "j-2"]);
    stage.browse(std::slice::from_ref(&world), "l");
    assert_eq!(stage.model.query.text, "board=tasks");
    assert!(stage.press("l").is_empty(), "there is none after the last");
    stage.browse(std::slice::from_ref(&world), "h h");
    assert!(stage.model.query.is_empty());
}

#[test]
fn an_answer_to_a_filter_that_was_changed_is_not_shown() {
    let world = many();
    let mut stage = Stage::on(&world);
    let all = stage.press("2");
    let jobs = stage.press("l");
    stage.answer_lists(std::slice::from_ref(&world), all);
    assert!(stage.listed().is_empty());
    stage.answer_lists(std::slice::from_ref(&world), jobs);
    assert_eq!(stage.listed(), ["j-late", "j-1", "j-2"]);
}

#[test]
fn a_part_that_cannot_be_read_says_why_and_is_asked_for_again() {
    let world = many();
    let mut stage = Stage::on(&world);
    let first = request(&stage.press("2"));
    stage.tell(Msg::Listed { source: 0, request: first, part: Err("database is locked".into()) });
    assert!(stage.text().contains("database is locked"));
    assert!(!stage.poll(&world).is_empty(), "it is tried again with the next poll");
}

#[test]
fn a_source_that_was_busy_with_the_list_for_long_is_left_alone_for_a_while() {
    use claimtop::domain::time::Span;
    let world = many();
    let mut stage = Stage::on(&world);
    let first = request(&stage.press("2"));
    let mut part = world.list_part(&first, stage.now);
    part.cost = Span::millis(500);
    stage.tell(Msg::Listed { source: 0, request: first, part: Ok(part) });
    stage.later("5s");
    assert!(stage.poll(&world).is_empty());
    stage.later("6s");
    assert!(!stage.poll(&world).is_empty());
}

#[test]
fn n_goes_to_the_next_match_of_the_last_filter() {
    let world = many();
    let mut stage = browsing(&world);
    stage.press("/");
    let effects = stage.write("late-");
    stage.answer_lists(std::slice::from_ref(&world), effects);
    stage.browse(std::slice::from_ref(&world), "enter n");
    assert_eq!(stage.selected().as_deref(), Some("late-3"));
    stage.browse(std::slice::from_ref(&world), "esc g n");
    assert_eq!(stage.selected().as_deref(), Some("late-4"));
    stage.press("n n n N");
    assert_eq!(stage.selected().as_deref(), Some("late-2"));
    stage.press("n n");
    assert!(stage.notice().1.contains("no further match"), "{:?}", stage.notice());
}

#[test]
fn the_order_is_reversed_and_named() {
    let world = many();
    let mut stage = browsing(&world);
    stage.press(":");
    stage.write("sort -id");
    stage.press("enter");
    let listed = stage.listed();
    assert!(listed.is_sorted_by(|one, other| one >= other), "{:?}", &listed[..5]);
    stage.press("S");
    assert!(stage.listed().is_sorted());
    stage.press(":");
    stage.write("sort agee");
    stage.press("enter");
    assert!(stage.notice().1.contains("did you mean age?"), "{:?}", stage.notice());
}

#[test]
fn an_act_in_claims_goes_by_the_list_and_not_by_the_poll() {
    let late = |token: &str| World::of([task_board([claim("t-1").lease_ran_out("9m").seen_as(token)])]);
    let mut stage = Stage::on(&late("polled"));
    stage.browse(&[late("listed")], "2");
    assert_eq!(super::act(&stage.press("r")).seen.as_deref(), Some("listed"));
}
