//! The trail: who did what, when, why, and what it changed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;

use super::table::{
    Cell, SOURCE, SourceColumns, TableColumn, TableContent, draw as draw_table, fixed, share,
};
use super::theme::Theme;
use super::view::View;
use super::{popup, text};
use crate::app::audit::{AuditRow, BulkLine, Extent};
use crate::app::item::Item;
use crate::app::message::{ClickTarget, TrailLine};
use crate::app::model::{Model, Pane};
use crate::domain::audit::OutcomeCounts;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

const COLUMNS: &[TableColumn] = &[
    fixed("TIME", 11, 2),
    fixed("ACT", 11, 0),
    fixed("OUTCOME", 8, 1),
    share("CLAIM", 16, 6, 0),
    share("HOLDER", 8, 2, 5),
    share("BY", 6, 2, 4),
    share(SOURCE, 8, 1, 1),
    share("REASON", 8, 3, 3),
];

pub(super) fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let rows = model.audit.rows();
    if rows.is_empty() {
        let said = nothing(model);
        Line::styled(format!("  {}", text::clip(&said, usize::from(area.width))), theme.dim)
            .render(area, buffer);
        return;
    }
    let area = draw_extent(model, theme, area, buffer);
    let columns = SourceColumns::new(model, COLUMNS);
    let items: Vec<Item> = rows.iter().map(AuditRow::item).collect();
    let listing = TableContent::of(model, Pane::Audit, &columns.columns, &items);
    draw_table(&listing, view, theme, area, buffer, |at, _| {
        (columns.cells(cells(theme, &rows[at], model.now)), Some(ClickTarget::Item(items[at].clone())))
    });
}

/// Why there is nothing to show.
fn nothing(model: &Model) -> String {
    match &model.audit.page {
        None => "loading ...".into(),
        Some(Err(why)) => safe(why),
        Some(Ok(page)) => match page.extent {
            Extent::Reading { records } => format!("searching; {records} records so far ..."),
            _ if !model.audit.filter.is_empty() => "no entry passes the filter".into(),
            _ => "nothing has been done yet; every act will be here, with its undo".into(),
        },
    }
}

/// Says below the list if there is more than it shows; the answer is the room that is left.
fn draw_extent(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Rect {
    let Some(Ok(page)) = &model.audit.page else { return area };
    let said = match page.extent {
        _ if page.filter != model.audit.filter => "searching ...".to_owned(),
        Extent::Whole => return area,
        Extent::Newest => "the newest lines; a filter or `claimtop audit list` finds older ones".to_owned(),
        Extent::Reading { records } => format!("searching; {records} records so far ..."),
    };
    if area.height < 4 {
        return area;
    }
    let line = Rect { y: area.bottom() - 1, height: 1, ..area };
    Line::styled(format!("  {}", text::clip(&said, usize::from(area.width))), theme.dim).render(line, buffer);
    Rect { height: area.height - 1, ..area }
}

fn cells(theme: &Theme, row: &AuditRow<'_>, now: Moment) -> Vec<Cell> {
    match row {
        AuditRow::Act(line) => act(theme, line, "", now),
        AuditRow::Below(line) => act(theme, line, "    ", now),
        AuditRow::Bulk { line, is_unfolded } => bulk(theme, line, *is_unfolded, now),
        AuditRow::Note { text, .. } => {
            let empty = || Cell::new("", theme.dim);
            let said = Cell::sentence(format!("    {}", safe(text)), theme.dim);
            vec![empty(), empty(), empty(), said, empty(), empty(), empty(), empty()]
        }
    }
}

fn act(theme: &Theme, line: &TrailLine, indent: &str, now: Moment) -> Vec<Cell> {
    let outcome = line.outcome.as_deref().unwrap_or("open");
    vec![
        Cell::new(time(&line.at, now), theme.dim),
        Cell::new(safe(&line.action), theme.strong),
        Cell::new(safe(outcome), style(line.outcome.as_deref(), theme)),
        Cell::new(format!("{indent}{}", visible(&line.address)), theme.text),
        Cell::new(line.holder.as_deref().map_or_else(|| "–".into(), visible), theme.dim),
        Cell::new(visible(&line.who), theme.dim),
        Cell::new(safe(&line.source), theme.dim),
        Cell::sentence(line.reason.as_deref().map(visible).unwrap_or_default(), theme.text),
    ]
}

/// All acts of a bulk in one line: how many, and what came of them.
fn bulk(theme: &Theme, line: &BulkLine, is_unfolded: bool, now: Moment) -> Vec<Cell> {
    let counts = &line.counts;
    let in_common = counts.in_common();
    let total = counts.total();
    let said = match in_common {
        Some(_) if total == 1 => "1 claim".to_owned(),
        Some(_) => format!("{total} claims"),
        None => {
            let others = OutcomeCounts { applied: 0, ..*counts };
            format!("{} of {total} applied, {others}", counts.applied)
        }
    };
    let outcome = in_common.unwrap_or("mixed");
    vec![
        Cell::new(time(&line.at, now), theme.dim),
        Cell::new(safe(&line.action), theme.strong),
        Cell::new(outcome, style(in_common, theme)),
        Cell::sentence(format!("[{}] {said}", if is_unfolded { '-' } else { '+' }), theme.strong),
        Cell::new(line.holder.as_deref().map_or_else(|| "several".into(), visible), theme.dim),
        Cell::new(visible(&line.who), theme.dim),
        Cell::new(safe(&line.source), theme.dim),
        Cell::sentence(line.reason.as_deref().map(visible).unwrap_or_default(), theme.text),
    ]
}

/// The time of day if that is today, else the day as well.
fn time(at: &str, now: Moment) -> String {
    let today = now.rfc3339();
    let is_same = |length: usize| at.get(..length).is_some_and(|start| today.starts_with(start));
    let shown = match (is_same(10), is_same(4)) {
        (true, _) => at.get(11..19),
        (false, true) => at.get(5..16),
        (false, false) => at.get(..10),
    };
    safe(&shown.unwrap_or(at).replace('T', " "))
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
pub(super) fn draw_entry(
    view: &mut View,
    theme: &Theme,
    line: &TrailLine,
    scroll: u16,
    area: Rect,
    buffer: &mut Buffer,
) {
    let inner = popup::frame("Act", theme.focus, theme, area, buffer);
    view.cover();
    view.page_lines = usize::from(inner.height);
    let room = usize::from(inner.width);
    let field = |name: &str, value: String| {
        let value = text::clip(&value, room.saturating_sub(12));
        Line::from(vec![Piece::styled(format!("{name:<12}"), theme.dim), Piece::styled(value, theme.text)])
    };
    let heading = |said: &'static str| Line::styled(said, theme.title);
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
    lines.extend(line.why.as_deref().map(|why| field("why", safe(why))));
    lines.extend(line.undoes.as_deref().map(|undone| field("undoes", safe(undone))));
    if !line.evidence.is_empty() {
        lines.extend([Line::default(), heading("Evidence")]);
        lines.extend(line.evidence.iter().map(|(name, value)| field(&safe(name), safe(value))));
    }
    if !line.images.is_empty() {
        lines.extend([Line::default(), heading("Rows before and after")]);
    }
    lines.extend(line.images.iter().map(|image| Line::styled(text::clip(&safe(image), room), theme.text)));
    view.scroll_end = popup::lines(lines, scroll, theme, inner, buffer);
}
