//! A session that returns after a crash: what it gets back, and what it does not.

use claimtop::worker::coordination::{ProcessCheck, Resumed, ResumedFrom};
use serde_json::json;

use super::*;

impl World {
    /// The session comes back, as a new process would.
    fn resume(&mut self, session: &str) -> Resumed {
        self.coordination.resume(&Registration::new(session, "/project")).expect("an answer")
    }
}

fn tasks(resumed: &Resumed) -> Vec<(&str, ResumedFrom)> {
    resumed.claims.iter().map(|claim| (claim.task_id.as_str(), claim.from)).collect()
}

/// Ann crashed with two claims, and the timer has removed her and them.
fn crashed() -> World {
    let mut world = World::new();
    world.session("ann");
    world.session("bob");
    world.claim("task-1", "ann", 30);
    world.minutes_pass(1);
    world.claim("task-2", "ann", 30);
    world.minutes_pass(6);
    assert!(world.coordination.heartbeat("bob").expect("an answer"));
    assert_eq!(world.coordination.cleanup().expect("a cleanup").stale_sessions.count, 1);
    assert_eq!(world.claims(), []);
    world.heard();
    world
}

#[test]
fn cleaned_up_tasks_come_back_to_the_session_that_returns() {
    let mut world = crashed();
    let resumed = world.resume("ann");
    assert_eq!(tasks(&resumed), [("task-1", ResumedFrom::Record), ("task-2", ResumedFrom::Record)]);
    assert_eq!(resumed.claims[0].claimed_at, NOW, "when the interrupted claim was made");
    assert_eq!(world.claims(), [pair("task-1", "ann"), pair("task-2", "ann")]);
    assert_eq!(world.names_heard(), ["session:registered", "claim:resumed", "claim:resumed"]);
    // They are claims like any other: for half an hour, and to be released.
    world.minutes_pass(30);
    assert_eq!(world.coordination.cleanup_expired_claims().expect("a cleanup").count, 0);
}

#[test]
fn a_task_that_another_session_took_stays_there_even_once_it_is_done() {
    let mut world = crashed();
    world.claim("task-1", "bob", 30);
    world.claim("task-2", "bob", 30);
    world.coordination.release_claim("task-2", "bob", "completed").expect("an answer");
    let resumed = world.resume("ann");
    assert_eq!((tasks(&resumed), world.claims()), (vec![], vec![pair("task-1", "bob")]));
}

#[test]
fn a_task_that_a_program_without_records_took_is_reported_as_taken() {
    let mut world = crashed();
    world.run(&format!(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         VALUES ('task-1', 'bob', {NOW}, {NOW} + 9000000, {NOW})"
    ));
    let resumed = world.resume("ann");
    assert_eq!(tasks(&resumed), [("task-2", ResumedFrom::Record)]);
    assert_eq!((resumed.taken[0].task_id.as_str(), resumed.taken[0].session_id.as_str()), ("task-1", "bob"));
}

#[test]
fn claims_that_nobody_has_cleaned_up_are_extended_even_after_their_end() {
    let mut world = World::new();
    world.session("ann");
    world.claim("task-1", "ann", 1);
    world.minutes_pass(20);
    let resumed = world.resume("ann");
    assert_eq!(tasks(&resumed), [("task-1", ResumedFrom::Claim)]);
    assert_eq!(resumed.claims[0].expires_at, NOW + 50 * 60_000);
}

#[test]
fn what_the_session_ended_itself_does_not_come_back() {
    let mut world = World::new();
    world.session("ann");
    for task in ["done", "given-up", "expired-and-done"] {
        world.claim(task, "ann", 30);
    }
    world.coordination.release_claim("done", "ann", "completed").expect("an answer");
    world.minutes_pass(31);
    world.coordination.cleanup_expired_claims().expect("a cleanup");
    // It finished late, after the cleanup.
    world.coordination.release_claim("expired-and-done", "ann", "completed").expect("an answer");
    world.coordination.release_session_claims("ann", Some("manual")).expect("a release");
    assert_eq!(tasks(&world.resume("ann")), []);
    world.claim("last", "ann", 30);
    world.coordination.deregister("ann").expect("an answer");
    assert_eq!(tasks(&world.resume("ann")), []);
}

#[test]
fn orphans_and_what_claimtop_deleted_come_back_too_with_their_metadata() {
    let mut world = World::new();
    world.session("ann");
    let options = ClaimOptions { metadata: Some(json!({"step": 3})), ..ClaimOptions::default() };
    for task in ["task-1", "task-2"] {
        assert!(world.coordination.claim_task(task, "ann", &options).expect("an answer").is_held());
    }
    world.minutes_pass(11);
    world.run("DELETE FROM task_claims WHERE task_id = 'task-2'");
    assert_eq!(world.coordination.cleanup_orphaned_claims(ProcessCheck::Trust).expect("a cleanup").count, 1);
    let resumed = world.resume("ann");
    assert_eq!(tasks(&resumed), [("task-1", ResumedFrom::Record), ("task-2", ResumedFrom::Record)]);
    assert!(resumed.claims.iter().all(|claim| claim.metadata == Some(json!({"step": 3}))));
}

#[test]
fn a_database_without_records_gives_back_what_is_still_there() {
    let mut world = World::new();
    world.run("DROP TABLE resumable_claims");
    world.session("ann");
    world.claim("task-1", "ann", 30);
    world.claim("task-2", "ann", 30);
    world.coordination.release_claim("task-2", "ann", "completed").expect("an answer");
    assert_eq!(tasks(&world.resume("ann")), [("task-1", ResumedFrom::Claim)]);
}

#[test]
fn records_of_sessions_that_never_return_are_forgotten_after_a_week() {
    let mut world = crashed();
    world.minutes_pass(6 * 24 * 60);
    world.coordination.prune_old_changes().expect("a cleanup");
    assert_eq!(world.number("SELECT count(*) FROM resumable_claims"), 2);
    world.minutes_pass(24 * 60);
    world.coordination.prune_old_changes().expect("a cleanup");
    assert_eq!(world.number("SELECT count(*) FROM resumable_claims"), 0);
}
