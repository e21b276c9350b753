//! Names that nobody sane would give: they come back as they went in.

use claimtop::worker::coordination::{ClaimOptions, ReleaseOutcome};
use serde_json::json;

use super::World;

fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "",
        "'; DROP TABLE task_claims; --",
        "\"quoted\" `back` [bracket]",
        "line\nfeed\ttab\rreturn \u{1b}[31mred\u{7}",
        "right\u{202e}left \u{200b}nothing \u{fffd}",
        "%_?1 :name @x $y",
        "NULL",
        "\u{1f980}",
    ]
    .map(String::from)
    .into();
    names.push("x".repeat(1 << 20));
    names
}

#[test]
fn hostile_names_survive_the_whole_life_of_a_claim() {
    for name in names() {
        let short: String = name.chars().take(40).collect();
        let mut world = World::new();
        world.session(&name);
        let options = ClaimOptions {
            metadata: Some(json!({ name.clone(): name })),
            ancestors: vec![name.clone()],
            ..ClaimOptions::default()
        };
        let answer = world.coordination.claim_task(&name, &name, &options).expect("an answer");
        assert!(answer.is_held(), "{short:?}");
        world.coordination.acquire_lock(&name, &name, None).expect("an answer");
        assert_eq!(world.claims(), [(name.clone(), name.clone())], "{short:?}");
        let claim = world.coordination.claim(&name).expect("a look").expect("a claim");
        assert_eq!((claim.task_id == name, claim.session_id == name), (true, true), "{short:?}");
        let released = world.coordination.release_claim(&name, &name, &name).expect("an answer");
        assert_eq!(released, ReleaseOutcome::Released { held_for_ms: 0 }, "{short:?}");
        let gone = world.coordination.deregister(&name).expect("an answer");
        assert_eq!((gone.deregistered, gone.locks_released), (true, 1), "{short:?}");
    }
}

#[test]
fn names_that_differ_only_in_case_or_space_are_different() {
    let mut world = World::new();
    world.session("ann");
    world.session("Ann");
    world.session("ann ");
    for (task, session) in [("task", "ann"), ("Task", "Ann"), ("task ", "ann ")] {
        assert!(world.try_claim(task, session).is_held());
    }
    assert_eq!(world.claims().len(), 3);
    assert!(!world.try_claim("task", "Ann").is_held());
}
