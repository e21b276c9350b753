//! A bulk act from its preview to its result. Both are the same tally: the preview applies the rules before anything is
//! written, and only claims that they allow are tried.

use std::collections::{BTreeMap, BTreeSet};

use super::audited_actor::{ActReport, AuditedActor, RecoveryError};
use super::bulk::{BulkEnd, BulkRun, PerformedAct};
use super::listing::{HolderTally, Listing};
use crate::domain::fencing::UNFENCED;
use crate::domain::idle::LeftAlone;
use crate::domain::recovery::{Action, Authorization, Moved, Outcome};
use crate::domain::snapshot::Judged;
use crate::domain::tally::{BulkTally, Foreseen};
use crate::domain::visible::visible;
use crate::store::{Noted, Order, Part, Seen, Selection};

/// A planned bulk act.
#[derive(Debug)]
pub struct BulkPlan {
    pub action: Action,
    /// What will happen if nothing changes: `applied` will be done, the rest will not be tried.
    pub preview: BulkTally,
    /// The claims one by one.
    pub listing: Listing,
    /// The result for the claims of each holder.
    pub holders: BTreeMap<String, HolderTally>,
    /// What happens to the selected claims if nobody acts.
    pub left_alone: LeftAlone,
    /// How many of the claims that will be done could be finished a second time by a late worker.
    pub unfenced: usize,
    /// The claims that will be done.
    claims: Selection,
    /// The claims that will also be done if their holders are named.
    named: UnnamedClaims,
}

/// The claims whose holders must be named.
#[derive(Debug, Default)]
struct UnnamedClaims {
    whole: Vec<Seen>,
    noted: Vec<Noted>,
    holders: BTreeSet<String>,
}

/// The result of a bulk act.
#[derive(Debug)]
pub struct BulkResult {
    /// The id that undoes all of it, if anything was done; none if there was only one act.
    pub batch: Option<String>,
    pub tally: BulkTally,
    /// What ended it early, unless a claim in the tally says so.
    pub error: Option<RecoveryError>,
}

impl BulkResult {
    pub(super) fn new(batch: String, tally: BulkTally) -> BulkResult {
        BulkResult { batch: Some(batch), tally, error: None }
    }

    /// Counts one act and reports it. Returns whether the next may begin.
    pub(super) fn tell(
        &mut self,
        report: Result<ActReport, RecoveryError>,
        each: &mut dyn FnMut(ActReport) -> bool,
    ) -> bool {
        let report = match report {
            Ok(report) => report,
            Err(error) => return self.goes_on(Err(error)),
        };
        self.tally.add(&report.outcome, || visible(&report.id));
        let stop = report.outcome.stops_a_bulk().map(BulkEnd::Stopped);
        let ended = if each(report) { BulkEnd::AtTheEnd } else { BulkEnd::Early };
        self.goes_on(Ok(stop.unwrap_or(ended)))
    }

    /// Records how a part ended. Returns whether the next part may begin.
    pub(super) fn goes_on(&mut self, ended: Result<BulkEnd, RecoveryError>) -> bool {
        let why = match ended {
            Ok(BulkEnd::AtTheEnd) => return true,
            Ok(BulkEnd::Stopped(why)) => why,
            Ok(BulkEnd::Early) => "the output was closed".into(),
            Err(error) => {
                let why = error.to_string();
                self.error = Some(error);
                why
            }
        };
        // An error of the last act has not prevented anything.
        self.tally.stopped = Some(why).filter(|_| self.tally.not_tried() > 0);
        false
    }
}

impl AuditedActor {
    /// Applies the rules to each claim; `skipped` receives those that will not be tried.
    pub fn plan(
        &mut self,
        claims: Selection,
        action: Action,
        authorization: &Authorization,
        skipped: &mut dyn FnMut(ActReport),
    ) -> Result<BulkPlan, RecoveryError> {
        let samples = claims.samples().to_vec();
        let mut plan = BulkPlan {
            action,
            preview: BulkTally::of(claims.len()),
            listing: Listing::default(),
            holders: BTreeMap::new(),
            left_alone: LeftAlone::default(),
            unfenced: 0,
            claims: Selection::default(),
            named: UnnamedClaims::default(),
        };
        let (mut whole, mut noted) = (Vec::new(), Vec::new());
        for part in claims.parts() {
            match part {
                Part::Whole(all) => {
                    let foreseen = self.foresee(&mut plan, &all, authorization, skipped)?;
                    for (seen, foreseen) in all.into_iter().zip(foreseen) {
                        match foreseen {
                            Foreseen::Done => whole.push(seen),
                            Foreseen::NeedsName => plan.named.whole.push(seen),
                            Foreseen::Skipped => {}
                        }
                    }
                }
                Part::Noted(all) => {
                    let (all, seen) = self.seen_again(all, &mut plan.preview)?;
                    let foreseen = self.foresee(&mut plan, &seen, authorization, skipped)?;
                    for (one, foreseen) in all.into_iter().zip(foreseen) {
                        match foreseen {
                            Foreseen::Done => noted.push(one),
                            Foreseen::NeedsName => plan.named.noted.push(one),
                            Foreseen::Skipped => {}
                        }
                    }
                }
            }
        }
        plan.claims = Selection::of(whole, noted, samples);
        Ok(plan)
    }

    /// What will happen to each claim, with a tally.
    fn foresee(
        &mut self,
        plan: &mut BulkPlan,
        all: &[Seen],
        authorization: &Authorization,
        skipped: &mut dyn FnMut(ActReport),
    ) -> Result<Vec<Foreseen>, RecoveryError> {
        let order = Order { action: plan.action, authorization, action_id: "", dry_run: true };
        let outcomes = self.actor.foresee(&all.iter().collect::<Vec<_>>(), &order)?;
        let mut foreseen = Vec::with_capacity(all.len());
        for (seen, outcome) in all.iter().zip(outcomes) {
            plan.preview.add(&outcome, || seen.judged.claim.key.visible());
            let one = Foreseen::of(&outcome);
            foreseen.push(one);
            let holder = seen.judged.claim.holder.clone().unwrap_or_default();
            if one == Foreseen::NeedsName {
                plan.named.holders.insert(holder.clone());
            }
            plan.holders.entry(holder).or_default().add(one);
            if one != Foreseen::Skipped
                && let Some(nature) = self.actor.nature(seen)
            {
                let Judged { claim, verdict, .. } = &seen.judged;
                plan.left_alone.add(claim, verdict, &nature, seen.now);
            }
            let is_at_risk = outcome == Outcome::Applied && seen.risk(plan.action).is_some();
            plan.unfenced += usize::from(is_at_risk);
            plan.listing.add(one, || {
                let why = outcome.cause().unwrap_or_else(|| seen.why.clone());
                (self.actor.address(seen), why)
            });
            if outcome != Outcome::Applied {
                skipped(self.skipped(seen, plan.action, outcome));
            }
        }
        Ok(foreseen)
    }

    /// The claims that are unchanged; the others have moved.
    fn seen_again(
        &mut self,
        all: Vec<Noted>,
        tally: &mut BulkTally,
    ) -> Result<(Vec<Noted>, Vec<Seen>), RecoveryError> {
        let again = self.actor.look_again(&all)?;
        let (mut noted, mut seen) = (Vec::new(), Vec::new());
        for (one, again) in all.into_iter().zip(again) {
            match again {
                Ok(again) => {
                    noted.push(one);
                    seen.push(again);
                }
                Err(moved) => tally.add(&Outcome::Moved(moved), || "one of them".into()),
            }
        }
        Ok((noted, seen))
    }

    /// Performs the plan. An error ends it, and is in the result together with what was done before.
    pub fn run_plan(
        &mut self,
        plan: BulkPlan,
        authorization: &Authorization,
        each: &mut dyn FnMut(PerformedAct<'_>) -> bool,
    ) -> Result<BulkResult, RecoveryError> {
        self.settle_open_actions()?;
        let BulkPlan { action, preview, claims, .. } = plan;
        let mut run = BulkRun::new();
        let mut result = BulkResult::new(run.batch.clone(), preview.without_applied());
        for part in claims.parts() {
            let seen = match part {
                Part::Whole(all) => all,
                Part::Noted(all) => match self.seen_again(all, &mut result.tally) {
                    Ok((_, seen)) => seen,
                    Err(error) => {
                        result.goes_on(Err(error));
                        break;
                    }
                },
            };
            let tally = &mut result.tally;
            let ended =
                self.perform_each(seen.iter().collect(), action, authorization, &mut run, &mut |told| {
                    tally.add(&told.acted.outcome, || told.seen.judged.claim.key.visible());
                    each(told)
                });
            if !result.goes_on(ended) {
                break;
            }
        }
        Ok(result)
    }

    fn skipped(&self, seen: &Seen, action: Action, outcome: Outcome) -> ActReport {
        self.report(seen, "", action, crate::store::Acted::nothing(outcome))
    }
}

impl BulkPlan {
    /// Counts and lists a claim that had changed before the rules were asked about it.
    pub fn add_moved(&mut self, address: &str, shown: String, moved: Moved) {
        self.listing.add(Foreseen::Skipped, || (address.to_owned(), moved.to_string()));
        self.preview.wanted += 1;
        self.preview.add(&Outcome::Moved(moved), || shown);
    }

    /// How many claims will be done only if their holders are named.
    pub fn needs_name(&self) -> usize {
        self.named.whole.len() + self.named.noted.len()
    }

    /// The holders of those claims.
    pub fn unnamed_holders(&self) -> impl Iterator<Item = &str> {
        self.named.holders.iter().map(String::as_str)
    }

    /// Includes the claims whose holders were named.
    pub fn include_named(&mut self) {
        self.preview.include_named(self.needs_name());
        let UnnamedClaims { whole, noted, .. } = std::mem::take(&mut self.named);
        let samples = self.claims.samples().to_vec();
        let (mut all_whole, mut all_noted) = std::mem::take(&mut self.claims).into_parts();
        all_whole.extend(whole);
        all_noted.extend(noted);
        self.claims = Selection::of(all_whole, all_noted, samples);
    }

    /// The risk of the act, if any.
    pub fn risk(&self) -> Option<String> {
        (self.unfenced > 0).then(|| format!("{} of {}: {UNFENCED}", self.unfenced, self.preview.applied))
    }

    /// One claim of each profile that is concerned.
    pub fn samples(&self) -> &[Seen] {
        self.claims.samples()
    }
}
