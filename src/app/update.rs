//! The one place where the model changes: a message in, effects out.

mod acts;
mod arrivals;
mod audit;
mod bulk;
mod claim_list;
mod commands;
mod dead;
mod keys;
mod replay;
mod undo;
mod views;

use super::actions::Command;
use super::item::{Item, ListSelection};
use super::message::{ClickTarget, Effect, Msg};
use super::model::{ListId, Model, Pane};
use super::source::PollFailure;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;

/// What is said where something was asked of a source that has been lost since.
const LOST: &str = "no answer: the connection is lost; trying again when it is back";

impl Model {
    /// Takes in what happened at `now`, and says what is to be done about it.
    pub fn update(&mut self, now: Moment, msg: Msg) -> Vec<Effect> {
        self.now = now;
        let effects = self.take(msg);
        if self.pane == Pane::Overview {
            self.follow_claim();
        }
        effects
    }

    fn take(&mut self, msg: Msg) -> Vec<Effect> {
        match msg {
            Msg::Key(key) => self.key(key),
            Msg::Paste(text) => self.paste(&text),
            Msg::Clicked(spot) => self.click(spot),
            // The wheel beside what lies on top reaches nothing below it.
            Msg::Scrolled(_) if !self.overlay.is_empty() => Vec::new(),
            Msg::Scrolled(lines) => self.step(lines),
            Msg::Tick => self.tick(),
            Msg::Polled(polls) => self.polled(polls),
            Msg::Silent { source, since } => self.silent(source, since),
            Msg::Acted(done) => self.acted(done),
            Msg::UndoReady { action_id, ready } => self.undo_ready(&action_id, ready),
            Msg::BulkReady { question, ready } => self.bulk_ready(question, ready),
            Msg::BulkProgress { done } => self.bulk_progress(done),
            Msg::BulkDone(summary) => self.bulk_done(summary),
            Msg::Probed(probes) => self.probed(probes),
            Msg::Listed { source, request, part } => self.listed(source, &request, part),
            Msg::Dead { query, found } => self.found_dead(&query, found),
            Msg::Holders { source, holders } => {
                self.hold_selection();
                let known = self.holders.remove(&source);
                self.holders.insert(source, self.newer(source, known, holders));
                Vec::new()
            }
            Msg::Kinds { source, kinds, activity } => {
                self.hold_selection();
                self.activity.insert(source, activity);
                let known = self.kinds.remove(&source);
                self.kinds.insert(source, self.newer(source, known, kinds));
                Vec::new()
            }
            Msg::Trail(page) => self.read_trail(page),
            Msg::Unfolded { id, acts } => self.read_bulk(&id, acts),
            Msg::History { claim, lines } => self.read_history(claim, lines),
            Msg::Examined { id, found } => self.examined(&id, found),
            Msg::Replayed { at, sources } => self.replayed(at, sources),
            Msg::Backtested(found) => self.backtested(found),
            Msg::RecordingBegan(name) => {
                self.notify(super::model::Tone::Info, format!("recording into {name}; :record ends it"));
                self.recording = Some(name);
                Vec::new()
            }
            Msg::RecordingStopped(why) => {
                self.recording = None;
                self.notify(super::model::Tone::Refused, why);
                Vec::new()
            }
            Msg::Notice(text) => {
                self.notify(super::model::Tone::Info, text);
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
        answer: Result<T, PollFailure>,
    ) -> Result<T, String> {
        match (answer, known) {
            (Err(trouble), Some(Ok(known))) if self.is_lost(source, &trouble) => Ok(known),
            (Err(trouble), _) if self.is_lost(source, &trouble) => Err(LOST.into()),
            (answer, _) => answer.map_err(|trouble| trouble.why().to_owned()),
        }
    }

    /// Whether it is the source that does not answer, not the question that has no answer.
    fn is_lost(&self, source: usize, trouble: &PollFailure) -> bool {
        matches!(trouble, PollFailure::NoLink(_))
            || self.sources.get(source).is_some_and(|view| view.link.lost_since().is_some())
    }

    fn click(&mut self, spot: ClickTarget) -> Vec<Effect> {
        // A dialog forgets the spots below it when it is drawn; one that opened since hides them.
        match spot {
            ClickTarget::Key(key) => self.key(key),
            ClickTarget::Choice(at) => self.choose(at),
            _ if !self.overlay.is_empty() => Vec::new(),
            ClickTarget::Pane(pane) => self.go_to(pane),
            ClickTarget::Column(set) => {
                self.is_settled = true;
                self.column = set;
                Vec::new()
            }
            // What is selected already is opened.
            ClickTarget::Item(item) if self.selected().as_ref() == Some(&item) => {
                self.command(Command::Detail, "")
            }
            ClickTarget::Item(item) => {
                self.is_settled = true;
                self.select(&item);
                Vec::new()
            }
            ClickTarget::Source(source) => self.show_source(source),
            ClickTarget::Command(command) => self.command(command, ""),
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
        let settled = self.is_settled;
        let selection = self.selections.entry(list).or_default();
        // Whoever stands at the newest line of the log wants to stay there.
        let newest = list == ListId::Pane(Pane::Events) && selection.place(&items) == Some(0);
        // Before the first key the worst is selected.
        if newest || !settled {
            *selection = ListSelection::default();
        } else {
            selection.hold(&items);
        }
    }

    fn go_to(&mut self, pane: Pane) -> Vec<Effect> {
        self.came_from = None;
        self.pane = pane;
        self.load_pane()
    }

    /// What a pane needs beyond the poll.
    fn load_pane(&mut self) -> Vec<Effect> {
        let sources: Vec<usize> = self.shown_sources().map(|(number, _)| number).collect();
        match self.pane {
            Pane::Overview | Pane::Locks | Pane::Events => Vec::new(),
            Pane::Claims => self.load_claims(),
            Pane::Groups => sources.into_iter().map(|source| Effect::GatherFacts { source }).collect(),
            Pane::Sessions => sources.into_iter().map(|source| Effect::LoadHolders { source }).collect(),
            Pane::Jobs => sources.into_iter().map(|source| Effect::LoadKinds { source }).collect(),
            Pane::Audit => vec![self.load_trail()],
            // The recording does not change, and testing takes a while.
            Pane::Backtest => match self.replay.as_ref().is_some_and(|replay| replay.backtest.is_none()) {
                true => vec![Effect::LoadBacktest],
                false => Vec::new(),
            },
        }
    }
}
