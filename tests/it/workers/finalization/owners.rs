//! What only the owner of a claim may do.

use super::*;

#[test]
fn a_claim_is_released_once_and_by_its_owner() {
    let mut world = World::new();
    assert!(!world.desk.release("t", "p-1").unwrap(), "there is no claim yet");
    world.claim("p-1");
    assert!(!world.desk.release("t", "p-2").unwrap());
    assert_eq!(world.holder(), some("p-1"));
    world.later(Span::seconds(3));
    world.events();
    assert!(world.desk.release("t", "p-1").unwrap());
    assert!(!world.desk.release("t", "p-1").unwrap());
    assert!(!world.desk.release("nowhere", "p-1").unwrap());
    let released = Event::ClaimReleased {
        task_id: "t".into(),
        session_id: "p-1".into(),
        reason: "released".into(),
        held_for_ms: 3_000,
    };
    assert_eq!(world.events(), [released]);
    assert_eq!(world.one::<i64>("SELECT claim_timeout_seconds FROM tasker_tasks"), 30);
    assert!(matches!(world.claim("p-2"), Outcome::Claimed { .. }));
    assert!(!world.desk.release("t", "p-1").unwrap());
}

#[test]
fn an_expired_claim_can_be_released_until_another_takes_it() {
    let mut world = World::new();
    world.claim("p-1");
    world.later(Span::minutes(5));
    assert!(world.desk.release("t", "p-1").unwrap());
    world.claim("p-1");
    world.later(Span::minutes(5));
    world.claim("p-2");
    assert!(!world.desk.release("t", "p-1").unwrap());
    assert_eq!(world.holder(), some("p-2"));
}

#[test]
fn an_owner_extends_until_exactly_the_end() {
    let mut world = World::new();
    assert!(!world.desk.extend("t", "p-1").unwrap(), "there is nothing to extend");
    assert_eq!(world.holder(), None);
    world.claim("p-1");
    world.later(TIMEOUT);
    assert!(world.desk.extend("t", "p-1").unwrap());
    assert_eq!(world.attempt(), (true, some("p-1"), some("pending"), "Claim extended".into()));
    assert!(!world.desk.extend("t", "p-2").unwrap());
    assert_eq!(world.attempt(), (false, some("p-1"), some("pending"), "Failed to extend claim".into()));
    world.later(Span::seconds(30));
    assert!(matches!(world.claim("p-2"), Outcome::AlreadyClaimed { .. }), "the time started anew");
    world.later(Span::micros(1));
    let before: String = world.one("SELECT claimed_at FROM tasker_tasks");
    assert!(!world.desk.extend("t", "p-1").unwrap());
    // The original would have taken the claim again and said that it failed.
    assert_eq!(world.one::<String>("SELECT claimed_at FROM tasker_tasks"), before);
    assert!(matches!(world.claim("p-2"), Outcome::Claimed { .. }));
    assert!(!world.desk.extend("nowhere", "p-1").unwrap());
}

#[test]
fn only_the_owner_completes_a_task_and_only_once() {
    let mut world = World::new();
    assert_eq!(world.desk.complete("nowhere", "p-1").unwrap(), Completion::NotFound);
    assert_eq!(world.desk.complete("t", "p-1").unwrap(), Completion::NotOwner { by: None });
    world.claim("p-1");
    assert_eq!(world.desk.complete("t", "p-2").unwrap(), Completion::NotOwner { by: some("p-1") });
    world.later(Span::seconds(2));
    assert_eq!(world.desk.complete("t", "p-1").unwrap(), Completion::Completed);
    assert_eq!(world.desk.complete("t", "p-1").unwrap(), Completion::AlreadyComplete);
    assert_eq!(world.holder(), None);
    assert!(!world.desk.extend("t", "p-1").unwrap());
    assert_eq!(world.one::<String>("SELECT completed_at FROM tasker_tasks"), "2026-11-15 12:00:02.000000");
    let sql = "SELECT group_concat(coalesce(from_state, '-') || '>' || to_state || most_recent)
               FROM (SELECT * FROM tasker_task_transitions ORDER BY id)";
    assert_eq!(world.one::<String>(sql), "->pending0,pending>complete1");
}

#[test]
fn who_was_overtaken_cannot_complete() {
    let mut world = World::new();
    world.claim("p-1");
    world.later(Span::seconds(31));
    world.claim("p-2");
    assert_eq!(world.desk.complete("t", "p-1").unwrap(), Completion::NotOwner { by: some("p-2") });
    // One whose time is over but who was not overtaken may.
    world.later(Span::seconds(31));
    assert_eq!(world.desk.complete("t", "p-2").unwrap(), Completion::Completed);
}

#[test]
fn names_are_values_and_never_text_of_a_statement() {
    let mut world = World::new();
    let long = "p".repeat(100_000);
    for name in ["'; DROP TABLE tasker_tasks; --", "p\0q", "p\n", "\u{202e}p", "%", "NULL", " ", &long] {
        world.ready_task(name);
        let claim = world.desk.claim_task_for_finalization(name, name, TIMEOUT).unwrap();
        assert!(claim.is_claimed(), "{name:?}");
        let other = world.desk.claim_task_for_finalization(name, "p", TIMEOUT).unwrap();
        assert_eq!(other, Outcome::AlreadyClaimed { by: name.into(), until: Some(at(30_000)) });
        assert!(world.desk.release(name, name).unwrap());
    }
    assert_eq!(world.one::<i64>("SELECT count(*) FROM tasker_tasks"), 9);
}

#[test]
fn a_claim_that_cannot_be_read_is_left_to_people() {
    let mut world = World::new();
    world.claim("p-1");
    for claimed_at in ["NULL", "'yesterday'", "x'ff'", "17"] {
        world.file.run(&format!("UPDATE tasker_tasks SET claimed_at = {claimed_at}"), []);
        world.later(Span::minutes(60));
        assert_eq!(world.claim("p-2"), Outcome::AlreadyClaimed { by: "p-1".into(), until: None });
        assert!(!world.desk.extend("t", "p-1").unwrap());
    }
    // What other writers write is read: claimtop's own extension, and a clock that is ahead.
    world.file.run("UPDATE tasker_tasks SET claimed_at = '2026-11-15T20:00:00.000Z'", []);
    assert!(matches!(world.claim("p-2"), Outcome::AlreadyClaimed { until: Some(_), .. }));
    assert!(matches!(world.claim("p-1"), Outcome::Extended { .. }));
}
