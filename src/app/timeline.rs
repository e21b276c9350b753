//! The timeline of the claims that are shown.

use super::model::Model;
use super::row::Row;
use crate::domain::timeline::{Deadlines, LastSign, Timeline};
use crate::domain::verdict::Set;

impl Model {
    /// With a filter, only what passes it; deadlines are then those of the loaded claims.
    pub fn timeline(&self) -> Timeline {
        let sign = |row: &Row| LastSign::of(&row.judged, self.now_of(row.id.source));
        let signs = self.loaded().filter_map(sign).collect();
        let in_trouble = [Set::Orphaned, Set::Stale].map(|set| self.pane_claims(set)).iter().sum();
        if self.is_narrowed() {
            let deadlines = self.loaded_deadlines();
            return Timeline { signs, in_trouble, deadlines, at_least: true };
        }
        let mut timeline = Timeline { signs, in_trouble, ..Timeline::default() };
        for (_, source) in self.shown_sources() {
            timeline.add_horizon(&source.horizon);
        }
        timeline
    }

    fn loaded_deadlines(&self) -> Vec<Deadlines> {
        let whole = self.whole_rows().filter(|row| row.headline() == Set::Healthy);
        let rows = self.loaded().chain(whole);
        let deadline = |row: &Row| {
            let left = row.judged.verdict.deadline?.since(self.now_of(row.id.source));
            left.is_positive().then_some(Deadlines { from: left, count: 1 })
        };
        rows.filter_map(deadline).collect()
    }
}
