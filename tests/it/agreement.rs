//! The statements compiled from a profile and the pure verdict agree, on random databases of every
//! profile: with and without indexes, with poison in any cell, at and around every boundary, after
//! writes and when nothing but the clock has moved.

use claimtop::config::Config;
use claimtop::domain::time::Moment;
use claimtop::profile::Library;
use claimtop::profile::format::Profile;
use claimtop::store::sqlite::Options;
use claimtop::store::{Effort, Profiles, Reader};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::path::Path;
use std::time::Duration;

use crate::support::{Database, NOW};

/// Random databases per system; `./tests/run --soak` asks for more.
fn rounds() -> u64 {
    std::env::var("CLAIMTOP_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(25)
}

/// A small generator of our own, so that a seed in a failure message is all it takes.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// What a column holds.
#[derive(Clone, Copy)]
enum Column {
    Key,
    Milliseconds,
    Seconds,
    Nanoseconds,
    Text,
    Timeout,
    Holder,
    One(&'static [&'static str]),
    Number,
}

/// A table, its columns, and the indexes it may have.
struct Table {
    name: &'static str,
    columns: &'static [(&'static str, &'static str, Column)],
    indexes: &'static [&'static str],
}

/// Distances from now, in seconds, at which some verdict of some profile turns.
const TURNS: [i64; 22] = [
    -7200, -3600, -1800, -900, -660, -600, -599, -360, -301, -300, -299, -240, -61, -60, -30, -2, 0, 2, 15,
    60, 300, 1800,
];

fn moment(random: &mut Random) -> i64 {
    let nudge = [-1_000, -1, 0, 0, 1, 999, 1_000, 2_001];
    NOW + random.pick(&TURNS) * 1_000 + random.pick(&nudge)
}

fn poison(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Null,
        1 => Value::Text("rubbish".into()),
        2 => Value::Blob(vec![0xff, 0xfe]),
        3 => Value::Integer(i64::MIN),
        4 => Value::Integer(i64::MAX),
        5 => Value::Text(String::new()),
        6 => Value::Real(1.5),
        _ => Value::Integer(-1),
    }
}

fn cell(random: &mut Random, column: Column, row: u64) -> Value {
    let at = moment(random);
    let spoil = random.chance(24);
    let text = |at: i64, form: u64| {
        let moment = Moment::from_micros(at * 1_000).expect("a moment").rfc3339();
        Value::Text(match form {
            0 => moment,
            1 => moment.replace('T', " ").replace('Z', ""),
            2 => moment.replace('Z', "+00:00"),
            _ => moment[..19].replace('T', " "),
        })
    };
    match column {
        Column::Key => Value::Text(format!("key-{row}")),
        Column::Milliseconds if !spoil => Value::Integer(at),
        Column::Seconds if !spoil => Value::Integer(at / 1_000),
        Column::Nanoseconds if !spoil => Value::Integer(at * 1_000_000 + random.below(1_000_000) as i64),
        Column::Text if !spoil => text(at, random.below(4)),
        Column::Timeout if !spoil => Value::Integer(*random.pick(&[0, 30, 60, 300, 3_600])),
        Column::Milliseconds | Column::Seconds | Column::Nanoseconds | Column::Text | Column::Timeout => {
            poison(random)
        }
        Column::Holder if random.chance(12) => Value::Null,
        Column::Holder => Value::Text(format!("holder-{}", random.below(6))),
        Column::One(words) => Value::Text((*random.pick(words)).into()),
        Column::Number => Value::Integer(random.below(12) as i64),
    }
}

fn fill(connection: &Connection, table: &Table, random: &mut Random) {
    let rows = if random.chance(8) { 0 } else { random.below(40) };
    let places: Vec<String> = (1..=table.columns.len()).map(|place| format!("?{place}")).collect();
    let sql = format!("INSERT OR REPLACE INTO {} VALUES ({})", table.name, places.join(", "));
    for row in 0..rows {
        let values = table.columns.iter().map(|(_, _, column)| cell(random, *column, row));
        let values: Vec<Value> = values.collect();
        connection.execute(&sql, rusqlite::params_from_iter(values)).expect(&sql);
    }
}

fn create(connection: &Connection, tables: &[Table], random: &mut Random) {
    for table in tables {
        let columns: Vec<String> =
            table.columns.iter().map(|(name, declared, _)| format!("\"{name}\" {declared}")).collect();
        connection
            .execute_batch(&format!("CREATE TABLE {} ({})", table.name, columns.join(", ")))
            .expect("a table");
        for (number, index) in table.indexes.iter().enumerate() {
            if random.chance(2) {
                let name = table.name.replace('"', "").replace(' ', "_");
                let sql = format!("CREATE INDEX {name}_{number} ON {}({index})", table.name);
                connection.execute_batch(&sql).expect("an index");
            }
        }
        fill(connection, table, random);
    }
}

fn reader(path: &Path, profiles: Profiles, slice: usize) -> Reader {
    Reader::open(Options {
        path: path.into(),
        profiles,
        operator: Config::default().operator(None),
        effort: Effort { rows: 5, slice, whole: slice },
        busy_timeout: Duration::from_secs(5),
        poll_timeout: Duration::from_secs(60),
        frozen_at: Moment::from_micros(NOW * 1_000),
        prober: None,
    })
    .expect("a reader")
}

/// Polls, and compares every count with the slow way.
fn compare(reader: &mut Reader, seed: u64, when: &str) {
    let snapshots = reader.poll().expect("a poll");
    let tallies = reader.tally().expect("a tally");
    let boards: Vec<_> = snapshots.iter().flat_map(|snapshot| &snapshot.boards).collect();
    assert_eq!(boards.len(), tallies.len());
    for (board, tally) in boards.iter().zip(&tallies) {
        let place = format!("board {} with seed {seed}, {when}", board.board);
        assert_eq!(board.reasons, tally.reasons, "reasons of {place}");
        assert_eq!(board.counts, tally.counts, "counts of {place}");
        for judged in &board.worst {
            assert!(
                judged.verdict.headline().as_str() != "healthy",
                "a healthy row among the worst of {place}"
            );
        }
    }
}

fn agree(tables: &[Table], profiles: &Profiles) {
    for seed in 0..rounds() {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(7));
        let database = Database::new("");
        create(&database.connection, tables, &mut random);
        let mut reader = reader(&database.path(), profiles.clone(), 1_000);
        compare(&mut reader, seed, "at first");
        let mut now = NOW;
        for step in 0..6 {
            now += *random.pick(&[1, 500, 1_000, 1_500, 7_000, 60_000, 299_999, 600_000]);
            reader.freeze(Moment::from_micros(now * 1_000 + random.below(1_000) as i64).expect("a moment"));
            compare(&mut reader, seed, &format!("with the clock moved, step {step}"));
            if random.chance(3) {
                fill(&database.connection, random.pick(tables), &mut random);
                compare(&mut reader, seed, &format!("after writes, step {step}"));
            }
        }
    }
}

fn built_in() -> Profiles {
    Profiles::Detect(Library::built_in())
}

#[test]
fn on_coordination_databases() {
    agree(
        &[
            Table {
                name: "sessions",
                columns: &[
                    ("id", "TEXT PRIMARY KEY", Column::Holder),
                    ("last_heartbeat", "INTEGER", Column::Milliseconds),
                    ("started_at", "INTEGER", Column::Milliseconds),
                    ("pid", "INTEGER", Column::Number),
                ],
                indexes: &["last_heartbeat"],
            },
            Table {
                name: "task_claims",
                columns: &[
                    ("task_id", "TEXT PRIMARY KEY", Column::Key),
                    ("session_id", "TEXT", Column::Holder),
                    ("claimed_at", "INTEGER", Column::Milliseconds),
                    ("expires_at", "INTEGER", Column::Milliseconds),
                    ("last_heartbeat", "INTEGER", Column::Milliseconds),
                ],
                indexes: &["session_id", "expires_at", "last_heartbeat", "claimed_at"],
            },
            Table {
                name: "locks",
                columns: &[
                    ("resource", "TEXT PRIMARY KEY", Column::Key),
                    ("session_id", "TEXT", Column::Holder),
                    ("acquired_at", "INTEGER", Column::Milliseconds),
                    ("expires_at", "INTEGER", Column::Milliseconds),
                ],
                indexes: &["session_id", "expires_at"],
            },
        ],
        &built_in(),
    );
}

#[test]
fn on_executor_job_databases() {
    const STATES: &[&str] = &["running", "running", "processing", "queued", "dead", "retry_scheduled"];
    const KINDS: &[&str] =
        &["run_tsa", "protect_document_v2", "build_artifact", "submit_anchor_bitcoin", "other"];
    agree(
        &[Table {
            name: "executor_jobs",
            columns: &[
                ("id", "TEXT PRIMARY KEY", Column::Key),
                ("type", "TEXT", Column::One(KINDS)),
                ("status", "TEXT", Column::One(STATES)),
                ("attempts", "INTEGER", Column::Number),
                ("locked_at", "TEXT", Column::Text),
                ("locked_by", "TEXT", Column::Holder),
                ("heartbeat_at", "TEXT", Column::Text),
                ("last_error", "TEXT", Column::Holder),
                ("run_at", "TEXT", Column::Text),
            ],
            indexes: &["status, type, locked_at", "locked_at", "status, run_at"],
        }],
        &built_in(),
    );
}

#[test]
fn on_merge_queue_databases() {
    const STATES: &[&str] = &[
        "pending",
        "claimed",
        "claimed",
        "claimed",
        "rebasing",
        "testing",
        "merging",
        "merged",
        "processing",
        "failed_retryable",
        "failed_terminal",
        "cancelled",
    ];
    agree(
        &[
            Table {
                name: "merge_queue",
                columns: &[
                    ("id", "INTEGER PRIMARY KEY", Column::Number),
                    ("workspace", "TEXT", Column::Key),
                    ("status", "TEXT", Column::One(STATES)),
                    ("agent_id", "TEXT", Column::Holder),
                    ("added_at", "INTEGER", Column::Seconds),
                    ("started_at", "INTEGER", Column::Seconds),
                    ("attempt_count", "INTEGER", Column::Number),
                ],
                indexes: &["status", "status, started_at", "started_at"],
            },
            Table {
                name: "queue_processing_lock",
                columns: &[
                    ("agent_id", "TEXT", Column::Holder),
                    ("acquired_at", "INTEGER", Column::Seconds),
                    ("expires_at", "INTEGER", Column::Seconds),
                ],
                indexes: &["expires_at"],
            },
        ],
        &built_in(),
    );
}

#[test]
fn on_finalization_databases() {
    agree(
        &[Table {
            name: "tasker_tasks",
            columns: &[
                ("task_uuid", "TEXT PRIMARY KEY", Column::Key),
                ("complete", "INTEGER", Column::One(&["0", "0", "1"])),
                ("claimed_by", "TEXT", Column::Holder),
                ("claimed_at", "TEXT", Column::Text),
                ("claim_timeout_seconds", "INTEGER", Column::Timeout),
                ("created_at", "TEXT", Column::Text),
            ],
            indexes: &["claimed_at, claimed_by", "claimed_by"],
        }],
        &built_in(),
    );
}

const TASKS: Table = Table {
    name: "tasks",
    columns: &[
        ("id", "INTEGER PRIMARY KEY", Column::Number),
        ("task_type_id", "INTEGER", Column::Number),
        ("status", "TEXT", Column::One(&["pending", "claimed", "claimed", "completed", "failed"])),
        ("worker_id", "TEXT", Column::Holder),
        ("claimed_at", "TEXT", Column::Text),
        ("attempts", "INTEGER", Column::Number),
        ("created_at", "TEXT", Column::Text),
    ],
    indexes: &["status, task_type_id", "worker_id", "status"],
};

#[test]
fn on_task_queue_databases() {
    agree(
        &[
            Table {
                name: "worker_heartbeats",
                columns: &[
                    ("worker_id", "TEXT PRIMARY KEY", Column::Holder),
                    ("last_seen_at", "TEXT", Column::Text),
                    ("metadata", "TEXT", Column::One(&["{\"pid\": 12, \"hostname\": \"a\"}", "{", ""])),
                ],
                indexes: &["last_seen_at"],
            },
            TASKS,
            Table {
                name: "workers",
                columns: &[
                    ("worker_id", "TEXT PRIMARY KEY", Column::Holder),
                    ("heartbeat_utc", "TEXT", Column::Text),
                ],
                indexes: &[],
            },
            Table {
                name: "task_queue",
                columns: &[
                    ("id", "INTEGER PRIMARY KEY", Column::Number),
                    ("type", "TEXT", Column::One(&["a", "b"])),
                    ("status", "TEXT", Column::One(&["queued", "leased", "processing", "completed"])),
                    ("locked_by", "TEXT", Column::Holder),
                    ("reserved_at_utc", "TEXT", Column::Text),
                    ("lease_until_utc", "TEXT", Column::Text),
                ],
                indexes: &["status", "locked_by"],
            },
        ],
        &built_in(),
    );
}

#[test]
fn on_task_queue_databases_without_a_registry() {
    agree(&[TASKS], &built_in());
}

#[test]
fn on_a_system_that_keeps_nothing_but_heartbeats() {
    let profile = "title = 'Beats'\n[[claim]]\nname = 'job'\ntable = 'beats'\nid = 'id'\nkind = 'kind'\nbeat_at = 'beat'\n\
                   time = 'unix_ms'\ndeadline = { ttl = { a = '5m' }, otherwise = '30m' }\n";
    let profile = Profile::parse("beats", profile).expect("the profile");
    agree(
        &[Table {
            name: "beats",
            columns: &[
                ("id", "TEXT PRIMARY KEY", Column::Key),
                ("kind", "TEXT", Column::One(&["a", "b"])),
                ("beat", "INTEGER", Column::Milliseconds),
            ],
            indexes: &["beat", "kind, beat"],
        }],
        &Profiles::Named(vec![profile]),
    );
}

#[test]
fn on_an_invented_system_with_every_kind_of_value() {
    let profile = Profile::parse("invented", include_str!("invented/profile.toml")).expect("the profile");
    let profiles = Profiles::Named(vec![profile]);
    const PEOPLE: &[&str] = &["{\"by\": {\"who\": \"holder-1\"}}", "{\"by\": {\"who\": \"holder-4\"}}", "{}"];
    agree(
        &[
            Table {
                name: "crew",
                columns: &[
                    ("badge", "TEXT PRIMARY KEY", Column::Holder),
                    ("seen_ns", "INTEGER", Column::Nanoseconds),
                    ("patience_s", "INTEGER", Column::Timeout),
                ],
                indexes: &["badge", "seen_ns"],
            },
            Table {
                name: "\"work orders\"",
                columns: &[
                    ("yard", "TEXT", Column::One(&["north", "south"])),
                    ("number", "INTEGER", Column::Number),
                    ("state", "TEXT", Column::One(&["open", "taken", "taken", "done"])),
                    ("ticket", "TEXT", Column::One(PEOPLE)),
                    ("trade", "TEXT", Column::One(&["weld", "paint", "inspect"])),
                    ("taken_ns", "INTEGER", Column::Nanoseconds),
                    ("touched_ns", "INTEGER", Column::Nanoseconds),
                ],
                indexes: &["state, taken_ns", "taken_ns", "touched_ns"],
            },
        ],
        &profiles,
    );
}
