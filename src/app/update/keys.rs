//! A key reaches what lies on top first, then the panes.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

use super::super::actions::{ACTIONS, ActionSpec, Command};
use super::super::keymap::normal;
use super::super::message::{Effect, Format};
use super::super::model::{Model, Tone};
use super::super::overlay::{Overlay, Palette};
use super::super::query::Query;

impl Model {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let command = self.keymap.command(normal(key));
        // These mean the same everywhere; letters may be meant for an input.
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
            Some(Overlay::Help { .. } | Overlay::Entry { .. }) => self.reading_key(command),
            Some(Overlay::Detail(_)) => self.detail_key(command),
            Some(Overlay::Dead(_)) => self.dead_key(command),
            None => command.map_or_else(Vec::new, |command| self.command(command, "")),
        }
    }

    /// A pasted block can fill an input, and do nothing else.
    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        let line: String = text.chars().take_while(|c| *c != '\n' && *c != '\r').take(500).collect();
        let input = match self.overlay.last_mut() {
            Some(Overlay::Filter(input)) => input,
            Some(Overlay::Palette(palette)) => &mut palette.input,
            Some(Overlay::Confirm(confirm)) => match confirm.field {
                super::super::dialog::Field::Name => &mut confirm.name,
                super::super::dialog::Field::Reason => &mut confirm.reason,
            },
            Some(Overlay::InBulk(bulk)) => match bulk.field {
                super::super::dialog::Field::Name => &mut bulk.name,
                super::super::dialog::Field::Reason => &mut bulk.reason,
            },
            _ => {
                self.say(Tone::Told, "a pasted text does nothing here");
                return Vec::new();
            }
        };
        *input = Input::new(format!("{}{line}", input.value()));
        if let Some(Overlay::Filter(input)) = self.overlay.last() {
            let text = input.value().to_owned();
            return self.set_query(&text);
        }
        Vec::new()
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
                return Vec::new();
            }
            _ => {
                input.handle_event(&Event::Key(key));
            }
        }
        let text = input.value().to_owned();
        self.set_query(&text)
    }

    pub(super) fn set_query(&mut self, text: &str) -> Vec<Effect> {
        match Query::parse(text) {
            Ok(query) => {
                let asks_again = query.for_database() != self.query.for_database();
                self.query = query;
                self.query_problem = None;
                if asks_again && self.pane == super::super::model::Pane::Claims {
                    return self
                        .load_page(crate::domain::detail::Cursor::First, super::super::model::Landing::Top);
                }
            }
            Err(why) => self.query_problem = Some(why),
        }
        Vec::new()
    }

    fn palette_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Palette(palette)) = self.overlay.last_mut() else { return Vec::new() };
        let found = found(palette.input.value()).len();
        match key.code {
            KeyCode::Esc => {
                self.overlay.pop();
            }
            KeyCode::Up => palette.selected = palette.selected.saturating_sub(1),
            KeyCode::Down => palette.selected = (palette.selected + 1).min(found.saturating_sub(1)),
            KeyCode::Enter => {
                let palette = palette.clone();
                self.overlay.pop();
                return self.run_palette(&palette);
            }
            _ => {
                palette.input.handle_event(&Event::Key(key));
                palette.selected = 0;
            }
        }
        Vec::new()
    }

    fn run_palette(&mut self, palette: &Palette) -> Vec<Effect> {
        let text = palette.input.value().trim();
        let reason = text.split_once(' ').map_or("", |(_, reason)| reason.trim());
        match found(text).get(palette.selected) {
            Some(spec) => self.command(spec.command, reason),
            None => {
                self.say(Tone::Refused, format!("there is no command {text:?}"));
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

    /// A key while there is something to read.
    fn reading_key(&mut self, command: Option<Command>) -> Vec<Effect> {
        let page = u16::try_from(self.page_lines).unwrap_or(10);
        let Some(Overlay::Help { scroll } | Overlay::Entry { scroll, .. }) = self.overlay.last_mut() else {
            return Vec::new();
        };
        match command {
            Some(Command::Up) => *scroll = scroll.saturating_sub(1),
            Some(Command::Down) => *scroll = scroll.saturating_add(1),
            Some(Command::PageUp) => *scroll = scroll.saturating_sub(page),
            Some(Command::PageDown) => *scroll = scroll.saturating_add(page),
            Some(Command::Top) => *scroll = 0,
            Some(Command::Undo) if matches!(self.overlay.last(), Some(Overlay::Entry { .. })) => {
                self.overlay.pop();
                return self.undo();
            }
            Some(Command::Back | Command::Quit | Command::Help | Command::Detail) => {
                self.overlay.pop();
            }
            Some(Command::Save) => self.overlay.push(Overlay::Save),
            _ => {}
        }
        Vec::new()
    }

    fn detail_key(&mut self, command: Option<Command>) -> Vec<Effect> {
        let page = u16::try_from(self.page_lines).unwrap_or(10);
        let Some(Overlay::Detail(detail)) = self.overlay.last_mut() else { return Vec::new() };
        match command {
            Some(Command::Up) => detail.scroll = detail.scroll.saturating_sub(1),
            Some(Command::Down) => detail.scroll = detail.scroll.saturating_add(1),
            Some(Command::PageUp) => detail.scroll = detail.scroll.saturating_sub(page),
            Some(Command::PageDown) => detail.scroll = detail.scroll.saturating_add(page),
            Some(Command::Top) => detail.scroll = 0,
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

/// The commands whose name begins with, or else contains, the first word.
pub fn found(text: &str) -> Vec<&'static ActionSpec> {
    let wanted = text.split_whitespace().next().unwrap_or_default().to_lowercase();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for spec in ACTIONS {
        if spec.name.starts_with(&wanted) {
            first.push(spec);
        } else if spec.name.contains(&wanted) || (wanted.len() > 2 && spec.what.contains(&wanted)) {
            rest.push(spec);
        }
    }
    first.extend(rest);
    first
}
