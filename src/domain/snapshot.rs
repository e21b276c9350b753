//! What one poll of one source found: counts of every set, their reasons, and the worst rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::claim::{Claim, Role, StampedBy};
use super::fencing::Fencing;
use super::recovery::Action;
use super::rules::Rules;
use super::time::{Moment, Span};
use super::token::SeenToken;
use super::value::Key;
use super::verdict::{Reason, Set, Verdict};
use super::worst_claims::WorstClaims;

/// One poll of one source under one profile.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub profile: String,
    /// The profile's table names could be anybody's.
    pub generic: bool,
    /// The database's clock at the poll.
    pub now: Moment,
    /// The database's clock minus ours.
    pub clock_offset: Span,
    pub poll_cost: Span,
    pub boards: Vec<BoardSnapshot>,
    pub notices: Vec<String>,
    /// How far behind its primary it is, if it is a replica.
    pub replica: Option<Span>,
    /// Why rows may be hidden from us.
    pub veiled: Option<String>,
}

/// One board of a [`Snapshot`].
#[derive(Debug, Clone)]
pub struct BoardSnapshot {
    pub board: String,
    pub nature: Arc<Nature>,
    pub counts: Counts,
    pub reasons: BTreeMap<Reason, u64>,
    pub sessions: Option<Sessions>,
    pub backlog: BTreeMap<String, u64>,
    pub oldest_queued: Option<Moment>,
    /// The worst claims, worst first.
    pub worst: WorstClaims,
    /// What could not be counted in full, and what would help.
    pub gaps: Gaps,
}

/// What is true of a board at every poll.
#[derive(Debug, Clone, PartialEq)]
pub struct Nature {
    pub role: Role,
    pub rules: Rules,
    /// Whose clock writes the times of its claims.
    pub stamped_by: StampedBy,
    pub fencing: Fencing,
    pub held_by: HeldBy,
    /// After this long the system frees a claim automatically.
    pub self_heals_after: Option<Span>,
    /// What the profile says how to do.
    pub acts: Vec<Action>,
    pub extension: Extension,
    /// The zone in which its times without one are read, if it has such times.
    pub zone: Option<String>,
}

/// What an extension gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extension {
    /// As much time as was asked for.
    AnyLength,
    /// Its whole time, counted anew.
    #[default]
    Anew,
}

/// What keeps a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeldBy {
    /// Its row alone.
    #[default]
    Row,
    /// A session of the server, which `claimtop terminate` ends.
    Session,
}

/// How many claims are in each set. A claim may be in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub total: u64,
    pub healthy: u64,
    pub expiring: u64,
    pub stale: u64,
    pub orphaned: u64,
    pub unknown: u64,
    pub runaway: u64,
}

impl Counts {
    pub fn of(&self, set: Set) -> u64 {
        match set {
            Set::Orphaned => self.orphaned,
            Set::Stale => self.stale,
            Set::Unknown => self.unknown,
            Set::Expiring => self.expiring,
            Set::Healthy => self.healthy,
        }
    }

    pub fn set(&mut self, set: Set, count: u64) {
        *match set {
            Set::Orphaned => &mut self.orphaned,
            Set::Stale => &mut self.stale,
            Set::Unknown => &mut self.unknown,
            Set::Expiring => &mut self.expiring,
            Set::Healthy => &mut self.healthy,
        } = count;
    }

    /// Counts one more claim.
    pub fn add(&mut self, verdict: &Verdict) {
        self.total += 1;
        self.runaway += u64::from(verdict.runaway);
        for set in verdict.reasons.sets() {
            self.set(set, self.of(set) + 1);
        }
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.total += other.total;
        self.runaway += other.runaway;
        for set in Set::ALL {
            self.set(set, self.of(set) + other.of(set));
        }
    }
}

/// The registry of holders, counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sessions {
    /// Boards with the same registry count the same sessions.
    pub registry: String,
    pub total: u64,
    pub alive: u64,
    pub stale: u64,
}

/// A claim and what is to be said of it.
#[derive(Debug, Clone)]
pub struct Judged {
    pub claim: Claim,
    pub verdict: Verdict,
    /// Stands for the state of the row as it was read.
    pub seen: Option<SeenToken>,
    /// Where its row is, for a second look.
    pub mark: Option<Mark>,
}

/// Where a row is, in the order in which its board is paged through.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    Rowid(i64),
    Key(Key),
}

/// What a poll left uncounted because no index could answer it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Rows looked at so far and rows in the table, where the census is not complete.
    pub census: Option<Census>,
    /// When all claims were counted, if something was written since.
    pub total_since: Option<Moment>,
    /// There are more claims, or more of them in trouble, than were counted.
    pub more: bool,
    /// Reasons whose counts come from the census.
    pub reasons: Vec<Reason>,
    /// Statements that would add the indexes this board needs.
    pub indexes: Vec<String>,
    /// States of the backlog of which there are more than were counted.
    pub backlog: Vec<String>,
}

/// How far the census in slices has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Census {
    pub looked_at: u64,
    /// When the counts were taken.
    pub since: Moment,
    pub complete: bool,
}

impl Gaps {
    pub fn is_exact(&self) -> bool {
        self.census.is_none() && self.total_since.is_none()
    }
}

impl Snapshot {
    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for board in &self.boards {
            all += board.counts;
        }
        all
    }

    pub fn reasons(&self) -> BTreeMap<Reason, u64> {
        let mut all = BTreeMap::new();
        for (&reason, count) in self.boards.iter().flat_map(|board| &board.reasons) {
            *all.entry(reason).or_default() += count;
        }
        all
    }

    /// The sessions of all registries, each counted once.
    pub fn sessions(&self) -> Option<Sessions> {
        let mut registries: Vec<&Sessions> = Vec::new();
        for sessions in self.boards.iter().filter_map(|board| board.sessions.as_ref()) {
            if registries.iter().all(|known| known.registry != sessions.registry) {
                registries.push(sessions);
            }
        }
        registries.into_iter().cloned().reduce(|mut all, more| {
            all.total += more.total;
            all.alive += more.alive;
            all.stale += more.stale;
            all
        })
    }

    pub fn is_exact(&self) -> bool {
        self.boards.iter().all(|board| board.gaps.is_exact())
    }
}
