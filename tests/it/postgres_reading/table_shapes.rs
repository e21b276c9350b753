//! The shapes that tables have in PostgreSQL: odd types, names, schemas, partitions and views.

use super::{JOBS, first_source, job};
use crate::support::postgres::PgDatabase;
use crate::support::{command, json, lines, stdout};

const NOON: &str = "timestamptz '2026-11-15 12:00:00+00'";

#[test]
fn words_of_an_enum_ids_of_uuid_and_a_partial_index_are_what_the_profile_means() {
    let database = PgDatabase::new(
        "CREATE TYPE job_status AS ENUM ('queued', 'running', 'processing', 'retry_scheduled', 'dead');
         CREATE TABLE executor_jobs (id uuid PRIMARY KEY, type varchar(64) NOT NULL, status job_status NOT NULL,
           payload jsonb NOT NULL DEFAULT '{}', tags text[] NOT NULL DEFAULT '{a,b}', attempts smallint DEFAULT 1,
           locked_at timestamptz(3), locked_by varchar(255), heartbeat_at timestamptz, last_error text,
           run_at timestamptz DEFAULT '2026-11-15 11:00:00+00', updated_at timestamptz);
         CREATE INDEX ON executor_jobs (status, type, locked_at) WHERE status IN ('running', 'processing');",
    );
    database.run(&format!(
        "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by) VALUES
           ('00000000-0000-0000-0000-00000000000a', 'run_tsa', 'running', {NOON} - interval '31 min', 'w'),
           ('00000000-0000-0000-0000-00000000000b', 'run_tsa', 'processing', {NOON}, 'w'),
           ('00000000-0000-0000-0000-00000000000c', 'run_tsa', 'queued', NULL, NULL)"
    ));
    let (source, exit) = database.check();
    assert_eq!((&source["claims"]["total"], &source["claims"]["stale"], exit), (&2.into(), &1.into(), 2));
    assert_eq!(source["backlog"]["queued"], 1);
    assert_eq!(source["backlog"]["oldest_queued_s"], 3_600);
    let claim = database.claim("00000000-0000-0000-0000-00000000000a");
    assert_eq!(claim["reasons"], serde_json::json!(["ttl_exceeded"]));
}

#[test]
fn infinity_is_a_lease_without_end_and_a_claim_since_forever_is_overdue() {
    let database = PgDatabase::new(
        "CREATE TABLE task_queue (id bigint PRIMARY KEY, type text, status text, locked_by text,
           reserved_at_utc timestamptz, lease_until_utc timestamptz);
         INSERT INTO task_queue VALUES
           (1, 'a', 'leased', 'w', '2026-11-15 11:00:00+00', 'infinity'),
           (2, 'a', 'leased', 'w', '2026-11-15 11:00:00+00', '-infinity'),
           (3, 'a', 'leased', 'w', '2026-11-15 11:00:00+00', '0044-03-15 BC'),
           (4, 'a', 'leased', 'w', '2026-11-15 11:00:00+00', '294276-12-31'),
           (5, 'a', 'leased', 'w', '2026-11-15 11:00:00+00', NULL);",
    );
    let verdicts: Vec<String> = ["1", "2", "3", "4", "5"]
        .map(|id| database.claim(id)["verdict"].as_str().expect("a verdict").to_owned())
        .into();
    assert_eq!(verdicts, ["healthy", "stale", "unknown", "unknown", "unknown"]);
    let (source, _) = database.check();
    assert_eq!((&source["claims"]["unknown"], &source["claims"]["stale"]), (&3.into(), &1.into()));
}

/// A profile on tables whose every name needs quotes, in a schema that is on nobody's path.
const ODD: &str = "title = 'Odd'\n[[claim]]\nname = 'job'\ntable = 'Work Shop.Jobs'\nheld = \"c.\\\"State\\\" = 'on'\"\n\
    id = ['Tenant Id', 'No']\nholder = 'Who'\nclaimed_at = 'Since'\ntime = 'timestamptz'\n\
    deadline = { ttl = { x = '1m' }, otherwise = '5m' }\nkind = 'Kind'\n";

#[test]
fn quoted_names_composite_keys_and_another_schema_are_read() {
    let database = PgDatabase::new(
        "CREATE SCHEMA \"Work Shop\";
         CREATE TABLE \"Work Shop\".\"Jobs\" (\"Tenant Id\" uuid, \"No\" int, \"State\" text, \"Who\" text,
           \"Since\" timestamptz, \"Kind\" text, PRIMARY KEY (\"Tenant Id\", \"No\"));
         INSERT INTO \"Work Shop\".\"Jobs\" SELECT '00000000-0000-0000-0000-000000000001', n, 'on', 'O''Hara',
           '2026-11-15 11:50:00+00', 'x' FROM generate_series(1, 5000) AS n;",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("odd.toml");
    std::fs::write(&profile, ODD).expect("the profile");
    let profile = profile.to_str().expect("a path");
    let options = ["--now", "1794744000000", "--profile", profile];
    let check = database.claimtop(&[&["check", "--json"], &options[..]].concat());
    assert_eq!(first_source(&check)["claims"]["stale"], 5_000, "{}", stdout(&check));
    let list = database.claimtop(&[&["list", "--json", "--holder", "O'Hara"], &options[..]].concat());
    let ids: std::collections::BTreeSet<String> =
        lines(&list).iter().map(|claim| claim["id"].to_string()).collect();
    assert_eq!(ids.len(), 5_000);
}

#[test]
fn partitions_are_one_board_and_a_view_is_one_too_for_a_profile_that_is_named() {
    let table = JOBS.replace("PRIMARY KEY ", "").trim_end_matches(';').to_owned();
    let database = PgDatabase::new(&format!(
        "{table} PARTITION BY LIST (type); CREATE TABLE fast PARTITION OF executor_jobs FOR VALUES IN ('build_artifact');
         CREATE TABLE rest PARTITION OF executor_jobs DEFAULT;"
    ));
    for minutes in [1, 20, 40] {
        job(&database, "build_artifact", minutes);
        job(&database, "run_tsa", minutes);
    }
    let (parts, _) = database.check();
    assert_eq!((&parts["claims"]["total"], &parts["claims"]["stale"]), (&6.into(), &3.into()), "{parts:#}");
    assert_eq!(database.list(&[]).len(), 6);
    database.run("ALTER TABLE executor_jobs RENAME TO jobs; CREATE VIEW executor_jobs AS SELECT * FROM jobs");
    let named = ["--profile", "executor-jobs"];
    let (view, _) = database.check_with(&named);
    assert_eq!(view["claims"], parts["claims"], "{view:#}");
    assert_eq!(database.list(&named).len(), 6);
}

#[test]
fn of_more_claims_than_are_counted_it_says_more_than() {
    let database = PgDatabase::new(JOBS);
    database.run(
        "INSERT INTO executor_jobs (type, status, locked_at, locked_by)
         SELECT 'run_tsa', 'running', '2026-11-15 11:59:00+00', 'w' FROM generate_series(1, 200)",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    std::fs::write(&config, "census_slice = 3\n").expect("the config");
    let config = config.to_str().expect("a path");
    let look = |arguments: &[&str]| {
        let all = [arguments, &["--now", "1794744000000", "--config", config]].concat();
        command(&all).arg(database.url()).output().expect("claimtop runs")
    };
    let source = first_source(&look(&["check", "--json"]));
    assert_eq!((&source["exact"], &source["claims"]["total"]), (&false.into(), &150.into()), "{source:#}");
    let page = stdout(&look(&["check"]));
    assert!(page.contains("more than 150"), "{page}");
    let exact = json(&look(&["check", "--json", "--exact"]));
    assert_eq!(exact["sources"][0]["claims"]["total"], 200, "{exact:#}");
    assert_eq!(exact["sources"][0]["exact"], true);
}

#[test]
fn hostile_strings_in_every_cell_are_shown_escaped() {
    let database = PgDatabase::new(
        "CREATE TABLE executor_jobs (id text PRIMARY KEY, type text, status text, locked_at timestamptz,
           locked_by text, last_error text, heartbeat_at timestamptz);
         INSERT INTO executor_jobs SELECT bad || n, bad, 'running', '2026-11-15 11:00:00+00', bad, bad
         FROM unnest(ARRAY[E'\\x1b[2J\\x07', E'\\u202e\\u200b', E'a\\r\\nb\\tc', '''; DROP TABLE x; --', '$1 :now',
           repeat('x', 100000), '=1+1', '']) WITH ORDINALITY AS all_of(bad, n);",
    );
    for arguments in
        [&["check"][..], &["check", "--json"], &["list"], &["list", "--json"], &["list", "--csv"]]
    {
        let output = database.claimtop(&[arguments, &["--now", "1794744000000"]].concat());
        let text = stdout(&output);
        assert!(!text.is_empty(), "{arguments:?}");
        let drives = |letter: char| {
            (letter.is_control() && !matches!(letter, '\n' | '\r'))
                || matches!(letter, '\u{202e}' | '\u{200b}')
        };
        assert!(!text.contains(drives), "{arguments:?}: {text:?}");
    }
    assert_eq!(database.list(&[]).len(), 8);
    assert_eq!(database.check().0["claims"]["unknown"], 8);
}
