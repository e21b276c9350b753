//! The dead jobs of a kind with their last errors; a key queues one again.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::table::{Cell, TableColumn, TableContent, draw as draw_table, right, share};
use super::theme::Theme;
use super::view::View;
use super::{header, popup, text};
use crate::app::Command;
use crate::app::model::{ListId, Model, Pane};
use crate::app::overlay::Dead;
use crate::app::row::Row;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

const COLUMNS: &[TableColumn] =
    &[share("ID", 12, 3, 0), right("ATTEMPTS", 8, 2), share("LAST ERROR", 20, 6, 1)];

pub(super) fn draw(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    dead: &Dead,
    area: Rect,
    buffer: &mut Buffer,
) {
    let kind = dead.query.kind.as_deref().map_or_else(|| "–".into(), visible);
    let key = model.keymap.key(Command::Reclaim);
    let title = format!("Dead: {kind} on {}; {key} queues one again", visible(&dead.query.board));
    let inner = popup::frame(&title, theme.focus, theme, area, buffer);
    view.cover();
    let rows = dead.rows();
    if rows.is_empty() {
        let said = match &dead.rows {
            None => header::waiting(model.sources.get(dead.query.source).into_iter()),
            Some(Err(why)) => safe(why),
            Some(Ok(_)) => "none of this kind is dead".into(),
        };
        Line::styled(text::clip(&said, usize::from(inner.width)), theme.dim).render(inner, buffer);
        return;
    }
    let listing = TableContent {
        list: ListId::Pane(Pane::Jobs),
        columns: COLUMNS,
        total: rows.len(),
        selected: dead.selection.place(&dead.items()),
        focused: true,
        sorted: None,
    };
    draw_table(&listing, view, theme, inner, buffer, |at, _| (cells(theme, &rows[at]), None));
}

fn cells(theme: &Theme, row: &Row) -> Vec<Cell> {
    let claim = row.claim();
    let attempts = match (claim.attempts, claim.max_attempts) {
        (Some(attempts), Some(most)) => format!("{attempts}/{most}"),
        (Some(attempts), None) => attempts.to_string(),
        _ => "–".into(),
    };
    vec![
        Cell::new(row.shown(), theme.strong),
        Cell::new(attempts, theme.set(Set::Stale)),
        Cell::sentence(claim.error.as_deref().map(visible).unwrap_or_default(), theme.text),
    ]
}
