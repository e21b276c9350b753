//! A reader that stays open sees what a fresh one sees, poll after poll, and is in nobody's way.

mod backlog;
mod census;
mod file_changes;
mod registrations;
mod totals;

use crate::support::engine::{Engine, engine, is_fast, on_both};
use crate::support::{COORDINATION, Database, MINUTE, NOW, SECOND};
use claimtop::config::Config;
use claimtop::domain::snapshot::Snapshot;
use claimtop::domain::time::Moment;
use claimtop::domain::verdict::Reason;
use claimtop::profile::Library;
use claimtop::store::{Effort, Options, Profiles, Reader};
use rusqlite::Connection;
use std::sync::mpsc;
use std::time::Duration;

/// By the built-in profiles, with so much effort.
fn options(database: &Database, frozen_at: Option<Moment>, effort: Effort) -> Options {
    database.options(Profiles::Detect(Library::built_in()), |options| {
        options.frozen_at = frozen_at;
        options.effort = effort;
    })
}

/// As much effort as by default.
fn usual() -> Effort {
    let config = Config::default();
    Effort { rows: config.row_limit, slice: config.census_slice, whole: config.census_slice }
}

/// A reader with the usual effort, at [`NOW`].
fn open(database: &Database) -> Reader {
    Reader::open(options(database, Moment::from_micros(NOW * 1_000), usual())).expect("a reader")
}

/// The one snapshot of a poll.
fn poll(reader: &mut Reader) -> Snapshot {
    let mut all = reader.poll().expect("a poll");
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

/// All that a snapshot tells, but for its cost.
fn told(snapshot: &Snapshot) -> String {
    format!("{:#?}", snapshot.boards)
}

fn count(database: &Database, sql: &str) -> u64 {
    database.number(sql).unsigned_abs()
}

fn reason(snapshot: &Snapshot, reason: Reason) -> u64 {
    snapshot.reasons().get(&reason).copied().unwrap_or(0)
}

/// The same numbers on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

/// Every set has members: expired, expiring, silent, orphaned, missing and healthy claims.
fn mixed() -> Database {
    let database = Database::new(COORDINATION);
    database.session("beating", SECOND);
    database.session("silent", 20 * MINUTE);
    for (id, holder, expires_in) in [
        ("healthy", "beating", 20 * MINUTE),
        ("expiring", "beating", MINUTE),
        ("expired", "beating", -MINUTE),
        ("orphaned", "silent", 20 * MINUTE),
        ("missing", "nobody", 20 * MINUTE),
    ] {
        database.task(id, holder, expires_in);
    }
    database
}

#[test]
fn a_poll_of_an_unchanged_database_tells_the_same() {
    on_both(|| {
        let database = mixed();
        let mut reader = open(&database);
        let first = told(&poll(&mut reader));
        for _ in 0..10 {
            assert_eq!(told(&poll(&mut reader)), first);
        }
    });
}

#[test]
fn a_write_by_another_connection_is_seen_at_the_next_poll() {
    on_both(|| {
        let database = mixed();
        let mut reader = open(&database);
        assert_eq!(poll(&mut reader).counts().total, 5);
        database.task("new", "beating", -MINUTE);
        let after = poll(&mut reader);
        assert_eq!((after.counts().total, after.counts().stale), (6, 2));
        // A heartbeat heals, and a finished claim is gone.
        database.run("UPDATE task_claims SET expires_at = ?1 WHERE task_id = 'expired'", [NOW + 20 * MINUTE]);
        database.run("UPDATE sessions SET last_heartbeat = ?1 WHERE id = 'silent'", [NOW]);
        database.run("DELETE FROM task_claims WHERE task_id = 'new'", []);
        let after = poll(&mut reader);
        assert_eq!((after.counts().total, after.counts().stale, after.counts().orphaned), (5, 0, 1));
    });
}

#[test]
fn a_write_that_is_not_committed_is_not_seen() {
    on_both(|| {
        let database = mixed();
        let mut reader = open(&database);
        let before = told(&poll(&mut reader));
        database.batch("BEGIN");
        database.task("new", "beating", -MINUTE);
        assert_eq!(told(&poll(&mut reader)), before);
        database.batch("ROLLBACK");
        assert_eq!(told(&poll(&mut reader)), before);
    });
}

/// One random act of a fleet, in tables whose cells may hold anything.
fn random_write(database: &Database, random: &mut Random) {
    let task = format!("task-{}", random.below(60));
    let session = format!("session-{}", random.below(12));
    let near = |random: &mut Random| {
        let around = [-30 * MINUTE, -10 * MINUTE, -5 * MINUTE, 0, 5 * MINUTE][random.below(5) as usize];
        (NOW + around + random.below(7) - 3).to_string()
    };
    // A server's numbers can be wrong in fewer ways.
    let poison = match engine() {
        Engine::Sqlite => ["NULL", "'soon'", "x'ff'", "9223372036854775807"],
        Engine::Postgres => ["NULL", "-1", "9223372036854775806", "9223372036854775807"],
    }[random.below(4) as usize];
    let time = if random.below(12) == 0 { poison.to_owned() } else { near(random) };
    let sql = match random.below(9) {
        0..=2 => format!(
            "DELETE FROM task_claims WHERE task_id = '{task}';
             INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES ('{task}', '{session}', {}, {time}, {})",
            near(random),
            near(random)
        ),
        3 => format!("DELETE FROM task_claims WHERE task_id = '{task}'"),
        4 => format!("UPDATE task_claims SET last_heartbeat = {time} WHERE task_id = '{task}'"),
        5 => format!("UPDATE task_claims SET session_id = '{session}' WHERE task_id = '{task}'"),
        6 => format!(
            "DELETE FROM sessions WHERE id = '{session}';
             INSERT INTO sessions (id, project_path, started_at, last_heartbeat)
             VALUES ('{session}', '/project', 0, {time})"
        ),
        7 => format!("DELETE FROM sessions WHERE id = '{session}'"),
        _ => format!(
            "DELETE FROM locks WHERE resource = '{task}';
             INSERT INTO locks (resource, session_id, acquired_at, expires_at)
             VALUES ('{task}', '{session}', {}, {time})",
            near(random)
        ),
    };
    database.batch(&sql);
}

#[test]
fn after_any_writes_a_kept_reader_tells_what_a_fresh_one_tells() {
    on_both(|| {
        let nullable = COORDINATION.replace(" INTEGER NOT NULL", " INTEGER");
        let bare: String =
            nullable.split_inclusive(';').filter(|statement| !statement.contains("CREATE INDEX")).collect();
        for (schema, seed) in [(&nullable, 1), (&bare, 2)] {
            let database = Database::new(schema);
            let mut kept = open(&database);
            let mut random = Random(seed);
            // A fresh reader of a server is a connection of its own: fewer of them, and more between.
            let (steps, writes) = match engine() {
                Engine::Sqlite if is_fast() => (80, 4),
                Engine::Sqlite => (400, 4),
                Engine::Postgres => (15, 40),
            };
            for step in 0..steps {
                for _ in 0..random.below(writes) {
                    random_write(&database, &mut random);
                }
                let (fresh, kept) = (poll(&mut open(&database)), poll(&mut kept));
                let is_exact = |one: &Snapshot| one.boards.iter().all(|board| board.gaps.is_exact());
                if engine() == Engine::Postgres && !(is_exact(&fresh) && is_exact(&kept)) {
                    // The machine is so busy that a statement counts as a burden, and is remembered.
                    eprintln!("step {step} of seed {seed} is not compared");
                    continue;
                }
                let (fresh, kept) = (told(&fresh), told(&kept));
                assert!(kept == fresh, "step {step} of seed {seed}: {kept}\nand fresh {fresh}");
            }
        }
    });
}

/// The sets of coordination by the plainest statements, at the instant of the snapshot.
fn by_plain_sql(database: &Database, snapshot: &Snapshot) -> [u64; 7] {
    let now = snapshot.now.micros() / 1_000;
    let expired = format!("(expires_at < {now})");
    let near = format!("(expires_at >= {now} AND expires_at <= {})", now + 5 * MINUTE);
    let silent = format!("(expires_at >= {now} AND c.last_heartbeat < {})", now - 5 * MINUTE);
    let orphaned = format!("(s.id IS NULL OR s.last_heartbeat < {})", now - 10 * MINUTE);
    let runaway = format!("(expires_at <= {})", now - 30 * MINUTE);
    let healthy = format!("NOT ({expired} OR {near} OR {silent} OR {orphaned})");
    let stale = format!("({expired} OR {silent})");
    ["true", &expired, &stale, &near, &orphaned, &runaway, &healthy].map(|condition| {
        let join = "FROM task_claims c LEFT JOIN sessions s ON s.id = c.session_id";
        count(database, &format!("SELECT count(*) {join} WHERE {condition}"))
    })
}

fn counted(snapshot: &Snapshot) -> [u64; 7] {
    let counts = snapshot.counts();
    let expired = reason(snapshot, Reason::LeaseExpired);
    [counts.total, expired, counts.stale, counts.expiring, counts.orphaned, counts.runaway, counts.healthy]
}

#[test]
fn the_clock_alone_moves_claims_from_set_to_set() {
    on_both(|| {
        let database = Database::new(COORDINATION);
        let now = claimtop::store::clock().micros() / 1_000;
        let edges = [-30 * MINUTE, 0, 5 * MINUTE];
        database.batch("BEGIN");
        // A claim passes each of the edges every millisecond from now on, for longer than this runs.
        for step in 0..8_000 {
            let session = format!("session-{step}");
            database.run(
                "INSERT INTO sessions VALUES (?1, '', '', 0, ?2, '', 1)",
                (&session, now - 10 * MINUTE + step),
            );
            database.run(
                "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?5)",
                (
                    format!("task-{step}"),
                    &session,
                    now - 40 * MINUTE,
                    now + edges[step as usize % 3] + step,
                    now - 5 * MINUTE + (step * 7) % 8_000,
                ),
            );
        }
        database.batch("COMMIT");
        let mut reader = Reader::open(options(&database, None, usual())).expect("a reader");
        for turn in 0..40 {
            let snapshot = poll(&mut reader);
            assert_eq!(counted(&snapshot), by_plain_sql(&database, &snapshot), "poll {turn}");
        }
    });
}

#[test]
fn no_transaction_outlives_a_poll() {
    let database = mixed();
    let mut reader = open(&database);
    let checkpoint = |after: &str| {
        let busy: i64 = database
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .expect("a checkpoint");
        assert_eq!(busy, 0, "{after} still reads");
        let log = std::fs::metadata(database.beside("tasks.db-wal")).expect("the log");
        assert_eq!(log.len(), 0);
    };
    checkpoint("opening");
    for turn in 0..5 {
        database.task(&format!("task-{turn}"), "beating", MINUTE);
        poll(&mut reader);
        checkpoint("a poll");
    }
    // Nor a poll that failed.
    let dropped = "DROP TABLE task_claims; DROP TABLE locks;";
    database.connection.execute_batch(dropped).expect("dropped");
    assert!(reader.poll().is_err());
    checkpoint("a poll that failed");
}

#[test]
fn polls_beside_a_busy_writer_neither_fail_it_nor_let_its_log_grow() {
    const WRITES: i64 = 3_000;
    const LARGEST: u64 = 8 << 20;
    let database = Database::new(COORDINATION);
    database.session("beating", SECOND);
    for number in 0..200 {
        database.task(&format!("task-{number}"), "beating", 20 * MINUTE);
    }
    let (path, log) = (database.path(), database.beside("tasks.db-wal"));
    let (progress, written) = mpsc::channel();
    let writer = std::thread::spawn(move || {
        let connection = Connection::open(path).expect("the database");
        connection.busy_timeout(Duration::from_secs(10)).expect("a timeout");
        for write in 0..WRITES {
            let beat = "UPDATE task_claims SET last_heartbeat = ?1, heartbeat_count = heartbeat_count + 1
                        WHERE task_id = ?2";
            let task = format!("task-{}", write % 200);
            assert_eq!(connection.execute(beat, (NOW + write, task)).expect("a heartbeat"), 1);
            if write % 50 == 0 {
                progress.send(()).expect("somebody polls");
            }
        }
    });
    let mut reader = open(&database);
    // The writer does not wait for these.
    for () in written {
        assert_eq!(poll(&mut reader).counts().total, 200);
        let size = std::fs::metadata(&log).expect("the log").len();
        assert!(size <= LARGEST, "the log has grown to {size} bytes");
    }
    writer.join().expect("every heartbeat was written");
    let beats = count(&database, "SELECT sum(heartbeat_count) FROM task_claims");
    assert_eq!(beats, WRITES.unsigned_abs());
}
