//! One source: its last good poll, its connection, its recent counts.

use std::collections::VecDeque;
use std::sync::Arc;

use super::row::{Row, worst_first};
use crate::domain::beat_intervals::BeatIntervals;
use crate::domain::cause::{Cause, Facts};
use crate::domain::detail::{Horizon, Whole};
use crate::domain::recovery::Confirmation;
use crate::domain::shell::quoted;
use crate::domain::snapshot::{BoardSnapshot, Counts, Snapshot};
use crate::domain::source_label::SourceLabel;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;

/// The state of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
    /// The first answer is still to come.
    Connecting,
    Live,
    /// No answer since then; the poll has not failed yet.
    Silent {
        since: Moment,
    },
    /// Since when, and why.
    Down {
        since: Moment,
        trouble: PollFailure,
    },
}

/// Why a poll failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollFailure {
    /// The server cannot be reached or refuses the login.
    NoLink(String),
    /// The database is there but cannot be read.
    Unreadable(String),
}

impl PollFailure {
    pub fn why(&self) -> &str {
        match self {
            PollFailure::NoLink(why) | PollFailure::Unreadable(why) => why,
        }
    }
}

impl From<&str> for PollFailure {
    fn from(why: &str) -> PollFailure {
        PollFailure::Unreadable(why.into())
    }
}

impl LinkState {
    /// Since when the shown data is outdated, if it is.
    pub fn lost_since(&self) -> Option<Moment> {
        match self {
            LinkState::Connecting | LinkState::Live => None,
            LinkState::Silent { since } | LinkState::Down { since, .. } => Some(*since),
        }
    }
}

/// What may be done to a source in this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Write,
    /// And why.
    ReadOnly(String),
}

/// One poll that came back.
#[derive(Debug, Clone)]
pub struct Poll {
    pub snapshots: Vec<Snapshot>,
    pub horizon: Option<Horizon>,
    /// The boards that are small enough, if anything was written.
    pub whole: Option<Vec<Whole>>,
    /// Changes of the source that the operator should know.
    pub warnings: Vec<String>,
    /// The facts for causes and groups, if enough claims are in trouble.
    pub facts: Option<Arc<Facts>>,
    /// The causes, where they were recorded and need not be found again.
    pub causes: Option<Vec<Cause>>,
}

#[derive(Debug, Clone)]
pub struct SourceView {
    pub label: String,
    /// What names it in a command, with the options that it needs, quoted for a shell.
    pub in_commands: String,
    pub engine: &'static str,
    /// Server, database and user, where the label names none of them.
    pub place: Option<String>,
    pub badge: Option<SourceLabel>,
    /// What every act on it needs besides its key.
    pub confirmation: Confirmation,
    granted: Access,
    pub link: LinkState,
    pub snapshots: Vec<Snapshot>,
    pub rows: Vec<Row>,
    /// Every claim of the boards that are small enough to be read whole.
    pub whole: Vec<Row>,
    pub horizon: Horizon,
    /// The counts of the last minutes, newest last.
    pub past: VecDeque<Counts>,
    /// How it is no longer what it was.
    pub warnings: Vec<String>,
    /// When the last good poll was, by the database's clock.
    pub polled_at: Option<Moment>,
    /// When its notices first appeared, by our clock.
    noticed_at: Option<Moment>,
    /// The facts for causes and groups, if enough claims are in trouble.
    pub facts: Option<Arc<Facts>>,
    /// How often its claims and sessions beat.
    pub beats: BeatIntervals,
    /// The causes, where they were recorded.
    pub recorded_causes: Option<Vec<Cause>>,
}

/// How many polls a sparkline can look back on.
const PAST: usize = 300;

impl SourceView {
    pub fn new(label: String, engine: &'static str, granted: Access) -> SourceView {
        SourceView {
            in_commands: quoted(&label),
            label,
            engine,
            place: None,
            badge: None,
            confirmation: Confirmation::ByRisk,
            granted,
            link: LinkState::Connecting,
            snapshots: Vec::new(),
            rows: Vec::new(),
            whole: Vec::new(),
            horizon: Horizon::default(),
            past: VecDeque::new(),
            warnings: Vec::new(),
            polled_at: None,
            noticed_at: None,
            facts: None,
            beats: BeatIntervals::default(),
            recorded_causes: None,
        }
    }

    /// A short name: the file name of a path, or the whole address.
    pub fn name(&self) -> &str {
        if self.label.contains("://") {
            return &self.label;
        }
        self.label.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&self.label)
    }

    /// Takes in a poll that came back.
    pub fn receive(&mut self, number: usize, poll: Poll, now: Moment) {
        self.link = LinkState::Live;
        self.rows = poll.snapshots.iter().flat_map(|snapshot| rows(number, snapshot)).collect();
        self.rows.sort_by(worst_first);
        self.polled_at = poll.snapshots.iter().map(|snapshot| snapshot.now).max();
        let had: Vec<String> = self.notices().map(str::to_owned).collect();
        self.snapshots = poll.snapshots;
        if !self.notices().eq(had.iter().map(String::as_str)) {
            self.noticed_at = Some(now);
        }
        self.warnings = poll.warnings;
        self.facts = poll.facts;
        self.recorded_causes = poll.causes;
        if let Some(whole) = poll.whole {
            self.whole = whole.into_iter().flat_map(|board| self.whole_rows(number, board)).collect();
            self.beats.observe(self.whole.iter().map(|row| (&row.board_id, row.claim())));
        }
        if let Some(horizon) = poll.horizon {
            self.horizon = horizon;
        }
        self.past.push_back(self.counts());
        while self.past.len() > PAST {
            self.past.pop_front();
        }
    }

    /// Forgets what was shown, for another instant of a recording with these counts before it.
    pub fn start_again(&mut self, past: Vec<Counts>) {
        self.link = LinkState::Connecting;
        self.rows.clear();
        self.snapshots.clear();
        self.warnings.clear();
        self.whole.clear();
        self.polled_at = None;
        self.noticed_at = None;
        self.facts = None;
        self.past = past.into();
    }

    /// Lasting notices: a missing index, a login with too many rights.
    pub fn notices(&self) -> impl Iterator<Item = &str> {
        self.snapshots.iter().flat_map(|snapshot| &snapshot.notices).map(String::as_str)
    }

    /// Whether its notices are new. Later they appear only in the list of sources.
    pub fn has_new_notices(&self, now: Moment) -> bool {
        const NEW: Span = Span::seconds(30);
        self.noticed_at.is_some_and(|at| now.since(at) < NEW)
    }

    fn whole_rows(&self, number: usize, whole: Whole) -> Vec<Row> {
        let snapshot = self.snapshots.iter().find(|snapshot| snapshot.profile == whole.profile);
        let board = snapshot.and_then(|one| one.boards.iter().find(|board| board.board == whole.board));
        let (Some(snapshot), Some(board)) = (snapshot, board) else { return Vec::new() };
        let row =
            |judged| Row::new(number, &whole.profile, &whole.board, snapshot.generic, &board.nature, judged);
        whole.claims.into_iter().map(row).collect()
    }

    pub fn fail(&mut self, now: Moment, trouble: PollFailure) {
        let since = self.link.lost_since().unwrap_or(now);
        self.link = LinkState::Down { since, trouble };
    }

    /// What may be done here, as far as is known.
    pub fn access(&self) -> Access {
        match (&self.granted, self.replica()) {
            (Access::Write, Some(_)) => {
                Access::ReadOnly("this is a standby, which cannot be changed; act on its primary".into())
            }
            (granted, _) => granted.clone(),
        }
    }

    /// How far behind its primary it is, if it is a replica.
    pub fn replica(&self) -> Option<Span> {
        self.snapshots.iter().filter_map(|snapshot| snapshot.replica).max()
    }

    /// Why rows may be hidden from us, if they may.
    pub fn veiled(&self) -> Option<&str> {
        self.snapshots.iter().find_map(|snapshot| snapshot.veiled.as_deref())
    }

    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for snapshot in &self.snapshots {
            all += snapshot.counts();
        }
        all
    }

    pub fn clock_offset(&self) -> Span {
        self.snapshots.first().map_or(Span::ZERO, |snapshot| snapshot.clock_offset)
    }

    pub fn poll_cost(&self) -> Option<Span> {
        self.snapshots.iter().map(|snapshot| snapshot.poll_cost).max()
    }

    /// Whether every claim was looked at for every set.
    pub fn is_complete(&self) -> bool {
        self.boards().all(|board| board.gaps.census.is_none())
    }

    /// When all claims were counted, if something was written since.
    pub fn total_since(&self) -> Option<Moment> {
        self.boards().filter_map(|board| board.gaps.total_since).min()
    }

    fn boards(&self) -> impl Iterator<Item = &BoardSnapshot> {
        self.snapshots.iter().flat_map(|snapshot| &snapshot.boards)
    }

    /// The recent counts of a set, oldest first.
    pub fn past_of(&self, set: Set) -> impl Iterator<Item = u64> {
        self.past.iter().map(move |counts| counts.of(set))
    }
}

fn rows(source: usize, snapshot: &Snapshot) -> impl Iterator<Item = Row> {
    snapshot.boards.iter().flat_map(move |board| {
        board.worst.iter().map(move |judged| {
            Row::new(source, &snapshot.profile, &board.board, snapshot.generic, &board.nature, judged.clone())
        })
    })
}
