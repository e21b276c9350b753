//! A source and its boards, and what a poll of it finds.

use claimtop::app::source::Poll;
use claimtop::domain::board_id::BoardId;
use claimtop::domain::cause::{ClaimsOf, Facts, Gathering};
use claimtop::domain::claim::{Lease, Registry, Role, StampedBy};
use claimtop::domain::claim_list::{
    ListPart, ListPlace, ListRequest, Matching, OnBoard, Others, Start, Stretch, Tested, Troubled, Worst,
};
use claimtop::domain::detail::{Cursor, Horizon, Whole};
use claimtop::domain::fencing::Fencing;
use claimtop::domain::filter::Filter;
use claimtop::domain::recovery::Action;
use claimtop::domain::rules::{DeadlineRule, Rules, Thresholds};
use claimtop::domain::snapshot::{BoardSnapshot, Counts, Gaps, HeldBy, Judged, Mark, Nature, Snapshot};
use claimtop::domain::time::{Moment, Span};
use claimtop::domain::verdict::Set;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::claims::Held;
use super::span;

/// A database with boards.
#[derive(Debug, Clone)]
pub struct World {
    pub label: String,
    pub read_only: Option<String>,
    boards: Vec<Board>,
    profile: String,
    generic: bool,
    clock_offset: Span,
    horizon: Horizon,
    read_whole: bool,
    notices: Vec<String>,
    pub engine: &'static str,
    pub place: Option<String>,
    replica: Option<Span>,
    veiled: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Board {
    name: String,
    nature: Nature,
    held: Vec<Held>,
    /// Claims that are counted, not loaded.
    beyond: Counts,
    /// How many of the worst are loaded.
    window: usize,
}

fn board(name: &str, role: Role, deadline: DeadlineRule) -> Board {
    let rules = Rules {
        deadline,
        thresholds: Thresholds::default(),
        kinds: BTreeMap::new(),
        clock_noise: Span::seconds(2),
        tick: Span::millis(1),
        session_tick: Span::millis(1),
        doubt: None,
    };
    let nature = Nature {
        role,
        rules,
        stamped_by: StampedBy::Holder,
        fencing: Fencing::Fenced,
        held_by: HeldBy::Row,
        self_heals_after: None,
        acts: vec![Action::Reclaim, Action::Release, Action::Extend],
        extension: claimtop::domain::snapshot::Extension::AnyLength,
        zone: None,
    };
    Board { name: name.into(), nature, held: Vec::new(), beyond: Counts::default(), window: 200 }
}

/// Tasks with leases, whose holders are registered as sessions.
pub fn task_board(held: impl IntoIterator<Item = Held>) -> Board {
    board("tasks", Role::Task, DeadlineRule::Lease).with(held)
}

/// Jobs that may take as long as their kind says: ten minutes.
pub fn job_board(held: impl IntoIterator<Item = Held>) -> Board {
    let mut board = board("jobs", Role::Job, DeadlineRule::Ttl);
    board.nature.rules.thresholds.ttl = Some(Span::minutes(10));
    let job = |mut held: Held| {
        (held.claim.lease, held.claim.registry) = (Lease::Unwritten, Registry::None);
        held
    };
    board.with(held.into_iter().map(job))
}

/// Locks that live as long as their holder does.
pub fn lock_board(held: impl IntoIterator<Item = Held>) -> Board {
    let mut board = board("locks", Role::Lock, DeadlineRule::Holder).with(held);
    board.nature.acts = vec![Action::Reclaim, Action::Release];
    for held in &mut board.held {
        held.claim.lease = Lease::Unwritten;
    }
    board
}

impl Board {
    fn with(mut self, held: impl IntoIterator<Item = Held>) -> Board {
        self.held = held.into_iter().collect();
        for (at, held) in self.held.iter_mut().enumerate() {
            held.rowid = at as i64 + 1;
        }
        self
    }

    pub fn named(mut self, name: &str) -> Board {
        self.name = name.into();
        self
    }

    /// A late holder's finish counts for whoever has the claim then.
    pub fn unfenced(mut self) -> Board {
        self.nature.fencing = Fencing::Unfenced;
        self
    }

    pub fn that_cannot(mut self, action: Action) -> Board {
        self.nature.acts.retain(|known| *known != action);
        self
    }

    pub fn that_heals_after(mut self, after: &str) -> Board {
        self.nature.self_heals_after = Some(span(after));
        self
    }

    /// Only so many of the worst are loaded.
    pub fn loading(mut self, window: usize) -> Board {
        self.window = window;
        self
    }

    /// So many more, counted and not loaded.
    pub fn with_beyond(mut self, set: Set, count: u64) -> Board {
        self.beyond.set(set, count);
        self.beyond.total += count;
        self
    }

    pub fn judged(&self, now: Moment) -> Vec<Judged> {
        self.held.iter().map(|held| held.judged(&self.nature.rules, now)).collect()
    }

    fn snapshot(&self, now: Moment) -> BoardSnapshot {
        let all = self.judged(now);
        let (mut counts, mut reasons) = (self.beyond, BTreeMap::new());
        for judged in &all {
            counts.add(&judged.verdict);
            for reason in judged.verdict.reasons.iter() {
                *reasons.entry(reason).or_default() += 1;
            }
        }
        let mut worst: Vec<Judged> =
            all.into_iter().filter(|judged| judged.verdict.headline() != Set::Healthy).collect();
        worst.sort_by_key(|judged| {
            (judged.verdict.headline(), judged.verdict.deadline.map_or(i64::MAX, Moment::micros))
        });
        worst.truncate(self.window);
        BoardSnapshot {
            board: self.name.clone(),
            nature: Arc::new(self.nature.clone()),
            counts,
            reasons,
            sessions: None,
            backlog: BTreeMap::new(),
            oldest_queued: None,
            worst: worst.into(),
            gaps: Gaps::default(),
        }
    }
}

impl World {
    pub fn of(boards: impl IntoIterator<Item = Board>) -> World {
        World {
            label: "tasks.db".into(),
            read_only: None,
            boards: boards.into_iter().collect(),
            profile: "taskqueue".into(),
            generic: false,
            clock_offset: Span::ZERO,
            horizon: Horizon::default(),
            read_whole: false,
            notices: Vec::new(),
            engine: "SQLite 3.53.2",
            place: None,
            replica: None,
            veiled: None,
        }
    }

    pub fn named(mut self, label: &str) -> World {
        self.label = label.into();
        self
    }

    pub fn read_only(mut self, why: &str) -> World {
        self.read_only = Some(why.into());
        self
    }

    /// Its tables could be anybody's.
    pub fn generic(mut self) -> World {
        self.generic = true;
        self
    }

    /// The database's clock is ahead of ours by so much.
    pub fn ahead_by(mut self, offset: &str) -> World {
        self.clock_offset = span(offset);
        self
    }

    /// So many deadlines in each of the coming minutes.
    pub fn with_horizon(mut self, minutes: impl IntoIterator<Item = u64>) -> World {
        self.horizon.minutes = minutes.into_iter().collect();
        self
    }

    /// Its boards are small enough to be read whole.
    pub fn read_whole(mut self) -> World {
        self.read_whole = true;
        self
    }

    pub fn noting(mut self, notice: &str) -> World {
        self.notices.push(notice.into());
        self
    }

    /// On a server, by its name in the config.
    pub fn on_server(mut self, name: &str, place: &str) -> World {
        (self.label, self.place, self.engine) = (name.into(), Some(place.into()), "postgres");
        self
    }

    /// It follows another one, so far behind.
    pub fn behind_by(mut self, lag: &str) -> World {
        self.replica = Some(span(lag));
        self
    }

    pub fn veiled_by(mut self, why: &str) -> World {
        self.veiled = Some(why.into());
        self
    }

    pub fn poll(&self, now: Moment) -> Poll {
        let now = now.plus(self.clock_offset).minus(self.replica.unwrap_or(Span::ZERO));
        let whole = |board: &Board| Whole {
            profile: self.profile.clone(),
            board: board.name.clone(),
            claims: board.judged(now),
        };
        let mut horizon = self.horizon.clone();
        horizon.minutes.resize(30, 0);
        let snapshot = Snapshot {
            profile: self.profile.clone(),
            generic: self.generic,
            now,
            clock_offset: self.clock_offset,
            poll_cost: Span::micros(2_300),
            boards: self.boards.iter().map(|board| board.snapshot(now)).collect(),
            notices: self.notices.clone(),
            replica: self.replica,
            veiled: self.veiled.clone(),
        };
        Poll {
            snapshots: vec![snapshot],
            horizon: Some(horizon),
            whole: self.read_whole.then(|| self.boards.iter().map(whole).collect()),
            warnings: Vec::new(),
            facts: self.facts(now),
            causes: None,
        }
    }

    /// The facts that a poll brings, if enough claims are in trouble.
    fn facts(&self, now: Moment) -> Option<Arc<Facts>> {
        let mut gathering = Gathering::of(&self.label);
        for board in &self.boards {
            let of = ClaimsOf::new(&self.profile, &board.name, &board.nature, now);
            board.judged(now).iter().for_each(|judged| gathering.add_claim(&of, judged, 1));
        }
        let facts = gathering.facts();
        (facts.claims.iter().filter(|claim| claim.in_trouble()).count() >= 5).then(|| Arc::new(facts))
    }

    /// A part of the list of claims, as the reader of a source answers it.
    pub fn list_part(&self, request: &ListRequest, now: Moment) -> ListPart {
        let now = now.plus(self.clock_offset);
        let all: Vec<OnBoard> = self.boards.iter().flat_map(|board| self.on_board(board, now)).collect();
        let passes = |claim: &OnBoard| request.filter.takes(&claim.board, &claim.judged, now);
        let is_troubled = |claim: &OnBoard| claim.judged.verdict.headline() != Set::Healthy;
        let mut troubled: Vec<OnBoard> =
            all.iter().filter(|claim| passes(claim) && is_troubled(claim)).cloned().collect();
        let counted = troubled.len() as u64;
        troubled.sort_by_key(|claim| {
            let verdict = &claim.judged.verdict;
            let deadline = verdict.deadline.map_or(i64::MAX, Moment::micros);
            (verdict.headline(), deadline, claim.judged.claim.key.address())
        });
        let worst = request.worst.map(|most| {
            let is_all = troubled.len() <= most;
            Worst { claims: troubled.iter().take(most).cloned().collect(), is_all }
        });
        let is_next = |stretch: &&Stretch| {
            stretch.troubled == Troubled::Here || worst.as_ref().is_none_or(|worst| worst.is_all)
        };
        let others = request.others.as_ref().filter(is_next).map(|stretch| {
            let is_here = |claim: &OnBoard| stretch.troubled == Troubled::Here || !is_troubled(claim);
            stretch_of(&all, stretch, |claim| passes(claim) && is_here(claim))
        });
        let is_open = request.filter == Filter::default();
        let total = all.iter().filter(|claim| passes(claim)).count() as u64;
        let matching = Matching { troubled: counted, total: Some(total), tested: Tested::InDatabase };
        let matching = (request.worst.is_some() && !is_open).then_some(matching);
        ListPart { now, worst, others, matching, cost: Span::millis(1) }
    }

    fn on_board(&self, board: &Board, now: Moment) -> Vec<OnBoard> {
        let id = BoardId::new(&self.profile, &board.name);
        let claims = board.judged(now).into_iter();
        claims.map(|judged| OnBoard { board: id.clone(), judged }).collect()
    }
}

/// The claims of a stretch, in the order of all rows.
fn stretch_of(all: &[OnBoard], stretch: &Stretch, is_meant: impl Fn(&OnBoard) -> bool) -> Others {
    let index = |place: &ListPlace, mark: &Mark| {
        let is_it = |claim: &OnBoard| claim.board == place.board && claim.judged.mark.as_ref() == Some(mark);
        all.iter().position(is_it).expect("a row")
    };
    let first_of =
        |place: &ListPlace| all.iter().position(|claim| claim.board == place.board).unwrap_or(all.len());
    let (from, is_backward) = match &stretch.from {
        Start::First => (0, false),
        Start::Last => (all.len(), true),
        Start::At(place) => match &place.cursor {
            Cursor::First => (first_of(place), false),
            Cursor::From(mark) => (index(place, mark), false),
            Cursor::After(mark) => (index(place, mark) + 1, false),
            Cursor::Before(mark) => (index(place, mark), true),
            Cursor::Last => panic!("rows of one profile follow each other"),
        },
    };
    let at = |at: usize, cursor: fn(Mark) -> Cursor| {
        let claim = &all[at];
        ListPlace { board: claim.board.clone(), cursor: cursor(claim.judged.mark.clone().expect("a mark")) }
    };
    let range: Vec<usize> = if is_backward { (0..from).rev().collect() } else { (from..all.len()).collect() };
    let mut taken: Vec<usize> =
        range.into_iter().filter(|at| is_meant(&all[*at])).take(stretch.rows).collect();
    if is_backward {
        taken.reverse();
    }
    let (first, last) = (taken.first().copied().unwrap_or(from), taken.last().copied());
    let before =
        (0..first).any(|at| is_meant(&all[at])).then(|| at(first.min(all.len() - 1), Cursor::Before));
    let after = last.filter(|last| (last + 1..all.len()).any(|at| is_meant(&all[at])));
    let after = after.map(|last| at(last, Cursor::After));
    let claims = taken.iter().map(|at| all[*at].clone()).collect();
    Others { claims, before, after, looked_at: taken.len() }
}
