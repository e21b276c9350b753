//! Whether a session's heartbeat is late, measured by how often it usually comes.

use super::model::Model;
use crate::domain::detail::Holder;
use crate::domain::time::{Moment, Span};

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    Beats,
    /// Later than usual, and not yet given up.
    Late,
    /// Given up.
    Silent,
    Unknown,
}

/// So many usual intervals may pass before a beat is late.
const INTERVALS: i64 = 3;
/// No session is late before this.
const SOONEST: Span = Span::seconds(15);
/// Late, if the usual interval is not known.
const LATE: Span = Span::minutes(1);

impl Model {
    /// How a session of a source stands now.
    pub fn beat(&self, source: usize, holder: &Holder, now: Moment) -> Beat {
        let Some(beat) = holder.beat_at.at() else {
            return if holder.is_stale { Beat::Silent } else { Beat::Unknown };
        };
        let ago = now.since(beat);
        let limit = match self.usual_interval(source, holder, now) {
            Some(usual) => usual.times(INTERVALS).max(SOONEST),
            None => LATE,
        };
        match holder.is_stale {
            true => Beat::Silent,
            false if ago > limit => Beat::Late,
            false => Beat::Beats,
        }
    }

    /// How often the sessions of the same table beat. While they do, the ages of their last beats are spread evenly
    /// over one interval, so that half of them are younger than half of it.
    pub fn usual_interval(&self, source: usize, holder: &Holder, now: Moment) -> Option<Span> {
        const ENOUGH: usize = 3;
        let Some(Ok(holders)) = self.holders.get(&source) else { return None };
        let alike = |other: &&Holder| other.profile == holder.profile && other.listed_in == holder.listed_in;
        let living = holders.iter().filter(alike).filter(|other| !other.is_stale);
        let mut ages: Vec<Span> =
            living.filter_map(|other| Some(now.since(other.beat_at.at()?).max(Span::ZERO))).collect();
        if ages.len() < ENOUGH {
            return None;
        }
        ages.sort_unstable();
        Some(ages[ages.len() / 2].times(2))
    }
}
