//! `profile check` compiles everything that will ever run, and runs nothing of it.

use crate::support::engine::on_both;
use crate::support::{Database, in_their_words, stderr, stdout};

const TABLES: &str = "
    CREATE TABLE jobs (id INTEGER PRIMARY KEY, status TEXT, locked_by TEXT, lock_time BIGINT, run_at BIGINT);
    CREATE TABLE logs (job_id INTEGER, what TEXT);";

const PROFILE: &str = "
title = 'Mine'
#optional
[[claim]]
name = 'job'
table = 'jobs'
held = \"status = 'running'\"
id = 'id'
holder = 'locked_by'
claimed_at = 'lock_time'
priority = 'run_at'
time = 'unix_s'
deadline = { otherwise = '5m' }
[claim.reclaim]
set = { status = \"'queued'\", locked_by = 'NULL', lock_time = 'NULL' }
before = [\"SELECT 1 FROM logs\"]
also = [{ sql = \"INSERT INTO logs (job_id, what) VALUES (:old.id, :why)\", rows = 1 }]
blocked_by = \"c.status = 'paused'\"
[claim.backlog]
queued = \"status = 'queued'\"
oldest = 'run_at'
[[history]]
name = 'reclaimed'
table = 'logs'
id = 'job_id'
at = 'what'
what = 'what'
";

fn check(database: &Database, profile: &str) -> (Option<i32>, String) {
    let path = database.beside("mine.toml");
    std::fs::write(&path, profile).expect("the profile");
    let output = database.claimtop(&["profile", "check", path.to_str().expect("UTF-8")]);
    (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
}

fn database() -> Database {
    Database::with(TABLES, &in_their_words(TABLES))
}

#[test]
fn whatever_is_misspelt_is_named_before_it_runs() {
    on_both(|| {
        let database = database();
        assert_eq!(check(&database, PROFILE).0, Some(0), "{}", check(&database, PROFILE).1);
        let before = database.dump();
        for (right, wrong, said) in [
            ("lock_time = 'NULL'", "lock_tyme = 'NULL'", "lock_tyme"),
            ("status = \"'queued'\"", "status = ':foo'", "unknown parameter :foo"),
            ("INSERT INTO logs", "INSERT INTO log", "log"),
            ("(job_id, what) VALUES", "(job_id, wat) VALUES", "wat"),
            (":old.id", ":old.identity", "there is no :old.identity"),
            ("SELECT 1 FROM logs", "SELECT nothing FROM logs", "nothing"),
            ("c.status = 'paused'", "c.state = 'paused'", "state"),
            ("queued = \"status", "queued = \"state", "state"),
            ("oldest = 'run_at'", "oldest = 'ran_at'", "did you mean run_at?"),
            ("priority = 'run_at'", "priority = 'priority'", "priority"),
            ("held = \"status = 'running'\"", "held = \"status = :state\"", "unknown parameter :state"),
            ("at = 'what'", "at = 'ended_at'", "ended_at"),
            ("table = 'logs'", "table = 'traces'", "traces"),
        ] {
            assert!(PROFILE.contains(right), "{right}");
            let (code, text) = check(&database, &PROFILE.replace(right, wrong));
            assert_eq!(code, Some(3), "{wrong}: {text}");
            assert!(text.contains(said), "{wrong}: {text}");
        }
        assert_eq!(database.dump(), before);
    });
}

#[test]
fn what_only_some_versions_have_is_marked_as_such() {
    on_both(|| {
        let database = database();
        database.batch("DROP TABLE logs; ALTER TABLE jobs DROP COLUMN run_at");
        let (code, text) = check(&database, PROFILE);
        assert_eq!(code, Some(3), "{text}");
        let marked = PROFILE.replace("#optional", "optional = ['logs', 'jobs.run_at']");
        let (code, text) = check(&database, &marked);
        assert_eq!(code, Some(0), "{text}");
        // A column that nothing uses is one that somebody has misspelt.
        let (code, text) = check(&database, &PROFILE.replace("#optional", "optional = ['jobs.ran_at']"));
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("nothing uses \"jobs.ran_at\""), "{text}");
    });
}

#[test]
fn all_that_is_wrong_with_an_act_is_told_at_once() {
    on_both(|| {
        let wrong = PROFILE
            .replace("lock_time = 'NULL'", "lock_tyme = 'NULL'")
            .replace("status = \"'queued'\", locked_by", "status = ':foo', locked_by")
            .replace("INSERT INTO logs", "INSERT INTO nowhere")
            .replace("c.status = 'paused'", "c.paused");
        let (code, said) = check(&database(), &wrong);
        assert_eq!(code, Some(3), "{said}");
        for part in ["lock_tyme", "unknown parameter :foo", "nowhere", "paused"] {
            assert!(said.contains(part), "{part} is not in {said}");
        }
    });
}
