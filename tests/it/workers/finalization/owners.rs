//! What only the owner of a claim may do.

use super::*;

#[test]
fn a_claim_is_released_once_and_by_its_owner() {
    on_both(|mut world| {
        assert!(!world.finalization.release("t", "p-1").unwrap(), "there is no claim yet");
        world.claim("p-1");
        assert!(!world.finalization.release("t", "p-2").unwrap());
        assert_eq!(world.holder(), some("p-1"));
        world.later(Span::seconds(3));
        world.events();
        assert!(world.finalization.release("t", "p-1").unwrap());
        assert!(!world.finalization.release("t", "p-1").unwrap());
        assert!(!world.finalization.release("nowhere", "p-1").unwrap());
        let released = Event::ClaimReleased {
            task_id: uuid_of("t"),
            session_id: "p-1".into(),
            reason: "released".into(),
            held_for_ms: 3_000,
        };
        assert_eq!(world.events(), [released]);
        assert_eq!(world.one::<i64>("SELECT claim_timeout_seconds FROM tasker_tasks"), 30);
        assert!(matches!(world.claim("p-2"), FinalizationClaim::Claimed { .. }));
        assert!(!world.finalization.release("t", "p-1").unwrap());
    });
}

#[test]
fn an_expired_claim_can_be_released_until_another_takes_it() {
    on_both(|mut world| {
        world.claim("p-1");
        world.later(Span::minutes(5));
        assert!(world.finalization.release("t", "p-1").unwrap());
        world.claim("p-1");
        world.later(Span::minutes(5));
        world.claim("p-2");
        assert!(!world.finalization.release("t", "p-1").unwrap());
        assert_eq!(world.holder(), some("p-2"));
    });
}

#[test]
fn an_owner_extends_until_exactly_the_end() {
    on_both(|mut world| {
        assert!(!world.finalization.extend("t", "p-1").unwrap(), "there is nothing to extend");
        assert_eq!(world.holder(), None);
        world.claim("p-1");
        world.later(TIMEOUT);
        assert!(world.finalization.extend("t", "p-1").unwrap());
        assert_eq!(world.attempt(), (true, some("p-1"), some("pending"), "Claim extended".into()));
        assert!(!world.finalization.extend("t", "p-2").unwrap());
        assert_eq!(world.attempt(), (false, some("p-1"), some("pending"), "Failed to extend claim".into()));
        world.later(Span::seconds(30));
        assert!(
            matches!(world.claim("p-2"), FinalizationClaim::AlreadyClaimed { .. }),
            "the time started anew"
        );
        world.later(Span::micros(1));
        let before: String = world.one("SELECT claimed_at FROM tasker_tasks");
        assert!(!world.finalization.extend("t", "p-1").unwrap());
        // The original would have taken the claim again and said that it failed.
        assert_eq!(world.one::<String>("SELECT claimed_at FROM tasker_tasks"), before);
        assert!(matches!(world.claim("p-2"), FinalizationClaim::Claimed { .. }));
        assert!(!world.finalization.extend("nowhere", "p-1").unwrap());
    });
}

#[test]
fn only_the_owner_completes_a_task_and_only_once() {
    on_both(|mut world| {
        assert_eq!(world.finalization.complete("nowhere", "p-1").unwrap(), Completion::NotFound);
        assert_eq!(world.finalization.complete("t", "p-1").unwrap(), Completion::NotOwner { by: None });
        world.claim("p-1");
        assert_eq!(
            world.finalization.complete("t", "p-2").unwrap(),
            Completion::NotOwner { by: some("p-1") }
        );
        world.later(Span::seconds(2));
        assert_eq!(world.finalization.complete("t", "p-1").unwrap(), Completion::Completed);
        assert_eq!(world.finalization.complete("t", "p-1").unwrap(), Completion::AlreadyComplete);
        assert_eq!(world.holder(), None);
        assert!(!world.finalization.extend("t", "p-1").unwrap());
        assert_eq!(world.ground.time("SELECT completed_at FROM tasker_tasks"), at(2_000));
        let sql = "SELECT coalesce(from_state, '-') || '>' || to_state || CASE WHEN most_recent THEN '!' ELSE '' END
               FROM tasker_task_transitions ORDER BY id";
        assert_eq!(world.ground.rows(sql), [[some("->pending")], [some("pending>complete!")]]);
    });
}

#[test]
fn who_was_overtaken_cannot_complete() {
    on_both(|mut world| {
        world.claim("p-1");
        world.later(Span::seconds(31));
        world.claim("p-2");
        assert_eq!(
            world.finalization.complete("t", "p-1").unwrap(),
            Completion::NotOwner { by: some("p-2") }
        );
        // One whose time is over but who was not overtaken may.
        world.later(Span::seconds(31));
        assert_eq!(world.finalization.complete("t", "p-2").unwrap(), Completion::Completed);
    });
}

#[test]
fn names_are_values_and_never_text_of_a_statement() {
    on_both(|mut world| {
        // PostgreSQL knows no zero in a text, and its index no longer ones.
        let (long, longest) = ("p".repeat(2_000), "p".repeat(100_000));
        let mut names = vec!["'; DROP TABLE tasker_tasks; --", "p\n", "\u{202e}p", "%", "NULL", " ", &long];
        if world.ground.engine() == Engine::Sqlite {
            names.extend(["p\0q", &longest]);
        }
        for name in &names {
            assert!(world.claim(name).is_claimed(), "{name:?}");
            let by = (*name).to_owned();
            assert_eq!(world.claim("p"), FinalizationClaim::AlreadyClaimed { by, until: Some(at(30_000)) });
            assert!(world.finalization.release("t", name).unwrap());
        }
        // Two claims and a release each.
        let attempts = i64::try_from(3 * names.len()).unwrap();
        assert_eq!(world.one::<i64>("SELECT count(*) FROM tasker_finalization_attempts"), attempts);
    });
}

#[test]
fn a_claim_that_cannot_be_read_is_left_to_people() {
    on_both(|mut world| {
        world.claim("p-1");
        let unreadable = match world.ground.engine() {
            Engine::Sqlite => ["NULL", "'yesterday'", "x'ff'", "17"],
            Engine::Postgres => ["NULL", "'infinity'", "'-infinity'", "'4000-01-01 BC'"],
        };
        for claimed_at in unreadable {
            world.ground.run(&format!("UPDATE tasker_tasks SET claimed_at = {claimed_at}"));
            world.later(Span::minutes(60));
            assert_eq!(
                world.claim("p-2"),
                FinalizationClaim::AlreadyClaimed { by: "p-1".into(), until: None }
            );
            assert!(!world.finalization.extend("t", "p-1").unwrap());
        }
        // What other writers write is read: claimtop's own extension, and a clock that is ahead.
        world.ground.run("UPDATE tasker_tasks SET claimed_at = '2026-11-15T20:00:00.000Z'");
        assert!(matches!(world.claim("p-2"), FinalizationClaim::AlreadyClaimed { until: Some(_), .. }));
        assert!(matches!(world.claim("p-1"), FinalizationClaim::Extended { .. }));
    });
}
