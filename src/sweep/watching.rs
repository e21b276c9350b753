//! What a sweep remembers from look to look, and how often it must have seen a claim before it takes it.

use super::boards::Board;
use super::candidates::{Candidate, rules_of};
use super::clock_continuity::Clocks;
use super::database_clock::DatabaseClock;
use super::pass::Pass;
use super::reason::{SweepReason, patience};
use super::sightings::{Look, Needs, Shown, Sightings};
use crate::domain::claim::StampedBy;
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Span;
use crate::domain::token::SeenToken;

/// Claims that are remembered from one look to the next.
const REMEMBERED: usize = 20_000;

/// What earlier looks have left: without it the workers' clocks are trusted.
#[derive(Debug)]
pub struct Memory<'a> {
    pub sightings: &'a mut Sightings,
    pub clock: &'a mut DatabaseClock,
    /// The time since the machine's start.
    pub at: Span,
}

/// This look, while it is under way.
pub(super) struct Watching<'a> {
    pub(super) look: Look<'a>,
    pub(super) clock: &'a mut DatabaseClock,
}

impl Pass<'_> {
    /// Begins to watch, and says so if the database's clock was set since the last look.
    pub(super) fn begin<'m>(&mut self, memory: Memory<'m>, snapshots: &[Snapshot]) -> Watching<'m> {
        let Memory { sightings, clock, at } = memory;
        if let (Some(snapshot), Some(clocks)) = (snapshots.first(), Clocks::read())
            && let Some(jump) = clock.look(snapshot.now, snapshot.clock_offset, &clocks)
            && self.actor.actor().has_clock()
        {
            sightings.restart();
            self.summary.paused = true;
            self.summary.notices.push(format!(
                "the database's clock jumped by {jump}: what was stamped before is watched for its time to live"
            ));
        }
        Watching { look: sightings.look(at, REMEMBERED), clock }
    }

    /// Those that have been seen often enough under our own eyes.
    pub(super) fn ripe(
        &mut self,
        all: Vec<Candidate>,
        board: &Board,
        snapshots: &[Snapshot],
        watching: Option<&mut Watching<'_>>,
    ) -> Vec<Candidate> {
        let Some(watching) = watching else { return all };
        let mut ripe = Vec::new();
        for one in all {
            let needs = self.needs(&one, board, watching);
            match self.shown(&one, snapshots, needs) {
                Some(shown) if watching.look.sees(&shown) => ripe.push(one),
                _ => self.summary.watching += 1,
            }
        }
        ripe
    }

    pub(super) fn shown(&self, one: &Candidate, snapshots: &[Snapshot], needs: Needs) -> Option<Shown> {
        let Candidate { seen, address, ground, .. } = one;
        let rules = rules_of(seen, snapshots)?;
        let token = |token: Option<SeenToken>| token.map(|token| token.to_string()).unwrap_or_default();
        let seen_as = seen.judged.seen;
        // An expired claim is the same whether or not its session has gone silent as well.
        let mark = match ground {
            SweepReason::Expired(_) => {
                format!("expired {}", token(seen_as.map(SeenToken::without_session)))
            }
            SweepReason::Orphaned(_) => format!("orphaned {}", token(seen_as)),
        };
        let own = || patience(&seen.judged.claim, rules, *ground);
        let patience = self.orders.sighted_for.unwrap_or_else(own);
        Some(Shown { address: address.clone(), mark, patience, needs })
    }

    /// How often the claim must be seen. One look is enough where the database itself has stamped its times, and
    /// what is stored agrees with the database's clock.
    pub(super) fn needs(&mut self, one: &Candidate, board: &Board, watching: &Watching<'_>) -> Needs {
        let claim = &one.seen.judged.claim;
        let stamped = board.stamped_by == StampedBy::Database && self.actor.actor().has_clock();
        let by_its_own_times = matches!(one.ground, SweepReason::Expired(_));
        let agrees = !board.is_skewed && watching.clock.believes(claim.sign_of_life());
        let is_enough = stamped && by_its_own_times && agrees && self.orders.sighted_for.is_none();
        if is_enough { Needs::OneLook } else { Needs::TwoLooks }
    }
}
