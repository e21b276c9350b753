//! What became of an act whose answer was lost.

use std::time::{Duration, Instant};

use super::actor::Actor;
use super::audit_table;
use super::error::PgError;
use super::link::Link;
use crate::domain::recovery::{Clue, Outcome, Refusal, Unknown};
use crate::store::StoreError;
use crate::store::backoff::Backoff;
use crate::store::image::Change;
use crate::store::resolution::{Basis, Resolution, TransactionMark};

/// How long the answer to a lost commit is looked for before it is called unknown.
const LOOKING_UP: Duration = Duration::from_secs(10);

/// Since when the server has been running without a crash: a crash of one of its processes restarts all but the
/// first, and sets its statistics back.
const RUNNING_SINCE: &str = "SELECT extract(epoch FROM pg_postmaster_start_time())::text,
                             extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time())::text";

impl Actor {
    /// What a failed commit comes to: the server's own refusal, or what can be found out on another
    /// connection. What the rows suggest is not enough to call it applied or refused.
    pub(super) fn resolve_commit(
        &mut self,
        error: &PgError,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Outcome {
        if !error.ends_the_link() {
            return Outcome::Refused(self.sentence(error, "committing").as_refusal());
        }
        let (since, mut backoff) = (Instant::now(), Backoff::default());
        let unknown = |clue| Outcome::Unknown(Unknown { error: error.to_string(), clue });
        loop {
            match self.resolve(action_id, transaction, changes) {
                Ok(Resolution::Applied(Basis::Proven)) => return Outcome::Applied,
                Ok(Resolution::NotApplied(Basis::Proven)) => {
                    return Outcome::Refused(Refusal::NotCommitted(error.to_string()));
                }
                Ok(Resolution::Applied(Basis::Inferred)) => return unknown(Clue::LooksApplied),
                Ok(Resolution::NotApplied(Basis::Inferred)) => return unknown(Clue::LooksNotApplied),
                Ok(Resolution::Unknown) | Err(_) if since.elapsed() < LOOKING_UP => pause(backoff.next()),
                Ok(Resolution::Unknown) | Err(_) => return unknown(Clue::NotFound),
            }
        }
    }

    /// What became of an act: by its row of the audit table, by what the server says of its transaction, else by
    /// the rows that it changed.
    pub fn resolve(
        &mut self,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Result<Resolution, StoreError> {
        let mark = TransactionMark::parse(transaction);
        match self.reader.aside("looking up the transaction", |link| fate(link, &mark))? {
            CommitResolution::Committed => return Ok(Resolution::Applied(Basis::Proven)),
            CommitResolution::Aborted => return Ok(Resolution::NotApplied(Basis::Proven)),
            CommitResolution::UnderWay => return Ok(Resolution::Unknown),
            CommitResolution::Ended | CommitResolution::Untraceable => {}
        }
        // Asked in a new transaction: the one before may not see what was committed during it.
        if let Some(table) = self.reader.audit_table.clone() {
            if self
                .reader
                .aside("looking up the act", |link| audit_table::contains(link, &table, action_id))?
            {
                return Ok(Resolution::Applied(Basis::Proven));
            }
            // The table may have been made after the act.
            if mark.is_audited {
                return Ok(Resolution::NotApplied(Basis::Proven));
            }
        }
        Resolution::by_rows(changes, |side| self.matches(changes, side))
    }
}

/// What the server says of a transaction.
fn fate(link: &mut Link, mark: &TransactionMark) -> Result<CommitResolution, PgError> {
    let Some(number) = mark.number.as_deref() else { return Ok(CommitResolution::Untraceable) };
    let sql = "SELECT pg_xact_status(($1::text)::xid8)";
    let rows = match link.query(sql, &[Some(number)]) {
        // A number that the server has not given yet belonged to what a crash has swallowed.
        Err(PgError::Server { code, .. }) if code == "22023" => return Ok(CommitResolution::Aborted),
        answer => answer?,
    };
    Ok(match rows.first().and_then(|row| row.get(0)) {
        // Committed by us, or by another transaction that got the number of ours after a crash.
        Some("committed") if runs_since(link)? == mark.running_since => CommitResolution::Committed,
        // So old that the server has forgotten it, or of an earlier run.
        Some("committed") | None => CommitResolution::Ended,
        Some("aborted") => CommitResolution::Aborted,
        Some(_) => CommitResolution::UnderWay,
    })
}

fn runs_since(link: &mut Link) -> Result<Option<String>, PgError> {
    let rows = link.query(RUNNING_SINCE, &[])?;
    let text = |at: usize| rows.first().and_then(|row| row.get(at)).unwrap_or_default();
    Ok((!rows.is_empty()).then(|| format!("{}/{}", text(0), text(1))))
}

/// What the server knows of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitResolution {
    Committed,
    Aborted,
    UnderWay,
    /// It is over, and the server cannot say how.
    Ended,
    /// The journal does not have its number.
    Untraceable,
}

#[allow(clippy::disallowed_methods, reason = "a server that is gone says nothing when it is back")]
fn pause(length: Duration) {
    std::thread::sleep(length);
}
