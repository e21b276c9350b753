//! Releasing a session: everything it holds, and then its own end.

use super::bulk::Ended;
use super::perform::{Desk, RecoveryError, Report};
use super::scribe::Scribe;
use super::trail::{Stage, new_action_id};
use crate::domain::recovery::{Action, Outcome, Word};
use crate::store::session::END;
use crate::store::{Acted, Ends, Holding, Registered, SideEffects};

impl Desk {
    /// Releases everything that was seen to be held, then ends the session where the profile says
    /// how; `each` hears of every act, the end last, and may stop it with `false`. [`crate::store::Actor::held_by`]
    /// is the look before it.
    ///
    /// If the session or one of its claims takes more than was said, nothing is done, and a single
    /// refusal tells why.
    pub fn release_session(
        &mut self,
        holding: &Holding,
        word: &Word,
        each: &mut dyn FnMut(Report) -> bool,
    ) -> Result<(), RecoveryError> {
        self.settle_open_actions()?;
        if let Err(why) = self.actor.permit_session(holding, word) {
            let refusal = self.refuse(holding, word, why);
            each(refusal?);
            return Ok(());
        }
        let claims = holding.claims.iter().collect();
        match self.perform_each(claims, Action::Release, word, &mut |told| each(told.report()))? {
            Ended::Early(_) => return Ok(()),
            Ended::AtTheEnd(_) => {}
        }
        for session in holding.registered.iter().filter(|session| session.ends == Ends::Described) {
            if !each(self.end_session(session, word)?) {
                break;
            }
        }
        Ok(())
    }

    /// What a release of the session would do, with nothing written anywhere.
    pub fn rehearse_session(&mut self, holding: &Holding, word: &Word) -> Result<Vec<Report>, RecoveryError> {
        if let Err(why) = self.actor.permit_session(holding, word) {
            return Ok(vec![refused(holding, new_action_id(), Outcome::Refused(why))]);
        }
        let (released, ended) = self.actor.rehearse_session(holding, word)?;
        let claims = holding.claims.iter().zip(released);
        let mut reports: Vec<Report> =
            claims.map(|(seen, acted)| self.report(seen, &new_action_id(), Action::Release, acted)).collect();
        let sessions = holding.registered.iter().zip(ended);
        let described = sessions.filter(|(session, _)| session.ends == Ends::Described);
        reports.extend(described.map(|(session, acted)| self.ended(session, new_action_id(), acted)));
        Ok(reports)
    }

    fn refuse(&mut self, holding: &Holding, word: &Word, why: String) -> Result<Report, RecoveryError> {
        let Desk { trail, who, source, fingerprint, .. } = self;
        let scribe = Scribe { who, source, fingerprint, word };
        let (id, outcome) = (new_action_id(), Outcome::Refused(why));
        trail.append(&[scribe.refusal(&holding.session, &id, &outcome)])?;
        Ok(refused(holding, id, outcome))
    }

    fn end_session(&mut self, session: &Registered, word: &Word) -> Result<Report, RecoveryError> {
        let _at_work = self.trail.at_work();
        let Desk { actor, trail, who, source, fingerprint, .. } = self;
        let scribe = Scribe { who, source, fingerprint, word };
        let id = new_action_id();
        let acted = actor.end_session(session, word, &id, &mut |acted| {
            let intent = scribe.end(Stage::Intent, session, &id, acted);
            trail.append(&[intent]).map(|_| ()).map_err(|error| error.to_string())
        })?;
        // The act is done and its intent is on record; the outcome can be found out from the rows.
        let unwritten = trail.append(&[scribe.end(Stage::Outcome, session, &id, &acted)]).err();
        let mut report = self.ended(session, id, acted);
        report.preview.clear();
        report.confess(unwritten.as_ref());
        Ok(report)
    }

    fn ended(&self, session: &Registered, action_id: String, acted: Acted) -> Report {
        Report {
            action_id,
            action: END,
            id: session.id.text().unwrap_or_default(),
            address: session.address(),
            holder: session.id.text(),
            changes: acted.changes,
            outcome: acted.outcome,
            preview: acted.preview,
            effects: acted.effects,
        }
    }
}

fn refused(holding: &Holding, action_id: String, outcome: Outcome) -> Report {
    Report {
        action_id,
        action: Action::Release.as_str(),
        id: holding.session.clone(),
        address: holding.session.clone(),
        holder: Some(holding.session.clone()),
        changes: Vec::new(),
        outcome,
        preview: Vec::new(),
        effects: SideEffects::default(),
    }
}
