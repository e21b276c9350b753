//! The claims that a sweep may take, found part by part.

use std::ops::Range;

use super::board_counts::{BoardCount, BoardState, GroundKind};
use super::options::SweepError;
use super::pass::{EventOutput, PART, Pass};
use super::reason::{SweepReason, ground, shows_life};
use super::recent_sweeps::RecentSweeps;
use super::summary::SweepSummary;
use crate::domain::claim::Role;
use crate::domain::rules::Rules;
use crate::domain::snapshot::Snapshot;
use crate::domain::verdict::{Reason, Reasons};
use crate::events::{ClaimContext, Event, Origin, millis};
use crate::recovery::audited_actor::RecoveryError;
use crate::store::{Filter, Found, Seen};

/// A claim that a sweep may take.
pub(super) struct SweepCandidate {
    pub(super) seen: Seen,
    profile: String,
    board: String,
    pub(super) address: String,
    pub(super) ground: SweepReason,
}

impl SweepCandidate {
    pub(super) fn about(&self, summary: &SweepSummary) -> ClaimContext {
        ClaimContext {
            source: summary.source.clone(),
            profile: self.profile.clone(),
            board: self.board.clone(),
            address: self.address.clone(),
            why: self.seen.why.clone(),
            by: Origin::Sweep,
            action_id: None,
            timestamp: millis(self.seen.now),
            dry_run: summary.dry_run,
            shown: self.seen.judged.claim.key.visible(),
        }
    }
}

impl Pass<'_> {
    pub(super) fn find_all(&mut self, reasons: Reasons, board: Option<&str>) -> Result<Found, SweepError> {
        let filter = Filter { reasons, board: board.map(str::to_owned), ..Filter::default() };
        Ok(self.actor.actor().find_all(&filter).map_err(RecoveryError::from)?)
    }

    pub(super) fn look_at(&mut self, found: &Found, part: Range<usize>) -> Result<Vec<Seen>, SweepError> {
        Ok(self.actor.actor().look_at(found, part).map_err(RecoveryError::from)?)
    }

    /// Finds sessions that are silent in the registry while one of their claims shows life: the silence of such a
    /// session proves nothing.
    pub(super) fn find_living_sessions(&mut self, snapshots: &[Snapshot]) -> Result<(), SweepError> {
        let silent = Reason::SessionStale;
        let is_silent = |snapshot: &Snapshot| snapshot.reasons().contains_key(&silent);
        if !GroundKind::wanted(self.options.wanted).contains(&GroundKind::Orphaned)
            || !snapshots.iter().any(is_silent)
        {
            return Ok(());
        }
        let found = self.find_all(Reasons::from_iter([silent]), None)?;
        for part in found.parts(PART) {
            for seen in self.look_at(&found, part)? {
                let Some(rules) = rules_of(&seen, snapshots) else { continue };
                if shows_life(&seen.judged.claim, rules, seen.now) {
                    self.living.insert(holder(&seen));
                }
            }
        }
        Ok(())
    }

    /// The claims in a part of the findings that may be taken for reasons of this kind.
    pub(super) fn candidates(
        &mut self,
        all: &Found,
        part: Range<usize>,
        kind: GroundKind,
        snapshots: &[Snapshot],
    ) -> Result<Vec<SweepCandidate>, SweepError> {
        let mut found = Vec::new();
        for seen in self.look_at(all, part)? {
            let Some(rules) = rules_of(&seen, snapshots) else { continue };
            let judged = &seen.judged;
            let ground = match ground(&judged.claim, &judged.verdict, rules, seen.now, self.options.wanted) {
                Ok(ground @ SweepReason::Expired(_)) if kind == GroundKind::Expired => ground,
                Ok(ground @ SweepReason::Orphaned(_)) if kind == GroundKind::Orphaned => ground,
                _ => continue,
            };
            let rests_on_silence = ground == SweepReason::Orphaned(Reason::SessionStale);
            if rests_on_silence && self.living.contains(&holder(&seen)) {
                continue;
            }
            let (profile, board) = self.actor.actor().names(&seen);
            let address = self.actor.actor().address(&seen);
            found.push(SweepCandidate { seen, profile, board, address, ground });
        }
        if let (None, Some(first)) = (&self.taken, found.first()) {
            let now = first.seen.now;
            self.taken = Some(RecentSweeps::read(&self.options.trail, self.actor.actor(), now)?);
        }
        Ok(found)
    }

    /// How often a claim was taken within a day, if that is too often. Locks do not count: anyone may take over an
    /// expired lock, so locks recur as a matter of course.
    pub(super) fn poisonous(&self, one: &SweepCandidate, role: Role) -> Option<usize> {
        let times = self.taken.as_ref().map_or(0, |taken| taken.times(&one.address));
        (role != Role::Lock && times >= self.options.brakes.per_day).then_some(times)
    }

    pub(super) fn is_poison(&self, one: &SweepCandidate, role: Role) -> bool {
        self.poisonous(one, role).is_some()
    }

    /// Leaves out claims that were taken too often, and reports them.
    pub(super) fn without_poison(
        &mut self,
        all: Vec<SweepCandidate>,
        board: &mut BoardCount,
        out: &mut EventOutput<'_>,
    ) -> Vec<SweepCandidate> {
        let is_free = board.state == BoardState::Free;
        let mut rest = Vec::with_capacity(all.len());
        for one in all {
            board.up += u64::from(is_free);
            let Some(times) = self.poisonous(&one, board.role) else {
                rest.push(one);
                continue;
            };
            let claim = &one.seen.judged.claim;
            let (task_id, session_id) = (claim.key.text(), claim.holder.clone());
            out(&Event::Poison { task_id, session_id, times, about: one.about(&self.summary) });
            self.summary.poison += 1;
            board.up += u64::from(!is_free);
        }
        rest
    }
}

/// The profile and the holder of a claim: sessions of different profiles may have the same name.
fn holder(seen: &Seen) -> (String, Option<String>) {
    (seen.place.board.profile().to_owned(), seen.judged.claim.holder.clone())
}

/// The rules of a claim's board, unless the tables have changed since the poll.
pub(super) fn rules_of<'a>(seen: &Seen, snapshots: &'a [Snapshot]) -> Option<&'a Rules> {
    let board = &seen.place.board;
    let snapshot = snapshots.iter().find(|snapshot| snapshot.profile == board.profile())?;
    Some(&snapshot.boards.iter().find(|one| one.board == board.board())?.nature.rules)
}
