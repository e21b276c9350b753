//! The one place where the model changes: a message in, effects out.

mod acts;
mod arrivals;
mod bulk;
mod commands;
mod dead;
pub mod keys;
mod undo;

use super::item::{Item, Selection};
use super::message::{Effect, Msg, Spot};
use super::model::{ListId, Model, Pane};
use super::source::Trouble;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;

/// What is said where something was asked of a source that has been lost since.
const LOST: &str = "no answer: the link is lost; it is asked again when that is back";

impl Model {
    /// Takes in what happened at `now`, and says what is to be done about it.
    pub fn update(&mut self, now: Moment, msg: Msg) -> Vec<Effect> {
        self.now = now;
        match msg {
            Msg::Key(key) => self.key(key),
            Msg::Paste(text) => self.paste(&text),
            Msg::Clicked(spot) => self.click(spot),
            // The wheel beside what lies on top reaches nothing below it.
            Msg::Scrolled(_) if !self.overlay.is_empty() => Vec::new(),
            Msg::Scrolled(lines) => self.step(lines),
            Msg::Tick => self.tick(),
            Msg::Polled { source, poll, events } => self.polled(source, poll, events),
            Msg::Silent { source, since } => self.silent(source, since),
            Msg::Acted(done) => self.acted(done),
            Msg::UndoReady { action_id, ready } => self.undo_ready(&action_id, ready),
            Msg::BulkReady { question, ready } => self.bulk_ready(question, ready),
            Msg::BulkProgress { done } => self.bulk_progress(done),
            Msg::BulkDone(summary) => self.bulk_done(summary),
            Msg::Probed(probes) => self.probed(probes),
            Msg::Paged { source, request, page } => self.paged(source, &request, page),
            Msg::Dead { grave, found } => self.found_dead(&grave, found),
            Msg::Holders { source, holders } => {
                self.hold_selection();
                let known = self.holders.remove(&source);
                self.holders.insert(source, self.newer(source, known, holders));
                Vec::new()
            }
            Msg::Kinds { source, kinds } => {
                self.hold_selection();
                let known = self.kinds.remove(&source);
                self.kinds.insert(source, self.newer(source, known, kinds));
                Vec::new()
            }
            Msg::Trail(lines) => {
                self.hold_selection();
                self.trail = Some(lines);
                Vec::new()
            }
            Msg::Examined { id, found } => self.examined(&id, found),
            Msg::Said(text) => {
                self.say(super::model::Tone::Told, text);
                Vec::new()
            }
        }
    }

    /// What is shown of a source from now on: while it does not answer, what was read of it before
    /// stays, as the rows of its polls do.
    fn newer<T>(
        &self,
        source: usize,
        known: Option<Result<T, String>>,
        answer: Result<T, Trouble>,
    ) -> Result<T, String> {
        match (answer, known) {
            (Err(trouble), Some(Ok(known))) if self.is_lost(source, &trouble) => Ok(known),
            (Err(trouble), _) if self.is_lost(source, &trouble) => Err(LOST.into()),
            (answer, _) => answer.map_err(|trouble| trouble.why().to_owned()),
        }
    }

    /// Whether it is the source that does not answer, not the question that has no answer.
    fn is_lost(&self, source: usize, trouble: &Trouble) -> bool {
        matches!(trouble, Trouble::NoLink(_))
            || self.sources.get(source).is_some_and(|view| view.link.lost_since().is_some())
    }

    fn click(&mut self, spot: Spot) -> Vec<Effect> {
        // A click beside what lies on top reaches nothing below it.
        if !self.overlay.is_empty() {
            return Vec::new();
        }
        match spot {
            Spot::Pane(pane) => self.go_to(pane),
            Spot::Column(set) => {
                self.column = set;
                Vec::new()
            }
            Spot::Item(item) => {
                self.select(&item);
                Vec::new()
            }
        }
    }

    fn select(&mut self, item: &Item) {
        let holds = |set: &Set| self.items(ListId::Overview(*set)).contains(item);
        if self.pane == Pane::Overview && !holds(&self.column) {
            self.column = self.columns().iter().copied().find(holds).unwrap_or(self.column);
        }
        let list = self.list();
        let items = self.items(list);
        if let Some(at) = items.iter().position(|other| other == item) {
            self.selections.entry(list).or_default().select(&items, at);
        }
    }

    fn tick(&mut self) -> Vec<Effect> {
        let now = self.now;
        self.hold_selection();
        self.snoozed.retain(|_, until| *until > now);
        Vec::new()
    }

    /// Keeps the selected item of the pane in hand while its list changes.
    fn hold_selection(&mut self) {
        let list = self.list();
        let items = self.items(list);
        let selection = self.selections.entry(list).or_default();
        // Whoever stands at the newest line of the log wants to stay there.
        if list == ListId::Pane(Pane::Events) && selection.place(&items) == Some(0) {
            *selection = Selection::default();
        } else {
            selection.hold(&items);
        }
    }

    fn go_to(&mut self, pane: Pane) -> Vec<Effect> {
        self.pane = pane;
        self.load_pane()
    }

    /// What a pane needs beyond the poll.
    fn load_pane(&mut self) -> Vec<Effect> {
        let sources: Vec<usize> = self.shown_sources().map(|(number, _)| number).collect();
        match self.pane {
            Pane::Overview | Pane::Locks | Pane::Events => Vec::new(),
            Pane::Claims => self.load_page_again(),
            Pane::Sessions => sources.into_iter().map(|source| Effect::LoadHolders { source }).collect(),
            Pane::Jobs => sources.into_iter().map(|source| Effect::LoadKinds { source }).collect(),
            Pane::Audit => vec![Effect::LoadTrail],
        }
    }
}
