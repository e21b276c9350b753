//! The dead jobs of a kind: looked at, and queued again.

use super::super::actions::Command;
use super::super::dialog::Asks;
use super::super::item::{Item, Selection};
use super::super::lists::{BoardRef, kind_item};
use super::super::message::{DeadJobsQuery, Effect};
use super::super::model::{Browsed, Landing, Model, Pane, Tone};
use super::super::overlay::{Dead, Overlay};
use super::super::query::Query;
use super::super::row::Row;
use super::super::source::Trouble;
use crate::domain::detail::Cursor;
use crate::domain::recovery::{Action, Authorization};

impl Model {
    /// Opens the list of the dead for the selected kind; if none is dead, its claims.
    pub(super) fn open_dead(&mut self) -> Vec<Effect> {
        let Some(item) = self.selected() else { return Vec::new() };
        let dead = self.kind_lines().iter().any(|line| kind_item(line) == item && line.tally.dead > 0);
        let Item::Kind { source, profile, board, kind } = item else { return Vec::new() };
        if !dead {
            return self.show_claims(source, &profile, &board, kind.as_deref());
        }
        let grave = DeadJobsQuery { source, profile, board, kind };
        let dead = Dead { grave: grave.clone(), rows: None, selection: Selection::default() };
        self.overlay.push(Overlay::Dead(Box::new(dead)));
        vec![Effect::LoadDead(grave)]
    }

    /// The claims of a kind, in their pane.
    fn show_claims(&mut self, source: usize, profile: &str, board: &str, kind: Option<&str>) -> Vec<Effect> {
        let here =
            |other: &BoardRef| other.source == source && other.profile == profile && other.board == board;
        let Some(at) = self.boards().iter().position(here) else { return Vec::new() };
        self.pane = Pane::Claims;
        self.browsed = Browsed { board: at, ..Browsed::default() };
        let wanted = kind.map_or_else(String::new, |kind| format!("kind={kind}"));
        self.query = Query::parse(&wanted).unwrap_or_default();
        self.load_page(Cursor::First, Landing::Top)
    }

    pub(super) fn found_dead(
        &mut self,
        grave: &DeadJobsQuery,
        found: Result<Vec<Row>, Trouble>,
    ) -> Vec<Effect> {
        let is_lost = found.as_ref().is_err_and(|trouble| self.is_lost(grave.source, trouble));
        if let Some(Overlay::Dead(dead)) = self.overlay.last_mut()
            && dead.grave == *grave
        {
            let items = dead.items();
            dead.selection.hold(&items);
            // Those that are shown stay; without any, it still waits for them.
            if !is_lost {
                dead.rows = Some(found.map_err(|trouble| trouble.why().to_owned()));
            }
        }
        Vec::new()
    }

    /// A key while the dead are shown.
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
            self.say(Tone::Refused, why);
            return Vec::new();
        }
        if row.generic && !self.vouched.contains(&(row.id.source, row.profile.clone())) {
            let why = format!("the tables of {} could be anybody's", row.profile);
            let (target, asks) = (row.target(), Asks::Profile(row.profile.clone()));
            return self.ask(row, target, Action::Requeue, asks, why, "");
        }
        self.say(Tone::Told, format!("requeue {} ...", row.shown()));
        vec![Effect::Act { target: row.target(), action: Action::Requeue, word: Authorization::default() }]
    }

    /// The list that is open is looked at again.
    pub(super) fn dead_again(&self) -> Option<Effect> {
        match self.overlay.last() {
            Some(Overlay::Dead(dead)) => Some(Effect::LoadDead(dead.grave.clone())),
            _ => None,
        }
    }
}
