//! A claim as an operator saw it, and what has moved since.

use std::fmt::{self, Display, Formatter};

use super::bound::BoundBoard;
use super::image::Image;
use crate::domain::board_id::BoardId;
use crate::domain::change::ClaimChange;
use crate::domain::evidence::{Conclusion, conclude, why};
use crate::domain::fencing::Fencing;
use crate::domain::recovery::{Action, Moved};
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::value::percent;
use crate::domain::verdict::Set;

/// A claim as an operator saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub place: Place,
    pub judged: Judged,
    pub conclusion: Conclusion,
    pub why: String,
    pub fencing: Fencing,
    /// Its whole row.
    pub row: Image,
    /// Which version of the row it was, where the database counts them.
    pub version: Option<String>,
    /// Where that version was in the table, where the database says so: another one is elsewhere.
    pub spot: Option<Spot>,
    /// Its holder's whole row in the registry, if there is one.
    pub session: Option<Image>,
    pub now: Moment,
    /// Its rank among the claims of its board by their priority, where that was asked for: the lowest goes first.
    pub urgency: u32,
}

/// Where a claim is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub board: BoardId,
    /// The number of the row: SQLite's own, or that of its key. PostgreSQL has none that lasts: there its
    /// key says which it is.
    pub rowid: i64,
}

/// Where a version of a row is in its table, as PostgreSQL writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    pub page: u32,
    line: u16,
}

impl Spot {
    pub fn parse(text: &str) -> Option<Spot> {
        let (page, line) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
        Some(Spot { page: page.parse().ok()?, line: line.parse().ok()? })
    }

    /// The one in the place of a row, such as `16403(0,1)`, which begins with its table.
    pub(super) fn of_row(place: &str) -> Option<Spot> {
        place.find('(').and_then(|at| Spot::parse(&place[at..]))
    }
}

impl Display for Spot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.page, self.line)
    }
}

/// What the addresses of a board begin with.
pub fn prefix(profile: &str, board: &str) -> String {
    format!("{}/{}/", percent(profile), percent(board))
}

/// The rows behind a claim.
#[derive(Debug, Clone)]
pub struct RowsBehind {
    pub row: Image,
    pub version: Option<String>,
    pub spot: Option<Spot>,
    pub session: Option<Image>,
}

impl Seen {
    pub fn new(place: Place, judged: Judged, rows: RowsBehind, board: &BoundBoard, now: Moment) -> Seen {
        let rules = &board.rules;
        Seen {
            place,
            conclusion: conclude(&judged.claim, &judged.verdict, rules, now),
            why: why(&judged.claim, &judged.verdict, rules, now),
            fencing: board.nature.fencing,
            judged,
            row: rows.row,
            version: rows.version,
            spot: rows.spot,
            session: rows.session,
            now,
            urgency: 0,
        }
    }

    /// Its address: profile, board and key.
    pub fn address(&self) -> String {
        self.address_after(&prefix(self.place.board.profile(), self.place.board.board()))
    }

    /// The same with the [`prefix`] of its board, which a batch computes once.
    pub fn address_after(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.judged.claim.key.address())
    }

    /// What an action on it risks where late workers are not fenced.
    pub fn risk(&self, action: Action) -> Option<&'static str> {
        self.fencing.risk(self.judged.claim.worker.process).filter(|_| action.frees())
    }

    fn is_stale_or_orphaned(&self) -> bool {
        [Set::Stale, Set::Orphaned].iter().any(|set| self.judged.verdict.is_in(*set))
    }

    pub fn rests_on_session(&self) -> bool {
        self.judged.verdict.rests_on_registry(&self.judged.claim)
    }

    /// What has changed since the claim was seen, if anything has that matters.
    pub fn moved(&self, fresh: &Seen) -> Option<Moved> {
        let (was, is) = (&self.judged.claim, &fresh.judged.claim);
        if self.row != fresh.row || self.version != fresh.version {
            return Some(Moved::Claim(ClaimChange::between(was, is, fresh.now)));
        }
        if self.rests_on_session() && self.session != fresh.session {
            return Some(Moved::SessionBeatsAgain);
        }
        // What it was judged by may lie in other rows than these two: a lock that is renewed instead.
        (self.is_stale_or_orphaned() && !fresh.is_stale_or_orphaned()).then(|| Moved::InTroubleNoLonger {
            verdict: fresh.judged.verdict.headline(),
            holder: is.holder.clone(),
        })
    }
}
