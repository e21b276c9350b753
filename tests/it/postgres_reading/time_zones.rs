//! Times without a zone, and what the sessions' settings do to them.

use super::refused;
use crate::support::postgres::PgDatabase;
use crate::support::{Database, command, json, stderr, stdout};
use std::process::Output;

const TASKS: &str = "CREATE TABLE tasker_tasks (task_uuid uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    complete boolean NOT NULL DEFAULT false, claimed_by text, claimed_at timestamp(6) without time zone,
    claim_timeout_seconds integer DEFAULT 60, created_at timestamp(6), updated_at timestamp(6));";

/// West and east of Greenwich, with whole hours, half ones and quarters.
const ZONES: [&str; 5] =
    ["America/New_York", "America/St_Johns", "Asia/Tokyo", "Asia/Kathmandu", "Pacific/Marquesas"];

fn stale(output: &Output) -> u64 {
    json(output)["sources"][0]["claims"]["stale"].as_u64().unwrap_or_else(|| panic!("{output:?}"))
}

fn sets(output: &Output) -> serde_json::Value {
    json(output)["sources"][0]["reasons"].clone()
}

/// A database whose workers write their clock in a zone, and one claim that is as old as this.
fn in_zone(zone: &str, age: &str) -> PgDatabase {
    let database = PgDatabase::new(TASKS);
    database.run(&format!("ALTER DATABASE {} SET timezone = '{zone}'", database.name()));
    let worker = database.connect();
    worker.run(&format!(
        "INSERT INTO tasker_tasks (claimed_by, claimed_at, updated_at) VALUES ('p', now() - interval '{age}', now())"
    ));
    database
}

fn sweep(database: &PgDatabase) -> serde_json::Value {
    let output = database.claimtop(&["sweep", "--once", "--json"]);
    let lines = stdout(&output);
    let last = lines.lines().last().unwrap_or_else(|| panic!("{output:?}"));
    serde_json::from_str(last).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_time_that_the_database_stamps_is_in_the_databases_zone() {
    for zone in ZONES {
        let database = in_zone(zone, "5 seconds");
        let output = database.claimtop(&["check", "--json"]);
        assert_eq!(json(&output)["sources"][0]["claims"]["healthy"], 1, "{zone}: {output:?}");
        let swept = sweep(&database);
        assert_eq!(
            database.value("SELECT claimed_by FROM tasker_tasks").as_deref(),
            Some("p"),
            "{zone}: {swept}"
        );
    }
}

#[test]
fn an_act_writes_its_times_in_the_databases_zone() {
    for zone in ["America/New_York", "Asia/Kolkata"] {
        let database = in_zone(zone, "5 minutes");
        let output = database.claimtop(&["check", "--json"]);
        assert_eq!(stale(&output), 1, "{zone}: {output:?}");
        let swept = sweep(&database);
        assert_eq!(database.value("SELECT claimed_by FROM tasker_tasks"), None, "{zone}: {swept}");
        let age = "SELECT abs(extract(epoch FROM localtimestamp - updated_at)) < 300 FROM tasker_tasks";
        assert_eq!(database.connect().value(age).as_deref(), Some("t"), "{zone}");
    }
}

#[test]
fn roles_that_write_in_different_zones_make_every_time_unknown() {
    let database = in_zone("UTC", "5 minutes");
    let role = format!("writer_{}", database.name());
    database.run(&format!(
        "CREATE ROLE {role} LOGIN; GRANT UPDATE ON tasker_tasks TO {role};
         ALTER ROLE {role} SET timezone = 'America/New_York'"
    ));
    let output = database.claimtop(&["check", "--json"]);
    assert_eq!((&sets(&output), output.status.code()), (&serde_json::json!({"clock_skew": 1}), Some(1)));
    let text = database.claimtop(&["doctor"]);
    assert!(stdout(&text).contains(&role) && stdout(&text).contains("America/New_York"), "{}", stdout(&text));
    let id = database.value("SELECT task_uuid FROM tasker_tasks").expect("an id");
    let acted =
        command(&["reclaim", &database.url(), &id, "--yes", "--force", "--holder", "p", "--reason", "test"])
            .output()
            .expect("claimtop runs");
    assert_eq!(acted.status.code(), Some(5), "{}", stderr(&acted));
    sweep(&database);
    assert_eq!(database.value("SELECT claimed_by FROM tasker_tasks").as_deref(), Some("p"));
    // Who may not write the table does not matter.
    database.run(&format!("REVOKE UPDATE ON tasker_tasks FROM {role}"));
    let output = database.claimtop(&["check", "--json"]);
    assert_eq!(stale(&output), 1, "{output:?}");
    database.run(&format!("DROP ROLE {role}"));
}

#[test]
fn rows_that_contradict_the_zone_are_unknown_and_nothing_touches_them() {
    let database = PgDatabase::new(TASKS);
    let id = "00000000-0000-0000-0000-000000000001";
    for (shift, fits) in [("-5 hours", "-05:00"), ("-3 hours -30 minutes", "-03:30"), ("2 hours", "+02:00")] {
        // The application sets a TimeZone of its own, as some drivers do.
        database.run(&format!(
            "DELETE FROM tasker_tasks; INSERT INTO tasker_tasks (task_uuid, claimed_by, claimed_at)
             SELECT id::uuid, 'p', now() AT TIME ZONE 'utc' + interval '{shift}'
             FROM (VALUES ('{id}'), (gen_random_uuid()::text), (gen_random_uuid()::text)) AS ids(id)"
        ));
        let output = database.claimtop(&["check", "--json"]);
        assert_eq!(sets(&output), serde_json::json!({"clock_skew": 3}), "{shift}: {output:?}");
        for verb in ["reclaim", "release", "extend"] {
            let force: &[&str] =
                if verb == "extend" { &[] } else { &["--force", "--holder", "p", "--reason", "test"] };
            let output = command(&[&[verb, &database.url(), id, "--yes"], force].concat())
                .output()
                .expect("claimtop runs");
            assert_eq!(output.status.code(), Some(5), "{verb}: {}", stderr(&output));
            assert!(stdout(&output).contains("zone"), "{output:?}");
        }
        sweep(&database);
        let held = "SELECT count(*) FROM tasker_tasks WHERE claimed_by = 'p'";
        assert_eq!(database.value(held).as_deref(), Some("3"), "{shift}");
        let doctor = stdout(&database.claimtop(&["doctor"]));
        assert!(doctor.contains(&format!("time_zone = \"{fits}\"")), "{doctor}");
        let page = stdout(&database.claimtop(&["check"]));
        assert!(!page.contains(" -"), "{page}");
    }
}

#[test]
fn a_source_may_name_the_zone_of_times_that_have_none() {
    let database = PgDatabase::new(TASKS);
    // In Berlin it is one o'clock when it is noon in Greenwich, in November.
    database.run("INSERT INTO tasker_tasks (claimed_by, claimed_at) VALUES ('p', '2026-11-15 12:59:30')");
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    let look = |zone: &str| {
        let text = format!("[source.prod]\nat = '{}'\n{zone}", database.url());
        std::fs::write(&config, text).expect("the config");
        let config = config.to_str().expect("a path");
        command(&["check", "--json", "--now", "1794744000000", "--config", config, "prod"])
            .output()
            .expect("claimtop runs")
    };
    for zone in ["Europe/Berlin", "+01:00"] {
        let output = look(&format!("time_zone = '{zone}'\n"));
        let source = &json(&output)["sources"][0];
        assert_eq!((&source["claims"]["healthy"], stale(&output)), (&1.into(), 0), "{source:#}");
    }
    let utc = look("");
    assert_eq!(json(&utc)["sources"][0]["reasons"]["clock_skew"], 1);
    let sentence = refused(&look("time_zone = 'Europe/Atlantis'\n"));
    assert!(sentence.contains("Europe/Atlantis"), "{sentence}");
    let sentence = refused(&look("time_zone = '+25:00'\n"));
    assert!(sentence.contains("offset"), "{sentence}");
}

const LEASES: &str =
    "CREATE TABLE task_queue (id INTEGER PRIMARY KEY, type TEXT, status TEXT, locked_by TEXT,
    reserved_at_utc TEXT, lease_until_utc TEXT, attempts INTEGER DEFAULT 0, max_attempts INTEGER DEFAULT 5);
    CREATE TABLE workers (worker_id TEXT PRIMARY KEY, heartbeat_utc TEXT);";

fn lease(database: &Database, shift: &str) {
    database.connection.execute_batch(&format!(
        "DELETE FROM task_queue; DELETE FROM workers;
         INSERT INTO task_queue (id, type, status, locked_by, reserved_at_utc, lease_until_utc) VALUES
           (1, 'x', 'leased', 'w', datetime('now', '-20 seconds', {shift}), datetime('now', '+40 seconds', {shift})),
           (2, 'x', 'leased', 'v', datetime('now', '-9 seconds', {shift}), datetime('now', '+51 seconds', {shift}));
         INSERT INTO workers VALUES ('w', datetime('now', '-3 seconds', {shift})),
           ('v', datetime('now', '-5 seconds', {shift}))"
    )).expect("a lease");
}

#[test]
fn texts_without_a_zone_that_contradict_theirs_are_unknown_in_files_too() {
    let database = Database::new(LEASES);
    for (shift, fits) in [
        ("'-5 hours'", "-05:00"),
        ("'-9 hours', '-30 minutes'", "-09:30"),
        ("'+5 hours', '+45 minutes'", "+05:45"),
    ] {
        lease(&database, shift);
        let output = database.claimtop(&["check", "--json"]);
        assert_eq!(sets(&output), serde_json::json!({"clock_skew": 2}), "{shift}: {output:?}");
        let source = database.source();
        let acted = command(&["reclaim", &source, "1", "--profile", "task-queue", "--yes"])
            .output()
            .expect("claimtop runs");
        assert_eq!(acted.status.code(), Some(5), "{}", stderr(&acted));
        database.claimtop(&["sweep", "--once", "--profile", "task-queue"]);
        assert_eq!(database.texts("SELECT locked_by FROM task_queue ORDER BY id"), ["w", "v"], "{shift}");
        let doctor = stdout(&database.claimtop(&["doctor"]));
        assert!(doctor.contains(&format!("time_zone = \"{fits}\"")), "{doctor}");
        // And with the setting that the doctor names, everything is well.
        let config = database.beside("config.toml");
        let text = format!("[source.it]\nat = '{}'\ntime_zone = '{fits}'\n", database.source());
        std::fs::write(&config, text).expect("the config");
        let config = config.to_str().expect("a path");
        let output = command(&["check", "--json", "--config", config, "it"]).output().expect("claimtop runs");
        assert_eq!(json(&output)["sources"][0]["claims"]["unknown"], 0, "{output:?}");
    }
}

#[test]
fn local_times_survive_a_change_to_and_from_summer_time() {
    let database = Database::new(LEASES);
    let config = database.beside("config.toml");
    let look = |zone: &str, reserved: &str, until: &str, now: &str| {
        database.connection.execute_batch(&format!(
            "DELETE FROM task_queue; INSERT INTO task_queue (id, status, locked_by, reserved_at_utc, lease_until_utc)
             SELECT value, 'leased', 'w', '{reserved}', '{until}' FROM json_each('[1, 2, 3]')"
        )).expect("a lease");
        let text = format!("[source.it]\nat = '{}'\ntime_zone = '{zone}'\n", database.source());
        std::fs::write(&config, text).expect("the config");
        let config = config.to_str().expect("a path");
        let output = command(&["list", "--json", "--now", now, "--config", config, "it"])
            .env("TZ", "America/New_York")
            .output()
            .expect("claimtop runs");
        let lines = stdout(&output);
        let first = lines.lines().next().unwrap_or_else(|| panic!("{output:?}"));
        let line: serde_json::Value = serde_json::from_str(first).unwrap_or_else(|_| panic!("{output:?}"));
        line["verdict"].as_str().expect("a verdict").to_owned()
    };
    let in_spring = |zone: &str, now: &str| look(zone, "2026-03-08 01:59:40", "2026-03-08 03:00:40", now);
    assert_eq!(in_spring("host", "2026-03-08T07:00:20Z"), "healthy");
    assert_eq!(in_spring("host", "2026-03-08T07:00:41Z"), "stale");
    // The hour that comes twice: the later one is meant, so nothing looks older than it is.
    let in_autumn = |zone: &str, now: &str| look(zone, "2026-11-01 01:30:00", "2026-11-01 01:31:00", now);
    assert_eq!(in_autumn("host", "2026-11-01T05:30:20Z"), "unknown");
    assert_eq!(in_autumn("host", "2026-11-01T06:30:20Z"), "healthy");
    assert_eq!(in_autumn("host", "2026-11-01T06:31:01Z"), "stale");
    // A fixed offset is wrong after the change, and the rows say so.
    let later = |zone: &str, now: &str| look(zone, "2026-11-02 09:00:00", "2026-11-02 09:01:00", now);
    assert_eq!(later("host", "2026-11-02T14:00:30Z"), "healthy");
    assert_eq!(later("-05:00", "2026-11-02T14:00:30Z"), "healthy");
    assert_eq!(later("-04:00", "2026-11-02T14:00:30Z"), "unknown");
    assert_eq!(later("-06:00", "2026-11-02T14:00:30Z"), "unknown");
}
