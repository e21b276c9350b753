//! Reading a MySQL or MariaDB server: verdicts, the types of its columns, and what it must never do.

use claimtop::profile::library::Library;
use claimtop::store::{Effort, Options, Profiles, Reader};
use serde_json::{Value as Json, json};

use crate::support::mysql::MyDatabase;
use crate::support::options::at_server;
use crate::support::{lines, stderr};
use crate::verdict_sql::{compare, compare_views};

/// The task queue as its document writes it for MySQL.
const TASKS: &str = "CREATE TABLE task_types (id BIGINT PRIMARY KEY, name VARCHAR(64));
    CREATE TABLE tasks (id BIGINT PRIMARY KEY AUTO_INCREMENT, task_type_id BIGINT NOT NULL,
      status VARCHAR(20) NOT NULL DEFAULT 'pending', worker_id VARCHAR(64), claimed_at DATETIME(6),
      attempts INT NOT NULL DEFAULT 0, max_attempts INT NOT NULL DEFAULT 3, error_message TEXT, priority INT NOT NULL DEFAULT 0,
      created_at DATETIME(6), updated_at DATETIME(6), completed_at DATETIME(6));
    CREATE TABLE worker_heartbeats (worker_id VARCHAR(64) PRIMARY KEY, last_seen_at DATETIME(6) NOT NULL, metadata JSON);
    CREATE TABLE task_logs (id BIGINT PRIMARY KEY AUTO_INCREMENT, task_id BIGINT, event VARCHAR(32), worker_id VARCHAR(64),
      message TEXT, created_at DATETIME(6));
    INSERT INTO task_types VALUES (1, 'mail');
    INSERT INTO worker_heartbeats VALUES ('alive', '2026-11-15 11:59:50', '{\"pid\": 7, \"hostname\": \"h1\"}'),
      ('dead', '2026-11-15 11:00:00', NULL);
    INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at) VALUES
      (1, 1, 'claimed', 'alive', '2026-11-15 11:50:00'), (2, 1, 'claimed', 'dead', '2026-11-15 10:50:00.123456'),
      (3, 1, 'claimed', 'nobody', '2026-11-15 11:00:00'), (4, 1, 'pending', NULL, NULL);
";

/// A queue of one's own whose claims have a lease.
const PROFILE: &str = r#"
title = "A queue"
[[claim]]
name = "job"
table = "q"
held = "c.state = 'held'"
id = "id"
holder = "holder"
time = "timestamp"
zone = "utc"
claimed_at = "since"
deadline = { column = "until", lease = "60s" }
"#;

/// The file of the profile, with a key replaced.
fn profile(folder: &tempfile::TempDir, old: &str, new: &str) -> String {
    let path = folder.path().join("queue.toml");
    std::fs::write(&path, PROFILE.replace(old, new)).expect("a profile");
    path.to_str().expect("UTF-8").to_owned()
}

fn sets(claims: &[Json]) -> Vec<(String, String)> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    claims.iter().map(|claim| (text(&claim["id"]), text(&claim["verdict"]))).collect()
}

#[test]
fn the_profile_is_detected_and_every_claim_judged() {
    let Some(database) = MyDatabase::new(TASKS) else { return };
    let (source, code) = database.check(&[]);
    println!("{source:#}");
    assert_eq!(source["engine"], "mysql");
    assert_eq!(source["profile"], "task-queue");
    assert_eq!(code, 2, "{source:#}");
    let all = database.list(&[]);
    println!("{all:#?}");
    let mut states = sets(&all);
    states.sort();
    assert_eq!(states.len(), 3);
    assert_eq!(states[0], ("1".into(), "healthy".into()));
    assert!(states[1..].iter().all(|(_, state)| state != "healthy"), "{states:?}");
}

#[test]
fn a_poll_counts_what_reading_every_claim_one_by_one_counts() {
    let Some(database) = MyDatabase::new(TASKS) else { return };
    database.run(
        "INSERT INTO tasks (task_type_id, status, worker_id, claimed_at)
         SELECT 1, 'claimed', ELT(1 + seq % 3, 'alive', 'dead', 'gone'), '2026-11-15 11:00:00' + INTERVAL seq SECOND
         FROM (WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 900) SELECT seq FROM n) AS n",
    );
    // With the first, all conditions are one statement; with the second, each is asked by itself.
    for slice in [100_000, 100] {
        let options = at_server(&database.url(), Profiles::Detect(Library::built_in()));
        let effort = Effort { rows: 5, slice, whole: slice };
        let mut reader = Reader::open(Options { effort, ..options }).expect("a reader");
        compare(&mut reader, &format!("with slices of {slice}"));
        compare_views(&mut reader, &format!("with slices of {slice}"));
    }
}

#[test]
fn no_collation_padding_or_number_finds_another_claim() {
    let Some(database) = MyDatabase::new(
        "CREATE TABLE q (id VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY, state VARCHAR(9), holder VARCHAR(9), since DATETIME,
           until DATETIME);
         INSERT INTO q VALUES ('Abc', 'held', 'W1', '2026-11-15 11:00:00', '2026-11-15 11:30:00'),
           ('1x', 'held', 'w1', '2026-11-15 11:00:00', '2026-11-15 11:30:00'), ('é', 'held', 'w2 ', '2026-11-15 11:00:00', '2026-11-15 11:30:00');
        ",
    ) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let profile = profile(&folder, "", "");
    let ids = |options: &[&str]| {
        let all = database.list(&[&["--profile", &profile], options].concat());
        let mut ids: Vec<String> = sets(&all).into_iter().map(|(id, _)| id).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&[]), ["1x", "Abc", "é"]);
    for (option, value, expected) in [
        ("--id", "Abc", &["Abc"][..]),
        ("--id", "abc", &[]),
        ("--id", "1", &[]),
        ("--id", "e", &[]),
        ("--id", "é", &["é"]),
        ("--holder", "W1", &["Abc"]),
        ("--holder", "w1", &["1x"]),
        ("--holder", "w2", &[]),
        ("--holder", "W*", &["Abc"]),
    ] {
        assert_eq!(ids(&[option, value]), expected, "{option} {value}");
    }
    assert_eq!(ids(&["--filter", "!holder=w1"]), ["Abc", "é"]);
}

#[test]
fn every_type_of_column_is_read_and_dates_that_are_none_are_no_old_dates() {
    let Some(database) = MyDatabase::new(
        "CREATE TABLE q (id INT UNSIGNED PRIMARY KEY, state ENUM('held', 'free'), holder VARCHAR(9), since TIMESTAMP(6) NULL,
           until DATETIME(6), b BIT(64), f FLOAT, d DECIMAL(20,4), j JSON, bin VARBINARY(8), s SET('a', 'b'), t TIME(3), y YEAR,
           big BIGINT UNSIGNED, g INT AS (id + 1) VIRTUAL);
         INSERT INTO q (id, state, holder, since, until, b, f, d, j, bin, s, t, y, big) VALUES
           (1, 'held', 'w', '2026-11-15 11:00:00.5', '2026-11-15 11:59:00', b'1', 16777215, 1.5, '{\"a\": 1}', X'FF00', 'a,b',
            '-12:30:00.5', 2026, 18446744073709551615),
           (2, 'held', 'w', '2026-11-15 11:00:00', '9999-12-31 23:59:59', NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, NULL),
           (3, 'held', 'w', '2026-11-15 11:00:00', NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, NULL),
           (4, 'free', 'w', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, NULL);
         INSERT INTO q (id, state, holder, since, until) VALUES (5, 'held', 'w', '2026-11-15 11:00:00', '0000-00-00');
        ",
    ) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let all = database.list(&["--profile", &profile(&folder, "", "")]);
    println!("{all:#?}");
    let mut states = sets(&all);
    states.sort();
    assert_eq!(states.len(), 4, "{states:?}");
    assert_eq!(states[0], ("1".into(), "stale".into()));
    assert_eq!(states[1], ("2".into(), "healthy".into()));
    for (id, state) in &states[2..] {
        assert_eq!(state, "unknown", "{id}");
    }
}

#[test]
fn tables_that_can_never_be_acted_on_are_shown() {
    let rows = "('1', 'held', 'w', '2026-11-15 11:00:00', '2026-11-15 11:30:00')";
    for (how, schema) in [
        (
            "without a key",
            "CREATE TABLE q (id VARCHAR(9), state VARCHAR(9), holder VARCHAR(9), since DATETIME, until DATETIME)",
        ),
        (
            "not InnoDB",
            "CREATE TABLE q (id VARCHAR(9) PRIMARY KEY, state VARCHAR(9), holder VARCHAR(9), since DATETIME, until DATETIME) ENGINE = MyISAM",
        ),
        (
            "a view",
            "CREATE TABLE p (id VARCHAR(9) PRIMARY KEY, state VARCHAR(9), holder VARCHAR(9), since DATETIME, until DATETIME);\nCREATE VIEW q AS SELECT * FROM p",
        ),
        (
            "several columns",
            "CREATE TABLE q (id VARCHAR(9), state VARCHAR(9), holder VARCHAR(9), since DATETIME, until DATETIME, PRIMARY KEY (id, holder))",
        ),
    ] {
        let table = if how == "a view" { "p" } else { "q" };
        let Some(database) = MyDatabase::new(&format!("{schema};\nINSERT INTO {table} VALUES {rows};\n"))
        else {
            return;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let all = database.list(&["--profile", &profile(&folder, "", "")]);
        assert_eq!(sets(&all), [("1".to_owned(), "stale".to_owned())], "{how}");
    }
}

#[test]
fn a_profile_cannot_do_more_than_read() {
    let Some(database) = MyDatabase::new(
        "CREATE TABLE q (id INT PRIMARY KEY, state VARCHAR(9), holder VARCHAR(9), since DATETIME, until DATETIME);
         CREATE TABLE other (id INT PRIMARY KEY);
         CREATE FUNCTION f() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO other VALUES (1); RETURN 1; END;
         INSERT INTO q VALUES (1, 'held', 'w', '2026-11-15 11:00:00', '2026-11-15 11:30:00');
        ",
    ) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    for held in [
        "1 = 1; DROP TABLE other",
        "1 = 1 /*! INTO @z */",
        "1 = 1 /*M! INTO @z */",
        "f() = 1",
        "SLEEP(1) = 0",
        "LOAD_FILE('/etc/passwd') IS NULL",
        "GET_LOCK('x', 1) = 1",
    ] {
        let profile = profile(&folder, "c.state = 'held'", held);
        let output = database.claimtop(&["check", "--profile", &profile]);
        assert_eq!(output.status.code(), Some(3), "{held}: {}", stderr(&output));
    }
    assert_eq!(database.text("SELECT COUNT(*) FROM other"), "0");
}

#[test]
fn queues_of_php_and_ruby_are_known() {
    let Some(database) = MyDatabase::new(
        "CREATE TABLE jobs (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, queue VARCHAR(255) NOT NULL, payload LONGTEXT NOT NULL,
           attempts TINYINT UNSIGNED NOT NULL, reserved_at INT UNSIGNED, available_at INT UNSIGNED NOT NULL, created_at INT UNSIGNED NOT NULL);
         CREATE TABLE messenger_messages (id BIGINT PRIMARY KEY AUTO_INCREMENT, body LONGTEXT NOT NULL, headers LONGTEXT NOT NULL,
           queue_name VARCHAR(190) NOT NULL, created_at DATETIME NOT NULL, available_at DATETIME NOT NULL, delivered_at DATETIME);
         CREATE TABLE delayed_jobs (id BIGINT PRIMARY KEY AUTO_INCREMENT, priority INT NOT NULL DEFAULT 0, attempts INT NOT NULL DEFAULT 0,
           handler TEXT NOT NULL, last_error TEXT, run_at DATETIME, locked_at DATETIME, failed_at DATETIME, locked_by VARCHAR(255),
           queue VARCHAR(255), created_at DATETIME, updated_at DATETIME);
         INSERT INTO jobs VALUES (1, 'default', '{\"displayName\": \"Mail\"}', 1, UNIX_TIMESTAMP('2026-11-15 11:00:00'), 0, 0);
         INSERT INTO messenger_messages VALUES (1, '', '', 'async', '2026-11-15 09:00:00', '2026-11-15 09:00:00', '2026-11-15 09:00:00'),
           (2, '', '', 'async', '2026-11-15 09:00:00', '2026-11-15 09:00:00', '9999-12-31 23:59:59');
         INSERT INTO delayed_jobs (handler, locked_at, locked_by) VALUES ('x', '2026-11-15 04:00:00', 'host:web pid:12');
        ",
    ) else {
        return;
    };
    let output = database.claimtop(&["list", "--json", "--now", "1794744000000"]);
    let all = lines(&output);
    println!("{all:#?} {}", stderr(&output));
    let mut found: Vec<Json> =
        all.iter().map(|claim| json!([claim["profile"], claim["id"], claim["kind"]])).collect();
    found.sort_by_key(Json::to_string);
    let expected = [
        json!(["delayed-job", "1", null]),
        json!(["laravel", "1", "Mail"]),
        json!(["symfony-messenger", "1", "async"]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn whoever_is_not_let_in_is_told_so_without_the_password() {
    let Some(database) = MyDatabase::new("CREATE TABLE q (id INT)") else { return };
    let stranger = database.url().replace("root@", "stranger@");
    let mut command = crate::support::command(&["check", &stranger]);
    let output =
        command.env("HOME", "/proc/nonexistent").env("MYSQL_PWD", "canary").output().expect("claimtop runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stderr(&output).contains("does not let us in") && !stderr(&output).contains("canary"),
        "{}",
        stderr(&output)
    );
    let told = database.url().replace("root@", "root:canary@");
    let output = crate::support::command(&["check", &told]).output().expect("claimtop runs");
    assert!(!stderr(&output).contains("canary") && output.status.code() != Some(0), "{}", stderr(&output));
    let nowhere = "mysql://ann@127.0.0.1:1/app";
    let output = crate::support::command(&["check", nowhere]).output().expect("claimtop runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("cannot be reached"), "{}", stderr(&output));
}
