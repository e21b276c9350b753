//! What has changed since a claim was seen, so that nothing was written.

use std::fmt;

use crate::domain::change::ClaimChange;
use crate::domain::time::Span;
use crate::domain::verdict::Set;
use crate::domain::visible::visible;

/// What has changed since a claim, or a session, was seen. It reads as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// Finished, or released.
    NoLongerClaimed,
    /// The row of the claim has changed.
    Claim(ClaimChange),
    /// The row is the same, but the rows it was judged by show a sign of life.
    InTroubleNoLonger {
        verdict: Set,
        holder: Option<String>,
    },
    /// The session on which the verdict rests has changed.
    SessionBeatsAgain,
    /// The claim, or its session, is not what a list showed.
    NotAsListed,
    /// The claim is not what it was in the preview of a bulk.
    SincePreview,
    /// The guard of the statement no longer matched the row.
    AtTheLastMoment,
    /// Somebody else works through the same claims.
    SomebodyWasFaster,
    /// The tables of the board are gone, or others.
    TablesChanged,
    /// Another transaction holds the row.
    RowLocked,
    /// Another transaction holds the row of the session.
    SessionLocked,
    SessionGone,
    SessionBeat {
        session: Option<String>,
        ago: Span,
    },
    SessionChanged {
        session: Option<String>,
    },
    /// A session ends only if it holds nothing.
    HoldsClaims(u64),
    /// What an undo would put back was claimed again.
    ClaimedSince,
    /// A row is not what the act left behind, so that an undo would overwrite somebody's change.
    ChangedSince {
        table: String,
    },
    /// The database does not accept a row that an undo puts back.
    NotAccepted,
}

impl Moved {
    /// Whether somebody else's act left nothing to do.
    pub fn is_somebody_elses_act(&self) -> bool {
        matches!(self, Moved::RowLocked | Moved::SomebodyWasFaster | Moved::NoLongerClaimed)
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moved::NoLongerClaimed => f.write_str("it is no longer claimed: finished or released"),
            Moved::Claim(change) => change.fmt(f),
            Moved::InTroubleNoLonger { verdict, holder } => {
                let holder = holder.as_deref().map_or_else(|| "nobody".into(), visible);
                write!(f, "it is {verdict} now: {holder} has shown a sign of life")
            }
            Moved::SessionBeatsAgain => f.write_str("its session beats again, or is registered again"),
            Moved::NotAsListed => {
                f.write_str("it is not what was listed: it, or its session, has changed since")
            }
            Moved::SincePreview => f.write_str("it was finished, released or changed since the preview"),
            Moved::AtTheLastMoment => f.write_str("it changed at the last moment"),
            Moved::SomebodyWasFaster => f.write_str("somebody else was faster: its row has changed"),
            Moved::TablesChanged => f.write_str("the tables have changed since it was seen"),
            Moved::RowLocked => f.write_str("somebody is changing it right now: its row is locked"),
            Moved::SessionLocked => f.write_str("its session is being written right now"),
            Moved::SessionGone => f.write_str("it is no longer registered"),
            Moved::SessionBeat { session, ago } => {
                write!(f, "{} has sent a heartbeat again, {ago} ago", it(session.as_deref()))
            }
            Moved::SessionChanged { session } => {
                write!(f, "the row of {} has changed", it(session.as_deref()))
            }
            Moved::HoldsClaims(1) => f.write_str("it still holds 1 claim"),
            Moved::HoldsClaims(count) => write!(f, "it still holds {count} claims"),
            Moved::ClaimedSince => f.write_str("somebody has claimed it since"),
            Moved::ChangedSince { table } => {
                write!(f, "cannot undo: a row of {} has changed since", visible(table))
            }
            Moved::NotAccepted => f.write_str(
                "the database refuses the row: somebody has claimed it since, or what it refers to is gone",
            ),
        }
    }
}

fn it(session: Option<&str>) -> String {
    session.map_or_else(|| "it".into(), visible)
}
