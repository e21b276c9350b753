//! Finding out what became of acts whose outcome was never written.

use std::collections::HashSet;

use super::perform::{Desk, RecoveryError};
use super::trail::{Entry, Position, Record, Stage};
use crate::store::suspend::uninterrupted;
use crate::store::{Change, Side, clock};

impl Desk {
    /// Finds out what became of acts on this source whose outcome was never written: by the row of
    /// the audit table, or by the images.
    pub fn settle_open_actions(&mut self) -> Result<Vec<Record>, RecoveryError> {
        let _uninterrupted = uninterrupted();
        let (open, end) = self.open_here()?;
        if open.is_empty() {
            self.settled = end;
            return Ok(Vec::new());
        }
        // Whoever is at work says himself what comes of his acts; what he leaves open is for the next time.
        let Some(_alone) = self.trail.alone() else { return Ok(Vec::new()) };
        let (open, _) = self.open_here()?;
        // An intent is written under the write lock. Whoever has had that lock since the intents were
        // read knows that none of their acts is still under way: this rehearsal of nothing takes it.
        self.actor.undo(&[], true, &mut |_| Ok(()))?;
        let mut settled = Vec::new();
        for entry in open {
            let Some(changes) = Change::from_json(&entry.record.before, &entry.record.after) else {
                continue;
            };
            let (outcome, why) = match self.became(&entry.record, &changes)? {
                Some(true) => ("applied", "found out later: the rows are as the act leaves them"),
                Some(false) => ("refused", "found out later: the rows are as they were"),
                None => continue,
            };
            settled.push(Record {
                stage: Stage::Outcome,
                at: clock().rfc3339(),
                outcome: Some(outcome.into()),
                why: Some(why.into()),
                ..entry.record
            });
        }
        // Somebody who was still at work may have said it in the meantime.
        let (open, _) = self.open_here()?;
        let open: HashSet<&str> = open.iter().map(|entry| entry.record.action_id.as_str()).collect();
        settled.retain(|record| open.contains(record.action_id.as_str()));
        if !settled.is_empty() {
            self.trail.append(&settled)?;
        }
        Ok(settled)
    }

    /// The open acts on this source, and how far the journal was read. What was settled once is not
    /// read again.
    fn open_here(&self) -> Result<(Vec<Entry>, Position), RecoveryError> {
        let (mut open, end) = self.trail.open_actions_since(self.settled)?;
        open.retain(|entry| entry.record.fingerprint == self.fingerprint);
        Ok((open, end))
    }

    /// Done, not done, or neither can be shown. An undo of SQLite has no row in the audit table, so
    /// only its images can tell.
    fn became(&mut self, record: &Record, changes: &[Change]) -> Result<Option<bool>, RecoveryError> {
        let transaction = record.transaction.as_deref();
        if record.action != "undo" || transaction.is_some() {
            return Ok(self.actor.became(&record.action_id, transaction, changes)?);
        }
        if self.actor.matches(changes, Side::Before)? {
            return Ok(Some(false));
        }
        Ok(self.actor.matches(changes, Side::After)?.then_some(true))
    }
}
