//! The live log: what entered and left the sets, and nothing that only moved in or out of sight.

use claimtop::app::Msg;
use claimtop::app::message::Done;
use claimtop::domain::recovery::Outcome;
use claimtop::domain::time::Reading;
use claimtop::domain::verdict::Set;
use claimtop::events::{BOUND, EventKind, Reread};

use super::super::stage::{Held, Stage, World, claim, noon, span, task_board};

fn world(held: impl IntoIterator<Item = Held>) -> World {
    World::of([task_board(held)])
}

/// The log, newest first.
fn log(stage: &Stage) -> Vec<(EventKind, String, String)> {
    let events = stage.model.event_log.iter().map(|line| &line.event);
    events.map(|event| (event.kind(), event.shown(), event.message())).collect()
}

fn read_again(held: Held) -> Reread {
    Reread::Is(Box::new(task_board([held]).judged(noon()).remove(0)))
}

/// A stale claim leaves its set; this is what it is when it is read again.
fn became(again: Reread) -> Vec<(EventKind, String, String)> {
    let mut stage = Stage::on(&world([claim("a").lease_ran_out("10m")]));
    stage.again = again;
    stage.poll(&world([]));
    log(&stage)
}

fn reclaimed(address: &str) -> Msg {
    Msg::Acted(Done {
        source: 0,
        address: address.into(),
        action_id: "1".into(),
        action: "reclaim".into(),
        outcome: Outcome::Applied,
        shown: "a".into(),
        holder: Some("worker-7".into()),
    })
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
    assert!(log.contains(&(EventKind::Entered(Set::Stale), "a".into(), "its lease ran out 2s ago".into())));
    assert!(log.iter().any(|(what, shown, _)| *what == EventKind::Entered(Set::Orphaned) && shown == "b"));
    let before = log.len();
    stage.poll(&world([claim("a").lease_ran_out("2s"), claim("b").without_session()]));
    assert_eq!(stage.model.event_log.len(), before, "once");
}

#[test]
fn a_claim_that_gets_worse_is_told_again() {
    let mut stage = Stage::on(&world([claim("a").runs_out_in("2m")]));
    stage.poll(&world([claim("a").lease_ran_out("1s")]));
    assert_eq!(log(&stage)[0].0, EventKind::Entered(Set::Stale));
}

#[test]
fn a_claim_that_is_gone_was_finished() {
    let log = became(Reread::Gone);
    assert_eq!(log[0].0, EventKind::Finished);
    assert_eq!(log[0].2, "worker-7 no longer has it: finished or released");
}

#[test]
fn a_claim_that_beats_again_was_renewed() {
    let mut renewed = claim("a").lease_ran_out("10m");
    renewed.claim.beat_at = Reading::At(noon().minus(span("3s")));
    let log = became(read_again(renewed));
    assert_eq!((log[0].0, log[0].2.as_str()), (EventKind::Renewed, "renewed 3s ago by worker-7"));
}

#[test]
fn a_claim_of_another_holder_changed_hands() {
    let log = became(read_again(claim("a").lease_ran_out("10m").held_by("worker-9")));
    assert_eq!((log[0].0, log[0].2.as_str()), (EventKind::ChangedHands, "worker-7 → worker-9"));
}

#[test]
fn a_claim_that_cannot_be_read_again_left_and_nobody_knows_why() {
    assert_eq!(became(Reread::Unknown)[0].0, EventKind::Left);
}

#[test]
fn a_claim_that_is_renewed_into_a_better_set_was_renewed() {
    let mut stage = Stage::on(&world([claim("a").lease_ran_out("10m")]));
    stage.poll(&world([claim("a").lease_ran_out("10m").runs_out_in("2m").beat("1s")]));
    assert_eq!(log(&stage)[0].0, EventKind::Renewed, "{:?}", log(&stage));
}

#[test]
fn a_session_that_is_lost_is_told_once_with_all_its_claims_and_before_them() {
    let mut stage = Stage::on(&world([claim("a"), claim("b"), claim("c").held_by("worker-8")]));
    let lost = world([
        claim("a").session_silent_for("20m"),
        claim("b").session_silent_for("20m"),
        claim("c").held_by("worker-8"),
    ]);
    stage.poll(&lost);
    let told = log(&stage);
    let what: Vec<(EventKind, &str)> =
        told.iter().rev().map(|(what, shown, _)| (*what, shown.as_str())).collect();
    let orphaned = EventKind::Entered(Set::Orphaned);
    assert_eq!(what, [(EventKind::SessionLost, "worker-7"), (orphaned, "a"), (orphaned, "b")]);
    assert_eq!(told[2].2, "has stopped beating, and holds 2 claims");
    stage.poll(&lost);
    assert_eq!(log(&stage).len(), 3);
}

#[test]
fn a_session_that_lets_go_of_all_it_held_is_told_in_one_line_more() {
    let mut stage = Stage::on(&world([claim("a"), claim("b"), claim("c").held_by("worker-8")]).read_whole());
    stage.poll(&world([claim("c").held_by("worker-8")]).read_whole());
    let what: Vec<EventKind> = log(&stage).into_iter().rev().map(|(what, ..)| what).collect();
    assert_eq!(what, [EventKind::Finished, EventKind::Finished, EventKind::SessionCleanup]);
}

#[test]
fn a_claim_that_was_taken_by_an_act_of_ours_was_recovered() {
    let mut stage = Stage::on(&world([claim("a").lease_ran_out("10m")]));
    stage.tell(reclaimed("taskqueue/tasks/a"));
    stage.poll(&world([]));
    assert_eq!(log(&stage)[0].0, EventKind::Recovered, "{:?}", log(&stage));
}

#[test]
fn it_was_recovered_even_if_the_poll_saw_it_before_the_word_of_the_act_came() {
    let mut stage = Stage::on(&world([claim("a").lease_ran_out("10m")]));
    stage.poll(&world([]));
    assert_eq!(log(&stage)[0].0, EventKind::Finished);
    stage.tell(reclaimed("taskqueue/tasks/a"));
    assert_eq!(log(&stage), [(EventKind::Recovered, "a".into(), "reclaim by you".into())]);
}

#[test]
fn a_claim_that_is_only_out_of_sight_is_no_news() {
    // The same claim, unchanged, beyond the rows that were fetched.
    assert!(became(read_again(claim("a").lease_ran_out("10m"))).is_empty());
}

#[test]
fn what_happens_while_the_screen_stands_still_is_told_when_it_goes_on() {
    let mut stage = Stage::on(&world([claim("a")]));
    stage.press("f");
    stage.poll(&world([claim("a").lease_ran_out("2s")]));
    assert!(log(&stage).is_empty());
    stage.press("f");
    stage.poll(&world([claim("a").lease_ran_out("2s")]));
    assert_eq!(log(&stage)[0].0, EventKind::Entered(Set::Stale));
}

#[test]
fn many_of_a_kind_are_one_line() {
    let stale = |count: usize| (0..count).map(|at| claim(&format!("t-{at:03}")).lease_ran_out("1s"));
    let mut stage = Stage::on(&world([]));
    stage.poll(&world(stale(BOUND + 1).collect::<Vec<_>>()));
    let told = log(&stage);
    assert_eq!((told.len(), told[0].0, told[0].1.as_str()), (1, EventKind::Entered(Set::Stale), "51 claims"));
    assert!(told[0].2.starts_with("taskqueue/tasks/t-000, taskqueue/tasks/t-001"), "{}", told[0].2);
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
        log(&stage).iter().all(|(what, ..)| !matches!(what, EventKind::Entered(_))),
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
    assert_eq!((log(&stage)[0].0, log(&stage)[0].1.as_str()), (EventKind::Finished, "a"));
}

#[test]
fn the_log_has_an_end() {
    let mut stage = Stage::on(&world([]));
    for round in 0..60 {
        let held = (0..40).map(|at| claim(&format!("t-{round}-{at}")).lease_ran_out("1s"));
        stage.poll(&world(held.collect::<Vec<_>>()));
    }
    assert_eq!(stage.model.event_log.len(), 2_000);
    assert!(stage.model.event_log[0].event.shown().starts_with("t-58-"), "the newest are kept");
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
