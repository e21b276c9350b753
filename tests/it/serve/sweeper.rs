//! The sweeper inside: its acts, its brakes, and what is told of both.

use super::alert_rules::assert_alert;
use super::*;
use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, SECOND, stderr};

/// A database with so many claims whose leases ended an hour ago, all of a living session.
fn expired(count: usize) -> Database {
    let database = Database::new(COORDINATION);
    let now = chrono::Utc::now().timestamp_millis();
    database.batch("BEGIN");
    database.run("INSERT INTO sessions VALUES ('worker-1', '/project', 'cli', ?1, ?1, '{}', NULL)", [now]);
    for number in 0..count {
        database.run(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, 'worker-1', ?2, ?3, ?4)",
            (format!("secret-{number:04}"), now - 120 * MINUTE, now - 60 * MINUTE, now - SECOND),
        );
    }
    database.batch("COMMIT");
    database
}

fn held(database: &Database) -> i64 {
    database.number("SELECT count(*) FROM task_claims")
}

fn sweeping(options: &[&str], database: &Database) -> Server {
    let folder = tempfile::tempdir().expect("a folder");
    // No patience but that of two sightings.
    let config = config(folder.path(), "[sweep]\nsighted_for = \"0s\"\n");
    let state = folder.path().join("state");
    let config = config.to_str().expect("UTF-8").to_owned();
    let mut arguments = vec!["--sweep", "--sweep-every", "200ms", "--config", &config];
    arguments.extend(options);
    Server::with_state(&arguments, &[Path::new(&database.source())], folder, &state)
}

#[test]
fn what_the_sweeper_inside_takes_is_counted() {
    on_both(|| {
        let database = expired(5);
        let mut server = sweeping(&[], &database);
        let acts = [("action", "reclaim"), ("by", "sweeper"), ("outcome", "applied")];
        // The acts are counted as the trail is read, the sweep when it is over: on a busy machine not at once.
        let told = server.wait("its acts", |told| {
            told.sum("claimtop_acts_total", &acts) == Some(5.0)
                && told.get("claimtop_act_seconds_count", &[]) == Some(5.0)
                && told.get("claimtop_sweeps_total", &[("result", "done")]) >= Some(2.0)
        });
        assert_eq!(held(&database), 0);
        // A busy machine may let the sweeper wait so long that it pauses, rightly: that is the brake `clock`.
        for brake in ["share", "cap", "poison", "profile", "replica"] {
            assert_eq!(told.get("claimtop_sweep_holds_total", &[("brake", brake)]), Some(0.0), "{brake}");
        }
        let told =
            server.wait("the figures", |told| told.sum("claimtop_claims", &[("set", "stale")]) == Some(0.0));
        assert!(told.label_values().iter().all(|value| !value.contains("secret")));
        assert_eq!(server.end().code(), Some(0));
    });
}

#[test]
fn two_thousand_at_once_are_held_and_the_metric_says_so() {
    on_both(|| {
        let database = expired(2_000);
        let server = sweeping(&[], &database);
        let share = [("brake", "share")];
        let told = server.wait("the brake", |told| {
            told.get("claimtop_sweep_held", &share) == Some(1.0)
                && told.get("claimtop_sweep_holds_total", &share) >= Some(3.0)
                // Whoever waits too long for the processor pauses, and would fire another alert.
                && told.get("claimtop_sweep_held", &[("brake", "clock")]) == Some(0.0)
                // Figures that are too old are not shown; a busy machine may take that long between two polls.
                && told.sum("claimtop_claims", &[("set", "stale")]) == Some(2_000.0)
        });
        assert_eq!(told.get("claimtop_sweep_claims", &[("state", "left")]), Some(2_000.0));
        assert_eq!(told.get("claimtop_sweep_held", &[("brake", "cap")]), Some(0.0));
        assert_eq!(told.get("claimtop_sweeps_total", &[("result", "done")]), Some(0.0));
        assert_eq!(held(&database), 2_000);
        assert_alert("SweepHeld", &[("brake", "share"), ("severity", "critical")], &told);
        drop(server);

        let lifted = sweeping(&["--max-share", "100%", "--max", "1500"], &database);
        lifted
            .wait("the cap", |told| told.get("claimtop_sweep_holds_total", &[("brake", "cap")]) >= Some(1.0));
        let told =
            lifted.wait("all of them", |told| told.get("claimtop_act_seconds_count", &[]) == Some(2_000.0));
        assert_eq!(told.sum("claimtop_sweep_holds_total", &share), Some(0.0));
        assert_eq!(held(&database), 0);
        lifted.wait("no brake", |told| told.sum("claimtop_sweep_held", &[]) == Some(0.0));
    });
}

#[test]
fn without_the_word_nothing_is_swept_and_nothing_is_said_of_sweeps() {
    let database = expired(3);
    let server = Server::start(&[], &[Path::new(&database.source())]);
    let told = server.wait_until_read();
    assert_eq!(told.sum("claimtop_sweeps_total", &[]), None);
    assert_eq!(told.sum("claimtop_claims", &[("set", "stale")]), Some(3.0));
    assert_eq!(held(&database), 3);
}

#[test]
fn options_of_the_sweep_need_it_and_a_read_only_session_has_none() {
    let database = expired(1);
    for option in [["--max", "3"], ["--sweep-every", "5m"], ["--max-share", "100%"]] {
        let output = serve(&option, &[Path::new(&database.source())]).output().expect("it runs");
        assert!(output.status.code() == Some(3) && stderr(&output).contains("--sweep"), "{output:?}");
    }
    let output =
        serve(&["--sweep", "--read-only"], &[Path::new(&database.source())]).output().expect("it runs");
    assert!(output.status.code() == Some(5) && stderr(&output).contains("read-only"), "{output:?}");
    assert_eq!(held(&database), 1);
}
