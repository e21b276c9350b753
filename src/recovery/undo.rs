//! Taking acts of the trail back, each as an act of its own.

use std::collections::HashSet;

use super::bulk::Ended;
use super::perform::{Desk, RecoveryError, Report};
use super::plan::BulkResult;
use super::scribe::tool;
use super::trail::{Entry, Record, Stage, new_action_id};
use crate::domain::tally::BulkTally;
use crate::domain::visible::visible;
use crate::store::suspend::uninterrupted;
use crate::store::{Acted, Change, Side, clock};

impl Desk {
    /// Takes back what an act of the trail did, if every row is still as it left them.
    pub fn undo(&mut self, action_id: &str, reason: Option<&str>) -> Result<Report, RecoveryError> {
        let mut done = self.applied(|record| record.action_id == action_id, action_id)?;
        match done.pop() {
            Some(intent) => self.undo_one(&intent.record, reason, None),
            None => Err(RecoveryError::NoSuchAction(action_id.into())),
        }
    }

    /// The same for one act, or for all of a bulk by the id of that or of one of its transactions: the last one
    /// first, each by itself, until `each` says `false`.
    pub fn undo_all(
        &mut self,
        action_id: &str,
        reason: Option<&str>,
        each: &mut dyn FnMut(Report) -> bool,
    ) -> Result<BulkResult, RecoveryError> {
        let done = self.applied(|record| record.is_of_batch(action_id), action_id)?;
        let is_one = done.len() == 1 && done[0].record.action_id == action_id;
        let batch = new_action_id();
        let mut result = BulkResult::new(batch.clone(), BulkTally::of(done.len()));
        for intent in done.iter().rev() {
            let report = match self.undo_one(&intent.record, reason, (!is_one).then_some(batch.as_str())) {
                Ok(report) => report,
                // What is wrong with a single act is all there is to say of it.
                Err(error) if is_one => return Err(error),
                Err(error) => {
                    result.goes_on(Err(error));
                    break;
                }
            };
            result.tally.add(&report.outcome, || visible(&report.id));
            let stop = report.outcome.stops_a_bulk().map(|why| Ended::Stopped(why.into()));
            let ended = if each(report) { Ended::AtTheEnd } else { Ended::Early };
            if !result.goes_on(Ok(stop.unwrap_or(ended))) {
                break;
            }
        }
        if result.tally.not_tried() == 0 {
            result.tally.stopped = None;
        }
        result.batch = result.batch.filter(|_| !is_one);
        Ok(result)
    }

    /// What an undo would write, every row with its columns, and nothing written anywhere: of one act, or of all of
    /// a bulk, the last one first, until `each` says `false`. The answer is how many acts it is about.
    pub fn rehearse_undo(
        &mut self,
        action_id: &str,
        each: &mut dyn FnMut(Report) -> bool,
    ) -> Result<usize, RecoveryError> {
        self.believe(action_id)?;
        let done = self.done_by(|record| record.is_of_batch(action_id), action_id)?;
        for intent in done.iter().rev() {
            let record = &intent.record;
            let changes = self.changes_of(record)?;
            let acted = self.actor.undo(&changes, true, &mut |_| Ok(()))?;
            if !each(undone(record, new_action_id(), acted, Vec::new())) {
                break;
            }
        }
        Ok(done.len())
    }

    /// What the act of a record changed, if it was done here, and can have done that.
    fn changes_of(&mut self, record: &Record) -> Result<Vec<Change>, RecoveryError> {
        if record.fingerprint != self.fingerprint {
            return Err(RecoveryError::OtherSource {
                action: record.action_id.clone(),
                was: record.fingerprint.clone(),
                is: self.fingerprint.clone(),
            });
        }
        let changes = Change::from_json(&record.before, &record.after)
            .ok_or_else(|| RecoveryError::NotApplied(record.action_id.clone()))?;
        self.permit_undo(record, &changes)?;
        Ok(changes)
    }

    fn undo_one(
        &mut self,
        record: &Record,
        reason: Option<&str>,
        batch: Option<&str>,
    ) -> Result<Report, RecoveryError> {
        let _uninterrupted = uninterrupted();
        let changes = self.changes_of(record)?;
        let id = new_action_id();
        let _at_work = self.trail.at_work();
        let Desk { actor, trail, who, .. } = self;
        let mut written = Record {
            stage: Stage::Intent,
            action_id: id.clone(),
            action: "undo".into(),
            at: clock().rfc3339(),
            db_at: Some(clock().rfc3339()),
            by: "operator".into(),
            who: who.clone(),
            reason: reason.map(str::to_owned),
            before: record.after.clone(),
            after: record.before.clone(),
            outcome: None,
            why: None,
            refers_to: Some(record.action_id.clone()),
            transaction: None,
            batch: batch.map(str::to_owned),
            inferred: false,
            tool: tool(),
            ..record.clone()
        };
        let acted = actor.undo(&changes, false, &mut |acted| {
            written.transaction.clone_from(&acted.transaction);
            // What a trigger made of the rows is what the next undo will find.
            (written.before, written.after) = (acted.images(Side::Before), acted.images(Side::After));
            trail.append(std::slice::from_ref(&written)).map(|_| ()).map_err(|error| error.to_string())
        })?;
        written.stage = Stage::Outcome;
        written.outcome = Some(acted.outcome.as_str().into());
        written.why = acted.outcome.why().map(str::to_owned);
        let mut preview = Vec::new();
        // The rows are back and the intent is on record; the outcome can be found out from the rows.
        if let Err(error) = trail.append(std::slice::from_ref(&written)) {
            preview.push(format!("applied, but its outcome could not be written: {error}"));
        }
        Ok(undone(record, id, acted, preview))
    }

    /// The intents of the acts of this name that were applied, in their order.
    fn applied(
        &mut self,
        is_meant: impl Fn(&Record) -> bool,
        name: &str,
    ) -> Result<Vec<Entry>, RecoveryError> {
        self.believe(name)?;
        self.settle_open_actions()?;
        self.done_by(is_meant, name)
    }

    /// Refuses to go by a trail that was changed: what an edited line says would be written into the database.
    fn believe(&self, name: &str) -> Result<(), RecoveryError> {
        let verified = self.trail.verify_since(name)?;
        match verified.findings.iter().find(|finding| finding.is_tampering()) {
            Some(finding) => Err(RecoveryError::Tampered(finding.to_string())),
            None => Ok(()),
        }
    }

    fn done_by(&self, is_meant: impl Fn(&Record) -> bool, name: &str) -> Result<Vec<Entry>, RecoveryError> {
        let mut entries = self.trail.batch(name)?;
        entries.retain(|entry| is_meant(&entry.record));
        if entries.is_empty() {
            return Err(RecoveryError::NoSuchAction(name.into()));
        }
        let applied: HashSet<String> = entries
            .iter()
            .filter(|entry| entry.record.outcome.as_deref() == Some("applied"))
            .map(|entry| entry.record.action_id.clone())
            .collect();
        entries
            .retain(|entry| entry.record.stage == Stage::Intent && applied.contains(&entry.record.action_id));
        if entries.is_empty() {
            return Err(RecoveryError::NotApplied(name.into()));
        }
        Ok(entries)
    }
}

fn undone(record: &Record, action_id: String, acted: Acted, preview: Vec<String>) -> Report {
    Report {
        action_id,
        action: "undo",
        id: record.address.rsplit('/').next().map(plain).unwrap_or_default(),
        address: record.address.clone(),
        holder: record.holder.clone(),
        changes: acted.changes,
        outcome: acted.outcome,
        preview,
    }
}

/// A percent-encoded id of an address, as its table has it.
fn plain(id: &str) -> String {
    percent_encoding::percent_decode_str(id).decode_utf8_lossy().into_owned()
}
