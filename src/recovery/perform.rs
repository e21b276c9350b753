//! The desk where acts are done: each with its intent written before it, its outcome after.

use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

use super::trail::{Entry, Record, Stage, Trail, TrailError, Who, new_action_id};
use crate::domain::recovery::{Action, Outcome, Word};
use crate::domain::verdict::Reason;
use crate::store::StoreError;
use crate::store::sqlite::{Acted, Actor, Change, Options, Order, Pending, Seen, Side, clock};

/// Why nothing could be tried at all.
#[derive(Debug, Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Trail(#[from] TrailError),
    #[error("there is no action {0} in the trail")]
    NoSuchAction(String),
    #[error("action {0} was not applied; there is nothing to undo")]
    NotApplied(String),
    #[error("action {action} was done to another database ({was}), not to this one ({is})")]
    OtherSource { action: String, was: String, is: String },
    #[error(
        "the trail cannot be believed, so nothing is undone by it: {0}; `claimtop audit verify` tells all"
    )]
    Tampered(String),
}

/// What is to be said of one act.
#[derive(Debug)]
pub struct Report {
    pub action_id: String,
    pub action: String,
    pub outcome: Outcome,
    pub id: String,
    pub address: String,
    pub holder: Option<String>,
    pub before: Json,
    pub after: Json,
    pub preview: Vec<String>,
}

/// A source that can be acted on, and the trail that is kept of it.
#[derive(Debug)]
pub struct Desk {
    actor: Actor,
    trail: Trail,
    who: Who,
    source: String,
    fingerprint: String,
}

/// How long a batch may keep other writers waiting.
const BATCH: Duration = Duration::from_millis(15);

impl Desk {
    pub fn open(options: Options, source: &str, trail: &Path) -> Result<Desk, RecoveryError> {
        let trail = Trail::open(trail)?;
        let actor = Actor::open(options)?;
        let fingerprint = actor.fingerprint();
        Ok(Desk { actor, trail, who: Who::here(), source: source.into(), fingerprint })
    }

    pub fn actor(&mut self) -> &mut Actor {
        &mut self.actor
    }

    /// Does `action` to exactly what was seen.
    pub fn perform(&mut self, seen: &Seen, action: Action, word: &Word) -> Result<Report, RecoveryError> {
        self.settle_open_actions()?;
        let mut reports = self.perform_batch(&[seen], action, word)?;
        Ok(reports.remove(0))
    }

    /// What `action` would do, with nothing written anywhere.
    pub fn rehearse(&mut self, seen: &Seen, action: Action, word: &Word) -> Result<Report, RecoveryError> {
        let id = new_action_id();
        let order = Order { action, word, action_id: &id, dry_run: true };
        let acted = self.actor.act(seen, &order, &mut |_| Ok(()))?;
        Ok(self.report(seen, &id, action.as_str(), acted))
    }

    /// Does `action` to many claims, in short transactions with pauses between them so that other
    /// writers get their turn; `each` hears of every one as it is done and may end it with `false`.
    /// The answer is the time spent in pauses.
    pub fn perform_all(
        &mut self,
        all: &[Seen],
        action: Action,
        word: &Word,
        each: &mut dyn FnMut(Report) -> bool,
    ) -> Result<Duration, RecoveryError> {
        let mut paused = Duration::ZERO;
        self.settle_open_actions()?;
        let mut rest: Vec<&Seen> = all.iter().collect();
        while !rest.is_empty() {
            let started = std::time::Instant::now();
            let reports = self.perform_batch(&rest, action, word)?;
            let held = started.elapsed();
            rest.drain(..reports.len());
            for report in reports {
                if !each(report) {
                    return Ok(paused);
                }
            }
            if !rest.is_empty() {
                paused += pause(held);
            }
        }
        Ok(paused)
    }

    /// As many of the claims as fit into one short transaction, at least one.
    fn perform_batch(
        &mut self,
        all: &[&Seen],
        action: Action,
        word: &Word,
    ) -> Result<Vec<Report>, RecoveryError> {
        let Desk { actor, trail, who, source, fingerprint } = self;
        let scribe = Scribe { who, source, fingerprint, word };
        let ids: Vec<String> = all.iter().take(Actor::MOST_AT_ONCE).map(|_| new_action_id()).collect();
        let orders: Vec<(&Seen, Order<'_>)> = all
            .iter()
            .zip(&ids)
            .map(|(seen, id)| (*seen, Order { action, word, action_id: id, dry_run: false }))
            .collect();
        let mut intents: Vec<Record> = Vec::new();
        let acted = {
            let intents = std::cell::RefCell::new(&mut intents);
            actor.act_batch(
                &orders,
                BATCH,
                &mut |order, pending| {
                    intents.borrow_mut().push(scribe.intent(order, pending));
                },
                &mut || trail.append(&intents.borrow()).map(|_| ()).map_err(|error| error.to_string()),
            )?
        };
        let outcomes: Vec<Record> = acted
            .iter()
            .zip(&orders)
            .map(|(acted, (seen, order))| scribe.outcome(actor, seen, order, acted))
            .collect();
        // The act is done and its intent is on record; the outcome can be found out from the rows.
        let unwritten = trail.append(&outcomes).err();
        let mut reports = Vec::new();
        for (acted, (seen, order)) in acted.into_iter().zip(&orders) {
            let mut report = self.report(seen, order.action_id, action.as_str(), acted);
            if let (Some(error), Outcome::Applied) = (&unwritten, &report.outcome) {
                report.preview.push(format!("applied, but its outcome could not be written: {error}"));
            }
            reports.push(report);
        }
        Ok(reports)
    }

    fn report(&self, seen: &Seen, action_id: &str, action: &str, acted: Acted) -> Report {
        Report {
            action_id: action_id.into(),
            action: action.into(),
            id: seen.judged.claim.key.text(),
            address: self.actor.address(seen),
            holder: seen.judged.claim.holder.clone(),
            before: acted.images(Side::Before),
            after: acted.images(Side::After),
            outcome: acted.outcome,
            preview: acted.preview,
        }
    }

    /// Takes back what an act of the trail did, if every row is still as it left them.
    pub fn undo(&mut self, action_id: &str, reason: Option<&str>) -> Result<Report, RecoveryError> {
        let done = self.applied(action_id)?;
        let record = &done.record;
        if record.fingerprint != self.fingerprint {
            return Err(RecoveryError::OtherSource {
                action: action_id.into(),
                was: record.fingerprint.clone(),
                is: self.fingerprint.clone(),
            });
        }
        let changes = Change::from_json(&record.before, &record.after)
            .ok_or_else(|| RecoveryError::NotApplied(action_id.into()))?;
        let id = new_action_id();
        let Desk { actor, trail, who, .. } = self;
        let mut written = Record {
            stage: Stage::Intent,
            action_id: id.clone(),
            action: "undo".into(),
            at: clock().rfc3339(),
            db_at: Some(clock().rfc3339()),
            who: who.clone(),
            reason: reason.map(str::to_owned),
            before: record.after.clone(),
            after: record.before.clone(),
            outcome: None,
            why: None,
            refers_to: Some(action_id.into()),
            tool: tool(),
            ..record.clone()
        };
        let acted = actor.undo(&changes, false, &mut |_| {
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
        Ok(Report {
            action_id: id,
            action: "undo".into(),
            id: record.address.rsplit('/').next().map(plain).unwrap_or_default(),
            address: record.address.clone(),
            holder: record.holder.clone(),
            before: acted.images(Side::Before),
            after: acted.images(Side::After),
            outcome: acted.outcome,
            preview,
        })
    }

    /// The intent of an act that was applied.
    fn applied(&mut self, action_id: &str) -> Result<Entry, RecoveryError> {
        // What an edited line says would be written into the database.
        let verified = self.trail.verify(None)?;
        if let Some(finding) = verified.findings.iter().find(|finding| finding.is_tampering()) {
            return Err(RecoveryError::Tampered(finding.to_string()));
        }
        self.settle_open_actions()?;
        let entries = self.trail.entries()?;
        let of_action = || entries.iter().filter(|entry| entry.record.action_id == action_id);
        let intent = of_action().find(|entry| entry.record.stage == Stage::Intent);
        let applied = of_action().any(|entry| entry.record.outcome.as_deref() == Some("applied"));
        match (intent, applied) {
            (Some(intent), true) => Ok(intent.clone()),
            (_, false) if of_action().next().is_some() => Err(RecoveryError::NotApplied(action_id.into())),
            _ => Err(RecoveryError::NoSuchAction(action_id.into())),
        }
    }

    /// Finds out what became of acts on this source whose outcome was never written: by the row of
    /// the audit table, or by the images.
    pub fn settle_open_actions(&mut self) -> Result<Vec<Record>, RecoveryError> {
        let mut open = self.trail.open_actions()?;
        open.retain(|entry| entry.record.fingerprint == self.fingerprint);
        if open.is_empty() {
            return Ok(Vec::new());
        }
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
        let open: Vec<Entry> = self.trail.open_actions()?;
        settled.retain(|record| open.iter().any(|entry| entry.record.action_id == record.action_id));
        if !settled.is_empty() {
            self.trail.append(&settled)?;
        }
        Ok(settled)
    }

    /// Done, not done, or neither can be shown. An undo has no row in the audit table, so only its
    /// images can tell.
    fn became(&mut self, record: &Record, changes: &[Change]) -> Result<Option<bool>, RecoveryError> {
        if record.action != "undo" {
            return Ok(self.actor.became(&record.action_id, changes)?);
        }
        if self.actor.matches(changes, Side::Before)? {
            return Ok(Some(false));
        }
        Ok(self.actor.matches(changes, Side::After)?.then_some(true))
    }
}

/// A percent-encoded id of an address, as its table has it.
fn plain(id: &str) -> String {
    percent_encoding::percent_decode_str(id).decode_utf8_lossy().into_owned()
}

fn tool() -> String {
    format!("claimtop {}", env!("CARGO_PKG_VERSION"))
}

/// Twice as long as the lock was held, so that a waiting writer is the next one to have it.
#[allow(clippy::disallowed_methods, reason = "nothing tells when other writers have had their turn")]
fn pause(held: Duration) -> Duration {
    let length = (held * 2).max(Duration::from_millis(10));
    std::thread::sleep(length);
    length
}

/// Writes down acts on one source.
struct Scribe<'a> {
    who: &'a Who,
    source: &'a str,
    fingerprint: &'a str,
    word: &'a Word,
}

impl Scribe<'_> {
    fn intent(&self, order: &Order<'_>, pending: &Pending<'_>) -> Record {
        Record {
            profile: pending.profile.into(),
            board: pending.board.into(),
            before: pending.before.clone(),
            after: pending.after.clone(),
            db_at: Some(pending.db_at.rfc3339()),
            ..self.record(Stage::Intent, order, pending.seen, &pending.address)
        }
    }

    fn outcome(&self, actor: &Actor, seen: &Seen, order: &Order<'_>, acted: &Acted) -> Record {
        let (profile, board) = actor.names(seen);
        Record {
            profile,
            board,
            outcome: Some(acted.outcome.as_str().into()),
            why: acted.outcome.why().map(str::to_owned),
            ..self.record(Stage::Outcome, order, seen, &actor.address(seen))
        }
    }

    fn record(&self, stage: Stage, order: &Order<'_>, seen: &Seen, address: &str) -> Record {
        let reasons: Vec<&str> = seen.judged.verdict.reasons.iter().map(Reason::as_str).collect();
        Record {
            stage,
            action_id: order.action_id.into(),
            action: order.action.as_str().into(),
            at: clock().rfc3339(),
            db_at: None,
            by: "operator".into(),
            who: self.who.clone(),
            source: self.source.into(),
            fingerprint: self.fingerprint.into(),
            profile: String::new(),
            board: String::new(),
            address: address.into(),
            holder: seen.judged.claim.holder.clone(),
            reason: self.word.reason.clone(),
            evidence: json!({
                "reasons": reasons,
                "conclusion": seen.conclusion.as_str(),
                "why": seen.why,
                "process": seen.judged.claim.worker.process.as_str(),
                "forced": self.word.force,
            }),
            before: Json::Null,
            after: Json::Null,
            outcome: None,
            why: None,
            refers_to: None,
            tool: tool(),
        }
    }
}
