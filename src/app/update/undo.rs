//! Undo: first it shows every row and column that it would write.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::backend::crossterm::EventHandler;

use super::super::dialog::{UndoPreview, UndoStage};
use super::super::keymap::normal;
use super::super::message::Effect;
use super::super::model::{Model, Tone};
use super::super::overlay::Overlay;
use super::keys::scrolled;

impl Model {
    pub(super) fn undo(&mut self) -> Vec<Effect> {
        let act = self.selected_entry().map(|line| (line.on, line.action_id.clone()));
        let chosen = act.or_else(|| self.selected_bulk().map(|bulk| (bulk.on, bulk.id.clone())));
        let (source, action_id) = match chosen {
            Some((Some(source), id)) => (source, id),
            Some((None, _)) => {
                self.notify(Tone::Refused, "that act was done to a source that is not open here");
                return Vec::new();
            }
            None => match self.undoable.last() {
                Some((source, id, _)) => (*source, id.clone()),
                None => {
                    self.notify(Tone::Info, "there is nothing to undo yet; Audit lists earlier acts");
                    return Vec::new();
                }
            },
        };
        if let Some(why) = self.refusal(source) {
            self.notify(Tone::Refused, why);
            return Vec::new();
        }
        let preview = UndoPreview {
            source,
            action_id: action_id.clone(),
            stage: UndoStage::Looking,
            source_name: self.source_name_to_type(source),
            scroll: 0,
            complaint: None,
        };
        self.overlay.push(Overlay::Undo(Box::new(preview)));
        vec![Effect::PrepareUndo { source, action_id }]
    }

    /// What an undo would write, or why it would not.
    pub(super) fn undo_ready(&mut self, action_id: &str, ready: Result<Vec<String>, String>) -> Vec<Effect> {
        if let Some(Overlay::Undo(preview)) = self.overlay.last_mut()
            && preview.action_id == action_id
        {
            preview.stage = match ready {
                Ok(lines) => UndoStage::Preview(lines),
                Err(why) => UndoStage::Failed(why),
            };
        }
        Vec::new()
    }

    /// Handles a key in the undo dialog.
    pub(super) fn undo_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let page = u16::try_from(self.page_lines).unwrap_or(10);
        let (command, end) = (self.keymap.command(normal(key)), self.scroll_end);
        let Some(Overlay::Undo(preview)) = self.overlay.last_mut() else { return Vec::new() };
        let is_shown = matches!(preview.stage, UndoStage::Preview(_));
        let scrolls = matches!(key.code, KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown);
        if let (true, Some(source)) = (is_shown && !scrolls, &mut preview.source_name) {
            match key.code {
                KeyCode::Enter if source.is_typed() => return self.undo_confirmed(),
                KeyCode::Enter => preview.complaint = Some(source.complaint()),
                KeyCode::Esc => return self.leave_undo(),
                _ => {
                    source.typed.handle_event(&Event::Key(key));
                    preview.complaint = None;
                }
            }
            return Vec::new();
        }
        match key.code {
            KeyCode::Char('y' | 'Y') | KeyCode::Enter if is_shown => return self.undo_confirmed(),
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => return self.leave_undo(),
            _ => {
                if let Some(command) = command {
                    scrolled(&mut preview.scroll, command, page, end);
                }
            }
        }
        Vec::new()
    }

    fn leave_undo(&mut self) -> Vec<Effect> {
        self.overlay.pop();
        self.notify(Tone::Info, "nothing was done");
        Vec::new()
    }

    fn undo_confirmed(&mut self) -> Vec<Effect> {
        let Some(Overlay::Undo(preview)) = self.overlay.pop() else { return Vec::new() };
        let UndoPreview { source, action_id, .. } = *preview;
        // The source may have been lost since the question was asked.
        if let Some(why) = self.refusal(source) {
            self.notify(Tone::Refused, why);
            return Vec::new();
        }
        self.undoable.retain(|(_, id, _)| *id != action_id);
        self.notify(Tone::Info, "undoing ...");
        vec![Effect::Undo { source, action_id }]
    }
}
