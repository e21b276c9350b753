//! The figures are those of `check --json` on the same database, and nothing names a task or a holder.

use serde_json::Value as Json;

use super::*;
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, SECOND, uuid_of};
use claimtop::reference::System;
use std::path::PathBuf;

const FROZEN: [&str; 2] = ["--now", "1794744000000"];
pub(super) const JOBS: &str = include_str!("../../../assets/schema/sqlite/executor-jobs.sql");

/// One claim in every set, a session in every state.
fn mixed() -> Database {
    let database = Database::new(COORDINATION);
    database.session("secret-alive", SECOND);
    database.session("secret-silent", 40 * MINUTE);
    for (id, session, expires_in) in [
        ("secret-healthy", "secret-alive", 20 * MINUTE),
        ("secret-near", "secret-alive", MINUTE),
        ("secret-late", "secret-alive", -90 * SECOND),
        ("secret-later", "secret-alive", -30 * SECOND),
        ("secret-runaway", "secret-alive", -240 * MINUTE),
        ("secret-orphan", "secret-silent", 20 * MINUTE),
        ("secret-lost", "secret-nobody", -5 * SECOND),
    ] {
        database.task(id, session, expires_in);
    }
    // A time that cannot be read, as far as an engine lets one in.
    database.either(
        "UPDATE task_claims SET last_heartbeat = 'rotten' WHERE task_id = 'secret-healthy'",
        "ALTER TABLE task_claims ALTER last_heartbeat DROP NOT NULL;
         UPDATE task_claims SET last_heartbeat = NULL WHERE task_id = 'secret-healthy'",
    );
    database
}

/// Jobs of several kinds: running, overdue, in their last attempt, queued, dead.
fn jobs() -> Database {
    let database = Database::of(System::ExecutorJobs);
    for (id, kind, status, locked_at, attempts) in [
        ("secret-1", "run_tsa", "running", Some("2026-11-15T11:59:00.000Z"), 1),
        ("secret-2", "run_tsa", "running", Some("2026-11-15T11:00:00.000Z"), 10),
        ("secret-3", "build_artifact", "processing", Some("2026-11-15T11:30:00.000Z"), 2),
        ("secret-4", "build_artifact", "queued", None, 0),
        ("secret-5", "build_artifact", "dead", None, 10),
        ("secret-6", "odd \"kind\"\\\n", "queued", None, 0),
    ] {
        database.run(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts, run_at, last_error)
             VALUES (?1, ?2, ?3, ?4, 'secret-worker', ?5, '2026-11-15T11:58:00.000Z', 'secret error')",
            (id_in(&database, id), kind, status, locked_at, attempts),
        );
    }
    database
}

/// A server's jobs have UUIDs for names.
fn id_in(database: &Database, id: &str) -> String {
    if database.server().is_some() { uuid_of(id) } else { id.to_owned() }
}

fn serving(databases: &[&Database]) -> Server {
    let sources: Vec<PathBuf> = databases.iter().map(|database| PathBuf::from(database.source())).collect();
    Server::start(&FROZEN, &sources.iter().map(PathBuf::as_path).collect::<Vec<_>>())
}

/// Compares one profile's entry of `check --json`.
#[track_caller]
pub(super) fn agrees(told: &Exposition, check: &Json) {
    let profile = check["profile"].as_str().expect("a profile");
    let figure = |name: &str, key: &str, label: &str| {
        let labels: &[(&str, &str)] = if key.is_empty() { &[] } else { &[(key, label)] };
        let all = [&[("profile", profile)], labels].concat();
        told.sum(name, &all).unwrap_or_else(|| panic!("no {name} with {all:?}"))
    };
    let claims = &check["claims"];
    for set in ["healthy", "expiring", "stale", "orphaned", "unknown"] {
        assert_eq!(Some(figure("claimtop_claims", "set", set)), claims[set].as_f64(), "{set}");
    }
    assert_eq!(Some(figure("claimtop_claims_held", "", "")), claims["total"].as_f64());
    assert_eq!(Some(figure("claimtop_claims_runaway", "", "")), claims["runaway"].as_f64());
    assert_eq!(figure("claimtop_counts_exact", "", "") >= 1.0, check["exact"] == true);
    let reasons = check["reasons"].as_object().expect("reasons");
    let all: f64 = reasons.values().filter_map(Json::as_f64).sum();
    assert_eq!(told.sum("claimtop_claims_by_reason", &[("profile", profile)]), Some(all));
    for (reason, count) in reasons {
        assert_eq!(Some(figure("claimtop_claims_by_reason", "reason", reason)), count.as_f64(), "{reason}");
    }
    if let Some(sessions) = check["sessions"].as_object() {
        for state in ["alive", "stale"] {
            assert_eq!(
                Some(figure("claimtop_sessions", "state", state)),
                sessions[state].as_f64(),
                "{state}"
            );
        }
        assert_eq!(told.sum("claimtop_sessions", &[("profile", profile)]), sessions["total"].as_f64());
    }
    for (state, count) in check["backlog"].as_object().into_iter().flatten() {
        let own = match state.strip_prefix("oldest_queued_s") {
            Some(_) => figure("claimtop_oldest_queued_seconds", "", ""),
            None => figure("claimtop_backlog", "state", state),
        };
        assert_eq!(own, count.as_f64().unwrap_or(0.0), "{state}");
    }
}

#[test]
fn every_figure_equals_that_of_a_check() {
    on_both(|| {
        let (tasks, jobs) = (mixed(), jobs());
        let server = serving(&[&tasks, &jobs]);
        let told = server.wait_until_read();
        agrees(&told, &tasks.check().0);
        agrees(&told, &jobs.check().0);
        let labels = [("profile", "coordination"), ("board", "task")];
        assert_eq!(told.get("claimtop_oldest_stale_seconds", &labels), Some(240.0 * 60.0));
        // A file has no clock of its own.
        if tasks.server().is_none() {
            assert!(told.all("claimtop_clock_offset_seconds").iter().all(|(_, offset)| *offset == 0.0));
        }
    });
}

#[test]
fn kinds_are_told_apart_whatever_they_are_called() {
    on_both(|| {
        let jobs = jobs();
        let server = serving(&[&jobs]);
        let told = server.wait_until_read();
        let claims = |kind, state| told.get("claimtop_kind_claims", &[("kind", kind), ("state", state)]);
        assert_eq!((claims("run_tsa", "running"), claims("run_tsa", "stale")), (Some(2.0), Some(1.0)));
        assert_eq!(
            (claims("run_tsa", "exhausted"), claims("build_artifact", "exhausted")),
            (Some(1.0), Some(0.0))
        );
        assert_eq!(told.get("claimtop_claims_exhausted", &[]), Some(1.0));
        let backlog = |kind, state| told.get("claimtop_kind_backlog", &[("kind", kind), ("state", state)]);
        assert_eq!(
            (backlog("build_artifact", "queued"), backlog("build_artifact", "dead")),
            (Some(1.0), Some(1.0))
        );
        // Nothing in a label acts on a terminal, and a backslash that is there means that something was escaped.
        assert_eq!(backlog("odd \"kind\"\\\\\\n", "queued"), Some(1.0));
        let is_plain = |label: &&str| !label.chars().any(claimtop::domain::visible::is_deceptive);
        assert!(told.label_values().iter().all(is_plain), "{:?}", told.label_values());
        let waited = told.get("claimtop_kind_oldest_queued_seconds", &[("kind", "build_artifact")]);
        assert_eq!(waited, Some(120.0));
        assert_eq!(told.get("claimtop_kinds_exact", &[]), Some(1.0));
    });
}

#[test]
fn no_id_holder_or_error_is_in_the_text() {
    on_both(|| {
        let (tasks, jobs) = (mixed(), jobs());
        let server = serving(&[&tasks, &jobs]);
        server.wait_until_read();
        let body = server.ask("GET", "/metrics").body;
        assert!(!body.contains("secret") && !body.contains(&uuid_of("secret-1")), "{body}");
        assert!(!server.ask("GET", "/readyz").body.contains("secret"));
    });
}

#[test]
fn a_source_that_is_named_twice_is_told_once() {
    on_both(|| {
        let tasks = mixed();
        let server = serving(&[&tasks, &tasks]);
        assert_eq!(server.wait_until_read().all("claimtop_up").len(), 1);
    });
}
