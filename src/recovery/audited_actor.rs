//! Performs acts with their record: the intent is written before each act, the outcome after it.

use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::Path;
use thiserror::Error;

use super::audit_writer::{ActInitiator, AuditWriter};
use super::permission::NotUndoable;
use super::trail::{Position, Record, Trail, TrailError, UserIdentity, new_action_id};
use crate::domain::fencing::Fencing;
use crate::domain::recovery::{Action, Authorization, Outcome, Refusal};
use crate::store::StoreError;
use crate::store::suspend::uninterrupted;
use crate::store::{Acted, Actor, Change, Images, Order, Scope, Seen, Side, SideEffects, WriteAccess};

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
        "the trail has been changed, so nothing is undone by it: {0}; `claimtop audit verify` shows all findings"
    )]
    Tampered(String),
    #[error("{0}")]
    Refused(Refusal),
    #[error("action {action} is not undone: {why}")]
    OutOfScope { action: String, why: Box<NotUndoable> },
}

/// The result of one act.
#[derive(Debug)]
pub struct ActReport {
    pub action_id: String,
    pub action: &'static str,
    pub outcome: Outcome,
    pub id: String,
    pub address: String,
    pub holder: Option<String>,
    pub fencing: Fencing,
    /// The risk of freeing the claim.
    pub risk: Option<&'static str>,
    pub changes: Vec<Change>,
    pub preview: Vec<String>,
    pub effects: SideEffects,
    /// Why the outcome is not on record although the act was applied. It can be found out from the rows.
    pub unrecorded: Option<String>,
}

/// A source that can be acted on, and its audit trail.
#[derive(Debug)]
pub struct AuditedActor {
    pub(super) actor: Actor,
    pub(super) trail: Trail,
    pub(super) who: UserIdentity,
    pub(super) by: ActInitiator,
    pub(super) source: String,
    pub(super) fingerprint: String,
    /// Up to this position in the journal, the outcome of every act on this source is known.
    pub(super) settled: Position,
    /// What acts may change, by profile, board and action.
    pub(super) scopes: HashMap<[String; 3], Option<Scope>>,
    /// The intents of the transaction that was looked up last, by action id.
    pub(super) intents: HashMap<String, Record>,
}

impl AuditedActor {
    pub fn open(access: WriteAccess, source: &str, trail: &Path) -> Result<AuditedActor, RecoveryError> {
        let trail = Trail::open(trail)?;
        AuditedActor::at(access, source, trail)
    }

    /// An actor that can only rehearse: it creates no journal and writes to none.
    pub fn rehearsing(
        access: WriteAccess,
        source: &str,
        trail: &Path,
    ) -> Result<AuditedActor, RecoveryError> {
        let trail = Trail::read_only(trail)?;
        AuditedActor::at(access, source, trail)
    }

    fn at(access: WriteAccess, source: &str, trail: Trail) -> Result<AuditedActor, RecoveryError> {
        let actor = Actor::open(access)?;
        let (fingerprint, settled) = (actor.fingerprint(), Position::default());
        let (who, by) = (UserIdentity::here(), ActInitiator::Operator);
        Ok(AuditedActor {
            actor,
            trail,
            who,
            by,
            source: source.into(),
            fingerprint,
            settled,
            scopes: HashMap::new(),
            intents: HashMap::new(),
        })
    }

    /// Prepares an open actor for another act and reopens its journal. Returns `false` if the actor has to be opened
    /// again, because its connection is lost or leads to another database now.
    pub fn renew(&mut self, trail: &Path) -> Result<bool, RecoveryError> {
        self.trail = Trail::open(trail)?;
        self.settled = Position::default();
        self.scopes.clear();
        Ok(self.actor.refresh().is_ok() && self.actor.fingerprint() == self.fingerprint)
    }

    /// The same actor for automatic sweeps: its records say so.
    pub fn for_sweeps(self) -> AuditedActor {
        AuditedActor { by: ActInitiator::Sweeper, ..self }
    }

    /// The name of the source.
    pub fn source(&self) -> &str {
        &self.source
    }

    pub fn actor(&mut self) -> &mut Actor {
        &mut self.actor
    }

    /// Does `action` to exactly what was seen.
    pub fn perform(
        &mut self,
        seen: &Seen,
        action: Action,
        authorization: &Authorization,
    ) -> Result<ActReport, RecoveryError> {
        self.settle_open_actions()?;
        self.perform_one(seen, action, authorization)
    }

    /// What `action` would do; writes nothing.
    pub fn rehearse(
        &mut self,
        seen: &Seen,
        action: Action,
        authorization: &Authorization,
    ) -> Result<ActReport, RecoveryError> {
        let id = new_action_id();
        let order = Order { action, authorization, action_id: &id, dry_run: true };
        let acted = self.actor.act(seen, &order, &mut |_| Ok(()))?;
        Ok(self.report(seen, &id, action, acted))
    }

    fn perform_one(
        &mut self,
        seen: &Seen,
        action: Action,
        authorization: &Authorization,
    ) -> Result<ActReport, RecoveryError> {
        let (id, acted, unwritten) = self.act_on_record(seen, action, authorization)?;
        let mut report = self.report(seen, &id, action, acted);
        report.note_unrecorded(unwritten.as_ref());
        Ok(report)
    }

    /// Does it, with its intent and its outcome on record. Returns the action id, the result, and why the outcome is
    /// not on record.
    pub(super) fn act_on_record(
        &mut self,
        seen: &Seen,
        action: Action,
        authorization: &Authorization,
    ) -> Result<(String, Acted, Option<TrailError>), RecoveryError> {
        let _uninterrupted = uninterrupted();
        let _at_work = self.trail.at_work();
        let AuditedActor { actor, trail, who, by, source, fingerprint, .. } = self;
        let audit = AuditWriter { who, source, fingerprint, authorization };
        let id = new_action_id();
        let order = Order { action, authorization, action_id: &id, dry_run: false };
        let acted = actor.act(seen, &order, &mut |pending| {
            let intent = by.sign(audit.intent(&order, pending));
            trail.append(&[intent]).map(|_| ()).map_err(|error| error.to_string())
        });
        let acted = match acted {
            Err(StoreError::RowRefused { said, .. }) => Acted::nothing(Outcome::Refused(Refusal::Row(said))),
            other => other?,
        };
        // The act is done and its intent is on record; the outcome can be found out from the rows.
        let unwritten = trail.append(&[by.sign(audit.outcome(actor, seen, &order, &acted))]).err();
        Ok((id, acted, unwritten))
    }

    pub(super) fn report(&self, seen: &Seen, action_id: &str, action: Action, acted: Acted) -> ActReport {
        let address = self.actor.address(seen);
        report_of(seen, action_id.into(), address, action, acted)
    }
}

/// The result of an act on a claim.
pub(super) fn report_of(
    seen: &Seen,
    action_id: String,
    address: String,
    action: Action,
    acted: Acted,
) -> ActReport {
    ActReport {
        action_id,
        action: action.as_str(),
        id: seen.judged.claim.key.text(),
        address,
        holder: seen.judged.claim.holder.clone(),
        fencing: seen.fencing,
        risk: seen.risk(action),
        changes: acted.changes,
        outcome: acted.outcome,
        preview: acted.preview,
        effects: acted.effects,
        unrecorded: None,
    }
}

impl ActReport {
    /// Tables in which triggers or foreign keys changed rows that are not known: an undo leaves those.
    pub fn untold(&self) -> Vec<&str> {
        self.changes.iter().filter(|change| change.is_untold()).map(|change| change.table.as_str()).collect()
    }

    /// The rows before or after the act.
    pub fn images(&self, side: Side) -> Json {
        Images { changes: &self.changes, side }.json()
    }

    /// Notes that an act was done and its outcome could not be recorded.
    pub(super) fn note_unrecorded(&mut self, unwritten: Option<&TrailError>) {
        self.unrecorded =
            unwritten.filter(|_| self.outcome == Outcome::Applied).map(|error| error.to_string());
    }
}
