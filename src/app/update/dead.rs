//! The dead jobs of a kind: list and requeue.

use super::super::actions::Command;
use super::super::dialog::Asks;
use super::super::item::{Item, ListSelection};
use super::super::lists::kind_item;
use super::super::message::{DeadJobsQuery, Effect};
use super::super::model::{Model, Tone};
use super::super::overlay::{Dead, Overlay};
use super::super::query::Query;
use super::super::row::Row;
use super::super::source::PollFailure;
use crate::domain::recovery::{Action, Authorization};

impl Model {
    /// Opens the dead jobs of the selected kind, or its claims if none is dead.
    pub(super) fn open_dead(&mut self) -> Vec<Effect> {
        let Some(item) = self.selected() else { return Vec::new() };
        let dead = self.kind_lines().iter().any(|line| kind_item(line) == item && line.tally.dead > 0);
        let Item::Kind { source, profile, board, kind } = item else { return Vec::new() };
        if !dead {
            return self.show_kind(source, &board, kind.as_deref());
        }
        let query = DeadJobsQuery { source, profile, board, kind };
        let dead = Dead { query: query.clone(), rows: None, selection: ListSelection::default() };
        self.overlay.push(Overlay::Dead(Box::new(dead)));
        vec![Effect::LoadDead(query)]
    }

    /// The claims of a kind on a board, in their pane.
    fn show_kind(&mut self, source: usize, board: &str, kind: Option<&str>) -> Vec<Effect> {
        let mut query = Query::of_board(board);
        if let Some(kind) = kind {
            query = query.and(Query::of_kind(kind));
        }
        if let (true, Some(source)) = (self.sources.len() > 1, self.sources.get(source)) {
            query = query.and(Query::of_source(&source.label));
        }
        self.show_claims(query)
    }

    pub(super) fn found_dead(
        &mut self,
        query: &DeadJobsQuery,
        found: Result<Vec<Row>, PollFailure>,
    ) -> Vec<Effect> {
        let is_lost = found.as_ref().is_err_and(|trouble| self.is_lost(query.source, trouble));
        if let Some(Overlay::Dead(dead)) = self.overlay.last_mut()
            && dead.query == *query
        {
            let items = dead.items();
            dead.selection.hold(&items);
            // Rows that are shown stay; without any it goes on waiting.
            if !is_lost {
                dead.rows = Some(found.map_err(|trouble| trouble.why().to_owned()));
            }
        }
        Vec::new()
    }

    /// Handles a key in the list of dead jobs.
    pub(super) fn dead_key(&mut self, command: Option<Command>) -> Vec<Effect> {
        let lines = isize::try_from(self.page_lines).unwrap_or(10);
        let Some(Overlay::Dead(dead)) = self.overlay.last_mut() else { return Vec::new() };
        let items = dead.items();
        match command {
            Some(Command::Up) => dead.selection.step(&items, -1),
            Some(Command::Down) => dead.selection.step(&items, 1),
            Some(Command::PageUp) => dead.selection.step(&items, -lines),
            Some(Command::PageDown) => dead.selection.step(&items, lines),
            Some(Command::Top) => dead.selection.select(&items, 0),
            Some(Command::Bottom) => dead.selection.select(&items, usize::MAX),
            Some(Command::Reclaim) => return self.requeue(),
            Some(command @ (Command::Undo | Command::Save | Command::Help)) => {
                return self.command(command, "");
            }
            Some(Command::Back | Command::Quit) => {
                self.overlay.pop();
            }
            _ => {}
        }
        Vec::new()
    }

    fn requeue(&mut self) -> Vec<Effect> {
        let Some(Overlay::Dead(dead)) = self.overlay.last() else { return Vec::new() };
        let Some(row) = dead.selected().cloned() else { return Vec::new() };
        if let Some(why) = self.refusal(row.id.source) {
            self.notify(Tone::Refused, why);
            return Vec::new();
        }
        if row.generic && !self.confirmed_profiles.contains(&(row.id.source, row.profile.clone())) {
            let why = format!("the tables of {} could be anybody's", row.profile);
            let (target, asks) = (row.target(), Asks::Profile(row.profile.clone()));
            return self.ask(row, target, Action::Requeue, asks, why, "");
        }
        if self.confirms_all(row.id.source) {
            let target = row.target();
            return self.ask(row, target, Action::Requeue, Asks::Yes, String::new(), "");
        }
        self.notify(Tone::Info, format!("requeue {} ...", row.shown()));
        vec![Effect::Act {
            target: row.target(),
            action: Action::Requeue,
            authorization: Authorization::default(),
        }]
    }

    /// Reloads the open list.
    pub(super) fn dead_again(&self) -> Option<Effect> {
        match self.overlay.last() {
            Some(Overlay::Dead(dead)) => Some(Effect::LoadDead(dead.query.clone())),
            _ => None,
        }
    }
}
