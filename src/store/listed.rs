//! What comes out of a source row by row: claims, and traces of earlier recoveries.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::domain::beat_intervals::BeatPace;
use crate::domain::board_id::BoardId;
use crate::domain::evidence::{Conclusion, conclude, why};
use crate::domain::fencing::Fencing;
use crate::domain::snapshot::{BoardSnapshot, Census, Counts, Gaps, Judged, Nature};
use crate::domain::time::{Moment, Reading};
use crate::domain::verdict::{Reason, Set};

/// One line of a list.
#[derive(Debug, Clone)]
pub struct Listed {
    pub profile: String,
    pub board: String,
    pub judged: Judged,
    pub conclusion: Conclusion,
    pub why: String,
    pub fencing: Fencing,
    /// How it beats, if its usual interval is known.
    pub pace: Option<BeatPace>,
    pub now: Moment,
}

impl Listed {
    pub fn new(id: &BoardId, judged: Judged, nature: &Nature, now: Moment) -> Listed {
        let rules = &nature.rules;
        Listed {
            profile: id.profile().into(),
            board: id.board().into(),
            conclusion: conclude(&judged.claim, &judged.verdict, rules, now),
            why: why(&judged.claim, &judged.verdict, rules, now),
            fencing: nature.fencing,
            pace: None,
            judged,
            now,
        }
    }
}

/// A trace of a recovery that the system itself keeps.
#[derive(Debug, Clone)]
pub struct Trace {
    pub profile: String,
    pub history: String,
    pub id: Option<String>,
    pub kind: Option<String>,
    pub holder: Option<String>,
    pub at: Reading,
    pub what: Option<String>,
    /// The state in which the recovery left the job, if the profile names it.
    pub state: Option<String>,
}

impl Trace {
    pub fn moment(&self) -> Option<Moment> {
        self.at.at()
    }
}

/// What a board adds up to, claim by claim.
#[derive(Debug, Clone)]
pub struct Tally {
    pub at: Moment,
    pub counts: Counts,
    pub reasons: BTreeMap<Reason, u64>,
    /// The worst claims of each set, worst first.
    pub worst: Vec<Judged>,
    /// There were more claims than could be looked at.
    pub cut: bool,
}

impl Tally {
    pub fn new(at: Moment) -> Tally {
        Tally { at, counts: Counts::default(), reasons: BTreeMap::new(), worst: Vec::new(), cut: false }
    }

    /// Counts one more, and keeps it if it is among the worst `rows` of a set.
    pub fn add(&mut self, judged: Judged, rows: usize) {
        self.counts.add(&judged.verdict);
        for reason in judged.verdict.reasons.iter() {
            *self.reasons.entry(reason).or_default() += 1;
        }
        if judged.verdict.headline() == Set::Healthy || rows == 0 {
            return;
        }
        self.worst.push(judged);
        // Sorting now and then keeps the memory bounded and costs next to nothing.
        if self.worst.len() > rows.saturating_mul(Set::ALL.len()).saturating_mul(4) {
            self.keep_worst(rows);
        }
    }

    /// A board as it was counted claim by claim.
    pub(super) fn told_by(&self, snapshot: BoardSnapshot) -> BoardSnapshot {
        let census = Census { looked_at: self.counts.total, since: self.at, complete: false };
        BoardSnapshot {
            counts: self.counts,
            reasons: self.reasons.clone(),
            worst: self.worst.clone().into(),
            gaps: Gaps {
                census: self.cut.then_some(census),
                reasons: if self.cut { Reason::ALL.into() } else { Vec::new() },
                ..Gaps::default()
            },
            ..snapshot
        }
    }

    pub fn keep_worst(&mut self, rows: usize) {
        self.worst.sort_by(worse_first);
        self.worst.truncate(rows.saturating_mul(Set::ALL.len()));
    }
}

/// Worst headline first, then the deadline that passed longest ago.
pub fn worse_first(one: &Judged, other: &Judged) -> Ordering {
    let rank = |judged: &Judged| {
        (judged.verdict.headline(), judged.verdict.deadline.map_or(i64::MAX, Moment::micros))
    };
    rank(one).cmp(&rank(other))
}
