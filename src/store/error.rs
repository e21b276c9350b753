//! What can go wrong with a source, each in one sentence: what, where, and what to do.

use std::collections::BTreeSet;
use std::path::PathBuf;
use thiserror::Error;

use crate::domain::recovery::Refusal;
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
    Locked { path: PathBuf, waited_ms: u128, code: String },
    #[error("{}: the database is damaged (code {code}): {message}; run `sqlite3 FILE 'PRAGMA integrity_check'` on a copy", path.display())]
    Corrupt { path: PathBuf, code: i32, message: String },
    #[error("{}: cannot be written: {why}", path.display())]
    ReadOnly { path: PathBuf, why: String },
    #[error("{}: the file was replaced while it was open; look again", path.display())]
    Replaced { path: PathBuf },
    #[error("{}: the file was deleted while it was watched", path.display())]
    Deleted { path: PathBuf },
    #[error("{0}: something other than SQLite has overwritten it, while {0}-wal holds changes that were not in it yet; SQLite would read a mixture of both: stop its writers, remove {0}-wal and {0}-shm, and copy the file again", path.display())]
    Overwritten { path: PathBuf },
    #[error("{}: the file is empty, although {} is not: it was cut off; restore it from a backup, and keep the log: SQLite deletes it when it opens an empty file", path.display(), log.display())]
    CutOff { path: PathBuf, log: PathBuf },
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
    /// Why an act was refused. A constraint is about one row; anything else would hit every other act as well.
    pub fn as_refusal(&self) -> Refusal {
        match self {
            StoreError::RowRefused { .. } => Refusal::Row(self.to_string()),
            other => Refusal::Database(other.to_string()),
        }
    }

    /// The sentence for somebody who has read it before, by these profiles.
    pub fn sentence_after(&self, known: &BTreeSet<&str>) -> String {
        match self {
            StoreError::NoProfile { path, hint } if !known.is_empty() => {
                let known: Vec<&str> = known.iter().copied().collect();
                let fit = if known.len() == 1 { "fits" } else { "fit" };
                format!("{}: {} {fit} no longer{}", path.display(), known.join(", "), changed(hint, &known))
            }
            other => other.to_string(),
        }
    }
}

/// Why no profile fits, for somebody whose profile did: what is wrong comes first, and whoever had a
/// profile needs no advice on how to come by one.
fn changed(hint: &str, known: &[&str]) -> String {
    let hint = hint.split("; write a profile").next().unwrap_or_default();
    let mut hint = hint
        .replace("; its tables are ", ": its tables are gone or renamed; there are ")
        .replace("; it has no tables", ": its tables are gone; there are none");
    for profile in known {
        hint = hint.replace(&format!("{profile} would, but "), "");
    }
    let part = |part: &str| {
        let of_a_board = part.trim_start_matches(": ").strip_prefix("board ");
        of_a_board
            .and_then(|rest| rest.split_once(": "))
            .map_or_else(|| part.to_owned(), |(_, what)| what.into())
    };
    let parts: Vec<String> = hint.split(", ").map(part).collect();
    let hint = parts.join(", ");
    if hint.starts_with([':', ';']) || hint.is_empty() { hint } else { format!(": {hint}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_had_a_profile_is_told_what_is_wrong_with_it() {
        for (hint, said) in [
            ("; it has no tables", "jobs fits no longer: its tables are gone; there are none"),
            (
                "; its tables are a, b; write a profile (x) and pass --profile FILE",
                "jobs fits no longer: its tables are gone or renamed; there are a, b",
            ),
            (
                ": jobs would, but board job: column t.at is missing (claimed_at), board lock: t.x is text",
                "jobs fits no longer: column t.at is missing (claimed_at), t.x is text",
            ),
            (
                "; t may not be read by us: GRANT SELECT",
                "jobs fits no longer; t may not be read by us: GRANT SELECT",
            ),
        ] {
            let error = StoreError::NoProfile { path: "db".into(), hint: hint.into() };
            assert_eq!(error.sentence_after(&BTreeSet::from(["jobs"])), format!("db: {said}"));
            assert_eq!(error.sentence_after(&BTreeSet::new()), format!("db: no profile fits{hint}"));
        }
    }
}
