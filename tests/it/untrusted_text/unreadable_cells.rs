//! One rotten cell spoils its own row, and that row says so; the board stays as it is.

use super::{run, text};
use crate::support::engine::{Engine, engine, on_both};
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND, json, lines};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Values no time can be read from, as SQL.
fn poison() -> &'static [(&'static str, &'static str)] {
    match engine() {
        Engine::Sqlite => &[
            ("invalid UTF-8", "CAST(x'fffe41' AS TEXT)"),
            ("a word", "'soon'"),
            ("an empty text", "''"),
            ("a blob", "x'00ff10'"),
            ("the smallest number", "-9223372036854775807 - 1"),
            ("the largest number", "9223372036854775807"),
            ("infinity", "9e999"),
            ("minus infinity", "-9e999"),
            ("NULL", "NULL"),
        ],
        Engine::Postgres => &[
            ("no number", "'NaN'"),
            ("the smallest number", "-9223372036854775808"),
            ("the largest number", "9223372036854775807"),
            ("a number beyond all", "1e300"),
            ("infinity", "'infinity'"),
            ("minus infinity", "'-infinity'"),
            ("NULL", "NULL"),
        ],
    }
}

/// Claims in every set, in a table that takes NULL, and whatever a number can be, for every time.
fn board() -> Database {
    let numbers = COORDINATION.replace(" INTEGER", " DOUBLE PRECISION");
    let database = Database::with(
        &COORDINATION.replace(" INTEGER NOT NULL", " INTEGER"),
        &numbers.replace(" DOUBLE PRECISION NOT NULL", " DOUBLE PRECISION"),
    );
    database.session("beating", SECOND);
    database.session("silent", 20 * MINUTE);
    database.task("healthy", "beating", 20 * MINUTE);
    database.task("expiring", "beating", MINUTE);
    database.task("expired", "beating", -MINUTE);
    database.task("orphaned", "silent", 20 * MINUTE);
    database.task("missing", "nobody", 20 * MINUTE);
    database
}

/// What is said of every claim, by id, less the tokens of the rows.
fn said(database: &Database) -> BTreeMap<String, Json> {
    let one = |mut claim: Json| {
        claim["source"] = Json::Null;
        (text(&claim["id"]), claim)
    };
    lines(&run(&["list", "--json"], database)).into_iter().map(one).collect()
}

fn counts(database: &Database) -> Json {
    let all = json(&run(&["check", "--json"], database));
    assert_eq!(all["sources"][0]["ok"], true, "{all:#}");
    all["sources"][0].clone()
}

/// The counts of `before` with one more claim that cannot be read.
fn one_unknown_more(before: &Json) -> Json {
    let mut claims = before["claims"].clone();
    for count in ["total", "unknown"] {
        claims[count] = (claims[count].as_u64().expect("a count") + 1).into();
    }
    claims
}

/// Holds the board to its state before the poison, but for the claim named `poisoned`.
fn spoils_only_itself(database: &Database, before: (&BTreeMap<String, Json>, &Json), what: &str) {
    let mut after = said(database);
    let poisoned = after.remove("poisoned").unwrap_or_else(|| panic!("{what}: the row is not listed"));
    assert_eq!(poisoned["verdict"], "unknown", "{what}: {poisoned:#}");
    assert_eq!(poisoned["reasons"], serde_json::json!(["unreadable"]), "{what}: {poisoned:#}");
    assert_eq!(&after, before.0, "{what}");
    let counted = counts(database);
    assert_eq!(counted["claims"], one_unknown_more(before.1), "{what}: {counted:#}");
    let mut reasons = before.1["reasons"].clone();
    reasons["unreadable"] = 1.into();
    let sorted = |reasons: &Json| -> BTreeMap<String, Json> {
        reasons.as_object().expect("reasons").clone().into_iter().collect()
    };
    assert_eq!(sorted(&counted["reasons"]), sorted(&reasons), "{what}");
    assert_eq!(counted["exact"], true, "{what}");
}

/// A claim named `poisoned`, healthy but for what these values say.
fn poisoned(database: &Database, holder: &str, column: &str, value: &str) {
    database.task("poisoned", holder, 20 * MINUTE);
    database.batch(&format!("UPDATE task_claims SET {column} = {value} WHERE task_id = 'poisoned'"));
}

#[test]
fn a_time_of_a_claim_that_cannot_be_read_makes_that_claim_unknown() {
    on_both(|| {
        let database = board();
        let before = (said(&database), counts(&database));
        for column in ["expires_at", "claimed_at", "last_heartbeat"] {
            for &(name, value) in poison() {
                // A claim that has not beaten yet has no heartbeat, and nothing is wrong with it.
                if (column, value) == ("last_heartbeat", "NULL") {
                    continue;
                }
                poisoned(&database, "beating", column, value);
                spoils_only_itself(&database, (&before.0, &before.1), &format!("{name} in {column}"));
                database.run("DELETE FROM task_claims WHERE task_id = 'poisoned'", []);
            }
        }
        assert_eq!(
            (said(&database), counts(&database)["claims"].clone()),
            (before.0, before.1["claims"].clone())
        );
    });
}

#[test]
fn a_claim_that_has_not_beaten_yet_is_healthy() {
    on_both(|| {
        let database = board();
        let before = counts(&database);
        poisoned(&database, "beating", "last_heartbeat", "NULL");
        assert_eq!(said(&database)["poisoned"]["verdict"], "healthy");
        let after = counts(&database);
        assert_eq!(after["claims"]["unknown"], before["claims"]["unknown"]);
        assert_eq!(after["reasons"], before["reasons"]);
    });
}

#[test]
fn a_session_whose_beat_cannot_be_read_makes_its_claim_unknown() {
    on_both(|| {
        let database = board();
        let before = (said(&database), counts(&database));
        for &(name, value) in poison() {
            database.session("rotten", SECOND);
            database.batch(&format!("UPDATE sessions SET last_heartbeat = {value} WHERE id = 'rotten'"));
            poisoned(&database, "rotten", "heartbeat_count", "0");
            spoils_only_itself(&database, (&before.0, &before.1), &format!("{name} in the session"));
            let sessions = counts(&database)["sessions"].clone();
            assert_eq!(sessions["total"], 3, "{name}: {sessions}");
            for state in ["alive", "stale"] {
                assert_eq!(sessions[state], before.1["sessions"][state], "{name}: {sessions}");
            }
            database.run("DELETE FROM task_claims WHERE task_id = 'poisoned'", []);
            database.run("DELETE FROM sessions WHERE id = 'rotten'", []);
        }
    });
}

#[test]
fn a_pid_that_is_none_changes_no_verdict() {
    on_both(|| {
        let database = board();
        let before = (said(&database), counts(&database));
        let beyond = ["4294967297", "0", "-1", "1.5"];
        for value in poison().iter().map(|(_, value)| *value).chain(beyond) {
            database.run(&format!("UPDATE sessions SET pid = {value}"), []);
            for (id, claim) in said(&database) {
                let expected = &before.0[&id];
                for field in ["verdict", "reasons", "sets", "conclusion", "why"] {
                    assert_eq!(claim[field], expected[field], "pid {value}: {id}");
                }
                if claim["session"]["state"] != "missing" {
                    assert_eq!(claim["session"]["process"], "unknown", "pid {value}: {id}");
                }
            }
            let counted = counts(&database);
            assert_eq!(
                (&counted["claims"], &counted["reasons"]),
                (&before.1["claims"], &before.1["reasons"])
            );
        }
    });
}

#[test]
fn many_rotten_rows_leave_the_others_counted() {
    on_both(|| {
        let database = board();
        let before = (said(&database), counts(&database));
        let mut rotten = 0;
        for column in ["expires_at", "claimed_at"] {
            for &(_, value) in poison() {
                poisoned(&database, "beating", column, value);
                rotten += 1;
                let renamed =
                    format!("UPDATE task_claims SET task_id = 'rotten-{rotten}' WHERE task_id = 'poisoned'");
                database.run(&renamed, []);
            }
        }
        let mut after = said(&database);
        after.retain(|id, _| !id.starts_with("rotten-"));
        assert_eq!(after, before.0);
        let counted = counts(&database);
        assert_eq!(counted["reasons"]["unreadable"], rotten);
        assert_eq!(counted["claims"]["healthy"], before.1["claims"]["healthy"]);
        assert_eq!(
            counted["claims"]["total"].as_i64(),
            before.1["claims"]["total"].as_i64().map(|n| n + rotten)
        );
    });
}

#[test]
fn times_at_the_edge_of_what_can_be_read_are_read_or_refused_and_never_crash() {
    on_both(|| {
        let database = board();
        let before = said(&database);
        // A clock that computes with these must not overflow.
        for at in
            [0, 1, -1, i64::MAX / 2, i64::MIN / 2, NOW * 1_000, 253_402_300_799_999, 253_402_300_800_000]
        {
            for column in ["expires_at", "claimed_at", "last_heartbeat"] {
                poisoned(&database, "beating", column, &at.to_string());
                let mut after = said(&database);
                assert!(after.remove("poisoned").is_some(), "{at} in {column}");
                assert_eq!(after, before, "{at} in {column}");
                counts(&database);
                database.run("DELETE FROM task_claims WHERE task_id = 'poisoned'", []);
            }
        }
    });
}
