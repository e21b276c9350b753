//! What each command does to the panes.

use super::super::actions::Command;
use super::super::item::Item;
use super::super::message::Effect;
use super::super::model::{Landing, Model, Pace, Pane, Tone};
use super::super::overlay::{Detail, Examination, Overlay, Palette};
use super::super::query::Query;
use super::super::row::Row;
use crate::domain::detail::Cursor;
use crate::domain::recovery::Action;
use crate::domain::time::Span;
use crate::domain::visible::{escape, is_deceptive};

/// How long a claim stays out of sight.
const SNOOZE: Span = Span::minutes(15);

impl Model {
    /// Does what a command asks; `reason` goes with an act.
    pub(super) fn command(&mut self, command: Command, reason: &str) -> Vec<Effect> {
        let lines = isize::try_from(self.page_lines).unwrap_or(10);
        match command {
            Command::Reclaim => self.act(Action::Reclaim, reason),
            Command::Release if self.pane == Pane::Sessions && self.overlay.is_empty() => {
                self.release_session(reason)
            }
            Command::Release => self.act(Action::Release, reason),
            Command::Extend => self.act(Action::Extend, reason),
            Command::Undo => self.undo(),
            Command::ReclaimAll => self.act_on_all(Action::Reclaim, reason),
            Command::ReleaseAll => self.act_on_all(Action::Release, reason),
            Command::CheckPid => self.check_pid(),
            Command::CheckAllPids => self.check_all_pids(),
            Command::Mark => self.mark(),
            Command::Detail => self.detail(),
            Command::Snooze => self.snooze(),
            Command::Filter => self.open(Overlay::Filter(self.query.text.clone().into())),
            Command::Sort => self.next_sort(),
            Command::Source => self.next_source(),
            Command::Up => self.step(-1),
            Command::Down => self.step(1),
            Command::PageUp => self.step(-lines),
            Command::PageDown => self.step(lines),
            Command::Top => self.step(isize::MIN),
            Command::Bottom => self.step(isize::MAX),
            Command::Left => self.sideways(-1),
            Command::Right => self.sideways(1),
            Command::NextPane => self.go_to(self.neighbour(1)),
            Command::PreviousPane => self.go_to(self.neighbour(Pane::ALL.len() - 1)),
            Command::Overview => self.go_to(Pane::Overview),
            Command::Claims => self.go_to(Pane::Claims),
            Command::Sessions => self.go_to(Pane::Sessions),
            Command::Jobs => self.go_to(Pane::Jobs),
            Command::Locks => self.go_to(Pane::Locks),
            Command::Events => self.go_to(Pane::Events),
            Command::Audit => self.go_to(Pane::Audit),
            Command::Pause => self.pause(),
            Command::Faster => self.set_interval(self.settings.interval.as_millis() / 2),
            Command::Slower => self.set_interval(self.settings.interval.as_millis() * 2),
            Command::Palette => self.open(Overlay::Palette(Palette::default())),
            Command::Help => self.open(Overlay::Help { scroll: 0 }),
            Command::Save => self.open(Overlay::Save),
            Command::Copy => self.copy(),
            Command::Back => self.back(),
            Command::Suspend => vec![Effect::Suspend],
            Command::Quit => vec![Effect::Quit],
        }
    }

    fn open(&mut self, overlay: Overlay) -> Vec<Effect> {
        self.overlay.push(overlay);
        Vec::new()
    }

    /// Moves the selection; past the ends of a page of Claims the next one is asked for.
    pub(super) fn step(&mut self, steps: isize) -> Vec<Effect> {
        let list = self.list();
        let items = self.items(list);
        let at = self.selection(list).place(&items);
        if self.pane == Pane::Claims
            && let Some(at) = at
        {
            let ends = if steps < 0 { at == 0 } else { at + 1 >= items.len() };
            let mark = |row: Option<&Row>| row.and_then(|row| row.judged.mark.clone());
            match (steps < 0, steps) {
                (_, isize::MIN) if !self.browsed.is_first => {
                    return self.load_page(Cursor::First, Landing::Top);
                }
                (_, isize::MAX) if !self.browsed.is_last => {
                    return self.load_page(Cursor::Last, Landing::Bottom);
                }
                (true, _) if ends && !self.browsed.is_first => {
                    if let Some(row) = mark(self.browsed.rows.first()) {
                        return self.load_page(Cursor::Before(row), Landing::Bottom);
                    }
                }
                (false, _) if ends && !self.browsed.is_last => {
                    if let Some(row) = mark(self.browsed.rows.last()) {
                        return self.load_page(Cursor::After(row), Landing::Top);
                    }
                }
                _ => {}
            }
        }
        self.selections.entry(list).or_default().step(&items, steps);
        Vec::new()
    }

    fn sideways(&mut self, steps: isize) -> Vec<Effect> {
        match self.pane {
            Pane::Overview => {
                let columns = self.columns();
                let at = columns.iter().position(|set| *set == self.column).unwrap_or(0);
                self.column = columns[at.saturating_add_signed(steps).min(columns.len() - 1)];
                Vec::new()
            }
            Pane::Claims => {
                let last = self.boards().len().saturating_sub(1);
                let board = self.browsed.board.saturating_add_signed(steps).min(last);
                if board == self.browsed.board {
                    return Vec::new();
                }
                self.browsed = super::super::model::Browsed { board, ..Default::default() };
                self.load_page(Cursor::First, Landing::Top)
            }
            Pane::Sessions | Pane::Jobs | Pane::Locks | Pane::Events | Pane::Audit => Vec::new(),
        }
    }

    fn neighbour(&self, steps: usize) -> Pane {
        let at = Pane::ALL.iter().position(|pane| *pane == self.pane).unwrap_or(0);
        Pane::ALL[(at + steps) % Pane::ALL.len()]
    }

    fn mark(&mut self) -> Vec<Effect> {
        let Some(id) = self.selected_row().map(|row| row.id.clone()) else { return Vec::new() };
        if !self.marked.remove(&id) {
            self.marked.insert(id);
        }
        self.step(1)
    }

    fn detail(&mut self) -> Vec<Effect> {
        if let Some(line) = self.selected_entry().cloned() {
            return self.open(Overlay::Entry { line: Box::new(line), scroll: 0 });
        }
        match self.selected() {
            Some(Item::Kind { .. }) => self.open_dead(),
            Some(Item::Holder { id, .. }) => {
                // What a session holds is a filter away.
                self.pane = Pane::Claims;
                self.query = Query::held_by(&id);
                self.load_page(Cursor::First, Landing::Top)
            }
            _ => {
                let Some(row) = self.selected_row().cloned() else { return Vec::new() };
                let target = row.target();
                let detail = Detail { row, examined: Examination::Pending, scroll: 0 };
                self.overlay.push(Overlay::Detail(Box::new(detail)));
                // The trail tells what was done to it before.
                vec![Effect::Examine { target }, Effect::LoadTrail]
            }
        }
    }

    fn check_pid(&mut self) -> Vec<Effect> {
        if self.pane == Pane::Sessions && self.overlay.is_empty() {
            return self.check_all_pids();
        }
        match self.meant() {
            Some(row) => {
                self.say(Tone::Told, format!("asking for the process of {} ...", row.holder()));
                vec![Effect::Probe(vec![row])]
            }
            None => Vec::new(),
        }
    }

    fn check_all_pids(&mut self) -> Vec<Effect> {
        if self.pane == Pane::Sessions {
            // The list of sessions asks for every process as it is read.
            return self.load_pane();
        }
        let rows: Vec<Row> = self.on_screen.keys().filter_map(|id| self.row(id)).cloned().collect();
        vec![Effect::Probe(rows)]
    }

    fn snooze(&mut self) -> Vec<Effect> {
        let until = self.now.plus(SNOOZE);
        match self.selected_row().map(|row| row.id.clone()) {
            Some(id) if self.pane != Pane::Claims => {
                self.say(Tone::Told, format!("hidden for {SNOOZE}; esc shows hidden claims"));
                self.hold_selection();
                self.snoozed.insert(id, until);
            }
            _ => {
                self.snoozed.clear();
                self.say(Tone::Told, "nothing is snoozed any more");
            }
        }
        Vec::new()
    }

    fn next_sort(&mut self) -> Vec<Effect> {
        self.hold_selection();
        self.sort = self.sort.next();
        self.say(Tone::Told, format!("sorted: {}", self.sort.word()));
        Vec::new()
    }

    fn next_source(&mut self) -> Vec<Effect> {
        self.only = match self.only {
            None if self.sources.len() > 1 => Some(0),
            Some(at) if at + 1 < self.sources.len() => Some(at + 1),
            _ => None,
        };
        self.browsed = super::super::model::Browsed::default();
        self.load_pane()
    }

    fn pause(&mut self) -> Vec<Effect> {
        self.pace = match self.pace {
            Pace::Live => Pace::Paused,
            Pace::Paused => Pace::Live,
        };
        vec![self.pace_effect()]
    }

    fn set_interval(&mut self, millis: i64) -> Vec<Effect> {
        self.settings.interval = Span::millis(millis.clamp(250, 60_000));
        self.say(Tone::Told, format!("a poll every {}", self.settings.interval));
        vec![self.pace_effect()]
    }

    fn pace_effect(&self) -> Effect {
        Effect::SetPace { interval: self.settings.interval, paused: self.pace == Pace::Paused }
    }

    fn copy(&mut self) -> Vec<Effect> {
        // What is pasted into a shell must not press Enter there: such an id goes by its address, which every
        // command takes.
        let text = match (self.meant(), self.selected_holder(), self.selected_entry()) {
            (Some(row), _, _) if !is_plain(&row.claim().key.text()) => row.id.address,
            (Some(row), _, _) => row.claim().key.text(),
            (None, Some((_, holder)), _) => super::super::lists::holder_name(holder),
            (None, None, Some(line)) => line.action_id.clone(),
            (None, None, None) => return Vec::new(),
        };
        self.say(Tone::Told, "copied (if the terminal allows it)");
        vec![Effect::Copy(if is_plain(&text) { text } else { escape(&text) })]
    }

    /// Closes nothing any more: clears what narrows the view.
    fn back(&mut self) -> Vec<Effect> {
        if self.overlay.pop().is_some() {
            return Vec::new();
        }
        self.marked.clear();
        self.snoozed.clear();
        self.notice = None;
        self.set_query("")
    }
}

fn is_plain(text: &str) -> bool {
    !text.chars().any(is_deceptive)
}
