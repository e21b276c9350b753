//! What an undo may write: only what the profile's act can have changed, whatever the journal says.

use std::fmt;
use thiserror::Error;

use super::audited_actor::{AuditedActor, RecoveryError};
use super::trail::{Record, RecordStage};
use crate::store::{Change, OutOfScope, Scope};

/// How many undos of undos are followed back to the original act.
const DEEPEST: usize = 100;

/// Why an act is not undone.
#[derive(Debug, Error)]
pub enum NotUndoable {
    #[error("it took back an act that is not in the trail, so what that did is not known")]
    NotInTrail,
    #[error("none of the profiles that fit here says what {0} does; name its profile with --profile")]
    NoProfile(ActKind),
    #[error("its record does not fit what {0} does: {1}; the journal was forged, or the profile has changed")]
    Forged(ActKind, OutOfScope),
}

/// An action on a board, by a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActKind {
    pub profile: String,
    pub board: String,
    pub action: String,
}

impl ActKind {
    fn of(act: &Record) -> ActKind {
        let Record { profile, board, action, .. } = act;
        ActKind { profile: profile.clone(), board: board.clone(), action: action.clone() }
    }
}

impl fmt::Display for ActKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}/{}", self.action, self.profile, self.board)
    }
}

impl AuditedActor {
    /// Refuses to undo changes that the recorded act cannot have made by its profile.
    pub(super) fn permit_undo(&mut self, record: &Record, changes: &[Change]) -> Result<(), RecoveryError> {
        let refused =
            |why| RecoveryError::OutOfScope { action: record.action_id.clone(), why: Box::new(why) };
        let (act, is_turned) = self.act_behind(record)?.ok_or_else(|| refused(NotUndoable::NotInTrail))?;
        let kind = ActKind::of(&act);
        let Some(scope) = self.scope_of(&act)? else {
            return Err(refused(NotUndoable::NoProfile(kind)));
        };
        for change in changes {
            let change = if is_turned { change.turned() } else { change.clone() };
            scope.permit(&change).map_err(|never| refused(NotUndoable::Forged(kind.clone(), never)))?;
        }
        Ok(())
    }

    /// The act that a record is about. For an undo, the act that it undid, and whether the changes are reversed.
    fn act_behind(&mut self, record: &Record) -> Result<Option<(Record, bool)>, RecoveryError> {
        let (mut current, mut is_turned) = (record.clone(), false);
        for _ in 0..DEEPEST {
            if current.action != "undo" {
                return Ok(Some((current, is_turned)));
            }
            let Some(id) = current.refers_to.take() else { return Ok(None) };
            let Some(intent) = self.intent_of(&id)? else { return Ok(None) };
            (current, is_turned) = (intent, !is_turned);
        }
        Ok(None)
    }

    /// The intent of an act. All intents of its transaction are read and kept: they are in one line, and the undo of a
    /// bulk needs one after the other.
    fn intent_of(&mut self, action_id: &str) -> Result<Option<Record>, RecoveryError> {
        if !self.intents.contains_key(action_id) {
            let transaction = action_id.split_once('.').map_or(action_id, |(transaction, _)| transaction);
            let records = self.trail.batch(transaction)?.into_iter().map(|entry| entry.record);
            self.intents.clear();
            for intent in records.filter(|record| record.stage == RecordStage::Intent) {
                self.intents.entry(intent.action_id.clone()).or_insert(intent);
            }
        }
        Ok(self.intents.get(action_id).cloned())
    }

    fn scope_of(&mut self, act: &Record) -> Result<Option<Scope>, RecoveryError> {
        let name = [&act.profile, &act.board, &act.action].map(String::clone);
        if !self.scopes.contains_key(&name) {
            let scope = self.actor.scope(&act.profile, &act.board, &act.action)?;
            self.scopes.insert(name.clone(), scope);
        }
        Ok(self.scopes.get(&name).cloned().flatten())
    }
}
