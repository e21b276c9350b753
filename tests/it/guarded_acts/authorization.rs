//! Who has to say how much before a claim is taken.

use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::store::Actor;

use super::{act, actor, actor_by, fast, look, row, text};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND};

/// One healthy task, one with a silent heartbeat, both of a living session.
fn living() -> Database {
    let database = fast(COORDINATION);
    database.session("w-1", SECOND);
    database.task("healthy", "w-1", 20 * MINUTE);
    database.task("silent", "w-1", 5 * MINUTE);
    database.run("UPDATE task_claims SET last_heartbeat = ?1 WHERE task_id = 'silent'", [NOW - 120 * MINUTE]);
    database
}

fn word(force: bool, holder: Option<&str>, reason: Option<&str>) -> Authorization {
    Authorization {
        force,
        holder: holder.map(str::to_owned),
        reason: reason.map(str::to_owned),
        ..Authorization::default()
    }
}

/// The refusal, which must be one and write nothing.
fn refusal(database: &Database, actor: &mut Actor, id: &str, action: Action, word: &Authorization) -> String {
    let before = database.dump();
    let seen = look(actor, id);
    let acted = act(actor, &seen, action, word);
    assert_eq!(database.dump(), before);
    match acted.outcome {
        Outcome::Refused(why) => why.to_string(),
        other => panic!("{action} of {id} with {word:?}: {other:?}"),
    }
}

#[test]
fn a_healthy_claim_takes_force_a_holder_and_a_reason() {
    on_both(|| {
        let database = living();
        let mut actor = actor(&database);
        for action in [Action::Reclaim, Action::Release] {
            let mut refused = |word: Authorization| refusal(&database, &mut actor, "healthy", action, &word);
            let why = refused(word(false, None, None));
            assert!(why.contains("healthy") && why.contains("--force --holder w-1 --reason"), "{why}");
            // Naming the holder alone is not force.
            refused(word(false, Some("w-1"), Some("because")));
            assert!(refused(word(true, Some("w-1"), None)).contains("--reason"));
            assert!(refused(word(true, Some("w-1"), Some("  "))).contains("--reason"));
            assert!(refused(word(true, None, Some("because"))).contains("--holder w-1"));
            let why = refused(word(true, Some("w-2"), Some("because")));
            assert!(why.contains("w-2 is not its holder") && why.contains("w-1"), "{why}");
        }
        let seen = look(&mut actor, "healthy");
        let acted = act(&mut actor, &seen, Action::Reclaim, &word(true, Some("w-1"), Some("because")));
        assert_eq!(acted.outcome, Outcome::Applied);
        assert_eq!(row(&database, "SELECT string_agg(task_id, ',') FROM task_claims"), [text("silent")]);
    });
}

#[test]
fn a_silent_heartbeat_under_a_running_lease_takes_the_name() {
    on_both(|| {
        let database = living();
        let mut actor = actor(&database);
        let mut refused =
            |word: Authorization| refusal(&database, &mut actor, "silent", Action::Reclaim, &word);
        assert!(refused(word(false, None, None)).contains("--holder w-1"));
        assert!(refused(word(false, Some("w"), None)).contains("is not its holder"));
        let seen = look(&mut actor, "silent");
        let acted = act(&mut actor, &seen, Action::Reclaim, &word(false, Some("w-1"), None));
        assert_eq!(acted.outcome, Outcome::Applied);
    });
}

#[test]
fn a_silent_session_whose_claim_still_beats_takes_the_name() {
    on_both(|| {
        let database = fast(COORDINATION);
        database.session("w-1", 120 * MINUTE);
        database.task("task-1", "w-1", 20 * MINUTE);
        let mut actor = actor(&database);
        let why = refusal(&database, &mut actor, "task-1", Action::Reclaim, &Authorization::default());
        assert!(why.contains("--holder w-1"), "{why}");
    });
}

#[test]
fn a_claim_without_a_holder_takes_what_its_refusal_asks_for() {
    on_both(|| {
        let database = living();
        let profile = "title = \"t\"\n[[claim]]\nname = \"task\"\nrole = \"task\"\ntable = \"task_claims\"\n\
        id = \"task_id\"\ntime = \"unix_ms\"\ndeadline = { column = \"expires_at\", lease = \"30m\" }\n\
        reclaim = { delete = true }\n";
        let mut actor = actor_by(&database, profile);
        let mut refused =
            |word: Authorization| refusal(&database, &mut actor, "healthy", Action::Reclaim, &word);
        let why = refused(word(false, None, None));
        assert!(why.ends_with("to do it anyway: --force --reason TEXT"), "{why}");
        assert!(refused(word(true, None, None)).contains("--reason"));
        let why = refused(word(true, Some("nobody"), Some("because")));
        assert!(why.contains("nobody is not its holder; it has none"), "{why}");
        let seen = look(&mut actor, "healthy");
        let acted = act(&mut actor, &seen, Action::Reclaim, &word(true, None, Some("because")));
        assert_eq!(acted.outcome, Outcome::Applied);
    });
}

#[test]
fn force_does_not_take_what_moved() {
    on_both(|| {
        let database = living();
        let mut actor = actor(&database);
        let seen = look(&mut actor, "healthy");
        database.run("UPDATE task_claims SET metadata = 'x' WHERE task_id = 'healthy'", []);
        let before = database.dump();
        let acted = act(&mut actor, &seen, Action::Reclaim, &word(true, Some("w-1"), Some("because")));
        assert!(super::is_moved(&acted.outcome), "{:?}", acted.outcome);
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn what_a_profile_does_not_describe_is_not_done() {
    on_both(|| {
        let database = living();
        let profile = "title = \"t\"\n[[claim]]\nname = \"task\"\nrole = \"task\"\ntable = \"task_claims\"\n\
        id = \"task_id\"\nholder = \"session_id\"\ntime = \"unix_ms\"\n\
        deadline = { column = \"expires_at\", lease = \"30m\" }\n";
        let mut actor = actor_by(&database, profile);
        database.run("UPDATE task_claims SET expires_at = 5", []);
        for action in [Action::Reclaim, Action::Release, Action::Extend] {
            let why = refusal(&database, &mut actor, "healthy", action, &Authorization::default());
            assert!(why.contains(action.as_str()), "{why}");
        }
    });
}

#[test]
fn what_a_profile_forbids_is_not_done() {
    on_both(|| {
        let database = living();
        let profile = "title = \"t\"\n[[claim]]\nname = \"task\"\nrole = \"task\"\ntable = \"task_claims\"\n\
        id = \"task_id\"\nholder = \"session_id\"\ntime = \"unix_ms\"\n\
        deadline = { column = \"expires_at\", lease = \"30m\" }\n\
        reclaim = { delete = true, blocked_by = \"c.metadata = 'keep'\" }\n";
        let mut actor = actor_by(&database, profile);
        database
            .run("UPDATE task_claims SET expires_at = 5, metadata = 'keep' WHERE task_id = 'healthy'", []);
        let why = refusal(&database, &mut actor, "healthy", Action::Reclaim, &Authorization::default());
        assert!(why.contains("forbids"), "{why}");
        database.run("UPDATE task_claims SET metadata = NULL", []);
        super::applied(&mut actor, "healthy", Action::Reclaim);
    });
}
