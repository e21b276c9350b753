//! The Claims pane: what is asked of the sources, and what becomes of the answers.

use std::sync::Arc;

use super::super::claim_list::{Landing, Loading, Towards, Wanted};
use super::super::message::Effect;
use super::super::model::{Direction, ListId, Model, Pane, Sort, Tone};
use super::super::overlay::Overlay;
use super::super::query::Query;
use super::super::row::Row;
use super::super::source::PollFailure;
use super::LOST;
use crate::domain::claim_list::{ListPart, ListRequest, OnBoard};
use crate::domain::visible::safe;

/// At least so many rows beyond the selection are loaded.
const MARGIN: usize = 50;

/// With more claims than this, a filter is sent to the database only when it is complete.
const MANY: u64 = 100_000;

fn effects(wanted: impl IntoIterator<Item = Wanted>) -> Vec<Effect> {
    wanted.into_iter().map(|(source, request)| Effect::LoadList { source, request }).collect()
}

impl Model {
    /// The sources whose claims are listed: those that have answered and that the filter does not leave out.
    fn claim_sources(&self) -> Vec<usize> {
        let shown = self.shown_sources().filter(|(_, source)| !source.snapshots.is_empty());
        shown.filter(|(_, source)| self.query.takes_source(&source.label)).map(|(number, _)| number).collect()
    }

    /// Reads the list from its beginning.
    fn start_claims(&mut self, land: Landing) -> Vec<Effect> {
        let (sources, filter) = (self.claim_sources(), self.query.filter());
        effects(self.claims.start(&sources, filter, land))
    }

    /// Reads what is loaded of the list again; a list of other sources, or for another filter, from its beginning.
    pub(super) fn load_claims(&mut self) -> Vec<Effect> {
        let sources = self.claim_sources();
        if !self.claims.is_of(&sources, &self.query.filter()) {
            return self.restart_claims();
        }
        let now = self.now;
        let again: Vec<Wanted> =
            sources.into_iter().filter_map(|source| self.claims.again(source, now)).collect();
        effects(again)
    }

    /// Replaces the list that is shown; unless the operator has moved in it, it begins at its top.
    fn restart_claims(&mut self) -> Vec<Effect> {
        let is_new = self.claims.rows().next().is_none();
        self.start_claims(if is_new { Landing::Top } else { self.claims.land })
    }

    /// The same after a poll of one source.
    pub(super) fn load_claims_of(&mut self, source: usize) -> Vec<Effect> {
        let sources = self.claim_sources();
        if !self.claims.is_of(&sources, &self.query.filter()) {
            return self.restart_claims();
        }
        effects(self.claims.again(source, self.now))
    }

    /// Sets the filter.
    pub(super) fn filter_by(&mut self, query: Query) -> Vec<Effect> {
        if !query.is_empty() {
            self.searched = query.clone();
        }
        let is_new = query != self.query;
        self.query = query;
        let is_written = matches!(self.overlay.last(), Some(Overlay::Filter(_)));
        if !is_new || self.pane != Pane::Claims || (is_written && self.counts().total > MANY) {
            return Vec::new();
        }
        self.start_claims(Landing::Top)
    }

    /// The filter is complete: now a large database is asked as well.
    pub(super) fn filter_written(&mut self) -> Vec<Effect> {
        if self.is_list_outdated() { self.start_claims(Landing::Top) } else { Vec::new() }
    }

    /// Whether the list still shows another filter.
    pub fn is_list_outdated(&self) -> bool {
        self.pane == Pane::Claims && !self.claims.is_of(&self.claim_sources(), &self.query.filter())
    }

    /// Opens Claims with a filter.
    pub fn show_claims(&mut self, query: Query) -> Vec<Effect> {
        self.came_from = Some(self.pane);
        self.pane = Pane::Claims;
        self.query = query.clone();
        self.searched = query;
        self.start_claims(Landing::Top)
    }

    /// Filters by the next board; before the first one, shows all boards.
    pub(super) fn next_board(&mut self, steps: isize) -> Vec<Effect> {
        let mut boards: Vec<String> = self.boards().into_iter().map(|board| board.board).collect();
        boards.sort();
        boards.dedup();
        let is_shown = |board: &String| Some(board.as_str()) == self.query.board();
        let at = boards.iter().position(is_shown).map_or(0, |at| at + 1);
        let next = at.saturating_add_signed(steps).min(boards.len());
        if next == at {
            return Vec::new();
        }
        let board = next.checked_sub(1).and_then(|at| boards.get(at));
        self.filter_by(self.query.on_board(board.map(String::as_str)))
    }

    pub(super) fn step_claims(&mut self, steps: isize) -> Vec<Effect> {
        let is_sorted = self.sort != Sort::Worst || self.direction == Direction::Reversed;
        match steps {
            isize::MIN if !self.claims.is_at_top() => return self.start_claims(Landing::Top),
            isize::MAX if !self.claims.is_at_bottom() && !is_sorted => return effects(self.claims.end()),
            _ => {}
        }
        self.claims.land = Landing::Stay;
        let list = ListId::Pane(Pane::Claims);
        let items = self.items(list);
        let selection = self.selections.entry(list).or_default();
        let from = selection.place(&items).unwrap_or(0);
        selection.step(&items, steps);
        let at = selection.place(&items).unwrap_or(0);
        let goes_on = if steps < 0 { !self.claims.is_at_top() } else { !self.claims.is_at_bottom() };
        let rest = steps
            .saturating_sub_unsigned(at.saturating_sub(from))
            .saturating_add_unsigned(from.saturating_sub(at));
        if goes_on && rest != 0 && !is_sorted {
            self.claims.land = Landing::Onward(rest);
        }
        let margin = self.page_lines.max(MARGIN);
        let (is_near_top, is_near_bottom) = (at < margin, at + margin >= items.len());
        match steps < 0 {
            true if is_near_top && !self.claims.is_at_top() => effects(self.claims.more(Towards::Top)),
            false if is_near_bottom => self.load_more(),
            _ => Vec::new(),
        }
    }

    fn load_more(&mut self) -> Vec<Effect> {
        if self.claims.is_at_bottom() { Vec::new() } else { effects(self.claims.more(Towards::Bottom)) }
    }

    /// A part of the list was loaded or failed.
    pub(super) fn listed(
        &mut self,
        source: usize,
        request: &ListRequest,
        part: Result<ListPart, PollFailure>,
    ) -> Vec<Effect> {
        let part = match part {
            Ok(part) => part,
            Err(trouble) => {
                let is_lost = self.is_lost(source, &trouble);
                let why = if is_lost { LOST.into() } else { safe(trouble.why()) };
                self.claims.fail(source, request, why);
                return Vec::new();
            }
        };
        if self.pane == Pane::Claims {
            self.hold_selection();
        }
        let loading = Loading::of(part, |claim| self.claim_row(source, claim));
        self.estimate_beats(source, &loading);
        if !self.claims.receive(source, request, self.now, loading) {
            return Vec::new();
        }
        self.apply_probes(source);
        self.land();
        // A part of the list may have fewer rows than the screen has lines.
        let is_short = self.claims.rows().count() < self.page_lines.saturating_add(MARGIN);
        if is_short && !self.claims.is_waiting() { self.load_more() } else { Vec::new() }
    }

    fn claim_row(&self, source: usize, OnBoard { board: id, judged }: OnBoard) -> Option<Row> {
        let snapshots = &self.sources.get(source)?.snapshots;
        let snapshot = snapshots.iter().find(|snapshot| snapshot.profile == id.profile())?;
        let board = snapshot.boards.iter().find(|board| board.board == id.board())?;
        let nature = Arc::clone(&board.nature);
        Some(Row::new(source, id.profile(), id.board(), snapshot.generic, &nature, judged))
    }

    fn land(&mut self) {
        let list = ListId::Pane(Pane::Claims);
        let items = self.items(list);
        let selection = self.selections.entry(list).or_default();
        match self.claims.land {
            Landing::Stay => {}
            Landing::Top => selection.select(&items, 0),
            Landing::Bottom => selection.select(&items, items.len().saturating_sub(1)),
            Landing::Onward(steps) => {
                selection.step(&items, steps);
                self.claims.land = Landing::Stay;
            }
        }
        // Other sources may still deliver worse claims.
        if !self.claims.is_waiting() {
            self.claims.land = Landing::Stay;
        }
    }

    /// Goes to the next claim of the list that passes the filter; without one, the last filter there was.
    pub(super) fn next_match(&mut self, steps: isize) -> Vec<Effect> {
        if self.searched.is_empty() {
            self.notify(Tone::Info, "nothing to look for yet: / filters, and n goes to the next match");
            return Vec::new();
        }
        let list = self.list();
        let items = self.items(list);
        if self.pane != Pane::Claims || !self.query.is_empty() {
            return self.step(steps);
        }
        let Some(at) = self.selection(list).place(&items) else { return Vec::new() };
        let is_match = |row: &&Row| {
            let label = self.sources.get(row.id.source).map_or("", |source| &source.label);
            self.searched.takes(row, label, self.now_of(row.id.source))
        };
        let rows = self.claim_rows();
        let found = match steps < 0 {
            true => rows[..at].iter().rposition(&is_match),
            false => rows.iter().skip(at + 1).position(is_match).map(|found| at + 1 + found),
        };
        match found {
            Some(found) => self.selections.entry(list).or_default().select(&items, found),
            None => {
                let text = format!(
                    "no further match of {} among the loaded rows; / looks everywhere",
                    safe(&self.searched.text)
                );
                self.notify(Tone::Info, text);
            }
        }
        Vec::new()
    }
}
