//! A bulk act from its preview to its result. Both are the same tally: the preview asks the rules before anything
//! is written, and only what they allow is tried.

use super::audited_actor::{AuditedActor, RecoveryError, Report};
use super::bulk::{Ended, Run, Told};
use crate::domain::recovery::{Action, Authorization, Outcome};
use crate::domain::tally::BulkTally;
use crate::domain::visible::visible;
use crate::store::{Noted, Order, Part, Seen, Selection};

/// So many claims are listed in a preview.
pub const LISTED: usize = 40;

/// A bulk act that was looked at and not yet done.
#[derive(Debug)]
pub struct BulkPlan {
    pub action: Action,
    /// What will come of it if nothing moves: `applied` will be done, the rest is not even tried.
    pub preview: BulkTally,
    /// The first of those that will be done.
    pub listed: Vec<ListedClaim>,
    /// Those that will be done.
    claims: Selection,
}

/// A claim in a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedClaim {
    pub address: String,
    pub why: String,
}

/// What came of a bulk act.
#[derive(Debug)]
pub struct BulkResult {
    /// Undoes all of it, if anything was done; none if it was one act after all.
    pub batch: Option<String>,
    pub tally: BulkTally,
    /// What ended it before its end, unless the tally has a claim that says so.
    pub error: Option<RecoveryError>,
}

impl BulkResult {
    pub(super) fn new(batch: String, tally: BulkTally) -> BulkResult {
        BulkResult { batch: Some(batch), tally, error: None }
    }

    /// Counts one act and tells of it; whether the next may begin.
    pub(super) fn tell(
        &mut self,
        report: Result<Report, RecoveryError>,
        each: &mut dyn FnMut(Report) -> bool,
    ) -> bool {
        let report = match report {
            Ok(report) => report,
            Err(error) => return self.goes_on(Err(error)),
        };
        self.tally.add(&report.outcome, || visible(&report.id));
        let stop = report.outcome.stops_a_bulk().map(Ended::Stopped);
        let ended = if each(report) { Ended::AtTheEnd } else { Ended::Early };
        self.goes_on(Ok(stop.unwrap_or(ended)))
    }

    /// Takes in how a part of it ended; whether the next part may begin.
    pub(super) fn goes_on(&mut self, ended: Result<Ended, RecoveryError>) -> bool {
        let why = match ended {
            Ok(Ended::AtTheEnd) => return true,
            Ok(Ended::Stopped(why)) => why,
            Ok(Ended::Early) => "the output was closed".into(),
            Err(error) => {
                let why = error.to_string();
                self.error = Some(error);
                why
            }
        };
        // What ended the last act has stopped nothing.
        self.tally.stopped = Some(why).filter(|_| self.tally.not_tried() > 0);
        false
    }
}

impl AuditedActor {
    /// Asks the rules about each of the claims; `skipped` hears of those that will not be tried.
    pub fn plan(
        &mut self,
        claims: Selection,
        action: Action,
        authorization: &Authorization,
        skipped: &mut dyn FnMut(Report),
    ) -> Result<BulkPlan, RecoveryError> {
        let samples = claims.samples().to_vec();
        let mut plan = BulkPlan {
            action,
            preview: BulkTally::of(claims.len()),
            listed: Vec::new(),
            claims: Selection::default(),
        };
        let (mut whole, mut noted) = (Vec::new(), Vec::new());
        for part in claims.parts() {
            match part {
                Part::Whole(all) => {
                    let permitted = self.foresee(&mut plan, &all, authorization, skipped)?;
                    whole.extend(all.into_iter().zip(permitted).filter_map(|(seen, is)| is.then_some(seen)));
                }
                Part::Noted(all) => {
                    let (all, seen) = self.seen_again(all, &mut plan.preview)?;
                    let permitted = self.foresee(&mut plan, &seen, authorization, skipped)?;
                    noted.extend(all.into_iter().zip(permitted).filter_map(|(one, is)| is.then_some(one)));
                }
            }
        }
        plan.claims = Selection::of(whole, noted, samples);
        Ok(plan)
    }

    /// Whether each of the claims may be done; tallied.
    fn foresee(
        &mut self,
        plan: &mut BulkPlan,
        all: &[Seen],
        authorization: &Authorization,
        skipped: &mut dyn FnMut(Report),
    ) -> Result<Vec<bool>, RecoveryError> {
        let order = Order { action: plan.action, authorization, action_id: "", dry_run: true };
        let outcomes = self.actor.foresee(&all.iter().collect::<Vec<_>>(), &order)?;
        let mut permitted = Vec::with_capacity(all.len());
        for (seen, outcome) in all.iter().zip(outcomes) {
            plan.preview.add(&outcome, || seen.judged.claim.key.visible());
            permitted.push(outcome == Outcome::Applied);
            if outcome != Outcome::Applied {
                skipped(self.skipped(seen, plan.action, outcome));
            } else if plan.listed.len() < LISTED {
                let (address, why) = (self.actor.address(seen), seen.why.clone());
                plan.listed.push(ListedClaim { address, why });
            }
        }
        Ok(permitted)
    }

    /// Those of the claims that are what they were; the others have moved.
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

    /// Does what was planned. Errors on the way end it, and are in the result with what was done before.
    pub fn run_plan(
        &mut self,
        plan: BulkPlan,
        authorization: &Authorization,
        each: &mut dyn FnMut(Told<'_>) -> bool,
    ) -> Result<BulkResult, RecoveryError> {
        self.settle_open_actions()?;
        let BulkPlan { action, preview, claims, .. } = plan;
        let mut run = Run::new();
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

    fn skipped(&self, seen: &Seen, action: Action, outcome: Outcome) -> Report {
        self.report(seen, "", action, crate::store::Acted::nothing(outcome))
    }
}

impl BulkPlan {
    /// A claim of each profile whose claims it is about.
    pub fn samples(&self) -> &[Seen] {
        self.claims.samples()
    }
}
