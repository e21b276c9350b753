//! One claim as it was read: who has what, since when, and what is known of the holder.

use serde::Deserialize;

use super::time::{Moment, Reading, Span};
use super::value::{Key, Value};

/// A row that says: this holder has this task since then.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub key: Key,
    pub kind: Option<String>,
    pub holder: Option<String>,
    pub claimed_at: Reading,
    pub beat_at: Reading,
    pub lease: Lease,
    pub registry: Registry,
    pub worker: Worker,
    /// The system's own rule says that nobody can be working on this.
    pub disowned: bool,
    /// The system's own rule says that its holder is at work.
    pub alive: bool,
    pub attempts: Option<i64>,
    pub max_attempts: Option<i64>,
    pub error: Option<String>,
}

impl Claim {
    /// Nothing is known of it.
    pub fn blank() -> Claim {
        Claim {
            key: Key(Vec::new()),
            kind: None,
            holder: None,
            claimed_at: Reading::Absent,
            beat_at: Reading::Absent,
            lease: Lease::Unwritten,
            registry: Registry::None,
            worker: Worker::new(Value::Null, None),
            disowned: false,
            alive: false,
            attempts: None,
            max_attempts: None,
            error: None,
        }
    }
}

/// What kind of thing a board's claims are on: it picks their pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    #[default]
    Task,
    Job,
    Lock,
}

/// Whose clock writes the times of a board's claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum StampedBy {
    /// Every holder's own.
    #[default]
    Holder,
    /// The database's, as `now()` in the statement: one clock for all.
    Database,
}

/// What the row itself says about its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Lease {
    /// The row does not say; the board's rules do.
    Unwritten,
    /// The instant is a column.
    Until(Reading),
    /// `claimed_at` plus this column of seconds.
    Timeout(Timeout),
}

/// A length of time that a row carries, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Timeout {
    Unreadable,
    After(Span),
}

impl Timeout {
    /// Reads a column of seconds; anything but a number of them is unreadable.
    pub fn read(value: &Value) -> Timeout {
        // A century: beyond it a deadline could leave the printable range.
        const LONGEST: f64 = 3.2e9;
        let seconds = match value {
            Value::Int(number) => *number as f64,
            Value::Real(number) => *number,
            Value::Null | Value::Text(_) | Value::BadText(_) | Value::Bytes(_) => {
                return Timeout::Unreadable;
            }
        };
        if (0.0..LONGEST).contains(&seconds) {
            Timeout::After(Span::micros((seconds * 1e6) as i64))
        } else {
            Timeout::Unreadable
        }
    }

    pub fn span(self) -> Option<Span> {
        match self {
            Timeout::After(span) => Some(span),
            Timeout::Unreadable => None,
        }
    }
}

/// What the registry of holders says of this claim's holder.
#[derive(Debug, Clone, PartialEq)]
pub enum Registry {
    /// The system keeps no registry.
    None,
    /// It does, the holder is not in it, and nobody has to be: this proves nothing.
    Unregistered,
    /// The holder is not in it, although every holder has to be, or although this one was before.
    Missing,
    Listed(Session),
}

/// A holder as the system registers it: a session, a worker, a process.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub beat_at: Reading,
    /// When the system itself gives the session up, where it keeps such an instant.
    pub stale_at: Option<Reading>,
    pub started_at: Reading,
}

/// The process that holds the claim, as far as the rows tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    pub pid: Value,
    pub host: Option<String>,
    /// The version of its software.
    pub version: Option<String>,
    pub process: Process,
    /// What the process was judged by, once somebody has looked.
    pub evidence: Option<String>,
}

impl Worker {
    /// Nobody has looked yet.
    pub fn new(pid: Value, host: Option<String>) -> Worker {
        Worker { pid, host, version: None, process: Process::Unknown, evidence: None }
    }

    pub fn of_version(self, version: Option<String>) -> Worker {
        Worker { version, ..self }
    }
}

/// Whether the holder's process runs: proven either way, or not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    Alive,
    Dead,
    Unknown,
}

impl Process {
    pub fn as_str(self) -> &'static str {
        match self {
            Process::Alive => "alive",
            Process::Dead => "dead",
            Process::Unknown => "unknown",
        }
    }
}

/// Where the holders' processes run, as the operator says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HoldersOn {
    ThisHost,
    /// Where the row's host is this one.
    HostColumn,
    Elsewhere,
}

impl Claim {
    /// The latest of `claimed_at` and the claim's own heartbeat.
    ///
    /// Never the heartbeat alone: one left behind by an earlier attempt would make a claim of
    /// five seconds ago look dead.
    pub fn sign_of_life(&self) -> Option<Moment> {
        self.claimed_at.at().max(self.beat_at.at())
    }

    /// The latest sign of the claim's holder: its own, or that of its session.
    pub fn last_heard_of(&self) -> Option<Moment> {
        let session = match &self.registry {
            Registry::Listed(session) => session.beat_at.at(),
            Registry::None | Registry::Unregistered | Registry::Missing => None,
        };
        self.sign_of_life().max(session)
    }

    /// Since when it is held: where the claim does not say, its last heartbeat is the best that is known.
    pub fn held_since(&self) -> Option<Moment> {
        self.claimed_at.at().or_else(|| self.beat_at.at())
    }
}
