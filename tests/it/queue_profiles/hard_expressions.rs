//! What the expressions of real queues ask of a program that composes statements of them.

use super::{HOUR, Queue};
use crate::support::engine::on_both;
use crate::support::{Database, MINUTE, NOW, SECOND, lines};
use claimtop::domain::time::Moment;
use claimtop::store::{Profiles, Reader};

/// A queue that nobody ships: `jobs` with a holder and a time in milliseconds, and `workers`.
fn made_up(profile: &str) -> Queue {
    let database = Database::new(
        "CREATE TABLE workers (name TEXT PRIMARY KEY, pid INTEGER, beat INTEGER, patience INTEGER, rank TEXT);
         CREATE TABLE jobs (id INTEGER PRIMARY KEY, worker TEXT, taken INTEGER, until INTEGER, meta TEXT);",
    );
    let path = database.beside("queue.toml");
    std::fs::write(&path, profile).expect("a profile");
    let queue = Queue { profile: path.to_string_lossy().into_owned(), database };
    for (name, beat, rank) in [("ann", -5 * SECOND, "slow"), ("bob", -90 * SECOND, "fast")] {
        queue.run("INSERT INTO workers VALUES (?1, 1, ?2, 60000, ?3)", (name, NOW + beat, rank));
    }
    for (id, worker, until, meta) in [
        (1, "ann", HOUR, Some("{\"kind\": \"mail\"}")),
        (2, "bob", HOUR, Some("{\"kind\": \"mail\"}")),
        (3, "ann", -HOUR, Some("{}")),
    ] {
        queue.run(
            "INSERT INTO jobs VALUES (?1, ?2, ?3, ?4, ?5)",
            (id, worker, NOW - 10 * MINUTE, NOW + until, meta),
        );
    }
    queue
}

#[test]
fn an_empty_json_object_stays_one_in_every_statement() {
    on_both(|| {
        let queue = made_up(
            r#"title = "Kinds in JSON"
           [[claim]]
           name = "job"
           table = "jobs"
           id = "id"
           kind = "json_extract(coalesce(c.meta, '{}'), '$.kind')"
           claimed_at = "taken"
           orphaned_when = "c.meta = '{}'"
           deadline = { ttl = { mail = "5m" }, otherwise = "1h" }
           on.postgres.kind = "coalesce(c.meta, '{}')::json ->> 'kind'""#,
        );
        queue.expect(&[
            ("1", "stale", &["ttl_exceeded"]),
            ("2", "stale", &["ttl_exceeded"]),
            ("3", "orphaned", &["session_missing"]),
        ]);
    });
}

const REGISTRY: &str = r#"
    [claim.session]
    table = "workers"
    id = "name"
    beat_at = "beat""#;

#[test]
fn a_deadline_can_be_the_holders_beat_plus_an_interval_of_its_own() {
    on_both(|| {
        let queue = made_up(&format!(
            r#"title = "Leases by holder"
           [[claim]]
           name = "job"
           table = "jobs"
           id = "id"
           holder = "worker"
           claimed_at = "taken"
           warn_before = "5s"
           deadline = {{ column = {{ expr = "s.beat + s.patience", unit = "unix_ms" }} }}{REGISTRY}"#
        ));
        queue.expect(&[("1", "healthy", &[]), ("2", "stale", &["lease_expired"]), ("3", "healthy", &[])]);
    });
}

#[test]
fn a_kind_can_be_a_column_of_the_holders_row() {
    on_both(|| {
        let queue = made_up(&format!(
            r#"title = "Kinds by holder"
           [[claim]]
           name = "job"
           table = "jobs"
           id = "id"
           kind = "s.rank"
           holder = "worker"
           claimed_at = "taken"
           deadline = {{ ttl = {{ slow = "1h", fast = "5m" }} }}{REGISTRY}"#
        ));
        queue.expect(&[("1", "healthy", &[]), ("2", "stale", &["ttl_exceeded"]), ("3", "healthy", &[])]);
    });
}

/// A row is a claim until its time, and waits after it.
const TIMED: &str = r#"
    title = "Held by time"
    [[claim]]
    name = "job"
    table = "jobs"
    held = "c.until > :now"
    id = "id"
    holder = "worker"
    deadline = { column = "until", lease = "1h" }"#;

#[test]
fn a_row_can_be_a_claim_by_the_clock() {
    on_both(|| {
        made_up(TIMED).expect(&[("1", "healthy", &[]), ("2", "healthy", &[])]);
    });
}

#[test]
fn a_backlog_can_depend_on_the_clock() {
    on_both(|| {
        let waiting = format!("{TIMED}\n[claim.backlog]\nqueued = \"until <= :now\"");
        assert_eq!(made_up(&waiting).check()["backlog"]["queued"], 1);
        let queue = made_up(&format!("{waiting}\noldest = \"taken\""));
        assert_eq!(queue.check()["backlog"]["oldest_queued_s"], 600);
    });
}

#[test]
fn the_claims_of_a_holder_are_counted_by_the_same_clock() {
    on_both(|| {
        let queue = made_up(&format!("{TIMED}{REGISTRY}"));
        let words =
            ["pid", "--json", "--now", "1794744000000", "--session", "ann", "--profile", &queue.profile];
        let output = queue.database.claimtop(&words);
        assert_eq!(lines(&output)[0]["claims"], 1);
    });
}

/// Nothing is written when such a lease ends, and yet the row is no claim any more.
#[test]
fn a_claim_that_ends_by_the_clock_leaves_an_open_reader_too() {
    on_both(|| {
        for index in ["", "CREATE INDEX by_end ON jobs (until)"] {
            let queue = made_up(TIMED);
            queue.database.batch(index);
            queue.run("UPDATE jobs SET until = ?1 WHERE id = 1", [NOW + 30 * SECOND]);
            let mut reader = open(&queue);
            for (after, total) in [(0, 2), (25 * SECOND, 2), (31 * SECOND, 1), (2 * HOUR, 0)] {
                reader.freeze(Moment::from_micros((NOW + after) * 1_000).expect("a moment"));
                let counts = reader.poll().expect("a poll")[0].counts();
                assert_eq!((counts.total, counts.stale), (total, 0), "after {after} ms, {index}");
            }
        }
    });
}

fn open(queue: &Queue) -> Reader {
    let profiles = Profiles::Named(vec![queue.parsed()]);
    Reader::open(queue.database.options(profiles, |options| options.frozen_at = None)).expect("a reader")
}
