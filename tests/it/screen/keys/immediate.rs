//! Where one key is enough.

use claimtop::domain::claim::Process;
use claimtop::domain::recovery::{Action, Authorization};
use claimtop::domain::time::Span;

use super::super::stage::{Held, Stage, World, claim, job_board, task_board};
use super::act;

/// One stale claim on a board of tasks, and the stage in front of it.
fn with(held: Held) -> Stage {
    Stage::on(&World::of([task_board([held])]))
}

#[test]
fn an_expired_lease_is_reclaimed_at_once() {
    let mut stage = with(claim("t-1").lease_ran_out("11m"));
    let asked = act(&stage.press("r"));
    assert_eq!((asked.action, asked.claim.as_str()), (Action::Reclaim, "taskqueue/tasks/t-1"));
    assert_eq!(asked.authorization, Authorization::default());
    assert!(stage.model.overlay.is_empty());
}

#[test]
fn an_expired_lease_is_released_at_once() {
    let mut stage = with(claim("t-1").lease_ran_out("11m"));
    assert_eq!(act(&stage.press("x")).action, Action::Release);
}

#[test]
fn a_job_over_its_time_is_reclaimed_at_once() {
    let mut stage = Stage::on(&World::of([job_board([claim("j-1").taken("40m").beat("31m")])]));
    assert_eq!(act(&stage.press("r")).claim, "taskqueue/jobs/j-1");
}

#[test]
fn a_claim_without_a_session_is_reclaimed_at_once() {
    let mut stage = with(claim("t-1").without_session());
    assert_eq!(act(&stage.press("l l r")).action, Action::Reclaim);
}

#[test]
fn a_claim_of_a_dead_process_is_reclaimed_at_once() {
    let mut stage = with(claim("t-1").process(Process::Dead));
    assert_eq!(act(&stage.press("l l r")).action, Action::Reclaim);
}

#[test]
fn a_claim_of_a_silent_session_is_reclaimed_at_once() {
    let mut stage = with(claim("t-1").session_silent_for("25m"));
    assert_eq!(act(&stage.press("l l r")).action, Action::Reclaim);
}

#[test]
fn an_extension_asks_how_much_time_and_says_until_when() {
    let mut stage = with(claim("t-1").runs_out_in("2m"));
    assert!(stage.press("e").is_empty());
    let text = stage.text();
    assert!(text.contains("30m from now: until 12:30:00Z instead of 12:02:00Z"), "{text}");
    let asked = act(&stage.press("enter"));
    assert_eq!((asked.action, asked.authorization.by), (Action::Extend, Some(Span::minutes(30))));

    stage.press("e ctrl-c");
    stage.write("soon");
    assert!(stage.press("enter").is_empty());
    assert!(stage.text().contains("soon"), "{}", stage.text());
    stage.press("ctrl-c");
    stage.write("1h 30m");
    assert!(stage.text().contains("until 13:30:00Z"), "{}", stage.text());
    assert_eq!(act(&stage.press("enter")).authorization.by, Some(Span::minutes(90)));
}

#[test]
fn a_proof_of_death_that_the_kernel_gave_counts_for_the_next_key() {
    use claimtop::app::message::Probed;
    use claimtop::app::{Effect, Msg};
    let mut stage = with(claim("t-1").runs_out_in("2m"));
    let effects = stage.press("l p");
    assert!(matches!(&effects[..], [Effect::Probe(rows)] if rows.len() == 1), "{effects:?}");
    let (process, evidence) = (Process::Dead, "no process 4312".to_owned());
    let probe = Probed { source: 0, holder: "worker-7".into(), process, evidence, at: stage.now };
    stage.tell(Msg::Probed(vec![probe]));
    assert_eq!(stage.notice().1, "worker-7: dead (no process 4312)");
    assert_eq!(act(&stage.press("r")).action, Action::Reclaim);
}

#[test]
fn the_open_detail_takes_the_same_keys() {
    let mut stage = with(claim("t-1").lease_ran_out("11m"));
    assert_eq!(act(&stage.press("enter r")).claim, "taskqueue/tasks/t-1");
}

#[test]
fn the_palette_finds_a_command_by_its_beginning_and_passes_the_reason() {
    let mut stage = with(claim("t-1").lease_ran_out("11m"));
    stage.press(":");
    stage.write("recl the host is gone");
    let asked = act(&stage.press("enter"));
    assert_eq!(asked.action, Action::Reclaim);
    assert_eq!(asked.authorization.reason.as_deref(), Some("the host is gone"));
}

#[test]
fn the_palette_acts_on_what_was_seen_before_it_opened() {
    let mut stage = with(claim("t-1").lease_ran_out("11m").seen_as("drawn"));
    stage.press(":");
    stage.write("reclaim");
    stage.poll(&World::of([task_board([claim("t-1").lease_ran_out("11m").seen_as("newer")])]));
    assert_eq!(act(&stage.press("enter")).seen.as_deref(), Some("drawn"));
}

#[test]
fn the_palette_says_what_it_does_not_know() {
    let mut stage = with(claim("t-1").lease_ran_out("11m"));
    stage.press(":");
    stage.write("frobnicate");
    assert!(stage.press("enter").is_empty());
    assert!(stage.notice().1.contains("frobnicate"));
}

#[test]
fn a_key_of_the_config_replaces_that_of_the_table() {
    let mut stage = with(claim("t-1").lease_ran_out("11m")).with_keys("reclaim", "ctrl-r");
    assert!(stage.press("r").is_empty());
    assert_eq!(act(&stage.press("ctrl-r")).action, Action::Reclaim);
    assert!(stage.text().contains("^r reclaim"), "the footer knows it");
}
