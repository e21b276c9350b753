//! Nothing is special-cased per system: a profile file of somebody's own is all it takes.

mod check;
mod holders;

use std::path::PathBuf;

use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, NOW, in_their_words, json, lines, stdout};

const SCHEMA: &str = "
    CREATE TABLE crew (badge TEXT PRIMARY KEY, seen_ns INTEGER, patience_s INTEGER);
    CREATE TABLE \"work orders\" (yard TEXT, number INTEGER, state TEXT, ticket TEXT, trade TEXT,
      taken_ns INTEGER, touched_ns INTEGER, PRIMARY KEY (yard, number)) WITHOUT ROWID;";

fn profile() -> String {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "tests", "it", "custom_profile", "profile.toml"].iter().collect();
    path.to_string_lossy().into_owned()
}

/// Nanoseconds, this many milliseconds from now.
fn ns(from_now: i64) -> i64 {
    (NOW + from_now) * 1_000_000
}

/// Two yards: one worker beats, one has been silent for longer than it may, one nobody knows.
fn yards() -> Database {
    let theirs = in_their_words(SCHEMA).replace("ticket TEXT", "ticket JSONB").replace("WITHOUT ROWID", "");
    let database = Database::with(SCHEMA, &theirs);
    database.run("INSERT INTO crew VALUES ('ann', ?1, 60), ('bob', ?2, 60)", (ns(-1_000), ns(-61_000)));
    let orders = [
        ("north", 1, "taken", "ann", "weld", -10 * MINUTE),
        ("north", 2, "taken", "ann", "weld", -31 * MINUTE),
        ("south", 1, "taken", "bob", "weld", -MINUTE),
        ("south", 2, "taken", "eve", "paint", -MINUTE),
        ("south", 3, "taken", "ann", "inspect", -MINUTE),
        ("south", 4, "open", "ann", "weld", -MINUTE),
        ("south", 5, "done", "bob", "weld", -90 * MINUTE),
    ];
    for (yard, number, state, who, trade, taken) in orders {
        let ticket = format!("{{\"by\": {{\"who\": \"{who}\"}}}}");
        database.run(
            "INSERT INTO \"work orders\" VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL)",
            (yard, number, state, ticket, trade, ns(taken)),
        );
    }
    database
}

fn verdict(database: &Database, id: &str) -> (String, Vec<String>) {
    let all = database.list(&["--profile", &profile()]);
    let claim = all.iter().find(|claim| claim["id"] == id).unwrap_or_else(|| panic!("no {id} in {all:#?}"));
    let reasons = claim["reasons"].as_array().expect("reasons");
    let reasons = reasons.iter().map(|reason| reason.as_str().expect("a reason").to_owned()).collect();
    (claim["verdict"].as_str().expect("a verdict").into(), reasons)
}

#[test]
fn an_invented_system_is_judged_by_its_profile_alone() {
    on_both(|| {
        let database = yards();
        assert_eq!(verdict(&database, "north,1"), ("healthy".into(), vec![]));
        assert_eq!(verdict(&database, "north,2"), ("stale".into(), vec!["ttl_exceeded".into()]));
        assert_eq!(verdict(&database, "south,1"), ("orphaned".into(), vec!["session_stale".into()]));
        assert_eq!(verdict(&database, "south,2"), ("orphaned".into(), vec!["session_missing".into()]));
        assert_eq!(verdict(&database, "south,3"), ("unknown".into(), vec!["no_deadline".into()]));

        let (check, exit) = database.check_with(&["--profile", &profile()]);
        assert_eq!(exit, 2);
        assert_eq!(check["profile"], "profile");
        assert_eq!(check["claims"]["total"], 5);
        assert_eq!(check["claims"]["orphaned"], 2);
        assert_eq!(check["sessions"]["stale"], 1);
        assert_eq!(check["backlog"]["queued"], 1);
    });
}

#[test]
fn a_composite_key_has_an_address_with_its_parts_encoded() {
    on_both(|| {
        let database = yards();
        database.run("UPDATE \"work orders\" SET yard = 'north, dock/2' WHERE yard = 'north'", ());
        let all = database.list(&["--profile", &profile(), "--holder", "ann", "--kind", "weld"]);
        let addresses: Vec<&str> =
            all.iter().map(|claim| claim["address"].as_str().expect("an address")).collect();
        assert_eq!(addresses, ["profile/order/north%2C%20dock%2F2,2", "profile/order/north%2C%20dock%2F2,1"]);
    });
}

#[test]
fn the_same_answers_come_from_a_table_with_rowids_and_one_without() {
    let without = yards();
    let with = Database::new(&SCHEMA.replace("WITHOUT ROWID", ""));
    without.run("ATTACH ?1 AS other", [with.path().to_string_lossy()]);
    without.run("INSERT INTO other.crew SELECT * FROM crew", ());
    without.run("INSERT INTO other.\"work orders\" SELECT * FROM \"work orders\"", ());
    let counts = |database: &Database| database.check_with(&["--profile", &profile()]).0["boards"].clone();
    assert_eq!(counts(&without), counts(&with));
}

#[test]
fn a_profile_in_the_users_folder_is_found_by_detection() {
    on_both(|| {
        let database = yards();
        let folder = database.beside("config");
        std::fs::create_dir_all(folder.join("claimtop/profiles")).expect("a folder");
        std::fs::copy(profile(), folder.join("claimtop/profiles/yard.toml")).expect("a copy");
        let run = |arguments: &[&str]| {
            let mut command = crate::support::command(arguments);
            command.env("XDG_CONFIG_HOME", &folder).output().expect("claimtop runs")
        };
        let path = database.source();
        let output = run(&["check", "--json", "--now", "1794744000000", &path]);
        assert_eq!(json(&output)["sources"][0]["profile"], "yard");
        assert!(stdout(&run(&["profile", "list"])).contains("yard"));
        let detected = stdout(&run(&["profile", "detect", &path]));
        let of_yard = detected.lines().find(|line| line.starts_with("yard ")).unwrap_or_default();
        assert!(of_yard.split_whitespace().any(|word| word == "fits"), "{detected}");
    });
}

#[test]
fn a_profile_that_does_not_fit_names_the_column() {
    on_both(|| {
        let database =
            Database::new("CREATE TABLE task_claims (task_id TEXT, session_id TEXT, claimed_at INTEGER)");
        let output = database.claimtop(&["profile", "check", "coordination"]);
        assert_eq!(output.status.code(), Some(3));
        assert!(stdout(&output).contains("column task_claims.expires_at is missing"), "{}", stdout(&output));
    });
}

#[test]
fn a_view_can_be_a_board() {
    on_both(|| {
        let database = yards();
        database.run("ALTER TABLE \"work orders\" RENAME TO orders", ());
        database.run("CREATE VIEW \"work orders\" AS SELECT * FROM orders WHERE yard = 'south'", ());
        let output =
            database.claimtop(&["list", "--json", "--now", "1794744000000", "--profile", &profile()]);
        assert_eq!(lines(&output).len(), 3);
    });
}

#[test]
fn a_bare_name_that_the_registry_has_too_is_told_apart_before_it_fails() {
    on_both(|| {
        let database = yards();
        database.run("ALTER TABLE crew ADD COLUMN state TEXT", ());
        let output = database.claimtop(&["check", "--profile", &profile()]);
        assert_eq!(output.status.code(), Some(3));
        let sentence = crate::support::stderr(&output);
        let told = ["ambiguous", "state", "; write c. before"].iter().all(|words| sentence.contains(words));
        assert!(told, "{sentence}");
    });
}
