//! `check` for monitoring: thresholds, performance data, rounds; and what shells and `man` are given.

use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, claimtop, command, stderr, stdout};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const AT_NOW: [&str; 2] = ["--now", "1794744000000"];

fn check(options: &[&str], sources: &[&Path]) -> Output {
    command(&["check"]).args(AT_NOW).args(options).args(sources).output().expect("claimtop runs")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

/// So many claims that ran out, that are about to, and whose session is gone.
fn with_claims(stale: u32, expiring: u32, orphaned: u32) -> Database {
    let database = Database::new(COORDINATION);
    database.session("session-1", MINUTE);
    claims(&database, stale, expiring, orphaned);
    database
}

/// Puts them in the place of those that are there.
fn claims(database: &Database, stale: u32, expiring: u32, orphaned: u32) {
    database.run("DELETE FROM task_claims", []);
    for (name, claims, session, expires_in) in [
        ("stale", stale, "session-1", -MINUTE),
        ("expiring", expiring, "session-1", 2 * MINUTE),
        ("orphaned", orphaned, "gone", 20 * MINUTE),
    ] {
        for number in 0..claims {
            database.task(&format!("{name}-{number}"), session, expires_in);
        }
    }
}

/// Claims that are stale, expiring and orphaned; options; the exit code.
type Case = ((u32, u32, u32), &'static [&'static str], i32);

#[test]
fn thresholds_decide_about_the_exit_code_and_the_headline() {
    on_both(|| {
        let table: [Case; 15] = [
            ((3, 0, 0), &[], 2),
            ((0, 3, 0), &[], 1),
            ((3, 0, 0), &["--warn", "stale=1", "--crit", "stale=10"], 1),
            ((3, 0, 0), &["--warn", "stale=4", "--crit", "stale=10"], 0),
            ((3, 0, 0), &["--crit", "stale=3"], 2),
            ((3, 0, 0), &["--crit", "stale=4"], 0),
            ((3, 0, 0), &["--warn", "stale=3"], 1),
            ((0, 4, 0), &["--warn", "stale=1,expiring=5", "--crit", "stale=10,orphaned=1"], 0),
            ((0, 5, 0), &["--warn", "stale=1,expiring=5", "--crit", "stale=10,orphaned=1"], 1),
            ((0, 5, 1), &["--warn", "stale=1,expiring=5", "--crit", "stale=10,orphaned=1"], 2),
            // Whom nobody named keeps the usual meaning.
            ((1, 0, 1), &["--crit", "stale=10"], 2),
            ((1, 1, 0), &["--crit", "stale=10"], 1),
            ((0, 0, 2), &["--warn", "orphaned=2", "--warn", "stale=5"], 1),
            ((0, 0, 0), &["--crit", "unknown=1,runaway=1"], 0),
            ((0, 0, 0), &["--warn", "stale=1"], 0),
        ];
        let database = with_claims(0, 0, 0);
        for ((stale, expiring, orphaned), options, expected) in table {
            claims(&database, stale, expiring, orphaned);
            let output = check(options, &[Path::new(&database.source())]);
            let what = format!("{stale} {expiring} {orphaned} {options:?}: {}", stdout(&output));
            assert_eq!(code(&output), expected, "{what}");
            let headline = ["OK  ", "WARNING  ", "CRITICAL  "][usize::try_from(expected).unwrap()];
            assert!(stdout(&output).starts_with(headline), "{what}");
            let json = check(&[options, &["--json"]].concat(), &[Path::new(&database.source())]);
            assert_eq!(code(&json), expected, "the same in JSON: {what}");
        }
    });
}

#[test]
fn unknown_and_runaway_claims_have_thresholds_too() {
    on_both(|| {
        let database = with_claims(0, 0, 0);
        database.task("unknown", "session-1", 20 * MINUTE);
        // The largest number is no time.
        database.run("UPDATE task_claims SET expires_at = 9223372036854775807", []);
        assert_eq!(code(&check(&["--crit", "unknown=1"], &[Path::new(&database.source())])), 2);
        assert_eq!(code(&check(&["--warn", "unknown=2"], &[Path::new(&database.source())])), 0);
        let database = with_claims(0, 0, 0);
        database.task("runaway", "session-1", -90 * MINUTE);
        let options = ["--warn", "stale=5", "--crit", "runaway=1"];
        assert_eq!(code(&check(&options, &[Path::new(&database.source())])), 2);
    });
}

#[test]
fn a_bad_threshold_is_an_error_that_says_what_to_write() {
    let database = with_claims(1, 0, 0);
    for (options, said) in [
        (&["--warn", "stale"][..], "write SET=COUNT"),
        (&["--warn", "stale=many"], "\"many\" is not a number of claims"),
        (&["--warn", "stale=-1"], "not a number of claims"),
        (&["--warn", "stale=0"], "0 would always be reached"),
        (&["--crit", "healthy=1"], "stale, orphaned, expiring, unknown, runaway and reclaims"),
        (&["--crit", "stale=1,"], "write SET=COUNT"),
        (&["--warn", "stale=1,stale=2"], "--warn names stale twice"),
        (&["--warn", "stale=10", "--crit", "stale=3"], "--warn stale=10 would never be seen"),
        (&["--plugin", "--json"], "cannot be used with"),
        (&["--watch", "soon"], "write 90s"),
        (&["--watch", "1ms"], "100ms or longer"),
    ] {
        let output = check(options, &[Path::new(&database.source())]);
        assert_eq!((code(&output), stdout(&output)), (3, String::new()), "{options:?}");
        assert!(stderr(&output).contains(said), "{options:?}: {}", stderr(&output));
    }
}

/// The first line, in front of the bar and behind it.
fn halves(output: &Output) -> (String, String) {
    let text = stdout(output);
    let (said, data) = text.lines().next().expect("a line").split_once(" | ").expect("performance data");
    (said.into(), data.into())
}

#[test]
fn performance_data_follows_the_first_line() {
    on_both(|| {
        let database = with_claims(3, 1, 0);
        let options = ["--plugin", "--warn", "stale=1", "--crit", "stale=10,orphaned=1"];
        let output = check(&options, &[Path::new(&database.source())]);
        let (said, data) = halves(&output);
        assert!(said.starts_with("WARNING  ") && said.contains("3 stale, 1 expiring of 4 claims"), "{said}");
        let expected =
            "stale=3;1;10 orphaned=0;;1 expiring=1;1; unknown=0;1; runaway=0;; healthy=0;; total=4;;";
        assert_eq!((data.as_str(), code(&output)), (expected, 1));
        assert_eq!(stdout(&output).matches('|').count(), 1, "one bar only");
        let plain = check(&options[1..], &[Path::new(&database.source())]);
        assert!(!stdout(&plain).contains('|'), "only on request");
    });
}

#[test]
fn performance_data_of_several_sources_are_told_apart_by_their_labels() {
    let (one, other) = (with_claims(1, 0, 0), with_claims(0, 2, 0));
    let odd = other.beside("it's a|b=c.db");
    std::os::unix::fs::symlink(other.path(), &odd).expect("a link");
    let output = check(&["--plugin"], &[&one.path(), &odd]);
    let (said, data) = halves(&output);
    assert!(said.starts_with("CRITICAL  1 stale, 0 orphaned, 2 expiring"), "{said}");
    assert!(said.ends_with("of 3 claims in 2 sources"), "{said}");
    assert!(data.contains(&format!("'{} coordination stale'=1;;1", one.path().display())), "{data}");
    assert!(data.contains("it''s a_b_c.db coordination expiring'=2;1;"), "{data}");
    assert_eq!(stdout(&output).matches('|').count(), 1, "{}", stdout(&output));
}

#[test]
fn a_plugin_says_on_standard_output_what_it_could_not_look_at() {
    let output = check(&["--plugin"], &[Path::new("/nonexistent/tasks.db")]);
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).starts_with("UNKNOWN  /nonexistent/tasks.db: there is no such file"));
}

#[test]
fn two_rounds_are_two_pages_and_two_lines_of_json() {
    on_both(|| {
        let database = with_claims(0, 1, 0);
        let rounds = ["--watch", "100ms", "--count", "2"];
        let output = check(&rounds, &[Path::new(&database.source())]);
        assert_eq!(code(&output), 1);
        let text = stdout(&output);
        let pages: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(pages.len(), 2, "{text}");
        for page in pages {
            assert!(page.starts_with("2026-11-15T12:00:00.000Z\nWARNING  "), "{page}");
        }
        let output = check(&[&rounds[..], &["--json"]].concat(), &[Path::new(&database.source())]);
        let objects: Vec<serde_json::Value> =
            stdout(&output).lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert_eq!((objects.len(), objects[1]["sources"][0]["claims"]["expiring"].as_u64()), (2, Some(1)));
    });
}

#[test]
fn a_signal_ends_the_rounds_with_the_exit_code_of_the_last() {
    on_both(|| {
        let database = with_claims(1, 0, 0);
        let mut command = command(&["check", "--json", "--watch", "100ms"]);
        let mut child =
            command.args(AT_NOW).arg(database.source()).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = lines.next().expect("a first round").expect("a line");
        assert!(line.contains("\"stale\":1"), "{line}");
        database.run("DELETE FROM task_claims", []);
        // The rounds go on, and see the change.
        let is_free = |line: String| {
            let object: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            object["sources"][0]["claims"]["total"] == 0
        };
        assert!(lines.any(|line| is_free(line.expect("a line"))));
        let killed = Command::new("kill").arg(child.id().to_string()).status().expect("kill runs");
        assert!(killed.success());
        assert!(lines.all(|line| line.expect("a line").ends_with('}')), "no line is cut off");
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    });
}

/// The verbs that the help shows.
fn verbs() -> Vec<String> {
    let help = stdout(&command(&["--help"]).output().expect("claimtop runs"));
    let commands = help.split_once("Commands:\n").expect("commands").1.split("\n\n").next().expect("a part");
    let named = commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.map(|line| line.split_whitespace().next().expect("a verb").to_owned()).collect()
}

#[test]
fn completions_know_every_verb_that_is_shown_and_none_that_is_hidden() {
    assert!(verbs().len() >= 14 && verbs().contains(&"doctor".to_owned()), "{:?}", verbs());
    for shell in ["bash", "zsh", "fish"] {
        let output = command(&["completions", shell]).output().expect("claimtop runs");
        let script = stdout(&output);
        assert_eq!((code(&output), stderr(&output)), (0, String::new()), "{shell}");
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell}: {verb}");
        }
        assert!(script.contains("check-pid") && script.contains("plugin"), "{shell}: options too");
        for hidden in ["demo-child", "--now", "-l now", "--count", "-l count"] {
            assert!(!script.contains(hidden), "{shell}: {hidden}");
        }
    }
    let output = command(&["completions", "tcsh"]).output().expect("claimtop runs");
    assert_eq!(code(&output), 3);
    assert!(stderr(&output).contains("bash, zsh, fish"), "{}", stderr(&output));
}

#[test]
fn bash_understands_its_completions() {
    let script = stdout(&command(&["completions", "bash"]).output().expect("claimtop runs"));
    let asks =
        "\nCOMP_WORDS=(claimtop do); COMP_CWORD=1; _claimtop claimtop do claimtop; echo ${COMPREPLY[@]}\n";
    for (options, input) in [(&["-n"][..], script.clone()), (&["-s"], script + asks)] {
        let mut bash = Command::new("bash");
        bash.args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = bash.spawn().expect("bash starts");
        child.stdin.take().expect("its input").write_all(input.as_bytes()).expect("written");
        let mut said = String::new();
        child.stdout.take().expect("its output").read_to_string(&mut said).expect("read");
        assert!(child.wait().expect("it ends").success(), "{options:?}");
        assert_eq!(said.trim(), if options == ["-n"] { "" } else { "doctor" });
    }
}

#[test]
fn the_manual_page_has_a_section_for_every_verb() {
    let output = command(&["man"]).output().expect("claimtop runs");
    let page = stdout(&output);
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    assert!(page.contains(".TH claimtop 1"), "{page}");
    for verb in verbs() {
        assert!(page.contains(&format!(".SH \"CLAIMTOP {}\"", verb.to_uppercase())), "{verb}");
    }
    assert!(page.contains(".SH \"CLAIMTOP AUDIT VERIFY\""), "verbs below verbs");
    for section in ["EXIT STATUS", "ENVIRONMENT", "FILES"] {
        assert!(page.contains(&format!(".SH \"{section}\"")), "{section}");
    }
    assert!(page.matches("S EXAMPLES").count() + page.matches("H EXAMPLES").count() >= verbs().len());
    for hidden in ["DEMO", "now", "count"].map(|word| format!("\\-\\-{word}")) {
        assert!(!page.contains(&format!("{hidden}\\f")), "{hidden}");
    }
    assert!(!page.contains("DEMO-CHILD"));
}

#[test]
fn neither_needs_a_config_that_can_be_read() {
    for verb in [&["man"][..], &["completions", "bash"]] {
        let output = claimtop(&[verb, &["--config"]].concat(), Path::new("/nonexistent/config.toml"));
        assert_eq!(code(&output), 0, "{verb:?}: {}", stderr(&output));
    }
}

#[test]
fn check_json_has_the_counts_of_get_stats_under_its_names() {
    on_both(|| {
        let database = with_claims(1, 1, 1);
        database.session("session-2", 20 * MINUTE);
        database.task("healthy", "session-1", 20 * MINUTE);
        database.run(
            "INSERT INTO locks (resource, session_id, acquired_at, expires_at) VALUES ('a', 'session-1', 0, 1)",
            (),
        );
        let (object, _) = database.check();
        let stats = &object["stats"];
        assert_eq!(stats["claims"], serde_json::json!({"total": 4, "active": 3, "expiring": 1}));
        assert_eq!(stats["locks"], serde_json::json!({"total": 1}), "expired ones are counted as well");
        assert_eq!(stats["sessions"], serde_json::json!({"total": 2, "active": 1, "stale": 1}));
    });
}

/// So many jobs of a type that were reclaimed so many minutes before now, left in this state.
fn reclaimed(database: &Database, kind: &str, status: &str, minutes: i64, count: i64) {
    for number in 0..count {
        let at =
            chrono::DateTime::from_timestamp_millis(crate::support::NOW - minutes * MINUTE).expect("a time");
        database.run(
            "INSERT INTO executor_jobs (id, type, status, last_error, updated_at)
             VALUES (?1, ?2, ?3, 'RECLAIMED_TTL: Exceeded TTL (30 min) at attempt 1. ', ?4)",
            (
                crate::support::uuid_of(&format!("{}{}{minutes}-{number}", &kind[..1], &status[..1])),
                kind,
                status,
                at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            ),
        );
    }
}

#[test]
fn too_many_reclaims_within_an_hour_are_a_threshold_whoever_did_them() {
    on_both(|| {
        let database = Database::of(claimtop::reference::System::ExecutorJobs);
        reclaimed(&database, "run_tsa", "queued", 10, 3);
        reclaimed(&database, "run_tsa", "dead", 20, 1);
        reclaimed(&database, "build_artifact", "succeeded", 59, 1);
        reclaimed(&database, "build_artifact", "queued", 61, 9);
        let (object, code) = database.check();
        let found = &object["reclaims"];
        assert_eq!((code, &found["total"], &found["within_s"]), (0, &5.into(), &3600.into()), "{object:#}");
        assert_eq!(
            found["kinds"],
            serde_json::json!([
                {"type": "build_artifact", "status": "succeeded", "reclaim_count": 1},
                {"type": "run_tsa", "status": "dead", "reclaim_count": 1},
                {"type": "run_tsa", "status": "queued", "reclaim_count": 3},
            ])
        );
        for (options, expected) in [
            (&["--warn", "reclaims=5"][..], 1),
            (&["--warn", "reclaims=6"], 0),
            (&["--warn", "reclaims=2", "--crit", "reclaims=5"], 2),
        ] {
            assert_eq!(database.check_with(options).1, expected, "{options:?}");
        }
        let text = stdout(&database.claimtop(&["check", AT_NOW[0], AT_NOW[1]]));
        let line = "reclaims  5 within an hour: 1 build_artifact succeeded, 1 run_tsa dead, 3 run_tsa queued";
        assert!(text.contains(line), "{text}");
        let plugin = stdout(&database.claimtop(&["check", "--plugin", AT_NOW[0], AT_NOW[1]]));
        assert!(plugin.contains("reclaims=5;;"), "{plugin}");
        let coordination = with_claims(0, 0, 0);
        assert!(coordination.check().0["reclaims"].is_null(), "it keeps no traces");
    });
}

#[test]
fn a_large_table_is_searched_for_reclaims_only_by_an_index() {
    on_both(|| {
        let database = Database::of(claimtop::reference::System::ExecutorJobs);
        reclaimed(&database, "run_tsa", "queued", 10, 3);
        database.either(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20001)
             INSERT INTO executor_jobs (id, type, status) SELECT 'done-' || i, 'run_tsa', 'succeeded' FROM n",
            "INSERT INTO executor_jobs (type, status) SELECT 'run_tsa', 'succeeded' FROM generate_series(1, 20001)",
        );
        assert_eq!(database.check().0["reclaims"]["total"], 3);
        database.batch("DROP INDEX executor_jobs_reclaimed_idx");
        assert!(database.check().0["reclaims"].is_null(), "that would read the whole table");
    });
}
