//! The trail: who did what, when, why, and what it changed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;

use super::table::{Cell, Column, Listing, draw as draw_table, fixed, share};
use super::theme::Theme;
use super::view::View;
use super::{popup, text};
use crate::app::item::Item;
use crate::app::message::{Spot, TrailLine};
use crate::app::model::{Model, Pane};
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

const COLUMNS: &[Column] = &[
    fixed("TIME", 19, 2),
    fixed("ACT", 11, 0),
    fixed("OUTCOME", 8, 1),
    share("CLAIM", 14, 4, 0),
    share("HOLDER", 8, 2, 4),
    share("BY", 8, 2, 5),
    share("REASON", 8, 3, 3),
];

pub fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let lines = model.trail_lines();
    if lines.is_empty() {
        let said = match &model.trail {
            None => "loading ...".into(),
            Some(Err(why)) => safe(why),
            Some(Ok(_)) if !model.query.is_empty() => "no entry passes the filter".into(),
            Some(Ok(_)) => "nothing has been done yet; every act will be here, with its undo".into(),
        };
        Line::styled(format!("  {}", text::clip(&said, usize::from(area.width))), theme.dim)
            .render(area, buffer);
        return;
    }
    let items: Vec<Item> = lines.iter().map(|line| Item::Entry { seq: line.seq }).collect();
    let listing = Listing::of(model, Pane::Audit, COLUMNS, &items);
    draw_table(&listing, view, theme, area, buffer, |at, _| {
        (cells(theme, lines[at]), Some(Spot::Item(items[at].clone())))
    });
}

fn cells(theme: &Theme, line: &TrailLine) -> Vec<Cell> {
    let time = line.at.get(..19).unwrap_or(&line.at).replace('T', " ");
    let outcome = line.outcome.as_deref().unwrap_or("open");
    vec![
        Cell::new(safe(&time), theme.dim),
        Cell::new(safe(&line.action), theme.strong),
        Cell::new(safe(outcome), style(line.outcome.as_deref(), theme)),
        Cell::new(visible(&line.address), theme.text),
        Cell::new(line.holder.as_deref().map_or_else(|| "–".into(), visible), theme.dim),
        Cell::new(visible(&line.who), theme.dim),
        Cell::sentence(line.reason.as_deref().map(visible).unwrap_or_default(), theme.text),
    ]
}

fn style(outcome: Option<&str>, theme: &Theme) -> Style {
    match outcome {
        Some("applied") => theme.set(Set::Healthy),
        Some("moved") => theme.set(Set::Expiring),
        Some("refused") => theme.set(Set::Stale),
        _ => theme.set(Set::Orphaned),
    }
}

/// One entry with everything it holds.
pub fn draw_entry(
    view: &mut View,
    theme: &Theme,
    line: &TrailLine,
    scroll: u16,
    area: Rect,
    buffer: &mut Buffer,
) {
    let inner = popup::frame("Act", theme.focus, theme, area, buffer);
    view.rows.clear();
    view.page_lines = usize::from(inner.height);
    let field = |name: &'static str, value: String| {
        Line::from(vec![Piece::styled(format!("{name:<10}"), theme.dim), Piece::styled(value, theme.text)])
    };
    let mut lines = vec![
        field("act", format!("{} ({})", safe(&line.action), safe(&line.action_id))),
        field("when", safe(&line.at)),
        field("outcome", safe(line.outcome.as_deref().unwrap_or("open: not known yet"))),
        field("claim", visible(&line.address)),
        field("holder", line.holder.as_deref().map_or_else(|| "–".into(), visible)),
        field("source", safe(&line.source)),
        field("by", visible(&line.who)),
        field("reason", line.reason.as_deref().map_or_else(|| "–".into(), visible)),
    ];
    if let Some(why) = &line.why {
        lines.push(field("why", safe(why)));
    }
    lines.push(Line::default());
    let room = usize::from(inner.width);
    lines.extend(line.images.iter().map(|image| Line::styled(text::clip(&safe(image), room), theme.text)));
    popup::lines(lines, scroll, theme, inner, buffer);
}
