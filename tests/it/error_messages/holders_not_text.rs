//! Holders whose names are no text: they are missing like others, and hide nobody.

use super::{code, run};
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND, json, lines, stderr};
use serde_json::json;

/// Names that no session can have, as SQL.
const NAMELESS: [&str; 3] = ["CAST(x'ff' AS TEXT)", "CAST(x'732d30ff' AS TEXT)", "x'732d3030303031'"];

/// Sessions that beat, each with a claim, and claims of others that are not there.
fn board(schema: &str, sessions: i64, missing: i64) -> Database {
    let database = Database::new(schema);
    database.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO sessions SELECT printf('s-%05d', i), '/project', 'cli', ?2, ?2, '{}', NULL FROM n",
        (sessions, NOW - SECOND),
    );
    database.run(
        "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
         SELECT 'of-' || id, id, ?1, ?2, ?1 FROM sessions",
        (NOW - SECOND, NOW + 20 * MINUTE),
    );
    for number in 0..missing {
        // Some come before all sessions, some among them, some after them.
        let holder = ["a", "s", "z"][usize::try_from(number % 3).unwrap()];
        claim(&database, &format!("gone-{number}"), &format!("'{holder}-{number:05}x'"));
    }
    database
}

fn claim(database: &Database, id: &str, holder: &str) {
    let (since, until) = (NOW - SECOND, NOW + 20 * MINUTE);
    database.run(
        &format!(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES ('{id}', {holder}, {since}, {until}, {since})"
        ),
        [],
    );
}

#[test]
fn a_holder_whose_name_is_no_text_is_missing_like_any_other() {
    let unindexed = COORDINATION.replace("CREATE INDEX idx_claims_session ON task_claims(session_id);", "");
    for (schema, sessions) in [(COORDINATION, 3_000), (COORDINATION, 5), (&unindexed, 3_000), (&unindexed, 5)]
    {
        let database = board(schema, sessions, 30);
        for (number, holder) in NAMELESS.iter().enumerate() {
            claim(&database, &format!("nameless-{number}"), holder);
        }
        let missing = 30 + NAMELESS.len();
        for verb in [&["check", "--json"][..], &["check", "--json", "--exact"]] {
            let output = run(verb, &[&database.path()]);
            assert_eq!((code(&output), stderr(&output).as_str()), (2, ""), "{verb:?} on {sessions}");
            let found = &json(&output)["sources"][0];
            assert_eq!(found["ok"], true, "{found:#}");
            assert_eq!(found["reasons"], json!({ "session_missing": missing }), "{verb:?} on {sessions}");
            assert_eq!(found["claims"]["orphaned"], missing, "{verb:?} on {sessions}");
            assert_eq!(found["claims"]["healthy"], sessions, "{verb:?} on {sessions}");
        }
        let orphaned = lines(&run(&["list", "--json", "--set", "orphaned"], &[&database.path()]));
        assert_eq!(orphaned.len(), missing, "{sessions}");
        assert!(orphaned.iter().all(|claim| claim["reasons"] == json!(["session_missing"])), "{sessions}");
        let nameless = orphaned.iter().filter(|claim| claim["id"].as_str().unwrap().starts_with("nameless"));
        assert_eq!(nameless.count(), NAMELESS.len(), "{sessions}");
    }
}

#[test]
fn a_board_of_nothing_but_such_holders_is_read_to_its_end() {
    let database = board(COORDINATION, 1, 0);
    for number in 0..300 {
        claim(&database, &format!("nameless-{number}"), &format!("CAST(x'ff{number:04x}' AS TEXT)"));
    }
    let output = run(&["check", "--json"], &[&database.path()]);
    assert_eq!((code(&output), stderr(&output).as_str()), (2, ""));
    let found = &json(&output)["sources"][0];
    assert_eq!(
        (&found["reasons"], &found["claims"]["healthy"]),
        (&json!({"session_missing": 300}), &1.into())
    );
    assert_eq!(lines(&run(&["list", "--json"], &[&database.path()])).len(), 301);
}
