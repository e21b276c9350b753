//! Acts on servers: many at once, by those who may, on tables of every kind, through whatever breaks.

mod audit_records;
mod batches;
mod commit_faults;
mod dashboard_keys;
mod dashboard_user;
mod faults;
mod lost_commits;
mod lost_connection;
mod many_sweepers;
mod operators;
mod partition_locks;
mod privileges;
mod proxy;
mod row_locks;
mod standby;
mod tables;

use claimtop::profile::Library;
use claimtop::profile::format::Profile;
use claimtop::store::{Options, Profiles};
use serde_json::Value as Json;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

use crate::support::options::at_server;
use crate::support::{command, stderr, stdout};

const JOBS: &str = include_str!("../../assets/schema/postgres/executor-jobs.sql");
const AUDIT: &str = include_str!("../../assets/schema/postgres/audit.sql");

/// So many jobs of a worker that fell silent an hour ago, at their first attempt.
fn stale_jobs(count: u64) -> String {
    format!(
        "INSERT INTO executor_jobs (type, status, locked_at, locked_by, attempts)
         SELECT 'run_tsa', 'running', now() - interval '1 hour', 'w' || n % 7, 1 FROM generate_series(1, {count}) n"
    )
}

pub fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(otherwise)
}

/// Somebody with a trail of his own who works on a source.
struct Operator {
    source: String,
    state: TempDir,
}

impl Operator {
    fn of(source: String) -> Operator {
        Operator { source, state: tempfile::tempdir().expect("a folder") }
    }

    /// The word DB stands for the source.
    fn command(&self, arguments: &[&str]) -> Command {
        self.command_at(&self.source, arguments)
    }

    /// The same by another way to the source.
    fn command_at(&self, source: &str, arguments: &[&str]) -> Command {
        let mut command = command(&[]);
        command.args(arguments.iter().map(|word| if *word == "DB" { source } else { word }));
        command.env("XDG_STATE_HOME", self.state.path()).env_remove("HOME").stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&self.command(arguments).output().expect("claimtop runs"))
    }

    /// The outcomes in the trail.
    fn outcomes(&self) -> Vec<Json> {
        let all = self.run(&["audit", "export"]).lines();
        let records = all.into_iter().map(|entry| entry["record"].clone());
        records.filter(|record| record["stage"] == "outcome").collect()
    }

    /// The ids of what the trail calls applied.
    fn applied(&self) -> Vec<String> {
        let applied = self.outcomes().into_iter().filter(|record| record["outcome"] == "applied");
        applied.map(|record| record["address"].as_str().expect("an address").to_owned()).collect()
    }

    /// Nothing is open, and nobody has written in it.
    #[track_caller]
    fn trail_is_whole(&self) {
        assert_eq!(self.run(&["audit", "list", "--open", "--json"]).out, "");
        assert_eq!(self.run(&["audit", "verify"]).code, 0);
    }
}

#[derive(Debug)]
struct Run {
    code: i32,
    out: String,
    err: String,
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
        let all = self.lines();
        assert_eq!((all.len(), &all[0]["outcome"]), (1, &Json::from(outcome)), "{self:#?}");
        all[0].clone()
    }

    #[track_caller]
    fn says(&self, sentence: &str) {
        assert!(format!("{}{}", self.out, self.err).contains(sentence), "{sentence:?} is not in {self:#?}");
    }
}

fn options(source: &str, profile: Option<&str>) -> Options {
    let own = |text: &str| Profile::parse("own", text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let profiles =
        profile.map_or(Profiles::Detect(Library::built_in()), |text| Profiles::Named(vec![own(text)]));
    Options { frozen_at: None, ..at_server(source, profiles) }
}
