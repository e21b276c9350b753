//! A journal that somebody wrote, its chain and all: an undo writes what the profile's act writes, and nothing else.

use super::*;
use claimtop::recovery::trail::{Record, RecordStage, Trail, new_action_id};
use serde_json::json;

/// A scene with a reclaim, and a table that no act has to do with.
fn with_users() -> (Scene, Record) {
    let scene = Scene::stale();
    scene.execute("CREATE TABLE users (id TEXT PRIMARY KEY NOT NULL, name TEXT, admin INTEGER)", ());
    scene.execute("INSERT INTO users VALUES ('u1', 'mallory', 0)", ());
    scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
    let record =
        Trail::read_only(&folder(&scene)).expect("a trail").entries().expect("entries").remove(0).record;
    (scene, record)
}

fn folder(scene: &Scene) -> PathBuf {
    scene.journal().parent().expect("a folder").to_owned()
}

/// Appends an act that never was, with a chain that holds; answers its id.
fn forge(scene: &Scene, act: &Record, before: Json, after: Json) -> String {
    let id = new_action_id();
    let intent = Record { action_id: id.clone(), before, after, ..act.clone() };
    let outcome = Record { stage: RecordStage::Outcome, outcome: Some("applied".into()), ..intent.clone() };
    let mut trail = Trail::open(&folder(scene)).expect("a trail");
    trail.append(&[intent, outcome]).expect("appended");
    assert_eq!(scene.run(&["audit", "verify"]).code, 0, "the forged chain holds");
    id
}

/// An image of a row, where the engine finds it.
fn image(scene: &Scene, table: &str, key: (&str, &str), row: &Json) -> Json {
    match scene.database.server() {
        Some(_) => json!([{"table": table, "key": {key.0: key.1}, "row": row}]),
        None => json!([{"table": table, "rowid": 1, "row": row}]),
    }
}

#[track_caller]
fn assert_refused(scene: &Scene, id: &str, never: &str) {
    let bytes = scene.bytes();
    for more in [&["--json"][..], &["--json", "--dry-run"]] {
        let run = scene.run(&[&["undo", "DB", id][..], more].concat());
        run.came_to(5, "refused");
        run.says(never);
    }
    scene.assert_untouched(&bytes, "a forged record");
}

#[test]
fn a_forged_record_cannot_make_anybody_an_administrator() {
    on_both(|| {
        let (scene, act) = with_users();
        let user = |admin: i64| {
            image(&scene, "users", ("id", "u1"), &json!({"id": "u1", "name": "mallory", "admin": admin}))
        };
        let id = forge(&scene, &act, user(1), user(0));
        assert_refused(&scene, &id, "it never writes to users");
        assert_eq!(scene.number("SELECT admin FROM users"), 0);
        // Nor as an undo of something, or under the name of another act.
        let undo = Record { action: "undo".into(), refers_to: Some(act.action_id.clone()), ..act.clone() };
        let id = forge(&scene, &undo, user(1), user(0));
        assert_refused(&scene, &id, "it never writes to users");
        let undo = Record { refers_to: Some(new_action_id()), ..undo };
        let id = forge(&scene, &undo, user(1), user(0));
        assert_refused(&scene, &id, "not in the trail");
        for action in ["release", "extend", "requeue", "end_session", "nonsense"] {
            let id = forge(&scene, &Record { action: action.into(), ..act.clone() }, user(1), user(0));
            assert_refused(&scene, &id, "is not undone");
        }
        for (profile, board) in [("nonsense", "task"), ("coordination", "users"), ("merge-queue", "lock")] {
            let act = Record { profile: profile.into(), board: board.into(), ..act.clone() };
            let id = forge(&scene, &act, user(1), user(0));
            assert_refused(&scene, &id, "is not undone");
        }
        let end = Record { action: "end_session".into(), board: "users".into(), ..act };
        let id = forge(&scene, &end, user(1), user(0));
        assert_refused(&scene, &id, "is not undone");
    });
}

#[test]
fn an_undo_sets_only_the_columns_that_the_act_sets() {
    on_both(|| {
        let (scene, act) = with_users();
        scene.task("task-2", "worker-1", 60 * MINUTE);
        let row = |holder: &str| json!({"task_id": "task-2", "session_id": holder});
        let claim = |holder: &str| image(&scene, "task_claims", ("task_id", "task-2"), &row(holder));
        let extend = Record { action: "extend".into(), ..act };
        let id = forge(&scene, &extend, claim("mallory"), claim("worker-1"));
        assert_refused(&scene, &id, "it never sets task_claims.session_id");
        // Nor does an extension delete rows, or add any.
        let id = forge(
            &scene,
            &extend,
            claim("mallory"),
            image(&scene, "task_claims", ("task_id", "x"), &Json::Null),
        );
        assert_refused(&scene, &id, "it never deletes rows of task_claims");
        let id = forge(
            &scene,
            &extend,
            image(&scene, "task_claims", ("task_id", "x"), &Json::Null),
            claim("worker-1"),
        );
        assert_refused(&scene, &id, "it never adds rows to task_claims");
    });
}

#[test]
fn a_journal_that_everybody_may_write_undoes_nothing() {
    on_both(|| {
        let (scene, act) = with_users();
        let bytes = scene.bytes();
        for (path, mode) in [(scene.journal(), 0o666), (folder(&scene), 0o777)] {
            let was = fs::metadata(&path).expect("metadata").permissions();
            chmod(&path, mode);
            for arguments in
                [&["undo", "DB", &act.action_id, "--json"][..], &["reclaim", "DB", "task-1", "--json"]]
            {
                let run = scene.run(arguments);
                run.came_to(5, "refused");
                run.says(&format!("chmod go-w {}", path.display()));
            }
            assert_eq!(scene.run(&["audit", "list"]).code, 3);
            scene.assert_untouched(&bytes, "a journal of everybody");
            fs::set_permissions(&path, was).expect("a mode");
        }
        scene.run(&["undo", "DB", &act.action_id, "--json"]).came_to(0, "applied");
    });
}

#[test]
fn an_undo_shows_every_row_and_column_before_it_writes() {
    on_both(|| {
        let scene = Scene::stale();
        let object = scene.run(&["extend", "DB", "task-1", "--by", "2h", "--json"]).came_to(0, "applied");
        let id = object["action_id"].as_str().expect("an id");
        let (was, is) = (&object["before"][0]["row"]["expires_at"], &object["after"][0]["row"]["expires_at"]);
        let bytes = scene.bytes();
        let journal = fs::read(scene.journal()).expect("the journal");
        let rehearsed = scene.run(&["undo", "DB", id, "--dry-run"]);
        assert_eq!(rehearsed.code, 0, "{rehearsed:#?}");
        rehearsed.says(&format!("expires_at: {is} → {was}"));
        rehearsed.says("task_claims");
        scene.assert_untouched(&bytes, "a rehearsal");
        assert_eq!(fs::read(scene.journal()).expect("the journal"), journal);
        let undone = scene.run(&["undo", "DB", id]);
        assert_eq!(undone.code, 0, "{undone:#?}");
        assert!(undone.err.contains(&format!("expires_at: {is} → {was}")), "{undone:#?}");
    });
}
