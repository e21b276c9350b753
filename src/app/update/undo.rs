//! Taking an act back: first every row and column that would be written is shown.

use crossterm::event::{KeyCode, KeyEvent};

use super::super::dialog::{UndoPreview, UndoStage};
use super::super::message::Effect;
use super::super::model::{Model, Tone};
use super::super::overlay::Overlay;

impl Model {
    pub(super) fn undo(&mut self) -> Vec<Effect> {
        let chosen = self.selected_entry().map(|line| (line.on, line.action_id.clone()));
        let (source, action_id) = match chosen {
            Some((Some(source), id)) => (source, id),
            Some((None, _)) => {
                self.say(Tone::Refused, "that act was done to a source that is not open here");
                return Vec::new();
            }
            None => match self.undoable.last() {
                Some((source, id, _)) => (*source, id.clone()),
                None => {
                    self.say(Tone::Told, "there is nothing to undo yet; Audit lists earlier acts");
                    return Vec::new();
                }
            },
        };
        if let Some(why) = self.refusal(source) {
            self.say(Tone::Refused, why);
            return Vec::new();
        }
        let preview =
            UndoPreview { source, action_id: action_id.clone(), stage: UndoStage::Looking, scroll: 0 };
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

    /// A key while an undo is asked about.
    pub(super) fn undo_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let page = u16::try_from(self.page_lines).unwrap_or(10);
        let Some(Overlay::Undo(preview)) = self.overlay.last_mut() else { return Vec::new() };
        let is_shown = matches!(preview.stage, UndoStage::Preview(_));
        match key.code {
            KeyCode::Char('y' | 'Y') | KeyCode::Enter if is_shown => return self.undo_confirmed(),
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {
                self.overlay.pop();
                self.say(Tone::Told, "nothing was done");
            }
            KeyCode::Up | KeyCode::Char('k') => preview.scroll = preview.scroll.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => preview.scroll = preview.scroll.saturating_add(1),
            KeyCode::PageUp => preview.scroll = preview.scroll.saturating_sub(page),
            KeyCode::PageDown => preview.scroll = preview.scroll.saturating_add(page),
            _ => {}
        }
        Vec::new()
    }

    fn undo_confirmed(&mut self) -> Vec<Effect> {
        let Some(Overlay::Undo(preview)) = self.overlay.pop() else { return Vec::new() };
        let UndoPreview { source, action_id, .. } = *preview;
        // The source may have been lost since the question was asked.
        if let Some(why) = self.refusal(source) {
            self.say(Tone::Refused, why);
            return Vec::new();
        }
        self.undoable.retain(|(_, id, _)| *id != action_id);
        self.say(Tone::Told, "undoing ...");
        vec![Effect::Undo { source, action_id }]
    }
}
