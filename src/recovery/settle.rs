//! Resolves acts whose outcome was never recorded.

use std::collections::HashSet;

use super::audited_actor::{AuditedActor, RecoveryError};
use super::trail::{JournalEntry, Position, Record, RecordStage};
use crate::store::suspend::uninterrupted;
use crate::store::{Basis, Change, Resolution, clock};

impl AuditedActor {
    /// Resolves acts on this source whose outcome was never recorded, and records what can be shown. The others stay
    /// open.
    pub fn settle_open_actions(&mut self) -> Result<Vec<Record>, RecoveryError> {
        let _uninterrupted = uninterrupted();
        let (open, end) = self.open_here()?;
        if open.is_empty() {
            self.settled = end;
            return Ok(Vec::new());
        }
        // A process that is still acting writes its own outcomes; what it leaves open is resolved the next time.
        let Some(_alone) = self.trail.alone() else { return Ok(Vec::new()) };
        let (open, _) = self.open_here()?;
        let mut settled = Vec::new();
        for entry in open {
            let Record { action_id, transaction, before, after, .. } = &entry.record;
            let Some(changes) = Change::from_json(before, after) else { continue };
            let resolution = self.actor.resolve(action_id, transaction.as_deref(), &changes)?;
            settled.extend(outcome(entry.record, resolution));
        }
        // A process that was still acting may have written the outcome in the meantime.
        let (open, _) = self.open_here()?;
        let open: HashSet<&str> = open.iter().map(|entry| entry.record.action_id.as_str()).collect();
        settled.retain(|record| open.contains(record.action_id.as_str()));
        if !settled.is_empty() {
            self.trail.append(&settled)?;
        }
        Ok(settled)
    }

    /// The open acts on this source, and the position up to which the journal was read. Settled parts are not read
    /// again.
    fn open_here(&self) -> Result<(Vec<JournalEntry>, Position), RecoveryError> {
        let (mut open, end) = self.trail.open_actions_since(self.settled)?;
        open.retain(|entry| entry.record.fingerprint == self.fingerprint);
        Ok((open, end))
    }
}

/// The outcome of an intent, if it is known.
fn outcome(intent: Record, resolution: Resolution) -> Option<Record> {
    let (outcome, why, basis) = match resolution {
        Resolution::Unknown => return None,
        Resolution::Applied(Basis::Proven) => {
            ("applied", "found later: the database shows that it was committed", Basis::Proven)
        }
        Resolution::NotApplied(Basis::Proven) => {
            ("refused", "found later: the database shows that it was not committed", Basis::Proven)
        }
        Resolution::Applied(Basis::Inferred) => {
            ("applied", "inferred later: the rows are as the act leaves them", Basis::Inferred)
        }
        Resolution::NotApplied(Basis::Inferred) => {
            ("refused", "inferred later: the rows are as they were before the act", Basis::Inferred)
        }
    };
    Some(Record {
        stage: RecordStage::Outcome,
        at: clock().rfc3339(),
        outcome: Some(outcome.into()),
        why: Some(why.into()),
        inferred: basis == Basis::Inferred,
        ..intent
    })
}
