//! Times without a zone, and what the sessions' settings do to them: nothing.

use super::refused;
use crate::support::postgres::PgDatabase;
use crate::support::{command, json};
use std::process::Output;

const TASKS: &str = "CREATE TABLE tasker_tasks (task_uuid uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    complete boolean NOT NULL DEFAULT false, claimed_by text, claimed_at timestamp(6) without time zone,
    claim_timeout_seconds integer DEFAULT 60, created_at timestamp(6), updated_at timestamp(6));";

fn stale(output: &Output) -> u64 {
    json(output)["sources"][0]["claims"]["stale"].as_u64().unwrap_or_else(|| panic!("{output:?}"))
}

#[test]
fn a_time_without_a_zone_is_utc_whatever_the_databases_own_zone_is() {
    let database = PgDatabase::new(TASKS);
    database.run(&format!("ALTER DATABASE {} SET timezone = 'America/New_York'", database.name()));
    database.run(&format!("ALTER DATABASE {} SET datestyle = 'SQL, DMY'", database.name()));
    database.run(&format!("ALTER DATABASE {} SET intervalstyle = 'sql_standard'", database.name()));
    database.run("INSERT INTO tasker_tasks (claimed_by, claimed_at) VALUES ('p', '2026-11-15 11:59:01')");
    let (source, exit) = database.check();
    assert_eq!((&source["claims"]["expiring"], exit), (&1.into(), 1), "{source:#}");
    let claim = &database.list(&[])[0];
    assert_eq!(claim["claimed_at"], "2026-11-15T11:59:01.000Z");
    database.run("UPDATE tasker_tasks SET claimed_at = '2026-11-15 11:58:59.999'");
    assert_eq!(database.check().1, 2);
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
    let berlin = look("time_zone = 'Europe/Berlin'\n");
    let source = &json(&berlin)["sources"][0];
    assert_eq!((&source["claims"]["healthy"], stale(&berlin)), (&1.into(), 0), "{source:#}");
    let utc = look("");
    assert_eq!(json(&utc)["sources"][0]["reasons"]["clock_skew"], 1);
    let sentence = refused(&look("time_zone = 'Europe/Atlantis'\n"));
    assert!(sentence.contains("Europe/Atlantis"), "{sentence}");
}
