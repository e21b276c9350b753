//! Acts on many claims: read them first, then act on exactly what was seen.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use super::{SourceActor, still_there};
use crate::app::bulk::{BulkOf, Many, PreviewLine, Ready, Summary, Unnamed, filter_of_worst};
use crate::app::message::Msg;
use crate::domain::recovery::{Action, Authorization, Outcome};
use crate::domain::tally::{BulkTally, Foreseen};
use crate::domain::visible::visible;
use crate::recovery::{ActReport, AuditedActor, BulkPlan, BulkResult, HolderTally, LISTED};
use crate::store::{Ends, Holding, Seen, Selection};

/// What was seen, and the actor that read it.
pub(super) struct PreparedBulk {
    actor: AuditedActor,
    seen: BulkTarget,
}

/// The target of a bulk act.
enum BulkTarget {
    Claims(Box<BulkPlan>),
    Session(Box<Holding>, BulkTally),
}

/// At most this many claims of a bulk act are remembered by address.
const REMEMBERED: usize = 10_000;

impl SourceActor {
    pub(super) fn prepare(&mut self, action: Action, what: &Many) -> Result<Ready, String> {
        if let Some(PreparedBulk { actor, .. }) = self.prepared.take() {
            self.claims.keep(actor);
        }
        self.cancelled.store(false, Ordering::Relaxed);
        let mut actor = self.claims.take()?;
        let mut moved = Vec::new();
        let claims = match what {
            Many::Session(session) => return self.prepare_session(actor, session),
            Many::Marked(targets) => {
                let mut all = Vec::new();
                for target in targets {
                    match still_there(&mut actor, target)? {
                        Ok(seen) => all.push(seen),
                        Err(what) => moved.push((target, what)),
                    }
                }
                Selection::from(all)
            }
            Many::Worst(set) => {
                actor.actor().selection(&filter_of_worst(*set)).map_err(|error| error.to_string())?
            }
            Many::Group(group) => {
                actor.actor().selection(&group.filter).map_err(|error| error.to_string())?
            }
        };
        let planned = actor.plan(claims, action, &Authorization::default(), &mut |_| ());
        let mut plan = planned.map_err(|error| error.to_string())?;
        for (target, what) in moved {
            plan.add_moved(&target.id.address, target.claim.key.visible(), what);
        }
        let (lines, unlisted) = listed(&plan);
        let unnamed = Unnamed {
            count: plan.needs_name(),
            holders: plan.unnamed_holders().map(str::to_owned).collect(),
        };
        let ready = Ready {
            tally: plan.preview.clone(),
            lines,
            unlisted,
            unnamed,
            left_alone: plan.left_alone.to_string(),
            notes: plan.risk().into_iter().collect(),
            holder: None,
            profiles: profiles(&mut actor, plan.samples()),
        };
        self.prepared = Some(PreparedBulk { actor, seen: BulkTarget::Claims(Box::new(plan)) });
        Ok(ready)
    }

    /// Everything that a session holds. Its name must be confirmed unless it is provably gone.
    fn prepare_session(&mut self, mut actor: AuditedActor, session: &str) -> Result<Ready, String> {
        let holding = actor.actor().held_by(session).map_err(|error| error.to_string())?;
        let mut all = lines(&mut actor, &holding.claims);
        let mut profiles = profiles(&mut actor, &holding.claims);
        profiles.extend(holding.registered.iter().map(|registered| registered.profile.clone()));
        let mut notes = Vec::new();
        for registered in &holding.registered {
            match registered.ends {
                Ends::Described => {
                    let said = format!("the session {} itself ends", visible(session));
                    all.push(PreviewLine::Also(said));
                }
                Ends::Undescribed => {
                    notes.push("The session itself stays: its profile does not say how one ends.".into());
                }
            }
        }
        let needs_name = actor.actor().permit_session(&holding, &Authorization::default()).is_err();
        // The result if the session is named.
        let authorization = Authorization {
            force: needs_name,
            holder: needs_name.then(|| session.to_owned()),
            reason: needs_name.then(|| "asked for".to_owned()),
            ..Authorization::default()
        };
        let tally = actor.plan_session(&holding, &authorization).map_err(|error| error.to_string())?;
        let holder = needs_name.then(|| session.to_owned());
        let unlisted = holding.claims.len().saturating_sub(LISTED);
        let tally_shown = tally.clone();
        let ready =
            Ready { tally: tally_shown, lines: all, unlisted, notes, holder, profiles, ..Ready::default() };
        let seen = BulkTarget::Session(Box::new(holding), tally);
        self.prepared = Some(PreparedBulk { actor, seen });
        Ok(ready)
    }

    pub(super) fn run_prepared(&mut self, question: u64, authorization: &Authorization) -> Summary {
        let source = self.source;
        let summary = |action, tally| Summary {
            source,
            of: BulkOf::Act(action),
            tally,
            batch: None,
            addresses: Vec::new(),
        };
        let Some(PreparedBulk { mut actor, seen }) =
            self.prepared.take().filter(|_| self.question == question)
        else {
            let stopped = Some("it was not looked at first".into());
            return summary(Action::Reclaim, BulkTally { stopped, ..BulkTally::of(1) });
        };
        let (mut done, mut addresses) = (0, Vec::new());
        let (answers, cancelled) = (&self.answers, &self.cancelled);
        let mut each = |report: ActReport| {
            done += 1;
            if report.outcome == Outcome::Applied && addresses.len() < REMEMBERED {
                addresses.push(report.address);
            }
            if done % 100 == 0 {
                let _ = answers.blocking_send(Msg::BulkProgress { done });
            }
            !cancelled.load(Ordering::Relaxed)
        };
        let (action, preview, result) = match seen {
            BulkTarget::Claims(mut plan) => {
                if !authorization.holders.is_empty() {
                    plan.include_named();
                }
                let (action, preview) = (plan.action, plan.preview.clone());
                (action, preview, actor.run_plan(*plan, authorization, &mut |told| each(told.report())))
            }
            BulkTarget::Session(holding, preview) => {
                (Action::Release, preview, actor.release_session(&holding, authorization, &mut each))
            }
        };
        match result {
            Ok(BulkResult { batch, mut tally, error }) => {
                if cancelled.load(Ordering::Relaxed) && error.is_none() {
                    tally.stopped = tally.stopped.map(|_| "you cancelled it".into());
                }
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

/// What is foreseen of each holder's claims and of each claim, and how many claims have no line.
fn listed(plan: &BulkPlan) -> (Vec<PreviewLine>, usize) {
    let mut lines: Vec<PreviewLine> = plan.holders.iter().map(by_holder).collect();
    let holders = lines.len();
    for foreseen in Foreseen::ALL {
        lines.extend(plan.listing.of(foreseen).iter().map(|claim| PreviewLine::Claim {
            address: claim.address.clone(),
            foreseen,
            why: claim.why.clone(),
        }));
    }
    let unlisted = plan.preview.wanted.saturating_sub(lines.len() - holders);
    (lines, unlisted)
}

/// What comes of the claims of one holder: "web-3-0: 12 will be done, 1 needs the name".
fn by_holder((holder, tally): (&String, &HolderTally)) -> PreviewLine {
    let HolderTally { done, needs_name, skipped } = *tally;
    let name = if holder.is_empty() { "(no holder)".to_owned() } else { visible(holder) };
    let parts = [(done, "will be done"), (needs_name, "need the name"), (skipped, "skipped")];
    let some = parts.iter().filter(|(count, _)| *count > 0);
    let said: Vec<String> = some.map(|(count, what)| format!("{count} {what}")).collect();
    PreviewLine::Holder(format!("{name}: {}", said.join(", ")))
}

/// The claims of a session, one line each.
fn lines(actor: &mut AuditedActor, claims: &[Seen]) -> Vec<PreviewLine> {
    let line = |seen: &Seen| PreviewLine::Claim {
        address: actor.actor().address(seen),
        foreseen: Foreseen::Done,
        why: seen.why.clone(),
    };
    claims.iter().take(LISTED).map(line).collect()
}

/// The profiles of the claims, each once.
fn profiles(actor: &mut AuditedActor, claims: &[Seen]) -> Vec<String> {
    let names: BTreeSet<String> = claims.iter().map(|seen| actor.actor().names(seen).0).collect();
    names.into_iter().collect()
}
