//! Undoes acts of the trail, each as an act of its own.

use std::collections::HashMap;

use super::audit_writer::tool;
use super::audited_actor::{ActReport, AuditedActor, RecoveryError};
use super::plan::BulkResult;
use super::trail::{JournalEntry, Record, RecordStage, new_action_id};
use crate::domain::fencing::Fencing;
use crate::domain::recovery::{Authorization, Outcome, Refusal, TERMINATE};
use crate::domain::tally::BulkTally;
use crate::store::suspend::uninterrupted;
use crate::store::{Acted, Change, Side, Undo, clock};

/// At most this many acts are rehearsed in one transaction; more would delay other writers.
const MOST_TOGETHER: usize = 500;

impl AuditedActor {
    /// Undoes an act of the trail, if every row is still as the act left it.
    pub fn undo(&mut self, action_id: &str, reason: Option<&str>) -> Result<ActReport, RecoveryError> {
        let mut done = self.applied(|record| record.action_id == action_id, action_id)?;
        match done.pop() {
            Some(done) => self.undo_one(&done, reason, None),
            None => Err(RecoveryError::NoSuchAction(action_id.into())),
        }
    }

    /// The same for one act, or for a whole bulk by its id or that of one of its transactions: the last act first, each
    /// in its own transaction, until `each` returns `false`.
    pub fn undo_all(
        &mut self,
        action_id: &str,
        reason: Option<&str>,
        each: &mut dyn FnMut(ActReport) -> bool,
    ) -> Result<BulkResult, RecoveryError> {
        let done = self.applied(|record| record.is_of_batch(action_id), action_id)?;
        let is_one = done.len() == 1 && done[0].intent.action_id == action_id;
        let batch = new_action_id();
        let mut result = BulkResult::new(batch.clone(), BulkTally::of(done.len()));
        for done in done.iter().rev() {
            let report = self.undo_one(done, reason, (!is_one).then_some(batch.as_str()));
            // A single act's problem is the whole result.
            if is_one && let Err(error) = report {
                return Err(error);
            }
            if !result.tell(report, each) {
                break;
            }
        }
        result.batch = result.batch.filter(|_| !is_one);
        Ok(result)
    }

    /// What an undo would write, every row with its columns; writes nothing. For one act or a whole bulk, the last act
    /// first, until `each` returns `false`. Returns the number of acts.
    pub fn rehearse_undo(
        &mut self,
        action_id: &str,
        each: &mut dyn FnMut(ActReport) -> bool,
    ) -> Result<usize, RecoveryError> {
        self.believe(action_id)?;
        let done = self.done_by(|record| record.is_of_batch(action_id), action_id)?;
        let fits_together = self.fits_together(&done)?;
        for done in done.iter().rev() {
            let record = &done.intent;
            let changes = self.changes_of(record)?;
            let acted = match done.standing.refusal(&record.action_id) {
                Some(why) => Acted::nothing(Outcome::Refused(why)),
                None if fits_together => Acted {
                    changes: changes.iter().map(Change::turned).collect(),
                    ..Acted::nothing(Outcome::Applied)
                },
                None => self.actor.undo(&changes, Undo::Rehearse, &mut |_| Ok(()))?,
            };
            if !each(undone(record, new_action_id(), acted)) {
                break;
            }
        }
        Ok(done.len())
    }

    /// Whether all acts of a bulk can be undone one after another. A claim may need its session back first, so single
    /// rehearsals would not show it.
    fn fits_together(&mut self, done: &[UndoTarget]) -> Result<bool, RecoveryError> {
        if !(2..=MOST_TOGETHER).contains(&done.len()) {
            return Ok(false);
        }
        let mut all = Vec::new();
        for done in done {
            if done.standing.refusal(&done.intent.action_id).is_none() {
                all.extend(self.changes_of(&done.intent)?);
            }
        }
        Ok(self.actor.undo(&all, Undo::Rehearse, &mut |_| Ok(()))?.outcome == Outcome::Applied)
    }

    /// What the recorded act changed, if it was done here and its profile allows such changes.
    fn changes_of(&mut self, record: &Record) -> Result<Vec<Change>, RecoveryError> {
        if record.fingerprint != self.fingerprint {
            return Err(RecoveryError::OtherSource {
                action: record.action_id.clone(),
                was: record.fingerprint.clone(),
                is: self.fingerprint.clone(),
            });
        }
        if record.action == TERMINATE {
            return Err(RecoveryError::Refused(Refusal::CannotUndo { action_id: record.action_id.clone() }));
        }
        let changes = Change::from_json(&record.before, &record.after)
            .ok_or_else(|| RecoveryError::NotApplied(record.action_id.clone()))?;
        self.permit_undo(record, &changes)?;
        Ok(changes)
    }

    fn undo_one(
        &mut self,
        done: &UndoTarget,
        reason: Option<&str>,
        batch: Option<&str>,
    ) -> Result<ActReport, RecoveryError> {
        let _uninterrupted = uninterrupted();
        let record = &done.intent;
        let changes = self.changes_of(record)?;
        let id = new_action_id();
        let _at_work = self.trail.at_work();
        let AuditedActor { actor, trail, who, .. } = self;
        let authorization = Authorization { reason: reason.map(str::to_owned), ..Authorization::default() };
        let mut written = Record {
            stage: RecordStage::Intent,
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
        let undo = Undo::For { action_id: &id, address: &record.address, authorization: &authorization };
        let mut write = |acted: &Acted| {
            written.transaction.clone_from(&acted.transaction);
            // If a trigger changed the rows, the next undo finds that version.
            (written.before, written.after) = (acted.images(Side::Before), acted.images(Side::After));
            trail.append(std::slice::from_ref(&written)).map(|_| ()).map_err(|error| error.to_string())
        };
        let acted = match done.standing.refusal(&record.action_id) {
            Some(why) => Acted::nothing(Outcome::Refused(why)),
            None => actor.undo(&changes, undo, &mut write)?,
        };
        written.stage = RecordStage::Outcome;
        written.outcome = Some(acted.outcome.as_str().into());
        written.why = acted.outcome.why();
        // The rows are restored and the intent is on record; the outcome can be found out from the rows.
        let unwritten = trail.append(std::slice::from_ref(&written)).err();
        let mut report = undone(record, id, acted);
        report.note_unrecorded(unwritten.as_ref());
        Ok(report)
    }

    /// The acts with this id that were applied, or may have been, in their order.
    fn applied(
        &mut self,
        is_meant: impl Fn(&Record) -> bool,
        name: &str,
    ) -> Result<Vec<UndoTarget>, RecoveryError> {
        self.believe(name)?;
        self.settle_open_actions()?;
        self.done_by(is_meant, name)
    }

    /// Refuses a trail that was changed: an edited line would be written into the database.
    fn believe(&self, name: &str) -> Result<(), RecoveryError> {
        let verified = self.trail.verify_since(name)?;
        match verified.findings.iter().find(|finding| finding.is_tampering()) {
            Some(finding) => Err(RecoveryError::Tampered(finding.to_string())),
            None => Ok(()),
        }
    }

    fn done_by(
        &self,
        is_meant: impl Fn(&Record) -> bool,
        name: &str,
    ) -> Result<Vec<UndoTarget>, RecoveryError> {
        let mut entries = self.trail.batch(name)?;
        entries.retain(|entry| is_meant(&entry.record));
        if entries.is_empty() {
            return Err(RecoveryError::NoSuchAction(name.into()));
        }
        let mut standings: HashMap<String, RecordedOutcome> = HashMap::new();
        for JournalEntry { record, .. } in
            entries.iter().filter(|entry| entry.record.stage == RecordStage::Outcome)
        {
            let standing = standings.entry(record.action_id.clone()).or_default();
            *standing = standing.after(record);
        }
        let intents = entries.into_iter().filter(|entry| entry.record.stage == RecordStage::Intent);
        let done = intents.map(|JournalEntry { record: intent, .. }| UndoTarget {
            standing: standings.get(&intent.action_id).copied().unwrap_or_default(),
            intent,
        });
        let done: Vec<UndoTarget> =
            done.filter(|done| done.standing != RecordedOutcome::NotApplied).collect();
        if done.is_empty() {
            return Err(RecoveryError::NotApplied(name.into()));
        }
        Ok(done)
    }
}

/// An act of the trail, and what is known about its outcome.
struct UndoTarget {
    intent: Record,
    standing: RecordedOutcome,
}

/// What the trail knows about an act's outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RecordedOutcome {
    /// No outcome, or only that the answer was lost.
    #[default]
    Open,
    Applied,
    /// The rows suggest that it was applied.
    Inferred,
    NotApplied,
}

impl RecordedOutcome {
    /// The knowledge after one more outcome: an inference counts only while nothing is proven.
    fn after(self, outcome: &Record) -> RecordedOutcome {
        match (outcome.outcome.as_deref(), outcome.inferred, self) {
            (_, true, RecordedOutcome::Applied | RecordedOutcome::NotApplied) => self,
            (Some("unknown") | None, ..) => self,
            (Some("applied"), true, _) => RecordedOutcome::Inferred,
            (Some("applied"), false, _) => RecordedOutcome::Applied,
            (Some(_), ..) => RecordedOutcome::NotApplied,
        }
    }

    /// Why an act is not undone although it was not refused.
    fn refusal(self, action_id: &str) -> Option<Refusal> {
        let action_id = action_id.to_owned();
        match self {
            RecordedOutcome::Applied | RecordedOutcome::NotApplied => None,
            RecordedOutcome::Inferred => Some(Refusal::OnlyInferred { action_id }),
            RecordedOutcome::Open => Some(Refusal::OutcomeOpen { action_id }),
        }
    }
}

fn undone(record: &Record, action_id: String, acted: Acted) -> ActReport {
    ActReport {
        action_id,
        action: "undo",
        id: record.address.rsplit('/').next().map(plain).unwrap_or_default(),
        address: record.address.clone(),
        holder: record.holder.clone(),
        fencing: Fencing::Unknown,
        risk: None,
        changes: acted.changes,
        outcome: acted.outcome,
        preview: Vec::new(),
        effects: acted.effects,
        unrecorded: None,
    }
}

/// A percent-encoded id of an address, decoded.
fn plain(id: &str) -> String {
    percent_encoding::percent_decode_str(id).decode_utf8_lossy().into_owned()
}
