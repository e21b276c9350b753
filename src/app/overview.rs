//! The overview's panes: which claims each of them shows, how many, and how the selection moves through them.
//!
//! A claim appears once, in the pane of its worst set.

use super::item::Item;
use super::model::{ListId, Model};
use super::row::Row;
use super::source::LinkState;
use crate::domain::verdict::Set;

/// The panes, the worst first; the last only if anything is in it.
const PANES: [Set; 4] = [Set::Orphaned, Set::Stale, Set::Expiring, Set::Unknown];

/// How many claims a pane stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PaneTally {
    /// Claims whose worst set this is; with a filter, those that pass it.
    pub claims: u64,
    /// All claims whose worst set this is, if a filter or a snooze hides some.
    pub of: Option<u64>,
    /// Claims of this set that a worse pane shows.
    pub elsewhere: u64,
    /// The pane that shows them, if it is one alone.
    pub shown_as: Option<Set>,
    /// Not every claim of the worse sets is loaded, so `elsewhere` may be more.
    pub or_more: bool,
}

impl Model {
    /// The panes of the overview, in their order.
    pub fn columns(&self) -> &'static [Set] {
        let unclear = self.counts().unknown > 0 || self.column == Set::Unknown;
        if unclear { &PANES } else { &PANES[..3] }
    }

    /// How many claims a pane stands for without a filter, in one source or in all that are shown.
    pub(super) fn claims_of_pane(&self, set: Set, only: Option<usize>) -> usize {
        let wanted = self.shown_sources().filter(|(number, _)| only.is_none_or(|only| only == *number));
        let claims = wanted.map(|(_, source)| {
            let elsewhere = source.rows.iter().filter(|row| is_elsewhere(row, set)).count();
            source.counts().of(set).saturating_sub(elsewhere as u64)
        });
        usize::try_from(claims.sum::<u64>()).unwrap_or(usize::MAX)
    }

    /// How many loaded claims of a set in one source are shown in a worse pane.
    pub fn shown_worse(&self, set: Set, source: usize) -> usize {
        let rows = self.sources.get(source).map_or(&[][..], |source| &source.rows);
        rows.iter().filter(|row| is_elsewhere(row, set)).count()
    }

    pub fn pane_tally(&self, set: Set) -> PaneTally {
        let mut tally = PaneTally::default();
        let mut shown_as: Vec<Set> = Vec::new();
        for row in self.loaded().filter(|row| is_elsewhere(row, set)) {
            tally.elsewhere += 1;
            if !shown_as.contains(&row.headline()) {
                shown_as.push(row.headline());
            }
        }
        let counts = self.counts();
        let worse = |other: &Set| *other < set && counts.of(*other) > self.loaded_in(*other);
        tally.or_more = tally.elsewhere > 0 && Set::ALL.iter().any(worse);
        tally.shown_as = if let [one] = shown_as[..] { Some(one) } else { None };
        tally.claims = self.pane_claims(set);
        tally.of = self.is_narrowed().then(|| self.claims_of_pane(set, None) as u64);
        tally
    }

    /// The claims whose worst set this is; with a filter, the loaded ones that pass it.
    pub(super) fn pane_claims(&self, set: Set) -> u64 {
        let claims = if self.is_narrowed() { self.set_len(set) } else { self.claims_of_pane(set, None) };
        claims as u64
    }

    /// Whether a filter or a snooze hides claims.
    pub fn is_narrowed(&self) -> bool {
        !self.query.is_empty() || !self.snoozed.is_empty()
    }

    /// How many loaded claims of a set pass the filter.
    pub fn passing(&self, set: Set) -> u64 {
        self.loaded().filter(|row| row.judged.verdict.is_in(set)).count() as u64
    }

    fn loaded_in(&self, set: Set) -> u64 {
        let rows = self.shown_sources().flat_map(|(_, source)| &source.rows);
        rows.filter(|row| row.judged.verdict.is_in(set)).count() as u64
    }

    /// The other sets that a claim is in.
    pub fn badges(row: &Row) -> impl Iterator<Item = Set> {
        let headline = row.headline();
        let sets = Set::ALL.into_iter().filter(move |set| *set != headline && *set != Set::Healthy);
        sets.filter(|set| row.judged.verdict.is_in(*set))
    }

    /// Moves the selection through all panes, as if they were one list.
    pub(super) fn step_overview(&mut self, steps: isize) {
        let panes: Vec<(Set, Vec<Item>)> =
            self.columns().iter().map(|set| (*set, self.items(ListId::Overview(*set)))).collect();
        let Some(own) = panes.iter().position(|(set, _)| *set == self.column) else { return };
        let (before, len) =
            (panes[..own].iter().map(|(_, items)| items.len()).sum::<usize>(), panes[own].1.len());
        let all: usize = panes.iter().map(|(_, items)| items.len()).sum();
        let place = self.selection(ListId::Overview(self.column)).place(&panes[own].1);
        let Some(last) = all.checked_sub(1) else { return };
        let wanted = match (place, steps) {
            // To the end of this pane first, then to the end of all.
            (Some(at), isize::MAX) if at + 1 < len => before + len - 1,
            (Some(at), isize::MIN) if at > 0 => before,
            (Some(at), _) => (before + at).saturating_add_signed(steps).min(last),
            (None, _) if steps < 0 => before.saturating_sub(1).min(last),
            (None, _) => before.min(last),
        };
        let mut at = wanted;
        for (set, items) in &panes {
            if at < items.len() {
                self.column = *set;
                self.selections.entry(ListId::Overview(*set)).or_default().select(items, at);
                return;
            }
            at -= items.len();
        }
    }

    /// A selected claim that has changed its worst set stays selected in its new pane.
    pub(super) fn follow_claim(&mut self) {
        let list = ListId::Overview(self.column);
        let Some(item) = self.selection(list).held().cloned() else { return };
        if self.items(list).contains(&item) {
            return;
        }
        for set in self.columns() {
            let items = self.items(ListId::Overview(*set));
            if let Some(at) = items.iter().position(|other| *other == item) {
                self.column = *set;
                self.selections.entry(ListId::Overview(*set)).or_default().select(&items, at);
                return;
            }
        }
    }

    /// To the pane before or after that has anything in it.
    pub(super) fn next_column(&mut self, steps: isize) {
        let columns = self.columns();
        let mut at = columns.iter().position(|set| *set == self.column).unwrap_or(0);
        loop {
            let Some(next) = at.checked_add_signed(steps).filter(|next| *next < columns.len()) else {
                return;
            };
            at = next;
            if self.set_len(columns[at]) > 0 {
                self.column = columns[at];
                return;
            }
        }
    }

    /// If a filter leaves nothing of the selected pane, the worst pane with anything in it is selected.
    pub(super) fn focus_rows(&mut self) {
        if self.set_len(self.column) == 0 {
            let worst = self.columns().iter().copied().find(|set| self.set_len(*set) > 0);
            self.column = worst.unwrap_or(self.column);
        }
    }

    /// Until somebody presses a key, and some source has not answered yet, the worst pane is the selected one.
    pub(super) fn settle_column(&mut self) {
        if self.is_settled {
            return;
        }
        let worst = self.columns().iter().copied().find(|set| self.set_len(*set) > 0);
        self.column = worst.unwrap_or(self.column);
        self.is_settled = self.sources.iter().all(|source| source.link != LinkState::Connecting);
    }
}

/// Whether a claim of a set is shown in a worse pane.
fn is_elsewhere(row: &Row, set: Set) -> bool {
    row.headline() != set && row.judged.verdict.is_in(set)
}
