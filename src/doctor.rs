//! A checklist: can a source be read, judged and acted on, and does anything clean it up.
//!
//! Nothing is changed, neither the database nor the folder of the trail. Each check is a sentence, with a fix if
//! something is wrong.
//!
//! ```text
//! file             how the file is journaled          file_system  on what kind of disk it is
//! server           the server and its load            role_privileges  what our role may do there
//! cron             cleanup that the server runs itself
//! mysql_server     a server of MySQL or MariaDB, its settings, and what our account may do there
//! profile_fit      which profiles fit, or nearly fit  claims       what a poll shows
//! holders          where their processes run          permissions  may we act, is there a trail
//! recording        whether the thresholds in force were right
//! ```

mod claims;
#[cfg(feature = "postgres")]
mod cron;
mod file;
mod file_system;
mod holders;
#[cfg(feature = "mysql")]
mod mysql_server;
mod permissions;
mod profile_fit;
mod recording;
#[cfg(feature = "postgres")]
mod role_privileges;
#[cfg(feature = "postgres")]
mod server;

pub use recording::examine_recording;

use crate::domain::claim::HoldersOn;
use crate::profile::format::Profile;
use crate::store::{Options, Reader, SessionMode, SourceLocation, StoreError};

/// The result of one check; the worst one decides about the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckState {
    Ok,
    /// It works, but not as well as it should.
    Warning,
    /// Judging or acting is impossible.
    Failed,
}

impl CheckState {
    pub fn as_str(self) -> &'static str {
        match self {
            CheckState::Ok => "ok",
            CheckState::Warning => "warning",
            CheckState::Failed => "failed",
        }
    }
}

/// One line of the checklist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorCheck {
    pub name: &'static str,
    pub state: CheckState,
    pub message: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl DoctorCheck {
    fn ok(name: &'static str, message: impl Into<String>) -> DoctorCheck {
        DoctorCheck { name, state: CheckState::Ok, message: message.into(), fix: None }
    }

    fn warning(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> DoctorCheck {
        DoctorCheck { name, state: CheckState::Warning, message: message.into(), fix: Some(fix.into()) }
    }

    fn failed(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> DoctorCheck {
        DoctorCheck { name, state: CheckState::Failed, message: message.into(), fix: Some(fix.into()) }
    }

    /// An error of the store.
    fn error(name: &'static str, error: &StoreError) -> DoctorCheck {
        DoctorCheck { name, state: CheckState::Failed, message: error.problem_named(), fix: error.advice() }
    }
}

/// A source, and the operator's settings for it.
#[derive(Debug)]
pub struct DoctorTarget {
    pub options: Options,
    /// The profiles to check.
    pub profiles: Vec<Profile>,
    /// The profiles that somebody named explicitly.
    pub vouched: Vec<String>,
    pub session: SessionMode,
    pub holders_on: Option<HoldersOn>,
}

/// All checks of a source.
#[derive(Debug)]
pub struct Diagnosis {
    pub checks: Vec<DoctorCheck>,
    /// Why the source could not be read at all.
    pub unreachable: Option<String>,
}

impl Diagnosis {
    pub fn worst(&self) -> CheckState {
        self.checks.iter().map(|check| check.state).max().unwrap_or(CheckState::Ok)
    }
}

/// Runs all checks.
pub fn examine(target: &DoctorTarget) -> Diagnosis {
    let mut checks = Vec::new();
    let options = &target.options;
    let looked = match &options.at {
        SourceLocation::File(path) => file::check(path, options, &mut checks).map(|()| {
            check_contents(target, &mut checks);
            checks.push(permissions::act(path, target.session));
            checks.push(permissions::audit_table(path, options));
        }),
        #[cfg(feature = "postgres")]
        SourceLocation::Server(at) => server::check(at, options, &mut checks).map(|mut server| {
            check_contents(target, &mut checks);
            checks.extend(server.tables(target));
        }),
        #[cfg(feature = "mysql")]
        SourceLocation::Mysql(at) => mysql_server::check(at, options, &mut checks).map(|mut server| {
            check_contents(target, &mut checks);
            // Nobody looks for missing indexes there yet, so none may be called present.
            checks.retain(|check| check.name != "indexes");
            checks.extend(server.tables(target));
        }),
        SourceLocation::Nowhere(why) => {
            Err(StoreError::BadTarget { source_name: options.name(), why: why.clone() })
        }
    };
    let unreachable = looked.err().map(|error| {
        checks.push(DoctorCheck::error("reachable", &error));
        error.to_string()
    });
    checks.extend(permissions::trail());
    Diagnosis { checks, unreachable }
}

/// The checks that need the contents of the tables.
fn check_contents(target: &DoctorTarget, checks: &mut Vec<DoctorCheck>) {
    checks.extend(profile_fit::check(target));
    let reader = match Reader::open(target.options.clone()) {
        Ok(reader) => reader,
        Err(error @ (StoreError::NoProfile { .. } | StoreError::Misfit { .. })) => {
            // The check of the profiles has reported it already, if one nearly fits.
            if checks.iter().all(|check| check.name != "profile" || check.state != CheckState::Failed) {
                checks.push(DoctorCheck::error("profile", &error));
            }
            return;
        }
        Err(error) => return checks.push(DoctorCheck::error("queries", &error)),
    };
    checks.extend(claims::check(reader, target));
    checks.extend(holders::check(target));
}

/// "1 claim", "3 claims".
fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
