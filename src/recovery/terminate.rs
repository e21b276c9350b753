//! Ends the server session that holds a claim, with a record.

use super::audit_writer::AuditWriter;
use super::audited_actor::{AuditedActor, RecoveryError};
use super::trail::{Record, RecordStage, new_action_id};
use crate::domain::recovery::{Authorization, Outcome};
use crate::store::suspend::uninterrupted;
use crate::store::{Backend, Seen, TerminateOrder};

/// The result of ending a server session.
#[derive(Debug)]
pub struct Termination {
    pub action_id: String,
    pub outcome: Outcome,
    pub id: String,
    pub address: String,
    pub holder: Option<String>,
    /// The session, if there is one.
    pub backend: Option<Backend>,
    pub dry_run: bool,
    /// Why the outcome is not on record although it was done.
    pub unrecorded: Option<String>,
}

impl AuditedActor {
    /// Ends the server session that holds the claim that was seen. It cannot be undone.
    pub fn terminate(
        &mut self,
        seen: &Seen,
        authorization: &Authorization,
        dry_run: bool,
    ) -> Result<Termination, RecoveryError> {
        let _uninterrupted = uninterrupted();
        let _at_work = self.trail.at_work();
        let AuditedActor { actor, trail, who, source, fingerprint, .. } = self;
        let audit = AuditWriter { who, source, fingerprint, authorization };
        let id = new_action_id();
        let order = TerminateOrder { authorization, action_id: &id, dry_run };
        let done = actor.terminate(seen, &order, &mut |pending, backend| {
            let intent = Record {
                db_at: Some(pending.db_at.rfc3339()),
                ..audit.terminate(RecordStage::Intent, &id, pending.seen, Some(backend))
            };
            trail.append(&[intent]).map(|_| ()).map_err(|error| error.to_string())
        })?;
        let unwritten = if dry_run {
            None
        } else {
            let outcome = Record {
                outcome: Some(done.outcome.as_str().into()),
                why: done.outcome.why(),
                ..audit.terminate(RecordStage::Outcome, &id, seen, done.backend.as_ref())
            };
            trail.append(&[outcome]).err()
        };
        Ok(Termination {
            action_id: id,
            id: seen.judged.claim.key.text(),
            address: seen.address(),
            holder: seen.judged.claim.holder.clone(),
            unrecorded: unwritten.filter(|_| done.outcome == Outcome::Applied).map(|error| error.to_string()),
            outcome: done.outcome,
            backend: done.backend,
            dry_run,
        })
    }
}
