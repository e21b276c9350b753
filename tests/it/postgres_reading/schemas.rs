//! Databases with very many schemas, and profiles with very many boards.

use claimtop::profile::format::Profile;
use claimtop::store::{Profiles, Reader};

use super::{JOBS, first_source};
use crate::support::engine::on_both;
use crate::support::postgres::PgDatabase;
use crate::support::{Database, command, json};

#[test]
fn of_two_hundred_schemas_the_one_of_the_search_path_is_read() {
    let database = PgDatabase::new("");
    for some in (1..=200).collect::<Vec<u32>>().chunks(20) {
        let one = |n: &u32| {
            format!(
                "CREATE SCHEMA tenant_{n}; SET LOCAL search_path = tenant_{n}; {JOBS}
                 INSERT INTO executor_jobs (type, status, locked_at, locked_by)
                   SELECT 'run_tsa', 'running', '2026-11-15 11:00:00+00', 'w' FROM generate_series(1, {n});"
            )
        };
        database.run(&format!("BEGIN; {} COMMIT;", some.iter().map(one).collect::<String>()));
    }
    let output = command(&["check", "--json", &database.url()]).output().expect("claimtop runs");
    let error = crate::support::stderr(&output);
    assert!(error.contains("no profile fits"), "none of them is on the path: {error}");
    for n in [1, 117, 200] {
        let url = format!("{}?options=-csearch_path%3Dtenant_{n}", database.url());
        let output =
            command(&["check", "--json", "--now", "1794744000000", &url]).output().expect("claimtop runs");
        assert_eq!(first_source(&output)["claims"]["stale"], n, "{}", crate::support::stderr(&output));
    }
    // By name, whatever the path is.
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("mine.toml");
    let text = "title = 'Mine'\n[[claim]]\nname = 'job'\ntable = 'tenant_42.executor_jobs'\nheld = \"status = 'running'\"\n\
        id = 'id'\nclaimed_at = 'locked_at'\ntime = 'timestamptz'\ndeadline = { otherwise = '5m' }\n";
    std::fs::write(&profile, text).expect("the profile");
    let profile = profile.to_str().expect("UTF-8");
    let (source, _) = database.check_with(&["--profile", profile]);
    assert_eq!(source["claims"]["stale"], 42);
}

#[test]
fn a_thousand_boards_are_counted_and_none_is_left_out() {
    on_both(|| {
        let database = Database::new("CREATE TABLE other (id int)");
        let mut profile = String::from("title = 'Many'\n");
        let mut tables = String::new();
        for n in 0..1_000 {
            tables +=
                &format!("CREATE TABLE jobs_{n} (id int PRIMARY KEY, who text, at bigint, until bigint);");
            tables += &format!("INSERT INTO jobs_{n} VALUES (1, 'w', 1794740400000, 1794740400001);");
            profile += &format!(
                "[[claim]]\nname = 'b{n}'\ntable = 'jobs_{n}'\nid = 'id'\nholder = 'who'\nclaimed_at = 'at'\n\
                 time = 'unix_ms'\ndeadline = {{ column = 'until' }}\n"
            );
        }
        database.batch(&tables);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("many.toml");
        std::fs::write(&path, profile).expect("the profile");
        let options = ["--now", "1794744000000", "--profile", path.to_str().expect("UTF-8")];
        let output = command(&[&["check", "--json"], &options[..]].concat())
            .arg(database.source())
            .output()
            .expect("claimtop runs");
        let source = &json(&output)["sources"][0];
        assert_eq!((&source["claims"]["stale"], &source["exact"]), (&1_000.into(), &true.into()));
        assert_eq!(source["boards"].as_object().map(serde_json::Map::len), Some(1_000));
    });
}

/// Claims that name their process, and claims of a registry.
const HOLDERS: &str = "title = 'Many'\n[[claim]]\nname = 'job'\ntable = 'jobs'\nid = 'id'\nholder = 'who'\nclaimed_at = 'at'\n\
    time = 'unix_ms'\ndeadline = { otherwise = '1h' }\n[claim.session]\ntable = 'workers'\nid = 'who'\nbeat_at = 'at'\n\
    time = 'unix_ms'\n[[claim]]\nname = 'own'\ntable = 'own'\nid = 'id'\nholder = 'who'\npid = 'pid'\nclaimed_at = 'at'\n\
    time = 'unix_ms'\ndeadline = { otherwise = '1h' }\n";

#[test]
fn more_than_twenty_thousand_holders_are_all_listed_with_all_their_claims() {
    const MANY: usize = 20_050;
    on_both(|| {
        let database = Database::new(
            "CREATE TABLE jobs (id int PRIMARY KEY, who text, at bigint); CREATE INDEX jobs_who ON jobs (who);
             CREATE TABLE workers (who text PRIMARY KEY, at bigint);
             CREATE TABLE own (id int PRIMARY KEY, who text, pid int, at bigint);",
        );
        for (table, columns) in
            [("jobs", "n, 'w' || n, 1794740400000"), ("own", "n, 'o' || n, n, 1794740400000")]
        {
            database.either(
                &format!(
                    "INSERT INTO {table} WITH RECURSIVE all_of(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM all_of
                     WHERE n < {MANY}) SELECT {columns} FROM all_of"
                ),
                &format!("INSERT INTO {table} SELECT {columns} FROM generate_series(1, {MANY}) n"),
            );
        }
        database.batch("INSERT INTO workers SELECT who, at FROM jobs");
        let profile = Profile::parse("many", HOLDERS).expect("a profile");
        let options = database.options(Profiles::Named(vec![profile]), |_| ());
        let holders = Reader::open(options).expect("a reader").holders(None).expect("holders");
        let of = |letter: char| {
            let its = |id: Option<String>| id.is_some_and(|id| id.starts_with(letter));
            holders.iter().filter(|holder| its(holder.id.text()) && holder.claims == 1).count()
        };
        assert_eq!((of('w'), of('o')), (MANY, MANY));
    });
}
