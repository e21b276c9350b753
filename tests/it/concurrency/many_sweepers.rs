//! Sweepers and operators at once: each job is reclaimed exactly once, and none is skipped in the end.

use super::*;
use crate::support::postgres::PgDatabase;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

/// `./tests/run --soak` asks for more.
fn jobs() -> u64 {
    number("CLAIMTOP_JOBS", 2_000)
}

fn left(database: &PgDatabase) -> bool {
    database.value("SELECT count(*) FROM executor_jobs WHERE status = 'running'").as_deref() != Some("0")
}

fn text(word: &Json) -> String {
    word.as_str().unwrap_or_else(|| panic!("{word}")).to_owned()
}

#[test]
fn four_sweepers_and_four_operators_reclaim_each_job_exactly_once() {
    let database = PgDatabase::new(&format!("{JOBS} {AUDIT}"));
    database.run(&stale_jobs(jobs()));
    let (sweepers, operators) = (Operator::of(database.url()), Operator::of(database.url()));
    let sweep = ["sweep", "--once", "--json", "--max", "700", "--max-share", "100%", "DB"];
    let bulk = ["reclaim", "DB", "--set", "stale", "--limit", "150", "--yes", "--json"];
    let told = Mutex::new(BTreeMap::new());
    let again = |who: &Operator, arguments: &[&str]| {
        while left(&database) {
            let run = who.run(arguments);
            assert!([0, 4, 5].contains(&run.code), "{run:#?}");
            let taken = run.lines().into_iter().filter(|line| line["event"] == "claim:expired");
            let names = taken.map(|event| (text(&event["actionId"]), text(&event["address"])));
            told.lock().expect("the events").extend(names);
        }
    };
    let one_by_one = || {
        let next = "SELECT id FROM executor_jobs WHERE status = 'running' ORDER BY random() LIMIT 1";
        while let Some(id) = database.query(next).into_iter().next().and_then(|mut row| row.remove(0)) {
            let run = operators.run(&["reclaim", "DB", &id, "--json"]);
            assert!([0, 4].contains(&run.code), "{run:#?}");
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| again(&sweepers, &sweep));
        }
        for _ in 0..2 {
            scope.spawn(|| again(&operators, &bulk));
            scope.spawn(one_by_one);
        }
    });
    let events = told.into_inner().expect("the events");
    let wrong = "SELECT count(*) FROM executor_jobs WHERE status <> 'queued' OR attempts <> 2";
    assert_eq!(database.value(wrong).as_deref(), Some("0"));
    let records = "SELECT count(*) || ' ' || count(DISTINCT record::jsonb ->> 'address') FROM claimtop_audit";
    assert_eq!(database.value(records), Some(format!("{0} {0}", jobs())));
    let mut told = [sweepers.applied(), operators.applied()].concat();
    eprintln!("{} by sweepers, {} by operators", sweepers.applied().len(), operators.applied().len());
    told.sort();
    assert_eq!(told.len() as u64, jobs());
    told.dedup();
    assert_eq!(told.len() as u64, jobs(), "a job is in the trails twice");
    let in_trail = sweepers.outcomes().into_iter().filter(|record| record["outcome"] == "applied");
    let in_trail = in_trail.map(|record| (text(&record["action_id"]), text(&record["address"])));
    assert_eq!(events, in_trail.collect(), "an event tells of another claim than the trail");
    sweepers.trail_is_whole();
    operators.trail_is_whole();
}
