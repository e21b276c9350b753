//! Dead jobs: listed, queued again, and never mistaken for claims.

mod guards;
mod many;

use claimtop::domain::time::Moment;
use claimtop::reference::System;
use rusqlite::types::Value;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::process::{Command, Output};

use super::row;
use super::systems_more::LEASES;
use crate::support::engine::{Engine, engine, on_both};
use crate::support::{Database, command, in_their_words, stderr, stdout};

/// A system with a dead job named 7, and others beside it that live.
struct DeadJobsQuery {
    profile: &'static str,
    board: &'static str,
    table: &'static str,
    /// As SQLite and as PostgreSQL know it.
    schema: fn() -> [String; 2],
    /// What a person says to act on it, beyond its id.
    said: &'static [&'static str],
    dead: &'static str,
    /// Jobs that are queued, held and done, named after that; `$NOW`, `$SECONDS` and `$LATER` are times.
    living: &'static str,
    attempts: &'static str,
    error: &'static str,
    /// Every column that changes; all others stay.
    becomes: &'static [(&'static str, Becomes)],
    /// How many rows an act adds to the system's own log.
    traces: i64,
}

#[derive(Debug, Clone, Copy)]
enum Becomes {
    Authorization(&'static str),
    Zero,
    Null,
    Now,
}

use Becomes::{Authorization, Now, Null, Zero};

const JOB: DeadJobsQuery = DeadJobsQuery {
    profile: "executor-jobs",
    board: "job",
    table: "executor_jobs",
    schema: || {
        let postgres = System::ExecutorJobs.postgres().expect("a schema");
        // Without the runs, which refer to it by what it is.
        let (jobs, _) = postgres.split_once("-- Append-only").expect("the jobs");
        let named = jobs.replace("uuid PRIMARY KEY DEFAULT gen_random_uuid()", "text PRIMARY KEY");
        [System::ExecutorJobs.sqlite().into(), named]
    },
    said: &[],
    dead:
        "INSERT INTO executor_jobs (id, type, status, attempts, max_attempts, run_at, last_error, updated_at,
             created_at, dedupe_key, heartbeat_at) VALUES ('7', 'run_tsa', 'dead', 10, 10,
             '2026-01-02T03:04:05.000Z', 'boom', '2026-01-02T03:04:05.000Z', '2026-01-01T00:00:00.000Z', 'k7',
             '2026-01-02T03:00:00.000Z')",
    living: "INSERT INTO executor_jobs (id, type, status, attempts, locked_by, locked_at) VALUES
             ('queued', 'run_tsa', 'queued', 0, NULL, NULL),
             ('waits', 'run_tsa', 'retry_scheduled', 3, NULL, NULL),
             ('held', 'run_tsa', 'running', 1, 'w1', '$NOW'),
             ('done', 'run_tsa', 'succeeded', 1, NULL, NULL)",
    attempts: "dead after 10 of 10 attempts",
    error: "boom",
    becomes: &[("status", Authorization("queued")), ("attempts", Zero), ("run_at", Now), ("updated_at", Now)],
    traces: 0,
};

const ENTRY: DeadJobsQuery = DeadJobsQuery {
    profile: "merge-queue",
    board: "entry",
    table: "merge_queue",
    schema: || [System::MergeQueue.sqlite().into(), in_their_words(System::MergeQueue.sqlite())],
    said: &[],
    dead: "INSERT INTO merge_queue (id, workspace, status, added_at, started_at, completed_at, error_message,
             agent_id, state_changed_at, attempt_count, max_attempts, head_sha) VALUES (7, 'w-7',
             'failed_terminal', 5, 6, 8, 'boom', 'agent-x', 8, 3, 3, 'abc')",
    living: "INSERT INTO merge_queue (id, workspace, status, added_at, started_at, agent_id) VALUES
             (1, 'queued', 'pending', 5, NULL, NULL), (2, 'held', 'claimed', 5, $SECONDS, 'agent-y'),
             (3, 'done', 'merged', 5, NULL, NULL), (4, 'waits', 'failed_retryable', 5, NULL, NULL),
             (5, 'cancelled', 'cancelled', 5, NULL, NULL)",
    attempts: "dead after 3 of 3 attempts",
    error: "boom",
    becomes: &[
        ("status", Authorization("pending")),
        ("attempt_count", Zero),
        ("started_at", Null),
        ("completed_at", Null),
        ("agent_id", Null),
        ("state_changed_at", Now),
        ("previous_state", Authorization("failed_terminal")),
    ],
    traces: 0,
};

const TASK: DeadJobsQuery = DeadJobsQuery {
    profile: "task-queue",
    board: "task",
    table: "tasks",
    schema: || {
        let types =
            "INSERT INTO task_types (name, created_at, updated_at) VALUES ('a', '2026-01-01', '2026-01-01');";
        let postgres = System::TaskQueue.postgres().expect("a schema");
        [System::TaskQueue.sqlite(), postgres].map(|schema| format!("{schema}{types}"))
    },
    said: &["--profile", "task-queue"],
    dead: "INSERT INTO tasks (id, task_type_id, status, error_message, attempts, max_attempts, worker_id,
             claimed_at, completed_at, created_at, updated_at, result, priority) VALUES (7, 1, 'failed', 'boom',
             3, 3, 'w1', '2026-01-02 03:04:05', '2026-01-02 03:05:00', '2026-01-01 00:00:00',
             '2026-01-02 03:05:00', 'null', 4)",
    living: "INSERT INTO tasks (id, task_type_id, status, worker_id, claimed_at, created_at, updated_at) VALUES
             (1, 1, 'pending', NULL, NULL, '$NOW', '$NOW'),
             (2, 1, 'claimed', 'w2', '$NOW', '$NOW', '$NOW'),
             (3, 1, 'completed', 'w2', '$NOW', '$NOW', '$NOW')",
    attempts: "dead after 3 of 3 attempts",
    error: "boom",
    becomes: &[
        ("status", Authorization("pending")),
        ("attempts", Zero),
        ("worker_id", Null),
        ("claimed_at", Null),
        ("completed_at", Null),
        ("updated_at", Now),
    ],
    traces: 1,
};

const LEASE: DeadJobsQuery = DeadJobsQuery {
    profile: "task-queue",
    board: "lease",
    table: "task_queue",
    schema: || {
        let leases = LEASES.replace(
            "updated_at_utc DATETIME",
            "updated_at_utc DATETIME, created_at_utc DATETIME, finished_at_utc DATETIME",
        );
        [leases.clone(), in_their_words(&leases)]
    },
    said: &["--profile", "task-queue"],
    dead:
        "INSERT INTO task_queue (id, type, status, attempts, max_attempts, lease_until_utc, reserved_at_utc,
             locked_by, error_message, created_at_utc, finished_at_utc) VALUES (7, 'a', 'dead_letter', 5, 5,
             '2026-01-02 03:05:00', '2026-01-02 03:04:00', 'w1', 'boom', '2026-01-01 00:00:00',
             '2026-01-02 03:06:00')",
    living: "INSERT INTO task_queue (id, type, status, locked_by, lease_until_utc) VALUES
             (1, 'a', 'queued', NULL, NULL), (2, 'a', 'leased', 'w2', '$LATER'),
             (3, 'a', 'succeeded', NULL, NULL)",
    attempts: "dead after 5 of 5 attempts",
    error: "boom",
    becomes: &[
        ("status", Authorization("queued")),
        ("attempts", Zero),
        ("locked_by", Null),
        ("lease_until_utc", Null),
        ("finished_at_utc", Null),
    ],
    traces: 0,
};

const DEAD_BOARDS: [&DeadJobsQuery; 4] = [&JOB, &ENTRY, &TASK, &LEASE];

/// A database with a trail of its own, by the real clock.
struct Scene {
    database: Database,
    dead_board: &'static DeadJobsQuery,
}

/// What came of a run of the program.
#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Scene {
    fn living(dead_board: &'static DeadJobsQuery) -> Scene {
        let [sqlite, postgres] = (dead_board.schema)();
        let database = Database::with(&sqlite, &postgres);
        let now = chrono::Utc::now();
        let written = |at: chrono::DateTime<chrono::Utc>| match dead_board.board {
            "job" => at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            _ => at.format("%Y-%m-%d %H:%M:%S").to_string(),
        };
        let living = dead_board.living.replace("$NOW", &written(now));
        let living = living.replace("$LATER", &written(now + chrono::TimeDelta::hours(1)));
        database.run(&living.replace("$SECONDS", &now.timestamp().to_string()), []);
        Scene { database, dead_board }
    }

    fn new(dead_board: &'static DeadJobsQuery) -> Scene {
        let scene = Scene::living(dead_board);
        scene.database.run(dead_board.dead, []);
        scene
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("XDG_STATE_HOME", self.database.beside("state")).env_remove("HOME");
        command
    }

    /// A verb, its source, and what else is said to it.
    fn run(&self, verb: &[&str], more: &[&str]) -> Run {
        let mut command = self.command(verb);
        Run::of(&command.arg(self.database.source()).args(more).output().expect("claimtop runs"))
    }

    /// Queues a job again, with all that has to be said for it.
    fn requeue(&self, more: &[&str]) -> Run {
        self.run(&["requeue", "--json"], &[more, self.dead_board.said].concat())
    }

    fn dead(&self) -> Vec<Json> {
        self.run(&["list", "--dead", "--json"], &[]).lines()
    }

    fn dump(&self) -> Vec<String> {
        self.database.dump()
    }

    /// Every column of the job that was dead.
    fn job(&self) -> BTreeMap<String, Value> {
        let (table, names) = (self.dead_board.table, self.columns());
        let cells = row(
            &self.database,
            &format!("SELECT {} FROM {table} WHERE {}", names.join(", "), self.dead_one()),
        );
        names.into_iter().zip(cells).collect()
    }

    fn columns(&self) -> Vec<String> {
        let table = self.dead_board.table;
        self.database.texts(&match engine() {
            Engine::Sqlite => format!("SELECT name FROM pragma_table_info('{table}')"),
            Engine::Postgres => {
                format!(
                    "SELECT column_name FROM information_schema.columns
                     WHERE table_name = '{table}' AND is_generated = 'NEVER'"
                )
            }
        })
    }

    /// Which job was dead, as a condition.
    fn dead_one(&self) -> &'static str {
        if self.dead_board.board == "job" { "id = '7'" } else { "id = 7" }
    }

    /// The trail: stage, action, outcome.
    fn trail(&self) -> Vec<(String, String, Option<String>)> {
        let run = Run::of(&self.command(&["audit", "export"]).output().expect("claimtop runs"));
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let entry = |entry: Json| {
            let record = &entry["record"];
            (text(&record["stage"]).unwrap(), text(&record["action"]).unwrap(), text(&record["outcome"]))
        };
        run.lines().into_iter().map(entry).collect()
    }

    fn number(&self, sql: &str) -> i64 {
        self.database.number(sql)
    }
}

impl Run {
    fn of(output: &Output) -> Run {
        Run { code: output.status.code().unwrap_or(-1), out: stdout(output), err: stderr(output) }
    }

    #[track_caller]
    fn lines(&self) -> Vec<Json> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        self.out.lines().map(parse).collect()
    }

    /// The one object of a run that ended so.
    #[track_caller]
    fn came_to(&self, code: i32, outcome: &str) -> Json {
        assert_eq!(self.code, code, "{self:#?}");
        let mut all = self.lines();
        assert_eq!(all.len(), 1, "{self:#?}");
        assert_eq!(
            (&all[0]["outcome"], &all[0]["action"]),
            (&outcome.into(), &"requeue".into()),
            "{self:#?}"
        );
        all.remove(0)
    }

    #[track_caller]
    fn says(&self, sentence: &str) {
        assert!(self.out.contains(sentence) || self.err.contains(sentence), "{sentence:?}: {self:#?}");
    }
}

#[test]
fn the_dead_are_listed_for_people_and_for_programs() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            let why = format!("{}: {}", dead_board.attempts, dead_board.error);
            let all = scene.dead();
            assert_eq!(all.len(), 1, "{}: {all:#?}", dead_board.board);
            for (field, value) in [
                ("id", "7"),
                ("profile", dead_board.profile),
                ("board", dead_board.board),
                ("error", dead_board.error),
                ("why", why.as_str()),
                ("address", &format!("{}/{}/7", dead_board.profile, dead_board.board)),
            ] {
                assert_eq!(all[0][field], value, "{field} of {:#}", all[0]);
            }
            assert!(all[0]["seen"].is_string() && all[0]["holder"].is_null(), "{:#}", all[0]);
            let table = scene.run(&["list", "--dead"], &[]);
            assert_eq!((table.code, table.out.lines().count()), (0, 2), "{table:#?}");
            table.says(&why);
            let csv = scene.run(&["list", "--dead", "--csv"], &[]);
            let mut reader = csv::Reader::from_reader(csv.out.as_bytes());
            let headings = reader.headers().unwrap().clone();
            let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
            assert_eq!(rows.len(), 1, "{csv:#?}");
            let cell = |name: &str| &rows[0][headings.iter().position(|heading| heading == name).unwrap()];
            assert_eq!((cell("id"), cell("board"), cell("why")), ("7", dead_board.board, why.as_str()));
        }
    });
}

#[test]
fn a_dead_job_is_queued_again_with_all_its_attempts_and_nothing_else_changes() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            let (before, start) = (scene.job(), chrono::Utc::now().timestamp());
            let neighbours =
                format!("SELECT count(*) FROM {} WHERE NOT {}", dead_board.table, scene.dead_one());
            let living = scene.number(&neighbours);
            let object = scene.requeue(&["7"]).came_to(0, "applied");
            assert_eq!((&object["id"], &object["holder"]), (&"7".into(), &Json::Null));
            let (after, end) = (scene.job(), chrono::Utc::now().timestamp());
            let mut expected = before.clone();
            for (column, becomes) in dead_board.becomes {
                assert_ne!(before[*column], after[*column], "{column} of {}", dead_board.board);
                let value = match becomes {
                    Authorization(word) => Value::Text((*word).into()),
                    Zero => Value::Integer(0),
                    Null => Value::Null,
                    Now => {
                        let at = seconds(&after[*column]);
                        assert!((start..=end).contains(&at), "{column} of {}: {at}", dead_board.board);
                        after[*column].clone()
                    }
                };
                expected.insert((*column).into(), value);
            }
            assert_eq!(after, expected, "{}", dead_board.board);
            assert_eq!(scene.number(&neighbours), living);
            assert_eq!(scene.dead().len(), 0);
            assert_eq!(scene.run(&["list", "--dead"], &[]).out, "no dead jobs\n");
        }
    });
}

/// A time of any of the systems, in seconds.
fn seconds(value: &Value) -> i64 {
    match value {
        Value::Integer(at) => *at,
        Value::Text(text) => Moment::parse(text).expect("a time").micros().div_euclid(1_000_000),
        other => panic!("{other:?}"),
    }
}

#[test]
fn undo_buries_it_again_exactly_and_the_trail_tells_both() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            let before = scene.dump();
            let object = scene.requeue(&["7", "--reason", "the bug is mended"]).came_to(0, "applied");
            assert_ne!(scene.dump(), before);
            let action = object["action_id"].as_str().expect("an id");
            let undone = scene.run(&["undo", "--json"], &[&[action], dead_board.said].concat());
            assert_eq!(undone.code, 0, "{undone:#?}");
            assert_eq!(scene.dump(), before, "{}", dead_board.board);
            assert_eq!(scene.dead().len(), 1);
            let applied = || Some("applied".to_owned());
            let trail = [
                ("intent".into(), "requeue".into(), None),
                ("outcome".into(), "requeue".into(), applied()),
                ("intent".into(), "undo".into(), None),
                ("outcome".into(), "undo".into(), applied()),
            ];
            assert_eq!(scene.trail(), trail, "{}", dead_board.board);
            assert_eq!(scene.command(&["audit", "verify"]).output().unwrap().status.code(), Some(0));
            let shown = scene.command(&["audit", "show", action]).output().unwrap();
            assert!(stdout(&shown).contains("the bug is mended"), "{}", stdout(&shown));
        }
    });
}

#[test]
fn the_log_of_the_system_says_that_it_was_queued_again_by_hand() {
    on_both(|| {
        for dead_board in DEAD_BOARDS {
            let scene = Scene::new(dead_board);
            scene.requeue(&["7"]).came_to(0, "applied");
            if dead_board.traces > 0 {
                let log = "SELECT count(*) FROM task_logs WHERE task_id = 7 AND event = 'requeued'
                       AND message = 'queued again by hand' AND created_at IS NOT NULL";
                assert_eq!(
                    (scene.number(log), scene.number("SELECT count(*) FROM task_logs")),
                    (1, dead_board.traces)
                );
            }
        }
    });
}

#[test]
fn a_column_of_whole_seconds_stays_a_whole_number() {
    let scene = Scene::new(&ENTRY);
    scene.requeue(&["7"]).came_to(0, "applied");
    let changed = &scene.job()["state_changed_at"];
    assert!(matches!(changed, Value::Integer(_)), "{changed:?}");
    let database = claimtop::worker::Database::open(&scene.database.path()).expect("a database");
    let queue = claimtop::worker::merge_queue::MergeQueue::new(database);
    queue.entries().expect("entries that their own workers can read");
}
