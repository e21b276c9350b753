//! A million claims, page by page.

use claimtop::app::{Effect, Msg};
use claimtop::domain::detail::{Cursor, PageRequest};
use claimtop::domain::snapshot::Mark;

use super::super::stage::{Held, Stage, World, claim, job_board, task_board};

fn many() -> World {
    let tasks: Vec<Held> = (1..=500).map(|at| claim(&format!("t-{at:03}"))).collect();
    World::of([task_board(tasks), job_board([claim("j-1"), claim("j-2")])])
}

fn request(effects: &[Effect]) -> PageRequest {
    match effects {
        [Effect::LoadPage { request, .. }] => request.clone(),
        other => panic!("no page was asked for: {other:?}"),
    }
}

/// Answers a request with the rows `from..to` of its board.
fn answer(stage: &mut Stage, world: &World, request: PageRequest, rows: std::ops::Range<usize>) {
    let board = usize::from(request.board == "jobs");
    let page = Ok(world.page(board, rows.start, rows.end, stage.now));
    assert!(stage.tell(Msg::Paged { source: 0, request, page }).is_empty());
}

/// The Claims pane on the first page.
fn browsing(world: &World) -> Stage {
    let mut stage = Stage::on(world);
    let first = request(&stage.press("2"));
    assert_eq!((first.board.as_str(), first.from.clone()), ("tasks", Cursor::First));
    answer(&mut stage, world, first, 0..200);
    stage
}

fn down_to_the_end(stage: &mut Stage) {
    while stage.selected().as_deref() != Some("t-200") {
        assert!(stage.press("pagedown").is_empty());
    }
}

#[test]
fn below_the_last_row_of_a_page_comes_the_next_page_from_its_top() {
    let world = many();
    let mut stage = browsing(&world);
    down_to_the_end(&mut stage);
    let next = request(&stage.press("j"));
    assert_eq!(next.from, Cursor::After(Mark::Rowid(200)));
    answer(&mut stage, &world, next, 200..400);
    assert_eq!(stage.selected().as_deref(), Some("t-201"));
}

#[test]
fn above_the_first_row_of_a_page_comes_the_page_before_from_its_bottom() {
    let world = many();
    let mut stage = browsing(&world);
    let last = request(&stage.press("G"));
    assert_eq!(last.from, Cursor::Last);
    answer(&mut stage, &world, last, 300..500);
    assert_eq!(stage.selected().as_deref(), Some("t-500"));
    assert!(stage.press("j").is_empty(), "there is nothing below");
    while stage.selected().as_deref() != Some("t-301") {
        assert!(stage.press("pageup").is_empty());
    }
    let before = request(&stage.press("k"));
    assert_eq!(before.from, Cursor::Before(Mark::Rowid(301)));
    answer(&mut stage, &world, before, 100..300);
    assert_eq!(stage.selected().as_deref(), Some("t-300"));
}

#[test]
fn home_goes_to_the_very_first_row() {
    let world = many();
    let mut stage = browsing(&world);
    let last = request(&stage.press("G"));
    answer(&mut stage, &world, last, 300..500);
    let first = request(&stage.press("g"));
    assert_eq!(first.from, Cursor::First);
    answer(&mut stage, &world, first, 0..200);
    assert_eq!(stage.selected().as_deref(), Some("t-001"));
    assert!(stage.press("k").is_empty(), "there is nothing above");
}

#[test]
fn a_poll_reads_the_page_again_and_the_selection_stays() {
    let world = many();
    let mut stage = browsing(&world);
    let last = request(&stage.press("G"));
    answer(&mut stage, &world, last, 300..500);
    stage.press("k k");
    let again = stage.poll(&world);
    let again = request(&again);
    assert_eq!(again.from, Cursor::From(Mark::Rowid(301)));
    answer(&mut stage, &world, again, 300..500);
    assert_eq!(stage.selected().as_deref(), Some("t-498"));
}

#[test]
fn an_empty_page_past_the_end_leaves_the_rows_where_they_are() {
    let world = many();
    let mut stage = browsing(&world);
    down_to_the_end(&mut stage);
    let next = request(&stage.press("j"));
    answer(&mut stage, &world, next, 500..500);
    assert_eq!(stage.selected().as_deref(), Some("t-200"));
    assert!(stage.press("j").is_empty());
}

#[test]
fn left_and_right_change_the_board() {
    let world = many();
    let mut stage = browsing(&world);
    assert!(stage.press("h").is_empty(), "there is none before the first");
    let jobs = request(&stage.press("l"));
    assert_eq!((jobs.board.as_str(), jobs.from.clone()), ("jobs", Cursor::First));
    assert!(stage.listed().is_empty(), "rows of the other board do not linger");
    answer(&mut stage, &world, jobs, 0..2);
    assert_eq!(stage.listed(), ["j-1", "j-2"]);
    assert!(stage.press("l").is_empty(), "there is none after the last");
}

#[test]
fn a_page_of_a_board_that_was_left_is_not_shown() {
    let world = many();
    let mut stage = Stage::on(&world);
    let tasks = request(&stage.press("2"));
    let jobs = request(&stage.press("l"));
    answer(&mut stage, &world, tasks, 0..200);
    assert!(stage.listed().is_empty());
    answer(&mut stage, &world, jobs, 0..2);
    assert_eq!(stage.listed(), ["j-1", "j-2"]);
}

#[test]
fn a_page_that_cannot_be_read_says_why() {
    let mut stage = Stage::on(&many());
    let first = request(&stage.press("2"));
    stage.tell(Msg::Paged { source: 0, request: first, page: Err("database is locked".into()) });
    assert!(stage.text().contains("database is locked"));
    assert!(stage.model.browsed.pending.is_none(), "it is tried again with the next poll");
}

#[test]
fn an_act_in_claims_goes_by_the_page_and_not_by_the_poll() {
    let late = |token: &str| World::of([task_board([claim("t-1").lease_ran_out("9m").seen_as(token)])]);
    let mut stage = Stage::on(&late("polled"));
    let first = request(&stage.press("2"));
    answer(&mut stage, &late("paged"), first, 0..1);
    assert_eq!(super::act(&stage.press("r")).seen.as_deref(), Some("paged"));
}
