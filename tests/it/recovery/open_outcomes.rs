//! Acts whose outcome was never written: the next act finds out what became of them, or says that
//! it cannot.

use super::*;
use crate::support::engine::{Engine, engine};
use crate::support::options::writable;
use crate::support::server::until;
use claimtop::domain::recovery::{Action, Authorization, Outcome};
use claimtop::domain::verdict::Set;
use claimtop::profile::Library;
use claimtop::recovery::trail::{Record, RecordStage, Trail, new_action_id};
use claimtop::recovery::{AuditedActor, PerformedAct};
use claimtop::store::{Filter, Profiles, Seen};
use rusqlite::Connection;
use std::any::Any;
use std::process::Stdio;

/// As if the program had died after the commit and before it could write the outcome.
fn forget_the_outcome(scene: &Scene) {
    let journal = fs::read_to_string(scene.journal()).expect("the journal");
    let end = journal.trim_end().rfind('\n').expect("two lines");
    fs::write(scene.journal(), &journal[..=end]).expect("a shorter journal");
    assert_eq!(open(scene), 1);
}

fn open(scene: &Scene) -> usize {
    scene.run(&["audit", "list", "--open", "--json"]).lines().len()
}

fn reclaimed(with_table: bool) -> (Scene, String) {
    let scene = Scene::stale();
    scene.task("next", "worker-1", 60 * MINUTE);
    if with_table {
        assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
    }
    let object = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
    (scene, object["action_id"].as_str().expect("an id").to_owned())
}

fn journal_length(scene: &Scene) -> u64 {
    fs::metadata(scene.journal()).map_or(0, |file| file.len())
}

/// Makes a database where the end of a batch can be held: a file without a log waits for its readers, and
/// on a server the table of the records can be made to wait.
fn with_ends_to_hold(scene: Scene) -> Scene {
    let Some(server) = scene.database.server() else {
        scene.database.connection.pragma_update(None, "journal_mode", "DELETE").expect("no log");
        return scene;
    };
    assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
    server.run(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
           'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END';
         CREATE TRIGGER wait BEFORE INSERT ON claimtop_audit EXECUTE FUNCTION wait()",
    );
    scene
}

/// Lets a batch get as far as its intents, and keeps its end from it until this is dropped.
fn hold_the_end(scene: &Scene) -> Box<dyn Any + Send> {
    if let Some(server) = scene.database.server() {
        let session = server.connect();
        session.run("SELECT pg_advisory_lock(1)");
        return Box::new(session);
    }
    let reader = Connection::open(scene.database.path()).expect("a connection");
    reader.execute_batch("BEGIN; SELECT count(*) FROM task_claims").expect("a look");
    Box::new(reader)
}

#[track_caller]
fn settles(scene: &Scene, action: &str, outcome: &str) {
    scene.run(&["extend", "DB", "next", "--json"]).came_to(0, "applied");
    assert_eq!(open(scene), 0);
    let shown = scene.run(&["audit", "show", action, "--json"]).lines();
    let last = shown.last().expect("a record");
    assert_eq!(last["record"]["outcome"], outcome, "{last:#}");
    assert_eq!(scene.run(&["audit", "verify"]).code, 0);
}

#[test]
fn what_was_done_is_found_to_be_done_where_the_database_can_tell() {
    on_both(|| {
        for with_table in [false, true] {
            let (scene, action) = reclaimed(with_table);
            forget_the_outcome(&scene);
            if !with_table && engine() == Engine::Sqlite {
                stays_open(&scene, &action);
                continue;
            }
            settles(&scene, &action, "applied");
            scene.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
        }
    });
}

/// A file without the table cannot tell who deleted a row.
#[track_caller]
fn stays_open(scene: &Scene, action: &str) {
    scene.run(&["extend", "DB", "next", "--json"]).came_to(0, "applied");
    assert_eq!(open(scene), 1);
    let before = scene.rows("task_claims");
    let undone = scene.run(&["undo", "DB", action, "--json"]);
    undone.came_to(5, "refused");
    undone.says("not known whether");
    assert_eq!((scene.rows("task_claims"), open(scene)), (before, 1));
    assert_eq!(scene.run(&["audit", "verify"]).code, 0);
}

#[test]
fn what_only_the_rows_suggest_is_said_and_not_undone() {
    let scene = Scene::stale();
    scene.task("next", "worker-1", 60 * MINUTE);
    let extended = scene.run(&["extend", "DB", "task-1", "--json"]).came_to(0, "applied");
    let action = extended["action_id"].as_str().expect("an id");
    forget_the_outcome(&scene);
    settles(&scene, action, "applied");
    let last = scene.export().into_iter().rfind(|one| one["action_id"] == action).expect("an outcome");
    assert_eq!(last["inferred"], true, "{last:#}");
    let before = scene.rows("task_claims");
    let undone = scene.run(&["undo", "DB", action, "--json"]);
    undone.came_to(5, "refused");
    undone.says("only inferred");
    assert_eq!(scene.rows("task_claims"), before);
}

#[test]
fn what_was_not_done_is_found_to_be_not_done() {
    on_both(|| {
        let scene = with_ends_to_hold(Scene::stale());
        scene.task("task-2", "worker-1", -60 * MINUTE);
        scene.task("next", "worker-1", 60 * MINUTE);
        let before = scene.rows("task_claims");
        let end = hold_the_end(&scene);
        let mut command = scene.command(&["reclaim", "DB", "--set", "stale", "--yes"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("claimtop runs");
        until("the intents", || journal_length(&scene) > 0);
        child.kill().expect("killed");
        child.wait().expect("its end");
        drop(end);
        until("everything to be as it was", || scene.rows("task_claims") == before);
        assert_eq!(open(&scene), 2);
        let actions: Vec<Json> = scene.export().iter().map(|intent| intent["action_id"].clone()).collect();
        for action in actions {
            settles(&scene, action.as_str().expect("an id"), "refused");
        }
    });
}

#[test]
fn a_row_that_its_worker_deleted_does_not_make_a_killed_act_applied() {
    on_both(|| {
        let scene = with_ends_to_hold(Scene::stale());
        scene.task("task-2", "worker-1", -60 * MINUTE);
        scene.task("next", "worker-1", 60 * MINUTE);
        let before = scene.rows("task_claims");
        let end = hold_the_end(&scene);
        let mut command = scene.command(&["reclaim", "DB", "--set", "stale", "--yes"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("claimtop runs");
        until("the intents", || journal_length(&scene) > 0);
        child.kill().expect("killed");
        child.wait().expect("its end");
        drop(end);
        until("everything to be as it was", || scene.rows("task_claims") == before);
        // The worker finishes.
        scene.execute("DELETE FROM task_claims WHERE task_id = 'task-1'", []);
        scene.run(&["extend", "DB", "next", "--json"]).came_to(0, "applied");
        let of_task = scene.export().into_iter().filter(|one| one["address"] == "coordination/task/task-1");
        let of_task: Vec<Json> = of_task.collect();
        let called: Vec<&str> = of_task.iter().filter_map(|one| one["outcome"].as_str()).collect();
        match engine() {
            Engine::Sqlite => assert_eq!((called.len(), open(&scene)), (0, 1), "{called:?}"),
            Engine::Postgres => assert_eq!(called, ["refused"]),
        }
        let undone = scene.run(&["undo", "DB", of_task[0]["action_id"].as_str().expect("an id"), "--json"]);
        assert_ne!(undone.code, 0, "{undone:#?}");
        assert_eq!(scene.held(), ["next", "task-2"], "finished work came back");
    });
}

#[test]
fn an_undo_is_found_to_be_done() {
    on_both(|| {
        for with_table in [false, true] {
            let (scene, action) = reclaimed(with_table);
            let undone = scene.run(&["undo", "DB", &action, "--json"]).came_to(0, "applied");
            forget_the_outcome(&scene);
            let undo = undone["action_id"].as_str().expect("an id");
            settles(&scene, undo, "applied");
            let last = scene.export().into_iter().rfind(|one| one["action_id"] == undo).expect("an outcome");
            let is_proven = with_table || engine() == Engine::Postgres;
            assert_eq!(last["inferred"].is_null(), is_proven, "{last:#}");
        }
    });
}

#[test]
fn a_table_that_came_later_does_not_deny_what_was_done() {
    on_both(|| {
        let (scene, action) = reclaimed(false);
        forget_the_outcome(&scene);
        assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
        match engine() {
            Engine::Sqlite => stays_open(&scene, &action),
            Engine::Postgres => settles(&scene, &action, "applied"),
        }
    });
}

#[test]
fn what_nobody_can_tell_stays_open() {
    on_both(|| {
        let scene = Scene::stale();
        scene.task("next", "worker-1", 60 * MINUTE);
        scene.run(&["extend", "DB", "task-1", "--json"]).came_to(0, "applied");
        forget_the_outcome(&scene);
        scene.execute("UPDATE task_claims SET heartbeat_count = 9 WHERE task_id = 'task-1'", []);
        scene.run(&["extend", "DB", "next", "--json"]).came_to(0, "applied");
        // Rows do not tell any more, but a server knows what became of a transaction.
        let untold = usize::from(engine() == Engine::Sqlite);
        assert_eq!(open(&scene), untold);
    });
}

#[test]
fn acts_on_another_database_are_left_to_it() {
    on_both(|| {
        let (scene, _) = reclaimed(false);
        forget_the_outcome(&scene);
        let other = Scene::stale();
        let path = other.database.source();
        scene.run(&["extend", &path, "task-1", "--json"]).came_to(0, "applied");
        assert_eq!(open(&scene), 1);
    });
}

/// A audited that is about to do a lot, in a trail that others write to as well.
struct Company {
    scene: Scene,
    audited: AuditedActor,
    trail: Trail,
    /// What others wrote before an act that they did.
    intent: Record,
}

impl Company {
    /// Two claims and two locks that are stale.
    fn new() -> Company {
        let scene = with_ends_to_hold(Scene::stale());
        scene.tasks(2);
        ["a", "b"].iter().for_each(|name| scene.lock(name, "worker-1", -60 * MINUTE));
        let folder = scene.journal().parent().expect("a folder").to_owned();
        // Its row stays, so that it can be found out.
        scene.run(&["extend", "DB", "task-1", "--json"]).came_to(0, "applied");
        let trail = Trail::open(&folder).expect("a trail");
        let mut entries = trail.entries().expect("entries");
        assert_eq!(entries[0].record.stage, RecordStage::Intent);
        let intent = entries.swap_remove(0).record;
        let profiles = Profiles::Detect(Library::built_in());
        let options = scene.database.options(profiles, |options| options.frozen_at = None);
        let audited = AuditedActor::open(writable(options), &scene.database.source(), &folder)
            .expect("an audited actor");
        Company { scene, audited, trail, intent }
    }

    fn stale(&mut self) -> Vec<Seen> {
        let filter = Filter { sets: vec![Set::Stale], ..Filter::default() };
        self.audited.actor().select(&filter).expect("a look")
    }

    /// What the audited settles is what the others have left open, and then there is no more of it.
    #[track_caller]
    fn settles(&mut self, action: &str) {
        let settled = self.audited.settle_open_actions().expect("an end");
        let settled: Vec<_> = settled.iter().map(|one| (&*one.action_id, one.outcome.as_deref())).collect();
        assert_eq!(settled, [(action, Some("applied"))]);
        assert_eq!(open(&self.scene), 0);
    }
}

/// As if somebody had died after the same act, under a name of its own.
fn leave_open(trail: &mut Trail, intent: &Record) -> String {
    let action_id = new_action_id();
    trail.append(&[Record { action_id: action_id.clone(), ..intent.clone() }]).expect("an intent");
    action_id
}

#[test]
fn what_others_leave_open_between_two_batches_of_a_desk_is_found() {
    on_both(|| {
        let mut company = Company::new();
        let all = company.stale();
        let Company { audited, trail, intent, .. } = &mut company;
        let mut heard = 0;
        let mut left = None;
        let mut each = |told: PerformedAct<'_>| {
            assert_eq!(told.acted.outcome, Outcome::Applied);
            heard += 1;
            // Claims and locks are two batches.
            if heard == 1 {
                left = Some(leave_open(trail, intent));
            }
            true
        };
        audited
            .perform_all(all.iter().collect(), Action::Reclaim, &Authorization::default(), &mut each)
            .expect("acts");
        assert_eq!(heard, 4);
        company.settles(&left.expect("an act"));
    });
}

#[test]
fn what_others_leave_open_while_a_desk_commits_is_found() {
    on_both(|| {
        let mut company = Company::new();
        let mut all = company.stale();
        all.truncate(2);
        let Company { scene, audited, trail, intent } = &mut company;
        let end = hold_the_end(scene);
        let (journal, before) = (scene.journal(), journal_length(scene));
        let left = std::thread::scope(|scope| {
            let others = scope.spawn(move || {
                until("the intents", || fs::metadata(&journal).is_ok_and(|file| file.len() > before));
                let left = leave_open(trail, intent);
                drop(end);
                left
            });
            let mut each = |told: PerformedAct<'_>| {
                assert_eq!(told.acted.outcome, Outcome::Applied);
                true
            };
            audited
                .perform_all(all.iter().collect(), Action::Reclaim, &Authorization::default(), &mut each)
                .expect("acts");
            others.join().expect("an act")
        });
        let entries = company.trail.entries().expect("entries");
        let at = entries.iter().position(|entry| entry.record.action_id == left).expect("the intent");
        let around = [at - 1, at + 1].map(|at| entries[at].record.stage);
        assert_eq!(around, [RecordStage::Intent, RecordStage::Outcome], "it came between");
        company.settles(&left);
    });
}

#[test]
fn what_others_leave_open_after_the_batches_of_a_desk_is_found_before_the_next() {
    on_both(|| {
        let mut company = Company::new();
        let all = company.stale();
        let (claims, locks) = all.split_at(2);
        let Company { audited, trail, intent, .. } = &mut company;
        let mut perform = |some: &[Seen]| {
            audited
                .perform_all(some.iter().collect(), Action::Reclaim, &Authorization::default(), &mut |_| true)
                .expect("acts");
        };
        perform(claims);
        let left = leave_open(trail, intent);
        perform(locks);
        let is_it = |record: &Record| record.action_id == left && record.stage == RecordStage::Outcome;
        let entries = trail.entries().expect("entries");
        let told = entries.iter().filter(|entry| is_it(&entry.record)).count();
        assert_eq!((told, open(&company.scene)), (1, 0));
    });
}
