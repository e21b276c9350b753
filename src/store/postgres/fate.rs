//! What became of an act whose answer was lost.

use std::time::{Duration, Instant};

use super::actor::Actor;
use super::audit_table;
use super::error::PgError;
use super::link::Backoff;
use crate::domain::recovery::Outcome;
use crate::store::StoreError;
use crate::store::image::{Change, Side};

/// How long the answer to a lost commit is looked for before it is called unknown.
const LOOKING_UP: Duration = Duration::from_secs(10);

impl Actor {
    /// What a failed commit comes to: the server's own refusal, or what can be found out on another
    /// connection.
    pub(super) fn became_of(
        &mut self,
        error: &PgError,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Outcome {
        if !error.ends_the_link() {
            return Outcome::Refused(self.sentence(error, "committing").to_string());
        }
        let (since, mut backoff) = (Instant::now(), Backoff::default());
        loop {
            match self.became(action_id, transaction, changes) {
                Ok(Some(true)) => return Outcome::Applied,
                Ok(Some(false)) => {
                    return Outcome::Refused(format!("{error}; nothing was written"));
                }
                Ok(None) | Err(_) if since.elapsed() < LOOKING_UP => pause(backoff.next()),
                Ok(None) | Err(_) => {
                    return Outcome::Unknown(format!(
                        "{error}, and what became of it cannot be found out yet"
                    ));
                }
            }
        }
    }

    /// What became of an act whose answer was lost: done, not done, or neither can be shown.
    pub fn became(
        &mut self,
        action_id: &str,
        transaction: Option<&str>,
        changes: &[Change],
    ) -> Result<Option<bool>, StoreError> {
        let table = self.reader.audit_table.clone();
        let fate = self.reader.aside("looking up the act", |link| {
            if let Some(table) = &table
                && audit_table::contains(link, table, action_id)?
            {
                return Ok(Fate::Recorded);
            }
            let Some(transaction) = transaction else { return Ok(Fate::Unknown) };
            let sql = "SELECT pg_xact_status(($1::text)::xid8)";
            let rows = match link.query(sql, &[Some(transaction)]) {
                // A number that the server has not given yet belonged to what a crash has swallowed.
                Err(PgError::Server { code, .. }) if code == "22023" => return Ok(Fate::Aborted),
                answer => answer?,
            };
            Ok(match rows.first().and_then(|row| row.get(0)) {
                Some("committed") => Fate::Committed,
                Some("aborted") => Fate::Aborted,
                Some(_) => Fate::UnderWay,
                // So old that the server has forgotten it.
                None => Fate::Unknown,
            })
        })?;
        match fate {
            Fate::Recorded => return Ok(Some(true)),
            Fate::Aborted => return Ok(Some(false)),
            Fate::UnderWay => return Ok(None),
            Fate::Committed | Fate::Unknown => {}
        }
        // A server that crashed may give the number of a lost transaction to another one. The rows know.
        if !changes.is_empty() && self.matches(changes, Side::Before)? {
            return Ok(Some(false));
        }
        if fate == Fate::Committed || (!changes.is_empty() && self.matches(changes, Side::After)?) {
            return Ok(Some(true));
        }
        Ok(None)
    }
}

/// What the server knows of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its row of the audit table is there.
    Recorded,
    Committed,
    Aborted,
    UnderWay,
    Unknown,
}

#[allow(clippy::disallowed_methods, reason = "a server that is gone says nothing when it is back")]
fn pause(length: Duration) {
    std::thread::sleep(length);
}
