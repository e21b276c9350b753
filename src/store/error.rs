//! What can go wrong with a source: what, where, and what to do. Each reads as one sentence.

mod no_profile;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

pub use self::no_profile::NoProfileFits;
use super::Source;
use super::bind::{Lack, joined};
use crate::domain::recovery::Refusal;
pub use crate::postgres::{ConnectError, ConnectFailure, ConnectFailures};
use crate::profile::format::ProfileError;

#[derive(Debug)]
pub enum StoreError {
    /// There is no such file.
    Missing { path: PathBuf },
    /// The path leads to a folder.
    Directory { path: PathBuf },
    /// The path leads to a pipe, a socket or a device.
    NotAFile { path: PathBuf },
    /// The file has no bytes.
    Empty { path: PathBuf },
    /// The file is none of SQLite's.
    NotADatabase { path: PathBuf },
    /// This user may not read it, or SQLite cannot.
    Unreadable { path: PathBuf, why: String },
    /// Another process held its lock for longer than we wait.
    Locked { path: PathBuf, waited_ms: u128, code: String },
    /// SQLite reports damage.
    Corrupt { path: PathBuf, code: i32, message: String },
    /// It may not be written.
    ReadOnly { path: PathBuf, why: String },
    /// The path leads to another file than the one that was opened.
    Replaced { path: PathBuf },
    /// The file was there before.
    Deleted { path: PathBuf },
    /// Something other than SQLite has written the file, while its log has changes that were not in it yet.
    Overwritten { path: PathBuf },
    /// The file is empty, although its log is not.
    CutOff { path: PathBuf, log: PathBuf },
    /// SQLite reports something else.
    Sql { path: PathBuf, code: i32, message: String, doing: String },
    /// A statement took longer than a poll may.
    TooSlow { path: PathBuf, limit_ms: u128 },
    /// None of the profiles fits its tables.
    NoProfile { path: PathBuf, why: NoProfileFits },
    /// A profile that was named does not fit.
    Misfit { path: PathBuf, profile: String, lacks: Vec<Lack> },
    /// The SQL of a profile may not run.
    Refused { path: PathBuf, profile: String, field: String, why: String },
    /// None of its boards has the name that was given.
    NoBoard { path: PathBuf, wanted: String, boards: String },
    /// A profile cannot be read.
    Profile(ProfileError),
    /// The address, or a name in it, means nothing.
    BadTarget { source_name: String, why: String },
    /// The server reports an error.
    Server { source_name: String, said: String, doing: String },
    /// One row was refused, by a constraint, a trigger or a policy; others may not be.
    RowRefused { source_name: String, said: String, doing: String },
    /// No server answers.
    Unreachable { source_name: String, why: ConnectFailures },
    /// The server answered, and does not let us in.
    Denied { source_name: String, why: ConnectFailures },
    /// The command line has a password.
    ToldPassword { source_name: String },
    /// The program was built without the engine of this source.
    NotBuiltIn { source_name: String },
    /// The thread that reads has ended.
    Gone { path: PathBuf },
}

impl std::error::Error for StoreError {}

impl From<ProfileError> for StoreError {
    fn from(error: ProfileError) -> StoreError {
        StoreError::Profile(error)
    }
}

impl From<ConnectError> for StoreError {
    fn from(error: ConnectError) -> StoreError {
        match error {
            ConnectError::BadTarget { source_name, why } => StoreError::BadTarget { source_name, why },
            ConnectError::Unreachable { source_name, why } => StoreError::Unreachable { source_name, why },
            ConnectError::Denied { source_name, why } => StoreError::Denied { source_name, why },
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source_name() {
            Some(name) => f.write_str(&self.named(&name, &self.without_name())),
            None => f.write_str(&self.without_name()),
        }
    }
}

impl StoreError {
    /// Why an act was refused. A constraint is about one row; anything else would hit every other act as well.
    pub fn as_refusal(&self) -> Refusal {
        match self {
            StoreError::RowRefused { .. } => Refusal::Row(self.to_string()),
            other => Refusal::Database(other.to_string()),
        }
    }

    /// The sentence for somebody who has read the source before, by these profiles.
    pub fn sentence_after(&self, known: &BTreeSet<&str>) -> String {
        match self.source_name() {
            Some(name) => self.named(&name, &self.brief_after(known, Self::without_name)),
            None => self.without_name(),
        }
    }

    /// The same for a place where the source is named beside it: without its name, and without its host if it
    /// has only one.
    pub fn brief(&self, known: &BTreeSet<&str>) -> String {
        self.brief_after(known, |error| match error {
            StoreError::Unreachable { why, .. } => why.brief(),
            StoreError::Denied { why, .. } => format!("does not let us in: {}", why.brief()),
            other => other.without_name(),
        })
    }

    fn brief_after(&self, known: &BTreeSet<&str>, otherwise: impl Fn(&StoreError) -> String) -> String {
        match self {
            StoreError::NoProfile { why, .. } if !known.is_empty() => why.after(known),
            other => otherwise(other),
        }
    }

    /// What is wrong and what to do about it, without the name of the source.
    fn without_name(&self) -> String {
        match self.advice() {
            Some(advice) => format!("{}; {advice}", self.problem()),
            None => self.problem(),
        }
    }

    fn named(&self, name: &str, sentence: &str) -> String {
        match self {
            StoreError::Unreachable { .. } | StoreError::Denied { .. } => format!("{name} {sentence}"),
            _ => format!("{name}: {sentence}"),
        }
    }

    fn source_name(&self) -> Option<String> {
        match self {
            StoreError::Missing { path }
            | StoreError::Directory { path }
            | StoreError::NotAFile { path }
            | StoreError::Empty { path }
            | StoreError::NotADatabase { path }
            | StoreError::Unreadable { path, .. }
            | StoreError::Locked { path, .. }
            | StoreError::Corrupt { path, .. }
            | StoreError::ReadOnly { path, .. }
            | StoreError::Replaced { path }
            | StoreError::Deleted { path }
            | StoreError::Overwritten { path }
            | StoreError::CutOff { path, .. }
            | StoreError::Sql { path, .. }
            | StoreError::TooSlow { path, .. }
            | StoreError::NoProfile { path, .. }
            | StoreError::Misfit { path, .. }
            | StoreError::Refused { path, .. }
            | StoreError::NoBoard { path, .. }
            | StoreError::Gone { path } => Some(path.display().to_string()),
            StoreError::BadTarget { source_name, .. }
            | StoreError::Server { source_name, .. }
            | StoreError::RowRefused { source_name, .. }
            | StoreError::Unreachable { source_name, .. }
            | StoreError::Denied { source_name, .. }
            | StoreError::ToldPassword { source_name }
            | StoreError::NotBuiltIn { source_name } => Some(source_name.clone()),
            StoreError::Profile(_) => None,
        }
    }

    /// What is wrong with which source.
    pub fn problem_named(&self) -> String {
        let problem = self.problem();
        self.source_name().map_or_else(|| problem.clone(), |name| self.named(&name, &problem))
    }

    /// What is wrong, without the name of the source.
    fn problem(&self) -> String {
        match self {
            StoreError::Missing { .. } => "there is no such file".into(),
            StoreError::Directory { .. } => "is a directory".into(),
            StoreError::NotAFile { .. } => "is not a regular file".into(),
            StoreError::Empty { .. } => "the file is empty".into(),
            StoreError::NotADatabase { .. } => "is not a SQLite database, or is encrypted".into(),
            StoreError::Unreadable { why, .. } => format!("cannot be read: {why}"),
            StoreError::Locked { waited_ms, code, .. } => {
                format!("stayed locked by another process for {waited_ms} ms (code {code})")
            }
            StoreError::Corrupt { code, message, .. } => {
                format!("the database is damaged (code {code}): {message}")
            }
            StoreError::ReadOnly { why, .. } => format!("cannot be written: {why}"),
            StoreError::Replaced { .. } => "the file was replaced while it was open".into(),
            StoreError::Deleted { .. } => "the file was deleted while it was watched".into(),
            StoreError::Overwritten { path } => format!(
                "something other than SQLite has overwritten it, while {}-wal holds changes that were not in it yet",
                path.display()
            ),
            StoreError::CutOff { log, .. } => {
                format!("the file is empty, although {} is not: it was cut off", log.display())
            }
            StoreError::Sql { code, message, doing, .. } => format!("{message} (code {code}), in: {doing}"),
            StoreError::TooSlow { limit_ms, .. } => {
                format!("a poll took longer than {limit_ms} ms and was stopped")
            }
            StoreError::NoProfile { why, .. } => why.problem(),
            StoreError::Misfit { profile, lacks, .. } => {
                format!("profile {profile} does not fit: {}", joined(lacks, "; "))
            }
            StoreError::Refused { profile, field, why, .. } => {
                format!("profile {profile}: the SQL of {field} is refused: {why}")
            }
            StoreError::NoBoard { wanted, .. } => format!("there is no board {wanted:?}"),
            StoreError::Profile(error) => error.to_string(),
            StoreError::BadTarget { why, .. } => why.clone(),
            StoreError::Server { said, doing, .. } | StoreError::RowRefused { said, doing, .. } => {
                format!("{said}, in: {doing}")
            }
            StoreError::Unreachable { why, .. } => why.unreachable(),
            StoreError::Denied { why, .. } => why.denied(),
            StoreError::ToldPassword { .. } => {
                "a password on the command line can be read by every user of this machine".into()
            }
            StoreError::NotBuiltIn { source_name } if is_mysql(source_name) => {
                "this build has no MySQL support".into()
            }
            StoreError::NotBuiltIn { .. } => "this build has no PostgreSQL support".into(),
            StoreError::Gone { .. } => "the reader has stopped unexpectedly".into(),
        }
    }

    /// What to do about it.
    pub fn advice(&self) -> Option<String> {
        let advice = match self {
            StoreError::Missing { .. } => "check the path, or start the application that creates it",
            StoreError::Directory { .. } => "name the database file in it",
            StoreError::NotAFile { .. } => "name the database file itself",
            StoreError::Empty { .. } => "no worker has created its tables yet",
            StoreError::NotADatabase { .. } => "check that it is the right file",
            StoreError::Locked { .. } => "try again, or find the writer that holds its transaction open",
            StoreError::Corrupt { .. } => "run `sqlite3 FILE 'PRAGMA integrity_check'` on a copy",
            StoreError::Replaced { .. } => "look again",
            StoreError::Overwritten { path } => {
                let path = path.display();
                return Some(format!(
                    "SQLite would read a mixture of both: stop its writers, remove {path}-wal and {path}-shm, \
                     and copy the file again"
                ));
            }
            StoreError::CutOff { .. } => {
                "restore it from a backup, and keep the log: SQLite deletes it when it opens an empty file"
            }
            StoreError::TooSlow { .. } => "`claimtop check` names indexes that would help",
            StoreError::NoProfile { path, why } => return why.advice(&path.display().to_string()),
            StoreError::NoBoard { boards, .. } => return Some(format!("there are {boards}")),
            StoreError::Unreachable { why, .. } | StoreError::Denied { why, .. } => return why.advice(),
            StoreError::ToldPassword { source_name } if is_mysql(source_name) => {
                "put it into ~/.my.cnf, MYSQL_PWD, or a `password_command` in the config file"
            }
            StoreError::ToldPassword { .. } => {
                "put it into ~/.pgpass, PGPASSWORD, or a `password_command` in the config file"
            }
            StoreError::NotBuiltIn { source_name } if is_mysql(source_name) => {
                "build claimtop with its feature `mysql`"
            }
            StoreError::NotBuiltIn { .. } => "build claimtop with its feature `postgres`",
            StoreError::Unreadable { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Deleted { .. }
            | StoreError::Sql { .. }
            | StoreError::Misfit { .. }
            | StoreError::Refused { .. }
            | StoreError::Profile(_)
            | StoreError::BadTarget { .. }
            | StoreError::Server { .. }
            | StoreError::RowRefused { .. }
            | StoreError::Gone { .. } => return None,
        };
        Some(advice.into())
    }
}

/// Whether a source is on a MySQL or MariaDB server.
fn is_mysql(source_name: &str) -> bool {
    matches!(Source::parse(source_name), Source::Mysql(_))
}
