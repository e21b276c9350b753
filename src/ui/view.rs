//! What the last frame showed and where: for the mouse, for paging, and for the rule that a key
//! acts only on what was on the screen.

use ratatui::layout::{Position, Rect};
use std::collections::BTreeMap;

use crate::app::message::ClickTarget;
use crate::app::model::ListId;
use crate::app::row::{Row, RowId};
use crate::domain::token::SeenToken;

#[derive(Debug, Default)]
pub struct View {
    /// The first line that is shown of each list.
    offsets: BTreeMap<ListId, usize>,
    spots: Vec<(Rect, ClickTarget)>,
    pub rows: BTreeMap<RowId, Option<SeenToken>>,
    /// How many lines of the selected list fit.
    pub page_lines: usize,
    /// How far the text that lies on top can be scrolled.
    pub scroll_end: u16,
    /// Where the cursor of an input stands.
    pub cursor: Option<Position>,
}

impl View {
    /// Forgets the last frame, save how far the lists were scrolled.
    pub fn begin(&mut self) {
        self.spots.clear();
        self.rows.clear();
        self.cursor = None;
        self.scroll_end = 0;
    }

    /// The first line to show so that `selected` is among the `lines` that fit, moved no further than
    /// it must be.
    pub fn scroll_to(&mut self, list: ListId, selected: Option<usize>, lines: usize, total: usize) -> usize {
        let offset = self.offsets.entry(list).or_default();
        if let Some(selected) = selected {
            *offset = (*offset).min(selected).max((selected + 1).saturating_sub(lines));
        }
        *offset = (*offset).min(total.saturating_sub(lines));
        *offset
    }

    /// Something lies over all that was drawn before: neither keys nor clicks mean it any more.
    pub fn cover(&mut self) {
        self.rows.clear();
        self.spots.clear();
    }

    pub fn spot(&mut self, area: Rect, spot: ClickTarget) {
        self.spots.push((area, spot));
    }

    pub fn show(&mut self, row: &Row) {
        self.rows.insert(row.id.clone(), row.judged.seen);
    }

    /// What the mouse hits there: the last thing that was drawn.
    pub fn hit(&self, column: u16, line: u16) -> Option<&ClickTarget> {
        let at = Position::new(column, line);
        self.spots.iter().rev().find(|(area, _)| area.contains(at)).map(|(_, spot)| spot)
    }
}
