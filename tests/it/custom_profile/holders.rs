//! What a profile may say of holders without a heartbeat, and of those that something else shows at work.

use serde_json::Value as Json;
use std::process::Output;

use crate::support::engine::on_both;
use crate::support::{Database, NOW, SECOND, in_their_words, json, stderr, stdout};

const TABLES: &str = "
    CREATE TABLE jobs (id INTEGER PRIMARY KEY, holder TEXT, taken BIGINT, ends BIGINT, paused INTEGER NOT NULL);
    CREATE TABLE crew (name TEXT PRIMARY KEY, gone_at BIGINT);
    CREATE TABLE lamps (name TEXT PRIMARY KEY);";

const PROFILE: &str = "
title = 'Mine'
[[claim]]
name = 'job'
table = 'jobs'
id = 'id'
holder = 'holder'
claimed_at = 'taken'
time = 'unix_ms'
alive_when = \"EXISTS (SELECT 1 FROM lamps l WHERE l.name = c.holder)\"
refuse_when = \"c.paused = 1\"
deadline = { column = 'ends', otherwise = '5m', lease = '5m' }
reclaim = { set = { holder = 'NULL' } }
[claim.session]
table = 'crew'
id = 'name'
stale_at = 'gone_at'
time = 'unix_ms'
";

#[test]
fn an_expiry_a_lamp_and_a_default_deadline_decide() {
    on_both(|| {
        let database = Database::with(TABLES, &in_their_words(TABLES));
        database.run(
            "INSERT INTO crew VALUES ('on', ?1), ('off', ?2), ('lit', ?2)",
            (NOW + SECOND, NOW - SECOND),
        );
        database.batch("INSERT INTO lamps VALUES ('lit')");
        for (id, holder, taken, ends, paused) in [
            (1, "on", 0, Some(NOW + 400 * SECOND), 0),
            (2, "off", 0, Some(NOW + 400 * SECOND), 0),
            (3, "lit", 0, Some(NOW + 400 * SECOND), 0),
            (4, "on", -301 * SECOND, None, 0),
            (5, "on", -10 * SECOND, None, 0),
            (6, "on", -301 * SECOND, None, 1),
            (7, "lit", -301 * SECOND, None, 0),
        ] {
            database
                .run("INSERT INTO jobs VALUES (?1, ?2, ?3, ?4, ?5)", (id, holder, NOW + taken, ends, paused));
        }
        let path = database.beside("mine.toml");
        std::fs::write(&path, PROFILE).expect("the profile");
        let path = path.to_str().expect("UTF-8");
        let all = database.list(&["--profile", path]);
        let verdict = |id: &str| {
            let claim = all.iter().find(|claim| claim["id"] == id).expect("a claim");
            (claim["verdict"].as_str().expect("a verdict").to_owned(), claim["reasons"].to_string())
        };
        let is = |id: &str, set: &str, reasons: &str| {
            assert_eq!(verdict(id), (set.into(), reasons.into()), "{id}");
        };
        is("1", "healthy", "[]");
        is("2", "orphaned", "[\"session_stale\"]");
        is("3", "healthy", "[]");
        is("4", "stale", "[\"lease_expired\"]");
        is("5", "healthy", "[]");
        is("7", "stale", "[\"lease_expired\"]");
        let (counts, _) = database.check_with(&["--profile", path]);
        assert_eq!(
            (&counts["claims"]["stale"], &counts["claims"]["orphaned"]),
            (&3.into(), &1.into()),
            "{counts}"
        );
    });
}

/// Two jobs whose time is over: `paused` may not be touched, and the holder of the other one is at work.
struct Scene {
    database: Database,
}

const PAUSED: &str = "1";
const LIT: &str = "2";

impl Scene {
    fn new() -> Scene {
        let scene = Scene { database: Database::with(TABLES, &in_their_words(TABLES)) };
        let now = chrono::Utc::now().timestamp_millis();
        let (taken, soon) = (now - 400 * SECOND, now + 400 * SECOND);
        scene.database.run("INSERT INTO crew VALUES ('on', ?1), ('lit', ?1)", [soon]);
        scene.database.batch("INSERT INTO lamps VALUES ('lit')");
        for (id, holder, paused) in [(PAUSED, "on", 1), (LIT, "lit", 0)] {
            scene.database.run(
                "INSERT INTO jobs VALUES (?1, ?2, ?3, NULL, ?4)",
                (id.parse::<i64>().expect("a number"), holder, taken, paused),
            );
        }
        let profile = PROFILE.replace("reclaim =", "release = { set = { holder = 'NULL' } }\nreclaim =");
        std::fs::write(scene.database.beside("mine.toml"), profile).expect("the profile");
        scene
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let (verb, rest) = arguments.split_first().expect("a verb");
        let mut command = self.database.command(&[verb]);
        command.args(rest).arg("--profile").arg(self.database.beside("mine.toml"));
        command.env("XDG_STATE_HOME", self.database.beside("state"));
        command.output().expect("claimtop runs")
    }

    fn held(&self) -> Vec<String> {
        self.database.texts("SELECT id FROM jobs WHERE holder IS NOT NULL ORDER BY id")
    }
}

#[test]
fn a_claim_that_the_profile_refuses_is_refused_whatever_is_said() {
    on_both(|| {
        let scene = Scene::new();
        let forced = ["--force", "--holder", "on", "--reason", "it hangs"];
        for verb in ["reclaim", "release"] {
            for said in
                [&[][..], &forced, &["--force", "--holder", "on", "--reason", "it hangs", "--dry-run"]]
            {
                let refused = scene.run(&[&[verb, PAUSED][..], said].concat());
                assert_eq!(refused.status.code(), Some(5), "{refused:?}");
                assert!(stdout(&refused).contains("the profile forbids it for this claim"), "{refused:?}");
            }
        }
        let refused = json(&scene.run(&[&["reclaim", PAUSED, "--json"][..], &forced].concat()));
        assert_eq!(refused["outcome"], "refused", "{refused:#}");
        assert_eq!(scene.held(), [PAUSED, LIT]);
        // The same claim can be taken as soon as nothing forbids it.
        scene.database.batch("UPDATE jobs SET paused = 0");
        let done = scene.run(&["reclaim", PAUSED]);
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        assert_eq!(scene.held(), [LIT]);
    });
}

#[test]
fn a_claim_whose_holder_is_shown_at_work_needs_force_a_name_and_a_reason() {
    on_both(|| {
        let scene = Scene::new();
        for said in [
            &[][..],
            &["--holder", "lit"],
            &["--force", "--holder", "lit"],
            &["--force", "--reason", "it hangs"],
            &["--force", "--holder", "on", "--reason", "it hangs"],
        ] {
            let refused = scene.run(&[&["reclaim", LIT][..], said].concat());
            assert_eq!(refused.status.code(), Some(5), "{said:?}: {refused:?}");
            assert_eq!(scene.held(), [PAUSED, LIT]);
        }
        let hint = stdout(&scene.run(&["reclaim", LIT]));
        assert!(hint.contains("its holder is at work, as the database shows"), "{hint}");
        assert!(hint.contains("--force --holder lit --reason"), "{hint}");
        let done = json(
            &scene.run(&["reclaim", LIT, "--json", "--force", "--holder", "lit", "--reason", "it hangs"]),
        );
        assert_eq!(done["outcome"], "applied", "{done:#}");
        assert_eq!(scene.held(), [PAUSED]);
    });
}

#[test]
fn neither_is_swept_or_taken_in_bulk() {
    on_both(|| {
        let scene = Scene::new();
        let swept = scene.run(&["sweep", "--once", "--json"]);
        let summary: Json = stdout(&swept)
            .lines()
            .last()
            .map(|line| serde_json::from_str(line).expect(line))
            .expect("a summary");
        assert_eq!(summary["applied"], 0, "{summary:#} {}", stderr(&swept));
        let bulk = scene.run(&["reclaim", "--set", "stale", "--yes"]);
        assert_eq!(bulk.status.code(), Some(5), "{bulk:?}");
        assert_eq!(scene.held(), [PAUSED, LIT]);
    });
}
