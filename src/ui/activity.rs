//! What holders did in the last minutes, below the kinds of work.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::text;
use super::theme::Theme;
use crate::app::model::Model;
use crate::domain::detail::HolderActivity;
use crate::domain::visible::visible;

/// Lines for holders at most; `list --history --by holder` prints all.
const MOST: usize = 6;

/// Draws it at the bottom, if there is any, and returns the area that is left.
pub(super) fn draw(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Rect {
    let mut all: Vec<(usize, &HolderActivity)> = Vec::new();
    for (source, _) in model.shown_sources() {
        all.extend(model.activity.get(&source).into_iter().flatten().map(|one| (source, one)));
    }
    let room = usize::from(area.height / 3).saturating_sub(1).min(MOST);
    if all.is_empty() || room == 0 {
        return area;
    }
    all.sort_by_key(|(_, one)| std::cmp::Reverse(one.recent));
    let shown = all.len().min(room);
    let rows = Layout::vertical([Constraint::Min(0), Constraint::Length(shown as u16 + 1)]);
    let [rest, below] = rows.areas(area);
    let more = all.len() - shown;
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    let mut lines =
        vec![Line::styled(format!("  ACTIVITY BY HOLDER, LAST 5 MIN ({}{more})", all.len()), theme.dim)];
    lines.extend(all[..shown].iter().map(|(source, one)| line(model, theme, below.width, *source, one)));
    for (line, row) in lines.into_iter().zip(below.rows()) {
        line.render(row, buffer);
    }
    rest
}

fn line(model: &Model, theme: &Theme, width: u16, source: usize, one: &HolderActivity) -> Line<'static> {
    let name = one.holder.as_deref().map_or_else(|| "–".into(), visible);
    let name = model.source_name(source).map_or(name.clone(), |source| format!("{source}·{name}"));
    let last = text::span(one.last.map(|at| model.now_of(source).since(at)));
    let name = format!("  {:<28}", text::clip(&name, 28));
    let count = format!(" {:>6}", text::number(one.recent));
    let rest = format!("  {:.1}/min, last {last} ago, {}/{}", one.per_minute(), one.profile, one.history);
    let room = usize::from(width).saturating_sub(name.chars().count() + count.len());
    Line::from(vec![
        Span::styled(name, theme.strong),
        Span::styled(count, theme.text),
        Span::styled(text::clip(&rest, room), theme.dim),
    ])
}
