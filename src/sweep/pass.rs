//! One run on one source: a poll, and the acts that follow from it.
//!
//! Counts come first: they decide whether a brake holds. Rows are read in parts, so that a sweep of a million claims
//! needs no more memory than one of ten thousand.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use super::board_counts::{
    BoardCount, BoardState, GroundKind, MAX_LISTED, counted, hold_by_counts, hold_by_share, is_open,
};
use super::brakes::{Brake, Brakes};
use super::candidates::SweepCandidate;
use super::event::taken;
use super::options::{RequiredEvidence, SweepError, SweepMode, SweepOptions};
use super::recent_sweeps::RecentSweeps;
use super::summary::SweepSummary;
use super::watching::{SweepMemory, WatchPass};
use crate::domain::recovery::{Action, Authorization, Outcome, Refusal};
use crate::domain::seen_boards::SeenBoards;
use crate::domain::snapshot::Snapshot;
use crate::events::{ClaimContext, Event, millis};
use crate::recovery::AuditedActor;
use crate::recovery::audited_actor::RecoveryError;
use crate::store::OfBoard;

/// One run on one source.
#[derive(Debug)]
pub struct Pass<'a> {
    pub(super) actor: &'a mut AuditedActor,
    pub(super) options: &'a SweepOptions,
    pub(super) summary: SweepSummary,
    /// Sessions that are silent in the registry while one of their claims shows life.
    pub(super) living: HashSet<(String, Option<String>)>,
    /// What was taken within a day; read when it is first needed.
    pub(super) taken: Option<RecentSweeps>,
    /// How many more claims may be taken, and how many could be taken beyond that.
    room: usize,
    beyond: u64,
}

pub(super) type EventOutput<'a> = dyn FnMut(&Event) + 'a;

/// How many claims are read together: few if few are wanted, and never more than fit into a batch.
const FEWEST: usize = 500;
pub(super) const PART: usize = 10_000;

impl<'a> Pass<'a> {
    pub fn new(actor: &'a mut AuditedActor, options: &'a SweepOptions) -> Pass<'a> {
        let dry_run = options.mode == SweepMode::Rehearse;
        let summary = SweepSummary { source: actor.source().into(), dry_run, ..SweepSummary::default() };
        let room = options.brakes.max;
        Pass { actor, options, summary, living: HashSet::new(), taken: None, room, beyond: 0 }
    }

    /// Polls, applies the brakes, and acts. `roll` knows the boards of earlier runs. `go_on` is asked after each batch.
    pub fn run(
        mut self,
        memory: Option<SweepMemory<'_>>,
        roll: &mut SeenBoards,
        out: &mut EventOutput<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<SweepSummary, SweepError> {
        let snapshots = self.look()?;
        self.summary.notices = roll.call(&snapshots);
        if let Some(sentence) = Brakes::replica(&snapshots) {
            self.summary.hold(Brake::Replica, sentence);
            return Ok(self.summary);
        }
        self.hold_doubtful_boards(&snapshots);
        let mut watching = memory.map(|memory| self.begin(memory, &snapshots));
        let mut boards =
            counted(self.actor.actor(), &snapshots, self.options).map_err(RecoveryError::from)?;
        hold_by_counts(&mut boards, &self.options.brakes, &mut self.summary);
        if boards.iter().any(|board| matches!(board.state, BoardState::Free | BoardState::Unvouched)) {
            self.find_living_sessions(&snapshots)?;
            self.refuse_unvouched(&boards, &snapshots)?;
            self.leave_unfenced(&boards, &snapshots)?;
            if is_open(&boards, &self.options.brakes) {
                self.count_one_by_one(&mut boards, &snapshots)?;
                hold_by_share(&mut boards, &self.options.brakes, &mut self.summary);
            }
        }
        // What was done before a failure is reported with the failure.
        let failure = self.act(&mut boards, &snapshots, watching.as_mut(), out, go_on).err();
        self.summary.error = failure.map(|error| error.to_string());
        self.finish(&boards)
    }

    fn look(&mut self) -> Result<Vec<Snapshot>, SweepError> {
        let actor = self.actor.actor();
        let board = self.options.board.as_deref();
        let snapshots = actor.expect_board(board).and_then(|()| actor.poll());
        Ok(snapshots.map_err(RecoveryError::from)?)
    }

    /// Reports boards whose times cannot be trusted: none of their claims is stale, and none is taken.
    fn hold_doubtful_boards(&mut self, snapshots: &[Snapshot]) {
        let wanted = self.options.board.as_deref();
        for board in snapshots.iter().flat_map(|snapshot| &snapshot.boards) {
            let is_wanted = wanted.is_none_or(|wanted| wanted == board.board);
            if let Some(doubt) = board.nature.rules.doubt.as_ref().filter(|_| is_wanted) {
                let sentence =
                    format!("{}: {doubt}; held: `claimtop doctor` names the setting that fits", board.board);
                self.summary.hold(Brake::Clock, sentence);
            }
        }
    }

    fn finish(mut self, boards: &[BoardCount]) -> Result<SweepSummary, SweepError> {
        if let Some(sentence) = self.options.brakes.poison(self.summary.poison) {
            self.summary.hold(Brake::Poison, sentence);
        }
        if let Some(sentence) = self.options.brakes.cap(self.beyond) {
            self.summary.hold(Brake::Cap, sentence);
        }
        let up: u64 = boards.iter().map(|board| board.up).sum();
        let left = usize::try_from(up).unwrap_or(usize::MAX);
        self.summary.left = left.saturating_sub(self.summary.tried);
        Ok(self.summary)
    }

    /// Counts claims that cannot be taken because their generic profile was not named.
    fn refuse_unvouched(&mut self, boards: &[BoardCount], snapshots: &[Snapshot]) -> Result<(), SweepError> {
        let mut refused = BTreeMap::<&str, usize>::new();
        for board in boards.iter().filter(|board| board.state == BoardState::Unvouched) {
            let count = self.count_board(board, RequiredEvidence::Ground, snapshots)?;
            *refused.entry(board.id.profile()).or_default() += usize::try_from(count).unwrap_or(usize::MAX);
        }
        for (profile, count) in refused.into_iter().filter(|(_, count)| *count > 0) {
            self.summary.refused += count;
            let refusal = Refusal::Unconfirmed { profile: profile.to_string() };
            self.summary.hold(Brake::Profile, refusal.to_string());
        }
        Ok(())
    }

    /// Counts claims that are left because a late worker could finish them a second time.
    fn leave_unfenced(&mut self, boards: &[BoardCount], snapshots: &[Snapshot]) -> Result<(), SweepError> {
        let is_free =
            |board: &&BoardCount| board.state == BoardState::Free && board.demand == RequiredEvidence::Proof;
        for board in boards.iter().filter(is_free) {
            let all = self.count_board(board, RequiredEvidence::Ground, snapshots)?;
            let proven = self.count_board(board, RequiredEvidence::Proof, snapshots)?;
            let left = usize::try_from(all.saturating_sub(proven)).unwrap_or(usize::MAX);
            self.summary.unfenced += left;
            if let Some(sentence) = Brakes::unfenced(board.id.board(), left) {
                self.summary.hold(Brake::Fencing, sentence);
            }
        }
        Ok(())
    }

    fn count_one_by_one(
        &mut self,
        boards: &mut [BoardCount],
        snapshots: &[Snapshot],
    ) -> Result<(), SweepError> {
        for board in boards.iter_mut().filter(|board| board.state == BoardState::Free) {
            board.up = self.count_board(board, board.demand, snapshots)?;
        }
        Ok(())
    }

    /// How many claims of a board can be taken. Large numbers are counted without examining each claim.
    fn count_board(
        &mut self,
        board: &BoardCount,
        demand: RequiredEvidence,
        snapshots: &[Snapshot],
    ) -> Result<u64, SweepError> {
        let mut count = 0;
        for kind in GroundKind::wanted(self.options.wanted) {
            let all = self.find_all(kind.takes(demand), Some(board.id.board()))?;
            let own = |of: &OfBoard| of.board == board.id;
            for of in all.boards().into_iter().filter(own) {
                if of.rows.len() as u64 > MAX_LISTED {
                    count += of.rows.len() as u64;
                    continue;
                }
                let candidates = self.candidates(&all, of.rows, *kind, snapshots)?;
                let counts = |one: &SweepCandidate| !self.is_poison(one, board.role);
                count += candidates.iter().filter(|one| counts(one)).count() as u64;
            }
        }
        Ok(count)
    }

    /// Acts on expired claims, then on orphaned ones, board by board.
    fn act(
        &mut self,
        boards: &mut [BoardCount],
        snapshots: &[Snapshot],
        mut watching: Option<&mut WatchPass<'_>>,
        out: &mut EventOutput<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), SweepError> {
        for board in boards.iter_mut().filter(|board| board.state == BoardState::Free) {
            board.up = 0;
        }
        for kind in GroundKind::wanted(self.options.wanted) {
            let before = self.summary.applied();
            let mut acted = Ok(());
            for board in boards.iter_mut() {
                let is_watched = board.state == BoardState::Held && watching.is_some();
                if acted.is_ok() && (board.state == BoardState::Free || is_watched) {
                    acted = self.act_on_board(board, *kind, snapshots, watching.as_deref_mut(), out, go_on);
                }
            }
            let count = self.summary.applied() - before;
            if let (true, Some(snapshot)) = (count > 0, snapshots.first()) {
                let (source, dry_run) = (self.summary.source.clone(), self.summary.dry_run);
                let (kind, timestamp) = (kind.as_str(), millis(snapshot.now));
                out(&Event::Cleanup { kind, count, timestamp, source, dry_run });
            }
            acted?;
        }
        Ok(())
    }

    /// Handles the claims of a board in parts.
    fn act_on_board(
        &mut self,
        board: &mut BoardCount,
        kind: GroundKind,
        snapshots: &[Snapshot],
        mut watching: Option<&mut WatchPass<'_>>,
        out: &mut EventOutput<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), SweepError> {
        let is_free = board.state == BoardState::Free;
        let all = self.find_all(kind.takes(board.demand), Some(board.id.board()))?;
        let own = |of: &OfBoard| of.board == board.id;
        let Some(mut rows) = all.boards().into_iter().find(own).map(|of| of.rows) else {
            return Ok(());
        };
        let mut found_ready = true;
        while !rows.is_empty() {
            let full = watching.as_ref().is_none_or(|watching| watching.look.is_full());
            // Remembered claims come first: once no claim of a part is ready, none of the rest is.
            if !go_on() || full && (self.room == 0 || !found_ready) {
                self.leave(board, rows.len(), go_on());
                break;
            }
            let size = self.room.clamp(FEWEST, PART);
            let part = rows.start..rows.end.min(rows.start + size);
            rows.start = part.end;
            let found = self.candidates(&all, part, kind, snapshots)?;
            let found = self.without_poison(found, board, out);
            let mut ready = self.ready(found, board, snapshots, watching.as_deref_mut());
            found_ready = watching.is_none() || !ready.is_empty();
            if is_free {
                let most = self.room.min(ready.len());
                self.beyond += (ready.len() - most) as u64;
                self.room -= most;
                ready.truncate(most);
                self.act_on(&ready, out, go_on)?;
            }
        }
        Ok(())
    }

    /// Counts claims that are neither taken nor watched in this run.
    fn leave(&mut self, board: &mut BoardCount, count: usize, goes_on: bool) {
        if board.state != BoardState::Free {
            return;
        }
        board.up += count as u64;
        match (goes_on, self.room) {
            (false, _) => {}
            (true, 0) => self.beyond += count as u64,
            (true, _) => self.summary.watching += count,
        }
    }

    fn act_on(
        &mut self,
        all: &[SweepCandidate],
        out: &mut EventOutput<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), SweepError> {
        if all.is_empty() || !go_on() {
            return Ok(());
        }
        // On a server, acts are not done in this order.
        let by_address: HashMap<&str, &SweepCandidate> =
            all.iter().map(|one| (one.address.as_str(), one)).collect();
        let Pass { actor, options, summary, .. } = self;
        let started = Instant::now();
        let mut paused = Duration::ZERO;
        let mut each = |outcome: &Outcome, applied: Option<&SweepCandidate>, action_id: Option<String>| {
            summary.tried += 1;
            summary.count(outcome);
            if let Some(one) = applied {
                summary.take(one.ground);
                out(&taken(&one.seen, one.ground, ClaimContext { action_id, ..one.about(summary) }));
            }
            go_on()
        };
        let word = Authorization { unattended: true, ..Authorization::default() };
        match options.mode {
            SweepMode::Act => {
                let seen = all.iter().map(|one| &one.seen).collect();
                paused = actor.perform_all(seen, Action::Reclaim, &word, &mut |told| {
                    if told.acted.outcome != Outcome::Applied {
                        return each(&told.acted.outcome, None, None);
                    }
                    let one = by_address.get(told.address().as_str()).copied();
                    each(&told.acted.outcome, one, Some(told.action_id()))
                })?;
            }
            SweepMode::Rehearse => {
                for one in all {
                    let report = actor.rehearse(&one.seen, Action::Reclaim, &word)?;
                    let applied = (report.outcome == Outcome::Applied).then_some(one);
                    if !each(&report.outcome, applied, None) {
                        break;
                    }
                }
            }
        }
        summary.acting += started.elapsed().saturating_sub(paused);
        Ok(())
    }
}
