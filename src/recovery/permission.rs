//! What an undo may write: what the profile's act can have changed, and nothing else that a journal may say.

use super::audited_actor::{AuditedActor, RecoveryError};
use super::trail::{Record, Stage};
use crate::store::{Change, Scope};

/// How many undos of undos are followed back to the act.
const DEEPEST: usize = 100;

impl AuditedActor {
    /// Refuses to take back changes that the act of the record cannot have made by its profile.
    pub(super) fn permit_undo(&mut self, record: &Record, changes: &[Change]) -> Result<(), RecoveryError> {
        let refused = |why: String| RecoveryError::OutOfScope { action: record.action_id.clone(), why };
        let (act, is_turned) = self.act_behind(record)?.ok_or_else(|| {
            refused("it took back an act that is not in the trail, so what that did is not known".into())
        })?;
        let Record { profile, board, action, .. } = &act;
        let Some(scope) = self.scope_of(&act)? else {
            return Err(refused(format!(
                "none of the profiles that fit here says what {action} of {profile}/{board} does; \
                 name its profile with --profile"
            )));
        };
        for change in changes {
            let change = if is_turned { change.turned() } else { change.clone() };
            scope.permit(&change).map_err(|never| {
                refused(format!(
                    "its record does not fit what {action} of {profile}/{board} does: {never}; \
                     the journal was forged, or the profile has changed"
                ))
            })?;
        }
        Ok(())
    }

    /// The act that a record is about: of an undo, what it took back; and whether the changes are the other way
    /// round.
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

    /// The intent of an act. All intents of its transaction are read and kept: they stand in one line, and an undo
    /// of a bulk asks for one after the other.
    fn intent_of(&mut self, action_id: &str) -> Result<Option<Record>, RecoveryError> {
        if !self.intents.contains_key(action_id) {
            let transaction = action_id.split_once('.').map_or(action_id, |(transaction, _)| transaction);
            let records = self.trail.batch(transaction)?.into_iter().map(|entry| entry.record);
            self.intents.clear();
            for intent in records.filter(|record| record.stage == Stage::Intent) {
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
