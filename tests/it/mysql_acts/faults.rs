//! Whatever breaks while acts are done: none is done twice, and of each it is known in the end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::races::Ends;
use super::*;
use crate::support::figures;
use crate::support::mariadb::MariaDb;
use crate::support::mysql::{number, open};

/// `./tests/run --soak` asks for more of both.
fn acts() -> u64 {
    number("CLAIMTOP_ACTS", 150)
}

fn faults() -> u64 {
    number("CLAIMTOP_FAULTS", 6)
}

/// Every act adds one to the runs of its row, so that one that is done twice shows.
const RUNS: &str = "CREATE TABLE q (id INT PRIMARY KEY, state VARCHAR(10) NOT NULL, holder VARCHAR(40),
      until DATETIME(6), runs INT NOT NULL DEFAULT 0);
";

const PROFILE_OF_RUNS: &str = r#"
title = "Runs"
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
reclaim = { set = { state = "'queued'", runs = "c.runs + 1" } }
"#;

/// What came of the acts.
#[derive(Debug, Default)]
struct Tally {
    applied: Vec<u64>,
    not_applied: u64,
    failed: u64,
}

/// Reclaims every row, again after each failure, and notes what it was told.
fn reclaim_all(url: &str, acts: u64, done: &AtomicU64) -> Tally {
    let mut tally = Tally::default();
    let mut actor: Option<Actor> = None;
    for id in 1..=acts {
        let mut tries = 0;
        loop {
            tries += 1;
            assert!(tries < 1_000, "row {id}");
            let profile = Profile::parse("own", PROFILE_OF_RUNS).expect("a profile");
            let mut options = at_server(url, Profiles::Named(vec![profile]));
            options.poll_timeout = Duration::from_millis(1_500);
            let open = || Actor::open(writable(options));
            let Ok(mut current) = actor.take().map_or_else(open, Ok) else {
                pause();
                continue;
            };
            let Ok(found) = current.find(&id.to_string(), None) else {
                tally.failed += 1;
                pause();
                continue;
            };
            let Some(seen) = found.into_iter().next() else {
                panic!("row {id} is gone without being reclaimed")
            };
            let authorization = Authorization::default();
            let action_id = format!("act-{id}-{tries}");
            let order = Order {
                action: Action::Reclaim,
                authorization: &authorization,
                action_id: &action_id,
                dry_run: false,
            };
            match current.act(&seen, &order, &mut |_| Ok(())) {
                Ok(Acted { outcome: Outcome::Applied, .. }) => {
                    tally.applied.push(id);
                    actor = Some(current);
                    break;
                }
                Ok(Acted { outcome: Outcome::Unknown(_), transaction, changes, .. }) => {
                    // The journal keeps this, and whoever asks later is told.
                    if resolved(url, &action_id, transaction.as_deref(), &changes) {
                        tally.applied.push(id);
                        break;
                    }
                    tally.not_applied += 1;
                }
                Ok(Acted { outcome: Outcome::Refused(_) | Outcome::Moved(_), .. }) => tally.not_applied += 1,
                Err(_) => tally.failed += 1,
            }
            actor = Some(current);
        }
        done.store(id, Ordering::Relaxed);
    }
    tally
}

/// What became of an act whose outcome stayed open: whether it was applied, as is proven.
fn resolved(
    url: &str,
    action_id: &str,
    transaction: Option<&str>,
    changes: &[claimtop::store::Change],
) -> bool {
    use claimtop::store::{Basis, Resolution};
    let began = Instant::now();
    loop {
        assert!(began.elapsed() < Duration::from_secs(120), "{action_id} stays unknown");
        let profile = Profile::parse("own", PROFILE_OF_RUNS).expect("a profile");
        let actor = Actor::open(writable(at_server(url, Profiles::Named(vec![profile]))));
        match actor.and_then(|mut actor| actor.resolve(action_id, transaction, changes)) {
            Ok(Resolution::Applied(Basis::Proven)) => return true,
            Ok(Resolution::NotApplied(Basis::Proven)) => return false,
            _ => pause(),
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "a server does not announce that it is back")]
fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

/// Rows to reclaim, and the table of records.
fn fill(run: &dyn Fn(&str), url: &str, acts: u64) {
    run(RUNS);
    run(&format!(
        "INSERT INTO q (id, state, holder, until) WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n
         WHERE id < {acts}) SELECT id, 'held', 'w', '2026-11-15 11:00:00' FROM n"
    ));
    actor_at(url, PROFILE_OF_RUNS).create_audit_table().expect("the table");
}

/// The one text that a query answers.
fn text_at(url: &str, sql: &str) -> String {
    let rows = open(url).query(sql, Vec::new()).expect(sql);
    rows.first().and_then(|row| row.text(0)).unwrap_or_default()
}

fn agrees(text: &dyn Fn(&str) -> String, tally: &Tally, acts: u64, what: &str) {
    let twice: u64 = text("SELECT COUNT(*) FROM q WHERE runs <> 1").parse().expect("a number");
    figures::promise(&format!("MySQL: acts done exactly once through {what}"), acts, twice);
    assert_eq!(twice, 0);
    assert_eq!(text("SELECT COUNT(*) FROM q WHERE state = 'queued'"), acts.to_string());
    // The trail and the table agree: one record for every row.
    assert_eq!(text("SELECT COUNT(*) FROM claimtop_audit"), acts.to_string());
    assert_eq!(tally.applied.len() as u64, acts);
    println!("{what}: {} refused or moved, {} errors", tally.not_applied, tally.failed);
}

#[test]
fn sessions_that_are_ended_at_any_moment() {
    // On a server of its own: an end may hit the session that comes next in the same thread of the server.
    let Some(server) = MariaDb::start(&[], |_| {}) else { return };
    server.run("mysql", "CREATE DATABASE app");
    let (url, acts) = (server.url("app"), acts());
    fill(&|sql| server.run("app", sql), &url, acts);
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let tally = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut link = open(&url);
            while !over.load(Ordering::Relaxed) {
                let own = link.session().expect("a session");
                let sql = format!(
                    "SELECT id FROM information_schema.processlist WHERE db = 'app' AND id <> {own}
                     AND command <> 'Sleep' AND info NOT LIKE 'SELECT id FROM information_schema%'"
                );
                for row in link.query(&sql, Vec::new()).expect("the sessions") {
                    let _ = link.run(&format!("KILL {}", row.text(0).expect("a number")));
                }
            }
        });
        let _ends = Ends(&over);
        reclaim_all(&url, acts, &done)
    });
    agrees(&|sql| text_at(&url, sql), &tally, acts, "ended sessions");
}

#[test]
fn a_server_that_freezes_falls_and_comes_back() {
    // What such a server has acknowledged is there after a crash.
    let options = ["--innodb-flush-log-at-trx-commit=1"];
    let Some(mut server) = MariaDb::start(&options, |_| {}) else { return };
    let acts = acts();
    server.run("mysql", "CREATE DATABASE app");
    let url = server.url("app");
    fill(&|sql| server.run("app", sql), &url, acts);
    let done = AtomicU64::new(0);
    let tally = std::thread::scope(|scope| {
        let acting = scope.spawn(|| reclaim_all(&url, acts, &done));
        for fault in 0..faults() {
            // Spread over the acts.
            while done.load(Ordering::Relaxed) < fault * acts / faults() && !acting.is_finished() {
                pause();
            }
            if fault.is_multiple_of(2) {
                server.freeze();
                std::thread::park_timeout(Duration::from_millis(if fault.is_multiple_of(4) {
                    3_000
                } else {
                    100
                }));
                server.go_on();
            } else {
                server.restart();
            }
        }
        acting.join().expect("the operator")
    });
    agrees(&|sql| text_at(&url, sql), &tally, acts, "freezes and falls");
}
