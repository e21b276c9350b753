//! The filter's language, and who does the filtering.

use claimtop::app::{Effect, Msg};
use claimtop::domain::claim::Process;
use claimtop::domain::filter::{Filter, Test, exactly};
use claimtop::domain::verdict::Set;

use super::super::stage::{Stage, World, claim, job_board, task_board};

fn fleet() -> World {
    World::of([
        task_board([
            claim("render-1").held_by("worker-7").of_kind("render").lease_ran_out("60m"),
            claim("render-2").held_by("worker-8").of_kind("render").lease_ran_out("5m"),
            claim("mail-1").held_by("worker-77").of_kind("mail").lease_ran_out("4m"),
            claim("mail-2").held_by("cli").of_kind("mail").lease_ran_out("3m").process(Process::Dead),
        ]),
        job_board([claim("job-1").held_by("worker-7").of_kind("render").taken("30m").beat("30m")]),
    ])
}

/// The claims in trouble that pass a filter, in the order of their ids.
fn passing(filter: &str) -> Vec<String> {
    let mut stage = Stage::on(&fleet());
    stage.press("/");
    stage.write(filter);
    stage.press("enter");
    assert_eq!(stage.model.query_problem, None, "{filter}");
    let mut ids = stage.in_trouble();
    ids.sort();
    ids
}

#[test]
fn a_word_is_looked_for_in_ids_holders_kinds_and_boards() {
    assert_eq!(passing("mail"), ["mail-1", "mail-2"]);
    assert_eq!(passing("RENDER-1"), ["render-1"]);
    assert_eq!(passing("worker-8"), ["render-2"]);
    assert_eq!(passing("jobs"), ["job-1"]);
}

#[test]
fn a_colon_looks_for_a_part_and_an_equals_sign_for_the_whole() {
    assert_eq!(passing("holder:worker-7"), ["job-1", "mail-1", "render-1"]);
    assert_eq!(passing("holder=worker-7"), ["job-1", "render-1"]);
    assert_eq!(passing("kind:rend"), ["job-1", "render-1", "render-2"]);
    assert!(passing("kind=rend").is_empty());
    assert_eq!(passing("board:task kind=render"), ["render-1", "render-2"]);
    assert_eq!(passing("set:orphaned"), ["mail-2"]);
}

#[test]
fn an_exclamation_mark_turns_a_term_around() {
    assert_eq!(passing("!worker"), ["mail-2"]);
    assert_eq!(passing("!holder:worker-7 kind:mail"), ["mail-2"]);
    assert_eq!(passing("!board:jobs !kind=mail"), ["render-1", "render-2"]);
}

#[test]
fn ages_are_compared() {
    assert_eq!(passing("age>60m"), ["render-1"]);
    assert_eq!(passing("age<34m"), ["job-1", "mail-2"]);
    assert_eq!(passing("!age>33m30s"), ["job-1", "mail-2"]);
}

#[test]
fn a_filter_that_cannot_be_read_says_so_and_leaves_the_last_one() {
    let mut stage = Stage::on(&fleet());
    stage.press("/");
    stage.write("age>10");
    let said = stage.model.query_problem.clone().unwrap_or_default();
    assert!(said.contains("10"), "{said}");
    assert!(stage.text().contains(&said[..20]), "the screen says it");
    stage.write("m");
    assert_eq!(stage.model.query_problem, None);
    stage.write(" set:odd");
    assert!(stage.model.query_problem.as_deref().unwrap_or_default().contains("there is no set odd"));
    stage.press("esc");
    assert!(stage.model.query.is_empty() && stage.model.query_problem.is_none());
}

#[test]
fn the_filter_works_while_it_is_written_and_esc_clears_it() {
    let mut stage = Stage::on(&fleet());
    stage.press("/");
    stage.write("mail");
    assert_eq!(stage.in_trouble().len(), 2);
    stage.press("enter");
    assert_eq!(stage.in_trouble().len(), 2);
    stage.press("esc");
    assert_eq!(stage.in_trouble().len(), 5);
}

#[test]
fn a_pasted_filter_filters() {
    let mut stage = Stage::on(&fleet());
    stage.press("/");
    stage.tell(Msg::Paste("mail-1\n".into()));
    assert_eq!(stage.listed(), ["mail-1"]);
    stage.press("enter");
    assert_eq!(stage.listed(), ["mail-1"]);
}

#[test]
fn in_claims_the_database_is_asked_anew_with_every_letter() {
    let mut stage = Stage::on(&fleet());
    stage.press("2 /");
    stage.write("kind=rende");
    let effects = stage.write("r");
    let [Effect::LoadList { request, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(request.filter, Filter::default().with(Test::Kind(exactly(["render"]))));
    let effects = stage.write(" set:stale");
    let [Effect::LoadList { request, .. }] = &effects[effects.len() - 1..] else { panic!("{effects:?}") };
    let both = Filter { sets: vec![Set::Stale], ..Filter::default().with(Test::Kind(exactly(["render"]))) };
    assert_eq!(request.filter, both);
}

#[test]
fn what_a_session_holds_is_one_key_away() {
    use super::super::stage::holders::session;
    let mut stage = Stage::on(&fleet());
    stage.press("4");
    stage.tell(Msg::Holders { source: 0, holders: Ok(vec![session("worker-7", "25m", 2)]) });
    let effects = stage.press("enter");
    let [Effect::LoadList { request, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(request.filter, Filter::of_holders(["worker-7"]));
}

#[test]
fn a_session_with_a_blank_in_its_name_is_looked_for_by_its_whole_name() {
    use super::super::stage::holders::session;
    let mut stage = Stage::on(&fleet());
    stage.press("4");
    stage.tell(Msg::Holders { source: 0, holders: Ok(vec![session("worker 7 on web1", "25m", 2)]) });
    let effects = stage.press("enter");
    let [Effect::LoadList { request, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(request.filter, Filter::of_holders(["worker 7 on web1"]));
}
