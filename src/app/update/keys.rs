//! Keys go to the top dialog first, then to the panes.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use super::super::actions::Command;
use super::super::keymap::normal;
use super::super::message::{Effect, Format};
use super::super::model::{Model, Pane, Tone};
use super::super::overlay::{Overlay, PaletteInput};
use super::super::palette::Choice;
use super::super::query::Query;

impl Model {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        self.is_settled = true;
        let command = self.keymap.command(normal(key));
        if is_ctrl_c(key) && self.clear_input() {
            return match self.overlay.last() {
                Some(Overlay::Filter(_)) => self.set_query(""),
                _ => Vec::new(),
            };
        }
        // Keys with Ctrl work everywhere; letters may be input.
        if let (Some(command @ (Command::Quit | Command::Suspend)), true) = (command, has_control(key)) {
            return self.command(command, "");
        }
        match self.overlay.last() {
            Some(Overlay::Confirm(_)) => self.confirm_key(key),
            Some(Overlay::InBulk(_)) => self.bulk_key(key),
            Some(Overlay::Undo(_)) => self.undo_key(key),
            Some(Overlay::Filter(_)) => self.filter_key(key),
            Some(Overlay::Palette(_)) => self.palette_key(key),
            Some(Overlay::Save) => self.save_key(key),
            Some(Overlay::Help { .. } | Overlay::Entry { .. } | Overlay::Sources { .. }) => {
                self.reading_key(command)
            }
            Some(Overlay::Detail(_)) => self.detail_key(command),
            Some(Overlay::Dead(_)) => self.dead_key(command),
            // Elsewhere `g` goes to the first line; here it is more useful to change the grouping.
            None if self.pane == Pane::Groups && key.code == KeyCode::Char('g') => {
                self.command(Command::GroupBy, "")
            }
            None => command.map_or_else(Vec::new, |command| self.command(command, "")),
        }
    }

    /// Pasted text only fills an input.
    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        let line: String = text.chars().take_while(|c| *c != '\n' && *c != '\r').take(500).collect();
        let Some(input) = self.input() else {
            self.notify(Tone::Info, "a pasted text does nothing here");
            return Vec::new();
        };
        *input = Input::new(format!("{}{line}", input.value()));
        if let Some(Overlay::Filter(input)) = self.overlay.last() {
            let text = input.value().to_owned();
            return self.set_query(&text);
        }
        Vec::new()
    }

    /// The text field that keys go to, if one is open.
    fn input(&mut self) -> Option<&mut Input> {
        match self.overlay.last_mut()? {
            Overlay::Filter(input) => Some(input),
            Overlay::Palette(palette) => Some(&mut palette.input),
            Overlay::Confirm(confirm) => Some(confirm.input()),
            Overlay::InBulk(bulk) => Some(bulk.input()),
            Overlay::Undo(preview) => preview.source_name.as_mut().map(|source| &mut source.typed),
            _ => None,
        }
    }

    /// Empties the open text field; returns whether it had any text.
    fn clear_input(&mut self) -> bool {
        match self.input().filter(|input| !input.value().is_empty()) {
            Some(input) => {
                input.reset();
                true
            }
            None => false,
        }
    }

    fn filter_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Filter(input)) = self.overlay.last_mut() else { return Vec::new() };
        match key.code {
            KeyCode::Esc => {
                self.overlay.pop();
                return self.set_query("");
            }
            KeyCode::Enter => {
                self.overlay.pop();
                return self.filter_written();
            }
            _ => {
                input.handle_event(&Event::Key(key));
            }
        }
        let text = input.value().to_owned();
        self.set_query(&text)
    }

    pub(super) fn set_query(&mut self, text: &str) -> Vec<Effect> {
        if self.pane == super::super::model::Pane::Audit {
            return self.set_audit_filter(text);
        }
        match Query::parse(text) {
            Ok(query) => {
                self.query_problem = None;
                let effects = self.filter_by(query);
                self.focus_rows();
                return effects;
            }
            Err(why) => self.query_problem = Some(why),
        }
        Vec::new()
    }

    fn palette_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Palette(palette)) = self.overlay.last() else { return Vec::new() };
        let entries = self.palette_entries(palette.input.value());
        let Some(Overlay::Palette(palette)) = self.overlay.last_mut() else { return Vec::new() };
        let last = entries.len().saturating_sub(1);
        match key.code {
            KeyCode::Esc => {
                self.overlay.pop();
            }
            KeyCode::Up | KeyCode::BackTab => palette.selected = palette.selected.saturating_sub(1),
            KeyCode::Down => palette.selected = (palette.selected + 1).min(last),
            KeyCode::Tab => {
                if let Some(entry) = entries.get(palette.selected) {
                    *palette = PaletteInput { input: Input::new(format!("{} ", entry.name)), selected: 0 };
                }
            }
            KeyCode::Enter => {
                let at = palette.selected;
                return self.choose(at);
            }
            _ => {
                palette.input.handle_event(&Event::Key(key));
                palette.selected = 0;
            }
        }
        Vec::new()
    }

    /// Runs a line of the palette, and closes it.
    pub(super) fn choose(&mut self, at: usize) -> Vec<Effect> {
        let Some(Overlay::Palette(palette)) = self.overlay.last() else { return Vec::new() };
        let text = palette.input.value().trim().to_owned();
        let entry = self.palette_entries(&text).into_iter().nth(at);
        self.overlay.pop();
        match entry.map(|entry| entry.choice) {
            Some(Choice::Command(command)) => {
                let reason = text.split_once(' ').map_or("", |(_, reason)| reason.trim());
                self.command(command, reason)
            }
            Some(Choice::Source(source)) => self.show_source(source),
            Some(Choice::View(name)) => self.open_view(&name),
            Some(Choice::Theme(theme)) => vec![Effect::SetTheme(theme), self.remember_theme(theme)],
            None => {
                self.notify(Tone::Refused, format!("there is no command {text:?}"));
                Vec::new()
            }
        }
    }

    fn save_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let format = match key.code {
            KeyCode::Char('t') => Format::Text,
            KeyCode::Char('a') => Format::Ansi,
            KeyCode::Char('s') => Format::Svg,
            KeyCode::Esc | KeyCode::Char('q') => {
                self.overlay.pop();
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        self.overlay.pop();
        vec![Effect::Save(format)]
    }

    /// Handles a key in a text to read.
    fn reading_key(&mut self, command: Option<Command>) -> Vec<Effect> {
        let page = u16::try_from(self.page_lines).unwrap_or(10);
        let end = self.scroll_end;
        let Some(Overlay::Help { scroll } | Overlay::Entry { scroll, .. } | Overlay::Sources { scroll }) =
            self.overlay.last_mut()
        else {
            return Vec::new();
        };
        if command.is_some_and(|command| scrolled(scroll, command, page, end)) {
            return Vec::new();
        }
        match command {
            Some(Command::Undo) if matches!(self.overlay.last(), Some(Overlay::Entry { .. })) => {
                self.overlay.pop();
                return self.undo();
            }
            Some(Command::Back | Command::Quit | Command::Help | Command::Detail | Command::Sources) => {
                self.overlay.pop();
            }
            Some(Command::Save) => self.overlay.push(Overlay::Save),
            _ => {}
        }
        Vec::new()
    }

    fn detail_key(&mut self, command: Option<Command>) -> Vec<Effect> {
        let page = u16::try_from(self.page_lines).unwrap_or(10);
        let end = self.scroll_end;
        let Some(Overlay::Detail(detail)) = self.overlay.last_mut() else { return Vec::new() };
        if command.is_some_and(|command| scrolled(&mut detail.scroll, command, page, end)) {
            return Vec::new();
        }
        match command {
            Some(Command::Back | Command::Quit | Command::Detail) => {
                self.overlay.pop();
            }
            Some(
                command @ (Command::Reclaim
                | Command::Release
                | Command::Extend
                | Command::Undo
                | Command::CheckPid
                | Command::Copy
                | Command::Save
                | Command::Help
                | Command::Palette
                | Command::Pause),
            ) => return self.command(command, ""),
            _ => {}
        }
        Vec::new()
    }
}

fn has_control(key: KeyEvent) -> bool {
    key.modifiers.contains(crossterm::event::KeyModifiers::CONTROL)
}

fn is_ctrl_c(key: KeyEvent) -> bool {
    has_control(key) && key.code == KeyCode::Char('c')
}

/// Scrolls a text that ends at `end`; returns whether the command scrolls.
pub(super) fn scrolled(scroll: &mut u16, command: Command, page: u16, end: u16) -> bool {
    let from = (*scroll).min(end);
    *scroll = match command {
        Command::Up => from.saturating_sub(1),
        Command::Down => from.saturating_add(1).min(end),
        Command::PageUp => from.saturating_sub(page),
        Command::PageDown => from.saturating_add(page).min(end),
        Command::Top => 0,
        Command::Bottom => end,
        _ => return false,
    };
    true
}
