//! Whether a heartbeat is late, measured by how often it usually comes.

use super::claim_list::Loading;
use super::model::Model;
use super::row::Row;
use crate::domain::beat_intervals::{BeatPace, interval_of_ages, late_after};
use crate::domain::detail::Holder;
use crate::domain::time::{Moment, Span};
use crate::domain::value::Value;

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

/// Late, if the usual interval is not known.
const LATE: Span = Span::minutes(1);

impl Model {
    /// How a session of a source stands now.
    pub fn beat(&self, source: usize, holder: &Holder, now: Moment) -> Beat {
        let Some(beat) = holder.beat_at.at() else {
            return if holder.is_stale { Beat::Silent } else { Beat::Unknown };
        };
        let limit = self.usual_interval(source, holder, now).map_or(LATE, late_after);
        match holder.is_stale {
            true => Beat::Silent,
            false if now.since(beat) > limit => Beat::Late,
            false => Beat::Beats,
        }
    }

    /// How often a session beats: learned from its own beats, or else from the sessions of the same table.
    pub fn usual_interval(&self, source: usize, holder: &Holder, now: Moment) -> Option<Span> {
        if let (Some(view), Value::Text(name)) = (self.sources.get(source), &holder.id)
            && let Some(usual) = view.beats.session(&holder.profile, name)
        {
            return Some(usual);
        }
        let Some(Ok(holders)) = self.holders.get(&source) else { return None };
        let alike = |other: &&Holder| other.profile == holder.profile && other.listed_in == holder.listed_in;
        let living = holders.iter().filter(alike).filter(|other| !other.is_stale);
        interval_of_ages(living.filter_map(|other| Some(now.since(other.beat_at.at()?))).collect())
    }

    /// Learns from a part of the list, which shows some claims of boards that are too large to be read whole. A filter
    /// may select by age, so filtered rows say nothing.
    pub(super) fn estimate_beats(&mut self, source: usize, loading: &Loading) {
        let now = self.now_of(source);
        if let Some(view) = self.sources.get_mut(source).filter(|_| self.query.is_empty()) {
            view.beats.estimate(loading.healthy_rows().map(|row| (&row.board_id, row.claim())), now);
        }
    }

    /// How a claim beats, if its usual interval is known.
    pub fn pace(&self, row: &Row, now: Moment) -> Option<BeatPace> {
        self.sources.get(row.id.source)?.beats.pace(&row.board_id, row.claim(), now)
    }

    /// How a claim beats, if it is late and not in trouble yet.
    pub fn late(&self, row: &Row, now: Moment) -> Option<BeatPace> {
        self.pace(row, now).filter(|pace| pace.is_worth_saying(&row.judged.verdict))
    }
}
