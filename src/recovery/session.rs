//! Releases a session: everything it holds, and then the session itself.

use super::audit_writer::AuditWriter;
use super::audited_actor::{ActReport, AuditedActor, RecoveryError};
use super::bulk::BulkRun;
use super::plan::BulkResult;
use super::trail::{Record, RecordStage, new_action_id};
use crate::domain::fencing::Fencing;
use crate::domain::recovery::{Action, Authorization, Moved, Outcome, Refusal};
use crate::domain::tally::BulkTally;
use crate::domain::visible::visible;
use crate::store::session::END;
use crate::store::suspend::uninterrupted;
use crate::store::{Acted, Ends, Holding, Order, Registered, Seen, SideEffects};

impl AuditedActor {
    /// The expected result of releasing the session. Nothing will be released if the session, or one of its claims,
    /// needs more authorization than was given.
    pub fn plan_session(
        &mut self,
        holding: &Holding,
        authorization: &Authorization,
    ) -> Result<BulkTally, RecoveryError> {
        let ends: Vec<&Registered> = ends(holding).collect();
        let mut tally = BulkTally::of(holding.claims.len() + ends.len());
        if let Err(refused) = self.actor.permit_session(holding, authorization) {
            let outcome = Outcome::Refused(refused);
            (0..tally.wanted).for_each(|_| tally.add(&outcome, || visible(&holding.session)));
            return Ok(tally);
        }
        let order = Order { action: Action::Release, authorization, action_id: "", dry_run: true };
        let claims: Vec<&Seen> = holding.claims.iter().collect();
        for (seen, outcome) in claims.iter().zip(self.actor.foresee(&claims, &order)?) {
            tally.add(&outcome, || seen.judged.claim.key.visible());
        }
        let outcome = match tally.refused {
            0 => Outcome::Applied,
            // A session ends only once it holds nothing.
            some => Outcome::Moved(Moved::HoldsClaims(some as u64)),
        };
        ends.iter().for_each(|_| tally.add(&outcome, || visible(&holding.session)));
        Ok(tally)
    }

    /// Releases everything that the session was seen to hold, then ends it if the profile says how. `each` receives
    /// every act, the end of the session last, and may stop with `false`. [`crate::store::Actor::held_by`] reads what
    /// it holds. One id undoes all of it.
    ///
    /// If the session or one of its claims needs more authorization than was given, nothing is done, and a single
    /// refusal says why.
    pub fn release_session(
        &mut self,
        holding: &Holding,
        authorization: &Authorization,
        each: &mut dyn FnMut(ActReport) -> bool,
    ) -> Result<BulkResult, RecoveryError> {
        self.settle_open_actions()?;
        let ends: Vec<&Registered> = ends(holding).collect();
        let mut run = BulkRun::new();
        let wanted = BulkTally::of(holding.claims.len() + ends.len());
        let mut result = BulkResult::new(run.batch.clone(), wanted);
        if let Err(refused) = self.actor.permit_session(holding, authorization) {
            let outcome = Outcome::Refused(refused.clone());
            (0..result.tally.wanted).for_each(|_| result.tally.add(&outcome, || visible(&holding.session)));
            let refusal = self.refuse(holding, authorization, refused);
            each(refusal?);
            return Ok(result);
        }
        let claims = holding.claims.iter().collect();
        let tally = &mut result.tally;
        let ended = self.perform_each(claims, Action::Release, authorization, &mut run, &mut |told| {
            tally.add(&told.acted.outcome, || told.seen.judged.claim.key.visible());
            each(told.report())
        });
        if !result.goes_on(ended) {
            return Ok(result);
        }
        for session in ends {
            let report = self.end_session(session, authorization, &run.batch);
            if !result.tell(report, each) {
                break;
            }
        }
        Ok(result)
    }

    /// What a release of the session would do; writes nothing.
    pub fn rehearse_session(
        &mut self,
        holding: &Holding,
        authorization: &Authorization,
    ) -> Result<Vec<ActReport>, RecoveryError> {
        if let Err(why) = self.actor.permit_session(holding, authorization) {
            return Ok(vec![refused(holding, new_action_id(), Outcome::Refused(why))]);
        }
        let (released, ended) = self.actor.rehearse_session(holding, authorization)?;
        let claims = holding.claims.iter().zip(released);
        let mut reports: Vec<ActReport> =
            claims.map(|(seen, acted)| self.report(seen, &new_action_id(), Action::Release, acted)).collect();
        let sessions = holding.registered.iter().zip(ended);
        let described = sessions.filter(|(session, _)| session.ends == Ends::Described);
        reports.extend(described.map(|(session, acted)| self.ended(session, new_action_id(), acted)));
        Ok(reports)
    }

    fn refuse(
        &mut self,
        holding: &Holding,
        authorization: &Authorization,
        why: Refusal,
    ) -> Result<ActReport, RecoveryError> {
        let AuditedActor { trail, who, source, fingerprint, .. } = self;
        let audit = AuditWriter { who, source, fingerprint, authorization };
        let (id, outcome) = (new_action_id(), Outcome::Refused(why));
        trail.append(&[audit.refusal(&holding.session, &id, &outcome)])?;
        Ok(refused(holding, id, outcome))
    }

    fn end_session(
        &mut self,
        session: &Registered,
        authorization: &Authorization,
        batch: &str,
    ) -> Result<ActReport, RecoveryError> {
        let _uninterrupted = uninterrupted();
        let _at_work = self.trail.at_work();
        let AuditedActor { actor, trail, who, source, fingerprint, .. } = self;
        let audit = AuditWriter { who, source, fingerprint, authorization };
        let id = new_action_id();
        let of_bulk = |record| Record { batch: Some(batch.into()), ..record };
        let acted = actor.end_session(session, authorization, &id, &mut |acted| {
            let intent = of_bulk(audit.end(RecordStage::Intent, session, &id, acted));
            trail.append(&[intent]).map(|_| ()).map_err(|error| error.to_string())
        })?;
        // The act is done and its intent is on record; the outcome can be found out from the rows.
        let unwritten = trail.append(&[of_bulk(audit.end(RecordStage::Outcome, session, &id, &acted))]).err();
        let mut report = self.ended(session, id, acted);
        report.preview.clear();
        report.note_unrecorded(unwritten.as_ref());
        Ok(report)
    }

    fn ended(&self, session: &Registered, action_id: String, acted: Acted) -> ActReport {
        ActReport {
            action_id,
            action: END,
            id: session.id.text().unwrap_or_default(),
            address: session.address(),
            holder: session.id.text(),
            fencing: Fencing::Unknown,
            risk: None,
            changes: acted.changes,
            outcome: acted.outcome,
            preview: acted.preview,
            effects: acted.effects,
            unrecorded: None,
        }
    }
}

/// The rows of a session that end with it.
fn ends(holding: &Holding) -> impl Iterator<Item = &Registered> {
    holding.registered.iter().filter(|session| session.ends == Ends::Described)
}

fn refused(holding: &Holding, action_id: String, outcome: Outcome) -> ActReport {
    ActReport {
        action_id,
        action: Action::Release.as_str(),
        id: holding.session.clone(),
        address: holding.session.clone(),
        holder: Some(holding.session.clone()),
        fencing: Fencing::Unknown,
        risk: None,
        changes: Vec::new(),
        outcome,
        preview: Vec::new(),
        effects: SideEffects::default(),
        unrecorded: None,
    }
}
