//! What a sweep remembers from run to run, and how often it must have seen a claim before it takes it.

use super::board_counts::BoardCount;
use super::candidates::{SweepCandidate, rules_of};
use super::clock_continuity::Clocks;
use super::database_clock::DatabaseClock;
use super::pass::Pass;
use super::reason::{SweepReason, unchanged_for};
use super::sightings::{ObservedCandidate, RequiredSightings, SightingPass, Sightings};
use crate::domain::claim::StampedBy;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Span;
use crate::domain::token::SeenToken;

/// How many claims are remembered from one run to the next.
const REMEMBERED: usize = 20_000;

/// What earlier runs have left. Without it the workers' clocks are trusted.
#[derive(Debug)]
pub struct SweepMemory<'a> {
    pub sightings: &'a mut Sightings,
    pub clock: &'a mut DatabaseClock,
    /// The time since boot.
    pub at: Span,
}

/// The state of the current run.
pub(super) struct WatchPass<'a> {
    pub(super) look: SightingPass<'a>,
    pub(super) clock: &'a mut DatabaseClock,
}

impl Pass<'_> {
    /// Begins to watch, and reports if the database's clock was set since the last run.
    pub(super) fn begin<'m>(&mut self, memory: SweepMemory<'m>, snapshots: &[Snapshot]) -> WatchPass<'m> {
        let SweepMemory { sightings, clock, at } = memory;
        if let (Some(snapshot), Some(clocks)) = (snapshots.first(), Clocks::read())
            && let Some(jump) = clock.look(snapshot.now, snapshot.clock_offset, &clocks)
            && self.actor.actor().has_clock()
        {
            sightings.restart();
            self.summary.paused = true;
            self.summary.notices.push(format!(
                "the database's clock jumped by {jump}: older timestamps are watched for their time to live"
            ));
        }
        WatchPass { look: sightings.look(at, REMEMBERED), clock }
    }

    /// The claims that have been watched long enough.
    pub(super) fn ready(
        &mut self,
        all: Vec<SweepCandidate>,
        board: &BoardCount,
        snapshots: &[Snapshot],
        watching: Option<&mut WatchPass<'_>>,
    ) -> Vec<SweepCandidate> {
        let Some(watching) = watching else { return all };
        if let Some(clocks) = Clocks::read() {
            watching.look.rows_read_at(clocks.since_boot());
        }
        let mut ready = Vec::new();
        for one in all {
            let needs = self.needs(&one, board, watching);
            match self.shown(&one, snapshots, needs) {
                Some(shown) if watching.look.may_take(&shown) => ready.push(one),
                _ => self.summary.watching += 1,
            }
        }
        ready
    }

    pub(super) fn shown(
        &self,
        one: &SweepCandidate,
        snapshots: &[Snapshot],
        needs: RequiredSightings,
    ) -> Option<ObservedCandidate> {
        let SweepCandidate { seen, address, ground, .. } = one;
        let rules = rules_of(seen, snapshots)?;
        let token = |token: Option<SeenToken>| token.map(|token| token.to_string()).unwrap_or_default();
        let seen_as = seen.judged.seen;
        // An expired claim stays the same when its session falls silent as well.
        let mark = match ground {
            SweepReason::Expired(_) => {
                format!("expired {}", token(seen_as.map(SeenToken::without_session)))
            }
            SweepReason::Orphaned(_) => format!("orphaned {}", token(seen_as)),
        };
        let own = || unchanged_for(&seen.judged.claim, rules, *ground);
        let unchanged_for = self.options.sighted_for.unwrap_or_else(own);
        Some(ObservedCandidate { address: address.clone(), mark, unchanged_for, needs })
    }

    /// How often the claim must be seen. Once is enough if the database itself wrote its timestamps, and the stored
    /// values agree with the database's clock.
    pub(super) fn needs(
        &mut self,
        one: &SweepCandidate,
        board: &BoardCount,
        watching: &WatchPass<'_>,
    ) -> RequiredSightings {
        let claim = &one.seen.judged.claim;
        let stamped = board.stamped_by == StampedBy::Database && self.actor.actor().has_clock();
        let by_its_own_times = matches!(one.ground, SweepReason::Expired(_));
        let agrees = !board.is_skewed && watching.clock.believes(claim.sign_of_life());
        let is_enough = stamped && by_its_own_times && agrees && self.options.sighted_for.is_none();
        if is_enough { RequiredSightings::OneLook } else { RequiredSightings::TwoLooks }
    }
}
