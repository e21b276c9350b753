//! One look at one source, and the acts that follow from it.
//!
//! Counts come first: they decide whether a brake holds. Rows are read in parts, so that a sweep needs no more
//! memory for a million claims than for ten thousand.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use super::boards::{Board, CROWD, Kind, State, counted, hold_by_share, hold_crowds, is_open};
use super::brakes::{Brake, Brakes};
use super::candidates::Candidate;
use super::event::taken;
use super::orders::{Manner, Orders, SweepError};
use super::poison::Taken;
use super::summary::Summary;
use super::watching::{Memory, Watching};
use crate::domain::recovery::{Action, Authorization, Outcome, Refusal};
use crate::domain::seen_boards::SeenBoards;
use crate::domain::snapshot::Snapshot;
use crate::events::{About, Event, millis};
use crate::recovery::AuditedActor;
use crate::recovery::audited_actor::RecoveryError;
use crate::store::OfBoard;

/// One run on one source.
#[derive(Debug)]
pub struct Pass<'a> {
    pub(super) actor: &'a mut AuditedActor,
    pub(super) orders: &'a Orders,
    pub(super) summary: Summary,
    /// Sessions that are silent in the registry while one of their claims lives.
    pub(super) living: HashSet<(String, Option<String>)>,
    /// What was taken within a day, once somebody has asked.
    pub(super) taken: Option<Taken>,
    /// How many more may be tried, and how many could be taken beyond that.
    room: usize,
    beyond: u64,
}

pub(super) type Out<'a> = dyn FnMut(&Event) + 'a;

/// Claims that are looked at together: few if few are wanted, and never more than fit into a batch.
const FEWEST: usize = 500;
pub(super) const PART: usize = 10_000;

impl<'a> Pass<'a> {
    pub fn new(actor: &'a mut AuditedActor, orders: &'a Orders) -> Pass<'a> {
        let dry_run = orders.manner == Manner::Rehearse;
        let summary = Summary { source: actor.source().into(), dry_run, ..Summary::default() };
        let room = orders.brakes.max;
        Pass { actor, orders, summary, living: HashSet::new(), taken: None, room, beyond: 0 }
    }

    /// Looks, brakes, and acts. `roll` knows the boards of earlier looks. `go_on` is asked after each batch.
    pub fn run(
        mut self,
        memory: Option<Memory<'_>>,
        roll: &mut SeenBoards,
        out: &mut Out<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Summary, SweepError> {
        let snapshots = self.look()?;
        self.summary.notices = roll.call(&snapshots);
        if let Some(sentence) = Brakes::replica(&snapshots) {
            self.summary.hold(Brake::Replica, sentence);
            return Ok(self.summary);
        }
        self.hold_doubtful_boards(&snapshots);
        let mut watching = memory.map(|memory| self.begin(memory, &snapshots));
        let mut boards = counted(self.actor.actor(), &snapshots, self.orders).map_err(RecoveryError::from)?;
        hold_crowds(&mut boards, &self.orders.brakes, &mut self.summary);
        if boards.iter().any(|board| matches!(board.state, State::Free | State::Unvouched)) {
            self.find_living_sessions(&snapshots)?;
            self.refuse_unvouched(&boards, &snapshots)?;
            if is_open(&boards, &self.orders.brakes) {
                self.count_one_by_one(&mut boards, &snapshots)?;
                hold_by_share(&mut boards, &self.orders.brakes, &mut self.summary);
            }
        }
        // What was done before a failure is told with it.
        let failure = self.act(&mut boards, &snapshots, watching.as_mut(), out, go_on).err();
        self.summary.error = failure.map(|error| error.to_string());
        self.finish(&boards)
    }

    fn look(&mut self) -> Result<Vec<Snapshot>, SweepError> {
        let actor = self.actor.actor();
        let board = self.orders.board.as_deref();
        let snapshots = actor.expect_board(board).and_then(|()| actor.poll());
        Ok(snapshots.map_err(RecoveryError::from)?)
    }

    /// Says of which boards no time can be trusted: none of their claims is stale, and none is taken.
    fn hold_doubtful_boards(&mut self, snapshots: &[Snapshot]) {
        let wanted = self.orders.board.as_deref();
        for board in snapshots.iter().flat_map(|snapshot| &snapshot.boards) {
            let is_wanted = wanted.is_none_or(|wanted| wanted == board.board);
            if let Some(doubt) = board.nature.rules.doubt.as_ref().filter(|_| is_wanted) {
                let sentence =
                    format!("{}: {doubt}; held: `claimtop doctor` names the setting that fits", board.board);
                self.summary.hold(Brake::Clock, sentence);
            }
        }
    }

    fn finish(mut self, boards: &[Board]) -> Result<Summary, SweepError> {
        if let Some(sentence) = self.orders.brakes.poison(self.summary.poison) {
            self.summary.hold(Brake::Poison, sentence);
        }
        if let Some(sentence) = self.orders.brakes.cap(self.beyond) {
            self.summary.hold(Brake::Cap, sentence);
        }
        let up: u64 = boards.iter().map(|board| board.up).sum();
        let left = usize::try_from(up).unwrap_or(usize::MAX);
        self.summary.left = left.saturating_sub(self.summary.tried);
        Ok(self.summary)
    }

    /// Counts what cannot be taken because nobody has said whose the tables are.
    fn refuse_unvouched(&mut self, boards: &[Board], snapshots: &[Snapshot]) -> Result<(), SweepError> {
        let mut refused = BTreeMap::<&str, usize>::new();
        for board in boards.iter().filter(|board| board.state == State::Unvouched) {
            let count = self.count_board(board, snapshots)?;
            *refused.entry(board.id.profile()).or_default() += usize::try_from(count).unwrap_or(usize::MAX);
        }
        for (profile, count) in refused.into_iter().filter(|(_, count)| *count > 0) {
            self.summary.refused += count;
            let refusal = Refusal::Unconfirmed { profile: profile.to_string() };
            self.summary.hold(Brake::Profile, refusal.to_string());
        }
        Ok(())
    }

    fn count_one_by_one(&mut self, boards: &mut [Board], snapshots: &[Snapshot]) -> Result<(), SweepError> {
        for board in boards.iter_mut().filter(|board| board.state == State::Free) {
            board.up = self.count_board(board, snapshots)?;
        }
        Ok(())
    }

    /// How many claims of a board are up. A crowd is counted, not looked at.
    fn count_board(&mut self, board: &Board, snapshots: &[Snapshot]) -> Result<u64, SweepError> {
        let mut count = 0;
        for kind in Kind::wanted(self.orders.wanted) {
            let all = self.find_all(kind.reasons(), Some(board.id.board()))?;
            let own = |of: &OfBoard| of.board == board.id;
            for of in all.boards().into_iter().filter(own) {
                if of.rows.len() as u64 > CROWD {
                    count += of.rows.len() as u64;
                    continue;
                }
                let candidates = self.candidates(&all, of.rows, *kind, snapshots)?;
                let counts = |one: &Candidate| !self.is_poison(one, board.role);
                count += candidates.iter().filter(|one| counts(one)).count() as u64;
            }
        }
        Ok(count)
    }

    /// Acts on the expired ones, then on the orphaned ones, board by board.
    fn act(
        &mut self,
        boards: &mut [Board],
        snapshots: &[Snapshot],
        mut watching: Option<&mut Watching<'_>>,
        out: &mut Out<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), SweepError> {
        for board in boards.iter_mut().filter(|board| board.state == State::Free) {
            board.up = 0;
        }
        for kind in Kind::wanted(self.orders.wanted) {
            let before = self.summary.applied();
            let mut acted = Ok(());
            for board in boards.iter_mut() {
                let is_watched = board.state == State::Held && watching.is_some();
                if acted.is_ok() && (board.state == State::Free || is_watched) {
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

    /// Works through the claims of a board in parts.
    fn act_on_board(
        &mut self,
        board: &mut Board,
        kind: Kind,
        snapshots: &[Snapshot],
        mut watching: Option<&mut Watching<'_>>,
        out: &mut Out<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), SweepError> {
        let is_free = board.state == State::Free;
        let all = self.find_all(kind.reasons(), Some(board.id.board()))?;
        let own = |of: &OfBoard| of.board == board.id;
        let Some(mut rows) = all.boards().into_iter().find(own).map(|of| of.rows) else {
            return Ok(());
        };
        let mut found_ripe = true;
        while !rows.is_empty() {
            let full = watching.as_ref().is_none_or(|watching| watching.look.is_full());
            // What is remembered comes first: once nothing of a part is ripe, nothing of the rest is.
            if !go_on() || full && (self.room == 0 || !found_ripe) {
                self.leave(board, rows.len(), go_on());
                break;
            }
            let size = self.room.clamp(FEWEST, PART);
            let part = rows.start..rows.end.min(rows.start + size);
            rows.start = part.end;
            let found = self.candidates(&all, part, kind, snapshots)?;
            let found = self.without_poison(found, board, out);
            let mut ripe = self.ripe(found, board, snapshots, watching.as_deref_mut());
            found_ripe = watching.is_none() || !ripe.is_empty();
            if is_free {
                let most = self.room.min(ripe.len());
                self.beyond += (ripe.len() - most) as u64;
                self.room -= most;
                ripe.truncate(most);
                self.act_on(&ripe, out, go_on)?;
            }
        }
        Ok(())
    }

    /// Counts what is neither taken nor watched in this run.
    fn leave(&mut self, board: &mut Board, count: usize, goes_on: bool) {
        if board.state != State::Free {
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
        all: &[Candidate],
        out: &mut Out<'_>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(), SweepError> {
        if all.is_empty() || !go_on() {
            return Ok(());
        }
        // On a server they are not done in their order.
        let by_address: HashMap<&str, &Candidate> =
            all.iter().map(|one| (one.address.as_str(), one)).collect();
        let Pass { actor, orders, summary, .. } = self;
        let started = Instant::now();
        let mut paused = Duration::ZERO;
        let mut each = |outcome: &Outcome, applied: Option<&Candidate>, action_id: Option<String>| {
            summary.tried += 1;
            summary.count(outcome);
            if let Some(one) = applied {
                summary.take(one.ground);
                out(&taken(&one.seen, one.ground, About { action_id, ..one.about(summary) }));
            }
            go_on()
        };
        let word = Authorization { unattended: true, ..Authorization::default() };
        match orders.manner {
            Manner::Act => {
                let seen = all.iter().map(|one| &one.seen).collect();
                paused = actor.perform_all(seen, Action::Reclaim, &word, &mut |told| {
                    if told.acted.outcome != Outcome::Applied {
                        return each(&told.acted.outcome, None, None);
                    }
                    let one = by_address.get(told.address().as_str()).copied();
                    each(&told.acted.outcome, one, Some(told.action_id()))
                })?;
            }
            Manner::Rehearse => {
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
