//! An event as people read it.

use super::event::{Event, Origin};
use crate::domain::time::Moment;
use crate::domain::visible::visible;

impl Event {
    /// When, by the clock of the database.
    pub fn at(&self) -> Moment {
        let millis = match self {
            Event::SessionLost { of, .. } | Event::SessionCleanup { of, .. } | Event::Batch { of, .. } => {
                of.timestamp
            }
            Event::Cleanup { timestamp, .. }
            | Event::CauseBegan { timestamp, .. }
            | Event::CauseEnded { timestamp, .. }
            | Event::SourceLost { timestamp, .. }
            | Event::SourceBack { timestamp, .. }
            | Event::SourceChanged { timestamp, .. } => *timestamp,
            _ => self.about().map_or(0, |about| about.timestamp),
        };
        Moment::from_micros(millis.saturating_mul(1_000)).unwrap_or(Moment::EARLIEST)
    }

    /// The claim, session or number of them, as it may be shown.
    pub fn shown(&self) -> String {
        match self {
            Event::SessionLost { session_id, .. } | Event::SessionCleanup { session_id, .. } => {
                visible(session_id)
            }
            Event::Batch { count, .. } => format!("{count} claims"),
            Event::CauseBegan { name, .. } | Event::CauseEnded { name, .. } => visible(name),
            _ => self.about().map(|about| about.shown.clone()).unwrap_or_default(),
        }
    }

    pub fn board(&self) -> &str {
        match self {
            Event::SourceChanged { board, .. } => board.as_deref().unwrap_or_default(),
            _ => self.about().map_or("", |about| &about.board),
        }
    }

    /// What is said of it to people.
    pub fn message(&self) -> String {
        let claims = |count: usize| if count == 1 { "1 claim".into() } else { format!("{count} claims") };
        match self {
            Event::SessionLost { reason, count, .. } => {
                let why = match *reason {
                    "session_missing" => "is not registered any more",
                    "process_dead" => "has no process any more",
                    _ => "has stopped beating",
                };
                format!("{why}, and holds {}", claims(*count))
            }
            Event::SessionCleanup { count, .. } => format!("let go of all {} that it held", claims(*count)),
            Event::Cleanup { kind, count, .. } => format!("{} {kind}", claims(*count)),
            Event::Batch { first, .. } => format!("{}, …", first.join(", ")),
            Event::CauseBegan { sentence, .. } => sentence.clone(),
            Event::CauseEnded { by, .. } => format!("no longer what claims in trouble have in common ({by})"),
            Event::SourceLost { why, .. } => format!("lost: {why}"),
            Event::SourceBack { .. } => "back again".into(),
            Event::SourceChanged { why, .. } => why.clone(),
            _ => self.about().map(|about| about.why.clone()).unwrap_or_default(),
        }
    }

    /// A line for people of what a sweep did; nothing for what its summary says anyway.
    pub fn text(&self) -> Option<String> {
        match self {
            Event::Expired { about, .. } | Event::Orphaned { about, .. } if about.by == Origin::Sweep => {
                let done = if about.dry_run { "would reclaim" } else { "reclaimed" };
                Some(format!("{done} {}: {}", about.address, about.why))
            }
            Event::Poison { about, times, .. } => {
                Some(format!("poison {}: swept {times} times within a day already", about.address))
            }
            _ => None,
        }
    }
}
