//! What the rows tell: indexes, clocks, hosts, and claims that nobody cleans up.

use super::{AT_NOW, Practice, healthy};
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND, in_their_words, stdout};

const HOUR: i64 = 60 * MINUTE;

/// On SQLite alone: a server is told of an index only where its table holds more than claims.
#[test]
fn a_missing_index_is_named_with_the_statement_that_adds_it_however_small_the_table() {
    let (practice, database) = (Practice::new(), healthy());
    database.run("DROP INDEX idx_claims_expires", []);
    let findings = practice.examine(&[], database.source());
    findings.expect("indexes", "warning", "there is none on task_claims(expires_at)", "CREATE INDEX");
    // The statement is one: it runs, and then nothing is missed.
    let (_, _, fix) = findings.check("indexes");
    database.batch(&fix);
    practice.examine(&[], database.source()).expect("indexes", "ok", "none is missing", "");
}

/// So many healthy claims, looked at ten at a time.
fn in_slices(schema: &str, claims: usize) -> super::Findings {
    let (practice, database) = (Practice::new(), Database::new(schema));
    database.session("session-1", MINUTE);
    for task in 0..claims {
        database.task(&format!("task-{task}"), "session-1", 20 * MINUTE);
    }
    let config = practice.config(database.source(), "");
    let text = std::fs::read_to_string(&config).expect("the config");
    std::fs::write(&config, format!("census_slice = 10\n{text}")).expect("the config");
    practice.examine(&["--config", &config], database.source())
}

#[test]
fn what_no_index_answers_is_said_to_be_looked_for_in_slices() {
    let findings = in_slices(COORDINATION, 60);
    findings.expect("counts", "ok", "task: exact but for unreadable, clock_skew, looked for in", "");
    findings.expect("clock", "ok", "no time lies in the future, as far as the rows were looked at", "");
}

#[test]
fn counts_that_were_cut_off_are_a_warning() {
    // A table whose rows nothing tells apart.
    let schema = COORDINATION
        .replace("release_reason TEXT, metadata TEXT);", "release_reason TEXT, metadata TEXT, rowid TEXT);")
        .replace("task_id TEXT PRIMARY KEY NOT NULL", "task_id TEXT PRIMARY KEY");
    assert!(schema.contains("rowid") && schema.contains("task_id TEXT PRIMARY KEY,"), "{schema}");
    in_slices(&schema, 300).expect("counts", "warning", "task: claims counted in 200 rows only", "--exact");
}

#[test]
fn when_the_systems_own_timer_ends_a_session_is_told() {
    on_both(|| {
        let findings = Practice::new().examine(&[], healthy().source());
        findings.expect(
            "sessions",
            "ok",
            "ends a session after 5m of silence; here its claims are orphaned after 10m",
            "",
        );
        findings.expect("sessions", "ok", "limits.orphan_after = \"5m\"", "");
    });
}

#[test]
fn times_in_the_future_are_told() {
    on_both(|| {
        let database = healthy();
        database.run("UPDATE task_claims SET last_heartbeat = ?1", [NOW + 7 * MINUTE]);
        let findings = Practice::new().examine(&[], database.source());
        findings.expect(
            "clock",
            "warning",
            "1 claim: a time in its row lies in the future, up to 7m ahead",
            "clocks",
        );
        assert_eq!(findings.code, 1);
    });
}

#[test]
fn times_that_are_hours_ahead_look_like_another_zone() {
    on_both(|| {
        let database = healthy();
        database.run("UPDATE task_claims SET last_heartbeat = ?1", [NOW + 2 * HOUR - 20 * SECOND]);
        let findings = Practice::new().examine(&[], database.source());
        findings.expect("clock", "warning", "looks like local time written as UTC", "UTC");
    });
}

#[test]
fn a_time_that_cannot_be_read_is_told() {
    let database = healthy();
    database.run("UPDATE task_claims SET expires_at = 'soon'", []);
    let findings = Practice::new().examine(&[], database.source());
    findings.expect("times", "warning", "1 claim: a time in its row cannot be read", "list --set unknown");
}

#[test]
fn claims_that_expired_hours_ago_say_that_nothing_cleans_up() {
    on_both(|| {
        let database = healthy();
        for (task, ago) in [("a", 61 * MINUTE), ("b", 2 * HOUR), ("c", 5 * HOUR)] {
            database.task(task, "session-1", -ago);
        }
        // Expired, but a sweep may well be on its way.
        database.task("recent", "session-1", -10 * MINUTE);
        let findings = Practice::new().examine(&[], database.source());
        let said = "3 claims expired more than 1h ago, the oldest 5h ago: nothing seems to clean up";
        findings.expect("sweeping", "warning", said, "claimtop sweep");
    });
}

#[test]
fn a_claim_that_expired_just_now_is_no_leak() {
    on_both(|| {
        let database = healthy();
        database.task("recent", "session-1", -10 * MINUTE);
        Practice::new().examine(&[], database.source()).expect("sweeping", "ok", "no claim expired", "");
    });
}

#[test]
fn processes_without_a_host_need_the_setting_that_says_where_they_run() {
    on_both(|| {
        let (practice, database) = (Practice::new(), healthy());
        practice.examine(&[], database.source()).expect(
            "holders",
            "warning",
            "1 of 1 holder with a process cannot be judged: the row names no host",
            "holders_on",
        );
        let config = practice.config(database.source(), "holders_on = \"elsewhere\"");
        let findings = practice.examine(&["--config", &config], database.source());
        findings.expect("holders", "ok", "holders_on says that they run elsewhere", "");
    });
}

/// A queue whose workers write down where they run.
fn with_hosts(hosts: &[&str]) -> Database {
    let tables = "CREATE TABLE task_types (id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE tasks (id TEXT PRIMARY KEY, task_type_id INTEGER, status TEXT, worker_id TEXT,
           claimed_at TEXT, attempts INTEGER, max_attempts INTEGER, error_message TEXT, priority INTEGER,
           created_at TEXT, updated_at TEXT, completed_at TEXT);
         CREATE TABLE worker_heartbeats (worker_id TEXT PRIMARY KEY, last_seen_at TEXT, metadata TEXT);";
    let database = Database::with(tables, &in_their_words(tables).replace("metadata TEXT", "metadata JSONB"));
    for (number, host) in hosts.iter().enumerate() {
        database.run(
            "INSERT INTO worker_heartbeats VALUES (?1, '2026-11-15 11:59:50', ?2)",
            (format!("w{number}"), serde_json::json!({ "pid": 1, "hostname": host }).to_string()),
        );
    }
    database
}

#[test]
fn holders_on_other_hosts_are_counted_by_host() {
    on_both(|| {
        let (practice, database) = (Practice::new(), with_hosts(&["web9", "web9", "web7"]));
        let findings = practice.examine(&[], database.source());
        findings.expect("holders", "warning", "3 of 3 holders", "holders_on");
        findings.expect("holders", "warning", "the host web7 (1), web9 (2), and this is ", "");
        let config = practice.config(database.source(), "holders_on = \"host-column\"");
        let findings = practice.examine(&["--config", &config], database.source());
        findings.expect("holders", "ok", "3 of 3 holders", "");
        let config = practice.config(database.source(), "holders_on = \"this-host\"");
        let findings = practice.examine(&["--config", &config], database.source());
        findings.expect("holders", "warning", "although holders_on is this-host", "host-column");
    });
}

#[test]
fn a_hostile_host_name_stays_visible_on_the_page() {
    on_both(|| {
        let database = with_hosts(&["evil\u{1b}[2J\u{202e}"]);
        let practice = Practice::new();
        let output =
            practice.command(&["doctor"]).args(AT_NOW).arg(database.source()).output().expect("runs");
        let page = stdout(&output);
        assert!(page.contains("evil") && !page.contains('\u{1b}') && !page.contains('\u{202e}'), "{page:?}");
    });
}

#[test]
fn rows_that_name_no_process_are_fine() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        database.session("session-1", MINUTE);
        database.run("UPDATE sessions SET pid = NULL", []);
        let findings = Practice::new().examine(&[], database.source());
        findings.expect("holders", "ok", "name no process", "");
    });
}

#[test]
fn too_many_reclaims_within_an_hour_are_a_warning() {
    on_both(|| {
        let (practice, database) = (Practice::new(), Database::of(claimtop::reference::System::ExecutorJobs));
        let at = "2026-11-15T11:30:00.000Z";
        let reclaim = |count: i64| {
            for number in 0..count {
                database.run(
                    "INSERT INTO executor_jobs (id, type, last_error, updated_at) VALUES (?1, 'run_tsa', ?2, ?3)",
                    (crate::support::uuid_of(&format!("{count}-{number}")), "RECLAIMED_TTL: Exceeded TTL", at),
                );
            }
        };
        reclaim(100);
        practice.examine(&[], database.source()).expect(
            "reclaims",
            "ok",
            "100 jobs within the last hour",
            "",
        );
        reclaim(1);
        let findings = practice.examine(&[], database.source());
        findings.expect("reclaims", "warning", "101 jobs were reclaimed within the last hour", "heartbeats");
    });
}
