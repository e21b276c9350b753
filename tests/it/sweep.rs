//! Automatic cleanup with the program itself: what it takes, what holds it, and what it leaves behind.

mod brakes;
mod clock_jumps;
mod clock_skew;
mod grounds;
mod intervals;
mod many_claims;
mod poison_limit;
mod priority;
mod profiles;
mod reference_systems;
mod several_sweepers;
mod shares;
mod slow_sources;
mod stamped_by;
mod two_sightings;

use claimtop::reference::System;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::support::engine::on_both;
use crate::support::{COORDINATION, Database, MINUTE, SECOND, command, stderr, stdout};

/// A database with a state folder of its own.
struct Scene {
    database: Database,
}

/// What came of a run of the program.
#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
}

impl Scene {
    fn new() -> Scene {
        Scene { database: Database::new(COORDINATION) }
    }

    fn of(system: System) -> Scene {
        Scene { database: Database::of(system) }
    }

    fn session(&self, id: &str, silent_for: i64) {
        self.database.run(
            "INSERT INTO sessions VALUES (?1, '/project', 'cli', ?2, ?3, '{}', NULL)",
            (id, now() - 180 * MINUTE, now() - silent_for),
        );
    }

    /// A claim of two hours that last beat this long ago.
    fn task(&self, id: &str, session: &str, expires_in: i64, silent_for: i64) {
        self.database.run(
            "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (id, session, now() - 120 * MINUTE, now() + expires_in, now() - silent_for),
        );
    }

    /// So many claims of a living session whose leases ended an hour ago.
    fn expired(&self, count: usize) {
        self.many("task", count, -60 * MINUTE);
    }

    fn healthy(&self, count: usize) {
        self.many("well", count, 20 * MINUTE);
    }

    fn many(&self, name: &str, count: usize, expires_in: i64) {
        self.database.at_once(|| {
            self.database.run(
                "INSERT INTO sessions VALUES ('worker-1', '/project', 'cli', ?1, ?1, '{}', NULL)
                 ON CONFLICT DO NOTHING",
                [now()],
            );
            for number in 0..count {
                self.task(&format!("{name}-{number:04}"), "worker-1", expires_in, SECOND);
            }
        });
    }

    /// The same for very many, in one statement.
    fn crowd(&self, name: &str, count: usize, expires_in: i64) {
        self.database.run(
            "INSERT INTO sessions VALUES ('worker-1', '/project', 'cli', ?1, ?1, '{}', NULL) ON CONFLICT DO NOTHING",
            [now()],
        );
        self.database.run(
            &format!(
                "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
                 SELECT '{name}-' || i, 'worker-1', ?1, ?2, ?3 FROM n"
            ),
            [now() - 120 * MINUTE, now() + expires_in, now() - SECOND],
        );
    }

    fn state(&self) -> PathBuf {
        self.database.beside("state")
    }

    fn config(&self, text: &str) {
        std::fs::write(self.database.beside("config.toml"), text).expect("a config");
    }

    /// The program on this scene; the word DB stands for the database.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&[]);
        let source = self.database.source();
        command.args(arguments.iter().map(|word| if *word == "DB" { source.as_str() } else { word }));
        let config = self.database.beside("config.toml");
        if config.exists() {
            command.arg("--config").arg(config);
        }
        command.env("XDG_STATE_HOME", self.state()).env_remove("HOME");
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.command(arguments).output().expect("claimtop runs"))
    }

    /// `sweep --once --json` with these options.
    fn sweep(&self, options: &[&str]) -> Run {
        let mut arguments = vec!["sweep", "--once", "--json", "DB"];
        arguments.extend(options);
        self.run(&arguments)
    }

    /// The ids of the claims that are left.
    fn held(&self) -> Vec<String> {
        let mut held = self.database.texts("SELECT task_id FROM task_claims");
        held.sort();
        held
    }

    fn number(&self, sql: &str) -> i64 {
        self.database.number(sql)
    }

    fn text(&self, sql: &str) -> String {
        self.database.text(sql)
    }

    /// The outcomes in the trail.
    fn outcomes(&self) -> Vec<Json> {
        let all = self.run(&["audit", "export"]).lines();
        let records = all.into_iter().map(|entry| entry["record"].clone());
        records.filter(|record| record["stage"] == "outcome").collect()
    }
}

impl Run {
    fn of(output: &Output) -> Run {
        let code = output.status.code().unwrap_or(-1);
        Run { code, out: stdout(output), err: stderr(output) }
    }

    #[track_caller]
    fn lines(&self) -> Vec<Json> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        self.out.lines().map(parse).collect()
    }

    /// The last line, which is a summary, and the exit code.
    #[track_caller]
    fn summary(&self, code: i32) -> Json {
        let last = self.lines().pop().unwrap_or_else(|| panic!("no lines in {self:#?}"));
        assert_eq!((self.code, &last["event"]), (code, &Json::from("summary")), "{self:#?}");
        last
    }

    /// The tasks that events of this name tell of, in their order.
    #[track_caller]
    fn tasks(&self, event: &str) -> Vec<String> {
        let all = self.lines();
        let told = all.iter().filter(|line| line["event"] == event);
        told.map(|line| line["taskId"].as_str().expect("a task").to_owned()).collect()
    }
}

/// The real clock: an act takes no other.
fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
