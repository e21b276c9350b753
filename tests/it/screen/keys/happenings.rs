//! The live log: what entered and left the sets, and nothing that only moved in or out of sight.

use claimtop::app::happening::What;
use claimtop::app::message::Done;
use claimtop::app::row::Row;
use claimtop::app::{Effect, Msg};
use claimtop::domain::claim::Claim;
use claimtop::domain::recovery::Outcome;
use claimtop::domain::verdict::Set;

use super::super::stage::{Held, Stage, World, claim, noon, span, task_board};

fn world(held: impl IntoIterator<Item = Held>) -> World {
    World::of([task_board(held)])
}

/// The log, newest first.
fn log(stage: &Stage) -> Vec<(What, String, String)> {
    let line = |one: &claimtop::app::happening::Happening| (one.what, one.shown.clone(), one.said.clone());
    stage.model.happenings.iter().map(line).collect()
}

/// The claims that are to be read again.
fn left(effects: Vec<Effect>) -> Vec<Row> {
    let rows = |effect| match effect {
        Effect::WhatBecame { rows, .. } => Some(rows),
        _ => None,
    };
    effects.into_iter().find_map(rows).expect("claims that left")
}

/// A stale claim leaves its set; this is what it is now.
fn became(is: Option<&Claim>) -> Vec<(What, String, String)> {
    let mut stage = Stage::on(&world([claim("a").lease_ran_out("10m")]));
    let rows = left(stage.poll(&world([])));
    stage.tell(Msg::Became { source: 0, rows: rows.into_iter().map(|row| (row, is.cloned())).collect() });
    log(&stage)
}

#[test]
fn the_first_poll_is_no_news() {
    assert!(log(&Stage::on(&world([claim("a").lease_ran_out("10m")]))).is_empty());
}

#[test]
fn a_claim_that_enters_a_set_is_told_with_its_reason() {
    let mut stage = Stage::on(&world([claim("a")]));
    stage.poll(&world([claim("a").lease_ran_out("2s"), claim("b").without_session()]));
    let log = log(&stage);
    assert!(log.contains(&(What::Entered(Set::Stale), "a".into(), "its lease ran out 2s ago".into())));
    assert!(log.iter().any(|(what, shown, _)| *what == What::Entered(Set::Orphaned) && shown == "b"));
    let before = log.len();
    stage.poll(&world([claim("a").lease_ran_out("2s"), claim("b").without_session()]));
    assert_eq!(stage.model.happenings.len(), before, "once");
}

#[test]
fn a_claim_that_gets_worse_is_told_again() {
    let mut stage = Stage::on(&world([claim("a").runs_out_in("2m")]));
    stage.poll(&world([claim("a").lease_ran_out("1s")]));
    assert_eq!(log(&stage)[0].0, What::Entered(Set::Stale));
}

#[test]
fn a_claim_that_is_gone_was_finished() {
    let log = became(None);
    assert_eq!(log[0].0, What::Finished);
    assert_eq!(log[0].2, "worker-7 no longer has it: finished or released");
}

#[test]
fn a_claim_that_beats_again_was_renewed() {
    let mut renewed = claim("a").lease_ran_out("10m").claim;
    renewed.beat_at = claimtop::domain::time::Reading::At(noon().minus(span("3s")));
    let log = became(Some(&renewed));
    assert_eq!((log[0].0, log[0].2.as_str()), (What::Renewed, "renewed 3s ago by worker-7"));
}

#[test]
fn a_claim_of_another_holder_changed_hands() {
    let log = became(Some(&claim("a").lease_ran_out("10m").held_by("worker-9").claim));
    assert_eq!((log[0].0, log[0].2.as_str()), (What::ChangedHands, "worker-7 → worker-9"));
}

#[test]
fn a_claim_that_was_taken_by_an_act_of_ours_was_recovered() {
    let mut stage = Stage::on(&world([claim("a").lease_ran_out("10m")]));
    stage.tell(Msg::Acted(Done {
        source: 0,
        address: "taskqueue/tasks/a".into(),
        action_id: "1".into(),
        action: "reclaim".into(),
        outcome: Outcome::Applied,
        shown: "a".into(),
        holder: Some("worker-7".into()),
    }));
    let rows = left(stage.poll(&world([])));
    stage.tell(Msg::Became { source: 0, rows: rows.into_iter().map(|row| (row, None)).collect() });
    assert_eq!(log(&stage)[0].0, What::Recovered, "{:?}", log(&stage));
}

#[test]
fn a_claim_that_is_only_out_of_sight_is_no_news() {
    // The same claim, unchanged, beyond the rows that were fetched.
    assert!(became(Some(&claim("a").lease_ran_out("10m").claim)).is_empty());
}

#[test]
fn a_claim_that_slides_into_a_window_that_was_full_is_no_news() {
    let four = |first: Held| {
        let rest = [
            claim("b").lease_ran_out("20m"),
            claim("c").lease_ran_out("10m"),
            claim("d").lease_ran_out("9m"),
        ];
        World::of([task_board(std::iter::once(first).chain(rest)).loading(2)])
    };
    let mut stage = Stage::on(&four(claim("a").lease_ran_out("30m")));
    stage.poll(&four(claim("a")));
    assert!(
        log(&stage).iter().all(|(what, ..)| !matches!(what, What::Entered(_))),
        "c has been stale all along: {:?}",
        log(&stage)
    );
}

#[test]
fn small_boards_tell_who_took_and_who_finished() {
    let mut stage = Stage::on(&world([claim("a")]).read_whole());
    stage.poll(&world([claim("a"), claim("b").held_by("worker-8")]).read_whole());
    assert_eq!(log(&stage)[0].1, "b");
    assert_eq!(log(&stage)[0].2, "by worker-8");
    stage.poll(&world([claim("b").held_by("worker-8")]).read_whole());
    assert_eq!((log(&stage)[0].0, log(&stage)[0].1.as_str()), (What::Finished, "a"));
}

#[test]
fn the_log_has_an_end() {
    let mut stage = Stage::on(&world([]));
    for round in 0..30 {
        let held = (0..100).map(|at| claim(&format!("t-{round}-{at}")).lease_ran_out("1s"));
        stage.poll(&world(held.collect::<Vec<_>>()));
    }
    assert_eq!(stage.model.happenings.len(), 2_000);
    assert!(stage.model.happenings[0].shown.starts_with("t-29-"), "the newest are kept");
}

#[test]
fn a_link_that_is_lost_and_comes_back_is_told_once_each() {
    let mut stage = Stage::on(&world([claim("a")]));
    for _ in 0..3 {
        stage.poll_fails("unable to open database file");
    }
    for _ in 0..3 {
        stage.poll(&world([claim("a")]));
    }
    let said: Vec<String> = log(&stage).into_iter().map(|(_, _, said)| said).collect();
    assert_eq!(said, ["back again", "lost: unable to open database file"]);
}

#[test]
fn rows_are_kept_while_the_link_is_down_and_nothing_is_said_to_have_left() {
    let mut stage = Stage::on(&world([claim("a").lease_ran_out("10m")]));
    assert!(stage.poll_fails("locked").is_empty());
    assert_eq!(stage.listed(), ["a"]);
    assert!(stage.poll(&world([claim("a").lease_ran_out("10m")])).is_empty());
}
