//! One claim: the exit codes and the object, as scripts rely on them.

use super::*;

const PAIRS: &str = r#"
title = "Pairs"
about = "Runs with a name of two parts"
[[claim]]
name       = "run"
role       = "job"
table      = "runs"
held       = "c.held_by IS NOT NULL"
id         = ["name", "part"]
holder     = "held_by"
claimed_at = "at"
time       = "unix_ms"
deadline   = { column = "until", lease = "30m" }
fenced     = true
reclaim    = { set = { held_by = "NULL" } }
"#;

#[test]
fn a_stale_claim_is_reclaimed_and_the_answer_says_what_was_there() {
    on_both(|| {
        let scene = Scene::stale();
        let object = scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(0, "applied");
        assert_eq!(object["action"], "reclaim");
        assert_eq!(object["id"], "task-1");
        assert_eq!(object["holder"], "worker-1");
        assert_eq!(object["why"], Json::Null);
        assert_eq!(object["before"][0]["row"]["session_id"], "worker-1");
        assert_eq!(object["after"][0]["row"], Json::Null);
        assert_eq!(scene.held(), [""; 0]);
        let trail = scene.export();
        assert_eq!(trail.len(), 2);
        for record in &trail {
            assert_eq!(record["action_id"], object["action_id"]);
        }
    });
}

#[test]
fn options_stand_before_or_after_the_source() {
    on_both(|| {
        for arguments in [
            ["reclaim", "--json", "--reason", "by hand", "DB", "task-1"],
            ["reclaim", "DB", "--reason", "by hand", "task-1", "--json"],
            ["--json", "reclaim", "DB", "task-1", "--reason", "by hand"],
        ] {
            let scene = Scene::stale();
            scene.run(&arguments).came_to(0, "applied");
            assert_eq!(scene.export()[0]["reason"], "by hand");
        }
    });
}

#[test]
fn an_id_of_two_claims_is_an_error_that_lists_their_addresses() {
    on_both(|| {
        let scene = Scene::stale();
        scene.lock("task-1", "worker-1", -60 * MINUTE);
        let run = scene.run(&["reclaim", "DB", "task-1", "--json"]);
        assert_eq!(run.code, 3, "{run:#?}");
        run.says("coordination/task/task-1");
        run.says("coordination/lock/task-1");
        assert_eq!(scene.held(), ["task-1"]);
        // Its board, or its address, makes it one.
        scene.run(&["reclaim", "DB", "task-1", "--board", "lock", "--json"]).came_to(0, "applied");
        assert_eq!(scene.number("SELECT count(*) FROM locks"), 0);
        scene.run(&["reclaim", "DB", "coordination/task/task-1", "--json"]).came_to(0, "applied");
    });
}

#[test]
fn a_claim_that_is_gone_has_moved() {
    on_both(|| {
        let scene = Scene::stale();
        for verb in ["reclaim", "release", "extend"] {
            let object = scene.run(&[verb, "DB", "task-2", "--json"]).came_to(4, "moved");
            assert_eq!((&object["action"], &object["id"]), (&verb.into(), &"task-2".into()));
        }
        assert_eq!(scene.export().len(), 0);
    });
}

#[test]
fn a_token_that_fits_applies_and_one_that_does_not_has_moved() {
    on_both(|| {
        let scene = Scene::stale();
        let token = scene.seen("task-1");
        scene.execute("UPDATE task_claims SET heartbeat_count = 7", []);
        let bytes = scene.bytes();
        scene.run(&["reclaim", "DB", "task-1", "--seen", &token, "--json"]).came_to(4, "moved");
        scene.assert_untouched(&bytes, "a token that no longer fits");
        let token = scene.seen("task-1");
        scene.run(&["reclaim", "DB", "task-1", "--seen", &token, "--json"]).came_to(0, "applied");
        scene.run(&["reclaim", "DB", "task-1", "--seen", &token, "--json"]).came_to(4, "moved");
    });
}

#[test]
fn what_moved_comes_before_what_is_refused() {
    on_both(|| {
        let scene = Scene::stale();
        let token = scene.seen("task-1");
        // Renewed: a reclaim would need force now, but that is not the question any more.
        scene.execute("UPDATE task_claims SET expires_at = ?1", [now() + 60 * MINUTE]);
        for more in [&[][..], &["--force"], &["--force", "--reason", "x", "--holder", "worker-2"]] {
            let mut arguments = vec!["reclaim", "DB", "task-1", "--json", "--seen", token.as_str()];
            arguments.extend(more);
            scene.run(&arguments).came_to(4, "moved");
        }
        scene.run(&["reclaim", "DB", "task-1", "--json"]).came_to(5, "refused");
    });
}

#[test]
fn a_healthy_claim_takes_force_a_reason_and_the_right_name() {
    on_both(|| {
        let scene = Scene::new();
        scene.session("worker-1", SECOND);
        scene.task("task-1", "worker-1", 60 * MINUTE);
        let bytes = scene.bytes();
        let refused: [(&[&str], &str); 5] = [
            (&[], "--force"),
            (&["--holder", "worker-1", "--reason", "x"], "--force"),
            (&["--force"], "--force needs a --reason"),
            (&["--force", "--reason", "x"], "name the holder"),
            (&["--force", "--reason", "x", "--holder", "worker-2"], "worker-2 is not its holder"),
        ];
        for verb in ["reclaim", "release"] {
            for (more, sentence) in refused {
                let mut arguments = vec![verb, "DB", "task-1", "--json"];
                arguments.extend(more);
                let object = scene.run(&arguments).came_to(5, "refused");
                let why = object["why"].as_str().expect("why");
                assert!(why.contains(sentence), "{sentence:?} is not in {why:?}");
            }
        }
        scene.assert_untouched(&bytes, "a refusal");
        let forced = ["--force", "--reason", "it hangs", "--holder", "worker-1"];
        scene.run(&[&["release", "DB", "task-1", "--json"][..], &forced].concat()).came_to(0, "applied");
        assert_eq!(scene.held(), [""; 0]);
    });
}

#[test]
fn an_address_is_percent_encoded_and_an_id_is_not() {
    on_both(|| {
        let strange = ["a b/c", "naïve?", "50%", "x,y", "coordination/task/x", "-leading"];
        for id in strange {
            let scene = Scene::new();
            scene.session("worker-1", SECOND);
            scene.task(id, "worker-1", -60 * MINUTE);
            let address = scene.listed(id)["address"].as_str().expect("an address").to_owned();
            assert!(!address["coordination/task/".len()..].contains(['/', ' ', '?', ',']), "{address}");
            let object = scene.run(&["reclaim", "DB", &address, "--json"]).came_to(0, "applied");
            assert_eq!(object["id"], id);
            let undone = scene.run(&["undo", "DB", object["action_id"].as_str().expect("an id"), "--json"]);
            assert_eq!(undone.came_to(0, "applied")["id"], id);
            // What looks like an address is taken for one.
            if !id.starts_with("coordination/") {
                scene.run(&["reclaim", "--json", "DB", "--", id]).came_to(0, "applied");
            }
        }
    });
}

#[test]
fn an_id_of_two_parts_is_joined_by_a_comma() {
    on_both(|| {
        let scene = Scene::of(
            "CREATE TABLE runs (name TEXT, part INTEGER, held_by TEXT, at INTEGER, until INTEGER,
           PRIMARY KEY (name, part));",
        );
        let profile = scene.database.beside("pairs.toml");
        fs::write(&profile, PAIRS).expect("a profile");
        let profile = profile.to_str().expect("UTF-8");
        for (name, part) in [("night", 1), ("night", 2), ("day", 1)] {
            scene.execute(
                "INSERT INTO runs VALUES (?1, ?2, 'w', ?3, ?4)",
                (name, part, now() - 120 * MINUTE, now() - 60 * MINUTE),
            );
        }
        scene.run(&["reclaim", "DB", "night", "--profile", profile, "--json"]).came_to(4, "moved");
        for id in ["night,2", "pairs/run/day,1"] {
            scene.run(&["reclaim", "DB", id, "--profile", profile, "--json"]).came_to(0, "applied");
        }
        let left = "SELECT count(*) FROM runs WHERE held_by IS NOT NULL AND name = 'night' AND part = 1";
        assert_eq!(scene.number(left), 1);
        assert_eq!(scene.number("SELECT count(*) FROM runs WHERE held_by IS NOT NULL"), 1);
    });
}

#[test]
fn an_extension_gives_the_time_that_was_asked_for() {
    on_both(|| {
        let scene = Scene::stale();
        let before = now();
        scene.run(&["extend", "DB", "task-1", "--by", "30m", "--json"]).came_to(0, "applied");
        let until = scene.number("SELECT expires_at FROM task_claims");
        assert!((before + 30 * MINUTE..=now() + 30 * MINUTE).contains(&until), "{}", until - before);
        assert_eq!(scene.listed("task-1")["verdict"], "healthy");
        let run = scene.run(&["extend", "DB", "task-1", "--by", "soon"]);
        assert_eq!(run.code, 3, "{run:#?}");
    });
}

#[test]
fn a_profile_whose_tables_could_be_anybodys_is_named() {
    on_both(|| {
        let scene = Scene::of(
            "CREATE TABLE task_types (id INTEGER PRIMARY KEY, name TEXT);
         INSERT INTO task_types VALUES (1, 'fetch');
         CREATE TABLE tasks (id INTEGER PRIMARY KEY AUTOINCREMENT, task_type_id INTEGER NOT NULL,
           status TEXT NOT NULL, error_message TEXT, priority INTEGER DEFAULT 0, attempts INTEGER DEFAULT 0,
           max_attempts INTEGER DEFAULT 3, worker_id TEXT, claimed_at DATETIME, created_at DATETIME,
           updated_at DATETIME);
         CREATE TABLE task_logs (id INTEGER PRIMARY KEY, task_id INTEGER, event TEXT, worker_id TEXT,
           message TEXT, metadata TEXT, created_at DATETIME);",
        );
        let claimed = chrono::Utc::now() - chrono::TimeDelta::hours(1);
        scene.execute(
            "INSERT INTO tasks (task_type_id, status, worker_id, claimed_at) VALUES (1, 'claimed', 'w1', ?1)",
            [claimed.format("%Y-%m-%d %H:%M:%S").to_string()],
        );
        let bytes = scene.bytes();
        let object = scene.run(&["reclaim", "DB", "1", "--json"]).came_to(5, "refused");
        assert!(object["why"].as_str().expect("why").contains("--profile task-queue"), "{object}");
        scene.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]).came_to(5, "refused");
        scene.assert_untouched(&bytes, "a profile that nobody named");
        scene.run(&["reclaim", "DB", "1", "--profile", "task-queue", "--json"]).came_to(0, "applied");
        assert_eq!(scene.number("SELECT count(*) FROM tasks WHERE status = 'pending'"), 1);
        assert_eq!(scene.number("SELECT count(*) FROM task_logs WHERE task_id = 1"), 1);
    });
}
