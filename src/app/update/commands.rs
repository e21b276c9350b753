//! What each command does to the panes.

use super::super::actions::Command;
use super::super::claim_column::ClaimColumn;
use super::super::claim_list::ClaimList;
use super::super::item::Item;
use super::super::message::Effect;
use super::super::model::{Direction, HeaderUse, Model, Pane, PollIntake, Sort, Tone, Zoom};
use super::super::overlay::{Detail, Examination, Overlay, PaletteInput};
use super::super::query::Query;
use super::super::row::Row;
use crate::domain::backtest::TestedSeries;
use crate::domain::recovery::Action;
use crate::domain::time::Span;
use crate::domain::visible::{escape, is_deceptive};

/// How long a snoozed claim is hidden.
const SNOOZE: Span = Span::minutes(15);

impl Model {
    /// Runs a command; an act gets the `reason`.
    pub(super) fn command(&mut self, command: Command, reason: &str) -> Vec<Effect> {
        let lines = isize::try_from(self.page_lines).unwrap_or(10);
        if let Some(effects) = self.replay_command(command, reason) {
            return effects;
        }
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
            Command::Filter => self.open(Overlay::Filter(self.filter_text().to_owned().into())),
            Command::Sort => self.sort_by(reason),
            Command::Reverse => self.reverse(),
            Command::Columns => self.show_columns(reason),
            Command::NextMatch => self.next_match(1),
            Command::PreviousMatch => self.next_match(-1),
            Command::Source => self.next_source(),
            Command::Sources => self.open(Overlay::Sources { scroll: 0 }),
            Command::Zoom => self.toggle_zoom(),
            Command::Header => self.toggle_header(),
            Command::Up => self.step(-1),
            Command::Down => self.step(1),
            Command::PageUp => self.step(-lines),
            Command::PageDown => self.step(lines),
            Command::Top => self.step(isize::MIN),
            Command::Bottom => self.step(isize::MAX),
            Command::Left => self.sideways(-1),
            Command::Right => self.sideways(1),
            Command::NextPane => self.go_to(self.neighbour(self.panes())),
            Command::PreviousPane => self.go_to(self.neighbour(self.panes().rev())),
            Command::Overview => self.go_to(Pane::Overview),
            Command::Claims => self.go_to(Pane::Claims),
            Command::Groups => self.go_to(Pane::Groups),
            Command::GroupBy => self.next_grouping(),
            Command::Sessions => self.go_to(Pane::Sessions),
            Command::Jobs => self.go_to(Pane::Jobs),
            Command::Locks => self.go_to(Pane::Locks),
            Command::Events => self.go_to(Pane::Events),
            Command::Audit => self.go_to(Pane::Audit),
            Command::Pause => self.pause(),
            Command::Faster => self.set_interval(self.settings.interval.as_millis() / 2),
            Command::Slower => self.set_interval(self.settings.interval.as_millis() * 2),
            Command::Palette => self.open(Overlay::Palette(PaletteInput::default())),
            Command::Help => self.open(Overlay::Help { scroll: 0 }),
            Command::Save => match reason.split_once(' ').unwrap_or((reason, "")) {
                ("view", name) => self.save_view(name.trim()),
                _ => self.open(Overlay::Save),
            },
            Command::View => self.open_view(reason),
            Command::Copy => self.copy(),
            Command::Back => self.back(),
            Command::Record => self.record(reason),
            // Handled above.
            Command::Play
            | Command::StepForward
            | Command::StepBack
            | Command::NextEvent
            | Command::PreviousEvent
            | Command::At
            | Command::Backtest => Vec::new(),
            Command::Suspend => vec![Effect::Suspend],
            Command::Quit => vec![Effect::Quit],
        }
    }

    fn open(&mut self, overlay: Overlay) -> Vec<Effect> {
        self.overlay.push(overlay);
        Vec::new()
    }

    /// Moves the selection; near the ends of the loaded part of Claims it loads more.
    pub(super) fn step(&mut self, steps: isize) -> Vec<Effect> {
        if self.pane == Pane::Overview {
            self.step_overview(steps);
            return Vec::new();
        }
        if self.pane == Pane::Claims {
            return self.step_claims(steps);
        }
        let list = self.list();
        let items = self.items(list);
        self.selections.entry(list).or_default().step(&items, steps);
        Vec::new()
    }

    fn sideways(&mut self, steps: isize) -> Vec<Effect> {
        match self.pane {
            Pane::Overview => {
                self.next_column(steps);
                Vec::new()
            }
            Pane::Claims => self.next_board(steps),
            Pane::Groups
            | Pane::Sessions
            | Pane::Jobs
            | Pane::Locks
            | Pane::Events
            | Pane::Audit
            | Pane::Backtest => Vec::new(),
        }
    }

    /// The pane after this one; the first after the last.
    fn neighbour(&self, panes: impl Iterator<Item = Pane>) -> Pane {
        let panes: Vec<Pane> = panes.collect();
        let here = panes.iter().position(|pane| *pane == self.pane).unwrap_or(0);
        panes[(here + 1) % panes.len()]
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
            Some(Item::Group { .. }) => match self.group_query() {
                Some(query) => self.show_claims(query),
                None => Vec::new(),
            },
            Some(Item::Bulk { id } | Item::BulkNote { id }) => self.fold(&id),
            Some(Item::Holder { id, .. }) => {
                // The claims of a session are a filter on Claims.
                self.show_claims(Query::held_by(&id))
            }
            _ => {
                let Some(row) = self.selected_row().cloned() else { return Vec::new() };
                let target = row.target();
                let detail = Detail { row, examined: Examination::Pending, scroll: 0 };
                self.overlay.push(Overlay::Detail(Box::new(detail)));
                // The trail tells what was done to it before.
                let history = Effect::LoadHistory(target.id.clone());
                vec![Effect::Examine { target }, history]
            }
        }
    }

    fn check_pid(&mut self) -> Vec<Effect> {
        if self.pane == Pane::Sessions && self.overlay.is_empty() {
            return self.check_all_pids();
        }
        match self.meant() {
            Some(row) => {
                self.notify(Tone::Info, format!("checking the process of {} ...", row.holder()));
                vec![Effect::Probe(vec![row])]
            }
            None => Vec::new(),
        }
    }

    fn check_all_pids(&mut self) -> Vec<Effect> {
        if self.pane == Pane::Sessions {
            // The list of sessions checks every process when it is read.
            return self.load_pane();
        }
        let rows: Vec<Row> = self.on_screen.keys().filter_map(|id| self.row(id)).cloned().collect();
        vec![Effect::Probe(rows)]
    }

    fn snooze(&mut self) -> Vec<Effect> {
        let until = self.now.plus(SNOOZE);
        match self.selected_row().map(|row| row.id.clone()) {
            Some(id) if self.pane != Pane::Claims => {
                self.notify(Tone::Info, format!("hidden for {SNOOZE}; esc shows hidden claims"));
                self.hold_selection();
                self.snoozed.insert(id, until);
            }
            _ => {
                self.snoozed.clear();
                self.notify(Tone::Info, "all hidden claims are shown again");
            }
        }
        Vec::new()
    }

    /// Groups by the next property; from another pane it opens Groups first.
    fn next_grouping(&mut self) -> Vec<Effect> {
        if self.pane != Pane::Groups {
            return self.go_to(Pane::Groups);
        }
        self.group_by = self.group_by.next();
        self.selections.remove(&self.list());
        Vec::new()
    }

    /// The next order, or the one that is named.
    fn sort_by(&mut self, name: &str) -> Vec<Effect> {
        self.hold_selection();
        (self.sort, self.direction) = match name {
            "" => (self.sort.next(), Direction::Usual),
            name => match Sort::parse(name) {
                Ok(sort) => sort,
                Err(why) => {
                    self.notify(Tone::Refused, why);
                    return Vec::new();
                }
            },
        };
        self.notify(Tone::Info, format!("sorted: {}", self.sort.word()));
        self.remember()
    }

    fn reverse(&mut self) -> Vec<Effect> {
        self.hold_selection();
        self.direction = self.direction.other();
        let order = match self.direction {
            Direction::Usual => "",
            Direction::Reversed => ", reversed",
        };
        self.notify(Tone::Info, format!("sorted: {}{order}", self.sort.word()));
        self.remember()
    }

    /// Shows these columns of claims; without names, the usual ones.
    fn show_columns(&mut self, names: &str) -> Vec<Effect> {
        let names = names.split([',', ' ']).filter(|name| !name.is_empty());
        match names.map(ClaimColumn::parse).collect() {
            Ok(columns) => {
                self.claim_columns = columns;
                self.remember()
            }
            Err(why) => {
                self.notify(Tone::Refused, why);
                Vec::new()
            }
        }
    }

    fn next_source(&mut self) -> Vec<Effect> {
        self.only = match self.only {
            None if self.sources.len() > 1 => Some(0),
            Some(at) if at + 1 < self.sources.len() => Some(at + 1),
            _ => None,
        };
        self.claims = ClaimList::default();
        self.find_causes();
        self.load_pane()
    }

    /// Only this source; again: all.
    pub(super) fn show_source(&mut self, source: usize) -> Vec<Effect> {
        self.hold_selection();
        self.only = if self.only == Some(source) || self.sources.len() < 2 { None } else { Some(source) };
        self.find_causes();
        self.claims = ClaimList::default();
        self.load_pane()
    }

    fn pause(&mut self) -> Vec<Effect> {
        self.pace = match self.pace {
            PollIntake::Live => PollIntake::Paused,
            PollIntake::Paused => PollIntake::Live,
        };
        vec![self.pace_effect()]
    }

    fn set_interval(&mut self, millis: i64) -> Vec<Effect> {
        self.settings.interval = Span::millis(millis.clamp(250, 60_000));
        self.notify(Tone::Info, format!("a poll every {}", self.settings.interval));
        vec![self.pace_effect()]
    }

    fn pace_effect(&self) -> Effect {
        Effect::SetPace { interval: self.settings.interval, paused: self.pace == PollIntake::Paused }
    }

    fn copy(&mut self) -> Vec<Effect> {
        if self.pane == Pane::Backtest {
            return self.copy_advice();
        }
        // An id with control characters could press Enter in a shell: its address is copied instead, which every
        // command accepts.
        let text = match (self.meant(), self.selected_holder(), self.selected_entry()) {
            (Some(row), _, _) if !is_plain(&row.claim().key.text()) => row.id.address,
            (Some(row), _, _) => row.claim().key.text(),
            (None, Some((_, holder)), _) => super::super::lists::holder_name(holder),
            (None, None, Some(line)) => line.action_id.clone(),
            (None, None, None) => match self.selected_bulk() {
                Some(bulk) => bulk.id.clone(),
                None => return Vec::new(),
            },
        };
        self.notify(Tone::Info, "copied (if the terminal allows it)");
        vec![Effect::Copy(if is_plain(&text) { text } else { escape(&text) })]
    }

    /// Copies the line of the config that a backtest recommends.
    fn copy_advice(&mut self) -> Vec<Effect> {
        let Some(line) = self.selected_backtest().and_then(TestedSeries::advised_line) else {
            self.notify(Tone::Refused, "there is no recommendation to copy");
            return Vec::new();
        };
        self.notify(Tone::Info, "copied the config line (if the terminal allows it)");
        vec![Effect::Copy(line)]
    }

    fn toggle_zoom(&mut self) -> Vec<Effect> {
        self.zoom = match self.zoom {
            Zoom::Off => Zoom::On,
            Zoom::On => Zoom::Off,
        };
        self.go_to(Pane::Overview)
    }

    fn toggle_header(&mut self) -> Vec<Effect> {
        self.header = match self.header {
            HeaderUse::Full => HeaderUse::OneLine,
            HeaderUse::OneLine => HeaderUse::Full,
        };
        Vec::new()
    }

    /// Closes the top dialog; else clears filter, marks and snoozes; else goes back.
    fn back(&mut self) -> Vec<Effect> {
        if self.overlay.pop().is_some() {
            return Vec::new();
        }
        let came_from = self.came_from.take();
        let is_clear = self.filter_text().is_empty() && self.snoozed.is_empty() && self.marked.is_empty();
        self.marked.clear();
        self.snoozed.clear();
        self.notice = None;
        let mut effects = self.set_query("");
        match came_from {
            Some(pane) => effects.extend(self.go_to(pane)),
            None if is_clear && self.zoom == Zoom::On => self.zoom = Zoom::Off,
            None if is_clear && self.pane != Pane::Overview => effects.extend(self.go_to(Pane::Overview)),
            None => {}
        }
        effects
    }
}

fn is_plain(text: &str) -> bool {
    !text.chars().any(is_deceptive)
}
