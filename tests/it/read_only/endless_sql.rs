//! SQL that would never end, or never fit: stopped by the time limit of a poll, and as harmless.

use super::profile_sql::with_payload;
use super::{Keeping, Scene, answered};

const COUNT: &str =
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n)";
const BLOBS: &str = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT length(randomblob(100000)) FROM n)
    SELECT sum(i) FROM n)";
const ZEROES: &str = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT length(zeroblob(1000000)) FROM n)
    SELECT max(i) FROM n)";
const CROSS: &str = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
    SELECT count(*) FROM n AS a, n AS b, n AS c, n AS d)";
const TOO_BIG: &str = "length(hex(zeroblob(999999999)))";

/// SQLite's words for what PostgreSQL calls otherwise. There a text can be half as long, and what is
/// constant would be too big before anybody looks.
const WORDS: [(&str, &str); 5] = [
    ("hex(zeroblob(999999999))", "repeat(c.task_id, 999999999)"),
    ("zeroblob(9223372036854775807)", "repeat(c.task_id, 2147483647)"),
    ("printf('%2000000000d', 1) || printf('%2000000000d', 1)", "repeat(c.task_id, 2000000000)"),
    ("randomblob(", "repeat('x', "),
    ("zeroblob(", "repeat('x', "),
];

/// A name, the field, the payload, a verb that reads the field, and whether time is what stops it.
const BOMBS: &[(&str, &str, &str, &[&str], bool)] = &[
    ("count", "held", COUNT, &["check"], true),
    ("count", "held", COUNT, &["list"], true),
    ("count", "held", COUNT, &["pid"], true),
    ("count", "id", COUNT, &["list"], true),
    ("count", "kind", COUNT, &["list"], true),
    ("count", "error", COUNT, &["list"], true),
    ("count", "deadline.column.expr", COUNT, &["check"], true),
    ("count", "orphaned_when", COUNT, &["check"], true),
    ("count", "session.beat_at", COUNT, &["pid"], true),
    ("count", "session.pid", COUNT, &["pid"], true),
    ("count", "backlog.queued", COUNT, &["check"], true),
    ("count", "history.where", COUNT, &["list", "--history"], true),
    ("count", "history.what", COUNT, &["list", "--history"], true),
    ("random blobs", "held", BLOBS, &["check"], true),
    ("random blobs", "history.id", BLOBS, &["list", "--history"], true),
    ("zero blobs", "held", ZEROES, &["list"], true),
    ("cross join", "held", CROSS, &["check"], true),
    ("cross join", "backlog.count.any", CROSS, &["check"], true),
    ("too big a text", "held", TOO_BIG, &["check"], false),
    ("too big a text", "error", TOO_BIG, &["list"], false),
    ("too big a blob", "held", "length(zeroblob(9223372036854775807))", &["check"], false),
    (
        "too big a number of digits",
        "id",
        "printf('%2000000000d', 1) || printf('%2000000000d', 1)",
        &["list"],
        false,
    ),
];

/// The payload as a condition where a field takes one, in the words of the engine.
fn payload_for(keeping: Keeping, field: &str, payload: &str) -> String {
    let conditions = ["held", "orphaned_when", "backlog.queued", "backlog.count.any", "history.where"];
    let is_condition = conditions.contains(&field);
    let sql = if is_condition { format!("{payload} > 0") } else { payload.to_owned() };
    if keeping == Keeping::Server {
        WORDS.iter().fold(sql, |all, (ours, theirs)| all.replace(ours, theirs))
    } else {
        sql
    }
}

#[test]
fn what_never_ends_is_stopped_and_changes_nothing() {
    for keeping in [Keeping::Rollback, Keeping::Server] {
        let scene = Scene::new(keeping);
        for (name, field, payload, verb, by_time) in BOMBS {
            let mine = scene.file("mine.toml", &with_payload(field, &payload_for(keeping, field, payload)));
            // What is too big must be refused as such, even where the machine is too busy for 300 ms.
            let limit = if *by_time { "300ms" } else { "10m" };
            let config = scene.file("config.toml", &format!("poll_timeout = {limit:?}\n"));
            let before = scene.state();
            let what = format!("{keeping:?}: {name} in {field}: {verb:?}");
            let mut command = scene.command(verb);
            command.arg("--profile").arg(mine).arg("--config").arg(config).arg(scene.source());
            let (code, said) = answered(&command.output().expect("claimtop runs"), &what);
            assert_eq!(scene.state(), before, "{what}: everything is as it was");
            let reason = match (by_time, keeping) {
                (true, _) => "300 ms",
                (false, Keeping::Server) => "too large",
                (false, _) => "too big",
            };
            assert_eq!(code, 3, "{what}: {said}");
            assert!(said.contains(reason), "{what}: {said}");
        }
    }
}

#[test]
fn a_statement_that_explodes_while_it_is_compiled_ends() {
    // Each doubles the one before: compiled naively, as many scans as there are grains on the chessboard.
    let mut sql = "(WITH t0 AS (SELECT 1 AS x)".to_owned();
    for level in 1..=40 {
        sql.push_str(&format!(", t{level} AS (SELECT a.x FROM t{0} AS a, t{0} AS b)", level - 1));
    }
    sql.push_str(" SELECT count(*) FROM t40) > 0");
    for keeping in [Keeping::Rollback, Keeping::Server] {
        let scene = Scene::new(keeping);
        let mine = scene.file("mine.toml", &with_payload("held", &sql));
        let mine = mine.to_str().expect("UTF-8");
        // What a server makes of it is no explosion: each part is worked out once.
        let (limit, code) = if keeping == Keeping::Server { ("10m", 0..=2) } else { ("300ms", 3..=3) };
        let config = scene.file("config.toml", &format!("poll_timeout = {limit:?}\n"));
        let before = scene.state();
        for verb in
            [&["check", "--profile", mine][..], &["list", "--profile", mine], &["profile", "check", mine]]
        {
            let mut command = scene.command(verb);
            command.arg("--config").arg(&config).arg(scene.source());
            let what = format!("{keeping:?}: {verb:?}");
            let (found, said) = answered(&command.output().expect("claimtop runs"), &what);
            assert!(code.contains(&found), "{what}: {found}: {said}");
            assert_eq!(scene.state(), before, "{what}");
        }
    }
}

#[test]
fn a_comment_over_the_rest_of_a_statement_ends() {
    // What is cut off may be the condition that makes a loop go forward.
    for keeping in [Keeping::Rollback, Keeping::Server] {
        let scene = Scene::new(keeping);
        for payload in ["1) /*", "1) --", "true) --", "1) FROM task_claims AS c /*"] {
            let mine = scene.file("mine.toml", &with_payload("held", payload));
            let config = scene.file("config.toml", "poll_timeout = \"300ms\"\n");
            let before = scene.state();
            for verb in ["check", "list", "pid"] {
                let mut command = scene.command(&[verb]);
                command.arg("--profile").arg(&mine).arg("--config").arg(&config).arg(scene.source());
                let what = format!("{keeping:?}: {payload:?}: {verb}");
                answered(&command.output().expect("claimtop runs"), &what);
                assert_eq!(scene.state(), before, "{what}");
            }
        }
    }
}
