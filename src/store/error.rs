//! What can go wrong with a source, each in one sentence: what, where, and what to do.

use std::collections::BTreeSet;
use std::path::PathBuf;
use thiserror::Error;

use crate::profile::format::ProfileError;

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("{}: there is no such file; check the path, or start the application that creates it", path.display())]
    Missing { path: PathBuf },
    #[error("{}: is a directory; name the database file in it", path.display())]
    Directory { path: PathBuf },
    #[error("{}: is not a regular file; name the database file itself", path.display())]
    NotAFile { path: PathBuf },
    #[error("{}: the file is empty; no worker has created its tables yet", path.display())]
    Empty { path: PathBuf },
    #[error("{}: is not a SQLite database, or is encrypted; check that it is the right file", path.display())]
    NotADatabase { path: PathBuf },
    #[error("{}: cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{}: stayed locked by another process for {waited_ms} ms (code {code}); try again, or find the writer that holds its transaction open", path.display())]
    Locked { path: PathBuf, waited_ms: u128, code: i32 },
    #[error("{}: the database is damaged (code {code}): {message}; run `sqlite3 FILE 'PRAGMA integrity_check'` on a copy", path.display())]
    Corrupt { path: PathBuf, code: i32, message: String },
    #[error("{}: cannot be written: {why}", path.display())]
    ReadOnly { path: PathBuf, why: String },
    #[error("{}: the file was replaced while it was open; look again", path.display())]
    Replaced { path: PathBuf },
    #[error("{}: the file was deleted while it was watched", path.display())]
    Deleted { path: PathBuf },
    #[error("{}: {message} (code {code}), in: {doing}", path.display())]
    Sql { path: PathBuf, code: i32, message: String, doing: String },
    #[error("{}: a poll took longer than {limit_ms} ms and was stopped; `claimtop check` names indexes that would help", path.display())]
    TooSlow { path: PathBuf, limit_ms: u128 },
    #[error("{}: no profile fits{hint}", path.display())]
    NoProfile { path: PathBuf, hint: String },
    #[error("{}: profile {profile} does not fit: {}", path.display(), missing.join("; "))]
    Misfit { path: PathBuf, profile: String, missing: Vec<String> },
    #[error("{}: profile {profile}: the SQL of {field} is refused: {why}", path.display())]
    Refused { path: PathBuf, profile: String, field: String, why: String },
    #[error("{}: there is no board {wanted:?}; there are {boards}", path.display())]
    NoBoard { path: PathBuf, wanted: String, boards: String },
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error("{source_name}: {why}")]
    BadTarget { source_name: String, why: String },
    #[error("{source_name}: {said}, in: {doing}")]
    Server { source_name: String, said: String, doing: String },
    /// One row was refused, by a constraint, a trigger or a policy; others may not be.
    #[error("{source_name}: {said}, in: {doing}")]
    RowRefused { source_name: String, said: String, doing: String },
    #[error("{source_name} cannot be reached: {why}")]
    Unreachable { source_name: String, why: String },
    #[error("{source_name} does not let us in: {why}")]
    Denied { source_name: String, why: String },
    #[error(
        "{source_name}: a password on the command line can be read by every user of this machine; put it into ~/.pgpass, PGPASSWORD, or a `password_command` in the config file"
    )]
    ToldPassword { source_name: String },
    #[error("{}: the reader has stopped unexpectedly", path.display())]
    Gone { path: PathBuf },
}

impl StoreError {
    /// The sentence for somebody who has read it before, by these profiles.
    pub fn sentence_after(&self, known: &BTreeSet<&str>) -> String {
        match self {
            StoreError::NoProfile { path, hint } if !known.is_empty() => {
                // Whoever had a profile needs no advice on how to come by one.
                let mut hint = hint.split("; write a profile").next().unwrap_or_default().to_owned();
                for profile in known {
                    hint = hint.replace(&format!("{profile} would, but "), "");
                }
                let known: Vec<&str> = known.iter().copied().collect();
                let fit = if known.len() == 1 { "fits" } else { "fit" };
                format!("{}: {} {fit} no longer{hint}", path.display(), known.join(", "))
            }
            other => other.to_string(),
        }
    }
}
