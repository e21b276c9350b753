//! Values that are equal to the server and not the same: each is compared by its bytes, and comes back by an undo.

use super::*;

/// A column of every kind that plays a trick, with what is in it and what a server takes for equal, or shows alike.
const TRAPS: &[(&str, &str, &str)] = &[
    ("VARCHAR(20)", "'Abc'", "'aBC'"),
    ("VARCHAR(20)", "'Abc'", "'Abc  '"),
    ("VARCHAR(20) COLLATE utf8mb4_bin", "'Abc'", "'Abc '"),
    ("VARCHAR(20)", "'resume'", "'résumé'"),
    ("VARCHAR(20) CHARACTER SET latin1", "'é'", "'e'"),
    ("CHAR(8)", "'x'", "'X'"),
    ("TEXT", "'it''s \\'", "'IT''S \\'"),
    ("FLOAT", "16777215", "16777214"),
    ("FLOAT", "0.1", "0.10000001"),
    ("DOUBLE", "0.1", "0.10000000000000002"),
    ("DECIMAL(30,10)", "12345678901234567890.0000000001", "12345678901234567890.0000000002"),
    ("JSON", "'{\"b\": 1, \"a\": [1.0]}'", "'{\"b\": 1, \"a\": [1]}'"),
    ("BIT(12)", "b'101'", "b'111'"),
    ("BIT(64)", "18446744073709551615", "18446744073709551614"),
    ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551614"),
    ("ENUM('', 'x', 'y')", "'x'", "''"),
    ("SET('a', 'b')", "'a,b'", "'a'"),
    ("DATETIME", "'0000-00-00'", "'0000-00-01'"),
    ("DATE", "'0000-00-00'", "'2026-02-31'"),
    ("TIMESTAMP NULL DEFAULT NULL", "'0000-00-00'", "NULL"),
    ("DATETIME(6)", "'9999-12-31 23:59:59.999999'", "'9999-12-31 23:59:59.999998'"),
    ("TIME(3)", "'-838:59:58.999'", "'-838:59:58.998'"),
    ("YEAR", "2155", "2154"),
    ("VARBINARY(8)", "x'FF0041'", "x'FF0061'"),
    ("BLOB", "x'80'", "x''"),
];

const PROFILE_OF_TRAPS: &str = r#"
title = "Traps"
[[claim]]
name = "job"
table = "q"
held = "c.state = 'held'"
id = "id"
holder = "holder"
time = "timestamp"
zone = "utc"
fenced = true
deadline = { column = "until", lease = "60s" }
[claim.reclaim]
set = { state = "'queued'", trap = "NULL" }
"#;

fn database(kind: &str, value: &str) -> Option<MyDatabase> {
    let default = if kind.contains("DEFAULT") { "" } else { "NULL DEFAULT NULL" };
    MyDatabase::new(&format!(
        "CREATE TABLE q (id VARCHAR(10) PRIMARY KEY, state VARCHAR(10), holder VARCHAR(10), until DATETIME, trap {kind} {default},
           twice INT AS (CHAR_LENGTH(id) * 2) STORED);
         INSERT INTO q (id, state, holder, until, trap) VALUES ('a', 'held', 'w', '2026-11-15 11:00:00', {value});\n"
    ))
}

#[test]
fn what_is_equal_but_not_the_same_has_moved() {
    for (kind, value, other) in TRAPS {
        let Some(database) = database(kind, value) else { return };
        let mut actor = actor_by(&database, PROFILE_OF_TRAPS);
        let seen = look(&mut actor, "a");
        // By its length, so that the server does not decide that there is nothing to write.
        database.run("UPDATE q SET trap = NULL");
        database.run(&format!("UPDATE q SET trap = {other}"));
        let acted = act(&mut actor, &seen, Action::Reclaim, "test");
        assert!(matches!(acted.outcome, Outcome::Moved(_)), "{kind} {value} {other}: {:?}", acted.outcome);
        assert_eq!(database.text("SELECT state FROM q"), "held");
    }
}

#[test]
fn every_value_comes_back_by_an_undo_as_it_was_and_through_the_journal() {
    for (kind, value, other) in TRAPS {
        for value in [value, other] {
            let Some(database) = database(kind, value) else { return };
            let before = database.dump();
            let mut actor = actor_by(&database, PROFILE_OF_TRAPS);
            let acted = reclaim(&mut actor, "a");
            assert_eq!(acted.outcome, Outcome::Applied, "{kind} {value}");
            let text = |side| serde_json::from_str(&acted.images(side).to_string()).expect("JSON");
            let (old, new) = (text(claimtop::store::Side::Before), text(claimtop::store::Side::After));
            let changes = claimtop::store::Change::from_json(&old, &new).expect("changes");
            let undone = actor.undo(&changes, UNDO, &mut |_| Ok(())).expect("an undo");
            assert_eq!(undone.outcome, Outcome::Applied, "{kind} {value}");
            assert_eq!(database.dump(), before, "{kind} {value}");
        }
    }
}

#[test]
fn an_enum_outside_of_its_list_is_not_the_empty_member() {
    let Some(database) = database("ENUM('', 'x')", "'x'") else { return };
    database.run("SET SESSION sql_mode = ''");
    database.run("UPDATE q SET trap = 'unknown'");
    let mut actor = actor_by(&database, PROFILE_OF_TRAPS);
    let seen = look(&mut actor, "a");
    database.run("UPDATE q SET trap = ''");
    let acted = act(&mut actor, &seen, Action::Reclaim, "test");
    assert!(matches!(acted.outcome, Outcome::Moved(_)), "{:?}", acted.outcome);
}

#[test]
fn a_number_is_never_taken_for_the_texts_that_begin_with_it() {
    let Some(database) = database("INT", "1") else { return };
    database.run(
        "INSERT INTO q (id, state, holder, until) VALUES ('1', 'held', 'w', '2026-11-15 11:00:00'),
         ('01', 'held', 'w', '2026-11-15 11:00:00'), ('1x', 'held', 'w', '2026-11-15 11:00:00')",
    );
    let mut actor = actor_by(&database, PROFILE_OF_TRAPS);
    assert_eq!(reclaim(&mut actor, "1").outcome, Outcome::Applied);
    assert_eq!(database.text("SELECT GROUP_CONCAT(id) FROM q WHERE state = 'queued'"), "1");
}
