//! A checklist: can a source be read, judged and acted on, and does anything clean up at all.
//!
//! It looks and changes nothing: neither the database, nor the folder of the trail. Each check is a
//! sentence, and where something is wrong also the way out.
//!
//! ```text
//! file         how the file keeps its changes       file_system  on what kind of disk
//! server       the server and its load              rights       what our role may do there
//! fitness      which profiles fit, and nearly fit   claims       what a poll reveals
//! holders      where their processes run            permits      may we act, is there a trail
//! ```

mod claims;
mod file;
mod file_system;
mod fitness;
mod holders;
mod permits;
mod rights;
mod server;

use crate::domain::claim::HoldersOn;
use crate::profile::format::Profile;
use crate::store::{Options, Reader, StoreError};

/// How one check went; the worst decides about the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Ok,
    /// It works, but not as well as it should.
    Warning,
    /// Judging or acting is impossible.
    Failed,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Failed => "failed",
        }
    }
}

/// One line of the checklist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub state: State,
    pub said: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl Check {
    fn ok(name: &'static str, said: impl Into<String>) -> Check {
        Check { name, state: State::Ok, said: said.into(), fix: None }
    }

    fn warning(name: &'static str, said: impl Into<String>, fix: impl Into<String>) -> Check {
        Check { name, state: State::Warning, said: said.into(), fix: Some(fix.into()) }
    }

    fn failed(name: &'static str, said: impl Into<String>, fix: impl Into<String>) -> Check {
        Check { name, state: State::Failed, said: said.into(), fix: Some(fix.into()) }
    }

    /// An error of the store.
    fn error(name: &'static str, error: &StoreError) -> Check {
        Check { name, state: State::Failed, said: error.problem_named(), fix: error.advice() }
    }
}

/// A source, and what the operator says of it.
#[derive(Debug)]
pub struct DoctorTarget {
    pub options: Options,
    /// The profiles to lay onto it.
    pub profiles: Vec<Profile>,
    /// Those that somebody named, and so vouches for.
    pub vouched: Vec<String>,
    pub session: Session,
    pub holders_on: Option<HoldersOn>,
}

/// Whether acts are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session {
    MayAct,
    ReadOnly,
}

/// What was found.
#[derive(Debug)]
pub struct Diagnosis {
    pub checks: Vec<Check>,
    /// Why it could not even be looked at.
    pub unreachable: Option<String>,
}

impl Diagnosis {
    pub fn worst(&self) -> State {
        self.checks.iter().map(|check| check.state).max().unwrap_or(State::Ok)
    }
}

/// Goes through the whole list.
pub fn examine(patient: &DoctorTarget) -> Diagnosis {
    let mut checks = Vec::new();
    let looked = match &patient.options {
        Options::Sqlite(options) => file::look(options, &mut checks).map(|()| {
            look_inside(patient, &mut checks);
            checks.push(permits::act(&options.path, patient.session));
            checks.push(permits::audit_table(options));
        }),
        Options::Postgres(options) => server::look(options, &mut checks).map(|mut server| {
            look_inside(patient, &mut checks);
            checks.extend(server.tables(patient));
        }),
    };
    let unreachable = looked.err().map(|error| {
        checks.push(Check::error("reachable", &error));
        error.to_string()
    });
    checks.extend(permits::trail());
    Diagnosis { checks, unreachable }
}

/// What only the tables can tell.
fn look_inside(patient: &DoctorTarget, checks: &mut Vec<Check>) {
    checks.extend(fitness::look(patient));
    let reader = match Reader::open(patient.options.clone()) {
        Ok(reader) => reader,
        Err(error @ (StoreError::NoProfile { .. } | StoreError::Misfit { .. })) => {
            // The fit has said it already, if anybody was near.
            if checks.iter().all(|check| check.name != "profile" || check.state != State::Failed) {
                checks.push(Check::error("profile", &error));
            }
            return;
        }
        Err(error) => return checks.push(Check::error("queries", &error)),
    };
    checks.extend(claims::look(reader, patient));
    checks.extend(holders::look(patient));
}

/// "1 claim", "3 claims".
fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
