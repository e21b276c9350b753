//! Acts on many claims: a look at them, and then the act on exactly what was seen.

use std::collections::BTreeSet;

use super::{Work, still_there};
use crate::app::message::{BulkOf, Many, Msg, Ready, Summary};
use crate::domain::recovery::{Action, Authorization, Outcome};
use crate::domain::tally::BulkTally;
use crate::domain::visible::visible;
use crate::recovery::{AuditedActor, BulkPlan, BulkResult, ListedClaim, Report};
use crate::store::{Ends, Filter, Holding, Seen, Selection};

/// What was seen, and the actor that saw it.
pub(super) struct Prepared {
    actor: AuditedActor,
    seen: Prospect,
}

/// What a bulk act is about to be done to.
enum Prospect {
    Claims(BulkPlan),
    Session(Box<Holding>, BulkTally),
}

/// So many of the claims of a bulk act are remembered by address.
const REMEMBERED: usize = 10_000;

impl Work {
    pub(super) fn prepare(&mut self, action: Action, what: Many) -> Result<Ready, String> {
        if let Some(Prepared { actor, .. }) = self.prepared.take() {
            self.claims.keep(actor);
        }
        let mut actor = self.claims.take()?;
        let mut moved = Vec::new();
        let claims = match what {
            Many::Session(session) => return self.prepare_session(actor, &session),
            Many::Marked(targets) => {
                let mut all = Vec::new();
                for target in &targets {
                    match still_there(&mut actor, target)? {
                        Ok(seen) => all.push(seen),
                        Err(what) => moved.push((target.claim.key.visible(), what)),
                    }
                }
                Selection::from(all)
            }
            Many::Set(set) => {
                let filter = Filter { sets: vec![set], ..Filter::default() };
                actor.actor().selection(&filter).map_err(|error| error.to_string())?
            }
        };
        let planned = actor.plan(claims, action, &Authorization::default(), &mut |_| ());
        let mut plan = planned.map_err(|error| error.to_string())?;
        plan.preview.wanted += moved.len();
        for (id, what) in moved {
            plan.preview.add(&Outcome::Moved(what), || id);
        }
        let line = |claim: &ListedClaim| format!("{}  {}", claim.address, claim.why);
        let ready = Ready {
            tally: plan.preview.clone(),
            lines: plan.listed.iter().map(line).collect(),
            notes: Vec::new(),
            holder: None,
            profiles: profiles(&mut actor, plan.samples()),
        };
        self.prepared = Some(Prepared { actor, seen: Prospect::Claims(plan) });
        Ok(ready)
    }

    /// Everything a session holds; its name is asked for unless it is provably gone.
    fn prepare_session(&mut self, mut actor: AuditedActor, session: &str) -> Result<Ready, String> {
        let holding = actor.actor().held_by(session).map_err(|error| error.to_string())?;
        let mut all = lines(&mut actor, &holding.claims);
        let mut profiles = profiles(&mut actor, &holding.claims);
        profiles.extend(holding.registered.iter().map(|registered| registered.profile.clone()));
        let mut notes = Vec::new();
        for registered in &holding.registered {
            match registered.ends {
                Ends::Described => all.push(format!("the session {} itself ends", visible(session))),
                Ends::Undescribed => {
                    notes.push("The session itself stays: its profile does not say how one ends.".into());
                }
            }
        }
        let needs_name = actor.actor().permit_session(&holding, &Authorization::default()).is_err();
        // What will be done if it is named.
        let word = Authorization {
            force: needs_name,
            holder: needs_name.then(|| session.to_owned()),
            reason: needs_name.then(|| "asked for".to_owned()),
            ..Authorization::default()
        };
        let tally = actor.plan_session(&holding, &word).map_err(|error| error.to_string())?;
        let holder = needs_name.then(|| session.to_owned());
        let ready = Ready { tally: tally.clone(), lines: all, notes, holder, profiles };
        let seen = Prospect::Session(Box::new(holding), tally);
        self.prepared = Some(Prepared { actor, seen });
        Ok(ready)
    }

    pub(super) fn run_prepared(&mut self, question: u64, word: &Authorization) -> Summary {
        let source = self.source;
        let summary = |action, tally| Summary {
            source,
            of: BulkOf::Act(action),
            tally,
            batch: None,
            addresses: Vec::new(),
        };
        let Some(Prepared { mut actor, seen }) = self.prepared.take().filter(|_| self.question == question)
        else {
            let stopped = Some("it was not looked at first".into());
            return summary(Action::Reclaim, BulkTally { stopped, ..BulkTally::of(1) });
        };
        let (mut done, mut addresses) = (0, Vec::new());
        let answers = &self.answers;
        let mut each = |report: Report| {
            done += 1;
            if report.outcome == Outcome::Applied && addresses.len() < REMEMBERED {
                addresses.push(report.address);
            }
            if done % 100 == 0 {
                let _ = answers.blocking_send(Msg::BulkProgress { done });
            }
            true
        };
        let (action, preview, result) = match seen {
            Prospect::Claims(plan) => {
                let (action, preview) = (plan.action, plan.preview.clone());
                (action, preview, actor.run_plan(plan, word, &mut |told| each(told.report())))
            }
            Prospect::Session(holding, preview) => {
                (Action::Release, preview, actor.release_session(&holding, word, &mut each))
            }
        };
        match result {
            Ok(BulkResult { batch, tally, error }) => {
                if error.is_none() {
                    self.claims.keep(actor);
                }
                Summary { batch, addresses, ..summary(action, tally) }
            }
            Err(error) => {
                let stopped = Some(error.to_string());
                summary(action, BulkTally { stopped, ..preview.without_applied() })
            }
        }
    }
}

/// The first of the claims, one line each.
fn lines(actor: &mut AuditedActor, claims: &[Seen]) -> Vec<String> {
    claims.iter().take(40).map(|seen| format!("{}  {}", actor.actor().address(seen), seen.why)).collect()
}

/// The profiles of the claims, each once.
fn profiles(actor: &mut AuditedActor, claims: &[Seen]) -> Vec<String> {
    let names: BTreeSet<String> = claims.iter().map(|seen| actor.actor().names(seen).0).collect();
    names.into_iter().collect()
}
