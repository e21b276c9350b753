//! Liveness against the real kernel: nobody who lives is called dead, and nobody dead alive.

#![cfg(target_os = "linux")]

mod hosts;
mod invalid_pids;
mod namespaces;
mod pid_reuse;
mod process_states;
mod test_processes;

use claimtop::domain::claim::Process;
use claimtop::domain::time::{Moment, Span};
use claimtop::domain::value::Value;
use claimtop::liveness::{HoldersOn, Machine, ProcessFinding, ProcessSubject};
use test_processes::{Being, machine_counts_here};

/// A row about a process, told like a story: `row(pid).beat(moment).found()`.
#[derive(Clone)]
struct Row {
    pid: Value,
    host: Option<String>,
    started_at: Option<Moment>,
    beat_at: Option<Moment>,
}

fn row(pid: i64) -> Row {
    row_with(Value::Int(pid))
}

fn row_with(pid: Value) -> Row {
    Row { pid, host: None, started_at: None, beat_at: None }
}

impl Row {
    fn host(self, name: &str) -> Row {
        Row { host: Some(name.into()), ..self }
    }

    fn started(self, at: Moment) -> Row {
        Row { started_at: Some(at), ..self }
    }

    fn beat(self, at: Moment) -> Row {
        Row { beat_at: Some(at), ..self }
    }

    fn found(&self) -> ProcessFinding {
        self.found_with(Some(HoldersOn::ThisHost))
    }

    fn found_with(&self, holders_on: Option<HoldersOn>) -> ProcessFinding {
        let subject = ProcessSubject {
            pid: &self.pid,
            host: self.host.as_deref(),
            started_at: self.started_at,
            beat_at: self.beat_at,
        };
        Machine::here().probe(&subject, holders_on)
    }
}

/// Holds a finding to what is expected; inside a container nothing but unknown may be said.
#[track_caller]
fn assert_found(finding: &ProcessFinding, expected: Process, words: &str) {
    if machine_counts_here() {
        assert_eq!(finding.process, expected, "{}", finding.evidence);
        assert!(finding.evidence.contains(words), "{words:?} in {:?}", finding.evidence);
    } else {
        assert_eq!(finding.process, Process::Unknown, "{}", finding.evidence);
    }
}

fn now() -> Moment {
    Moment::from_micros(chrono::Utc::now().timestamp_micros()).expect("a time")
}

fn seconds_ago(seconds: i64) -> Moment {
    now().minus(Span::seconds(seconds))
}

fn seconds_ahead(seconds: i64) -> Moment {
    now().plus(Span::seconds(seconds))
}
