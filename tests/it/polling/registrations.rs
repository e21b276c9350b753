//! Holders that need not register: only who was registered before can be missing.

use super::{Database, on_both, open, poll};
use crate::support::options::writable;
use claimtop::domain::snapshot::Snapshot;
use claimtop::domain::verdict::Reason;
use claimtop::store::{Actor, Options, Profiles};

const LEASES: &str = "CREATE TABLE task_queue (id INTEGER PRIMARY KEY, type TEXT, status TEXT, locked_by TEXT,
    reserved_at_utc DATETIME, lease_until_utc DATETIME, attempts INTEGER DEFAULT 0, max_attempts INTEGER DEFAULT 5);
    CREATE TABLE workers (worker_id TEXT PRIMARY KEY, heartbeat_utc DATETIME);";

fn leased() -> Database {
    let database = Database::new(LEASES);
    for (id, worker) in [(1, "registered"), (2, "stranger")] {
        database.run(
            "INSERT INTO task_queue (id, type, status, locked_by, reserved_at_utc, lease_until_utc)
             VALUES (?1, 'x', 'leased', ?2, '2026-11-15 11:59:50', '2026-11-15 12:00:50')",
            (id, worker),
        );
    }
    database.run("INSERT INTO workers VALUES ('registered', '2026-11-15 11:59:59')", ());
    database
}

fn missing(snapshot: &Snapshot) -> u64 {
    snapshot.reasons().get(&Reason::SessionMissing).copied().unwrap_or(0)
}

#[test]
fn a_holder_that_disappears_from_the_registry_is_missing_for_who_saw_it_there() {
    on_both(|| {
        let database = leased();
        let mut reader = open(&database);
        assert_eq!(missing(&poll(&mut reader)), 0);
        database.run("DELETE FROM workers", ());
        let seen = poll(&mut reader);
        assert_eq!((missing(&seen), seen.counts().healthy), (1, 1), "{:?}", seen.reasons());
        assert_eq!(reader.tally().expect("a count")[0].reasons.get(&Reason::SessionMissing), Some(&1));
        // Who looks for the first time knows of nobody.
        assert_eq!(missing(&poll(&mut open(&database))), 0);
        database.run("INSERT INTO workers VALUES ('registered', '2026-11-15 11:59:59')", ());
        assert_eq!(missing(&poll(&mut reader)), 0);
    });
}

#[test]
fn what_a_process_remembers_holds_for_its_acts_too() {
    on_both(|| {
        let database = leased();
        let options: Options = database.options(
            Profiles::Named(vec![claimtop::profile::Library::built_in().find("task-queue").expect("it")]),
            |_| {},
        );
        let mut reader = claimtop::store::Reader::open(options.clone()).expect("a reader");
        poll(&mut reader);
        database.run("DELETE FROM workers", ());
        poll(&mut reader);
        let mut actor = Actor::open(writable(options)).expect("an actor");
        let found = actor.find("1", None).expect("a look");
        assert!(found[0].judged.verdict.reasons.contains(Reason::SessionMissing), "{:?}", found[0].judged);
        let others = actor.find("2", None).expect("a look");
        assert!(others[0].judged.verdict.reasons.is_empty(), "{:?}", others[0].judged);
    });
}
