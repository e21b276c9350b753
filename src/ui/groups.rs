//! Trouble, group by group: how much of how much, since when, how it came, and what an act would do.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;

use super::table::{
    Cell, SOURCE, SourceColumns, TableColumn, TableContent, draw as draw_table, fixed, right, share,
};
use super::theme::Theme;
use super::view::View;
use super::{header, text};
use crate::app::groups::GroupLine;
use crate::app::item::Item;
use crate::app::message::ClickTarget;
use crate::app::model::{Model, Pane};
use crate::domain::cause::GroupBy;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;

const COLUMNS: &[TableColumn] = &[
    share("GROUP", 10, 2, 0),
    right("TROUBLE", 8, 0),
    fixed("", BAR, 3),
    right("OF", 8, 1),
    fixed("SILENT", 9, 5),
    fixed("SINCE", 8, 2),
    fixed("HOW", 16, 6),
    share("R WOULD", 12, 3, 0),
    share(SOURCE, 8, 1, 0),
];

/// The width of the bar.
const BAR: u16 = 10;

pub(super) fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let [head, area] = [Rect { height: area.height.min(1), ..area }, below(area)];
    draw_grouping(model, theme, head, buffer);
    let lines = model.group_lines();
    if lines.is_empty() {
        let said = nothing(model);
        Line::styled(format!("  {}", text::clip(&said, usize::from(area.width))), theme.dim)
            .render(area, buffer);
        return;
    }
    let items: Vec<Item> = lines.iter().map(GroupLine::item).collect();
    let most = lines.iter().map(|line| line.group.in_trouble).max().unwrap_or(1).max(1);
    let columns = SourceColumns::new(model, COLUMNS);
    let listing = TableContent::of(model, Pane::Groups, &columns.columns, &items);
    draw_table(&listing, view, theme, area, buffer, |at, _| {
        (columns.cells(cells(model, theme, &lines[at], most)), Some(ClickTarget::Item(items[at].clone())))
    });
}

fn below(area: Rect) -> Rect {
    let head = area.height.min(1);
    Rect { y: area.y + head, height: area.height - head, ..area }
}

/// "by host (g: holder · kind · board ...)".
fn draw_grouping(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let mut pieces = vec![Piece::styled(" g groups by  ", theme.dim)];
    for by in GroupBy::ALL {
        let style = if by == model.group_by { theme.strong } else { theme.dim };
        pieces.push(Piece::styled(format!("{}  ", by.as_str()), style));
    }
    Line::from(pieces).render(area, buffer);
}

fn nothing(model: &Model) -> String {
    let counts = model.counts();
    if counts.stale + counts.orphaned > 0 {
        return "looking at the claims in trouble ...".into();
    }
    match model.shown_sources().any(|(_, source)| source.polled_at.is_some()) {
        true => "nothing is in trouble".into(),
        false => header::waiting(model.shown_sources().map(|(_, source)| source)),
    }
}

fn cells(model: &Model, theme: &Theme, line: &GroupLine, most: u64) -> Vec<Cell> {
    let group = &line.group;
    let colour = theme.set(group.worst.unwrap_or(Set::Stale));
    let about = if group.is_estimate { "~" } else { "" };
    let of = if group.by == GroupBy::Reason { model.counts().total } else { group.of };
    vec![
        Cell::new(line.name(), theme.strong),
        Cell::new(format!("{about}{}", text::number(group.in_trouble)), colour),
        Cell::new(bar(group.in_trouble, most), colour),
        Cell::new(format!("{about}{}", text::number(of)), theme.text),
        Cell::new(
            format!("{}/{}", group.silent, group.holders),
            if group.silent > 0 { colour } else { theme.dim },
        ),
        Cell::new(since(group.since), theme.text),
        Cell::new(group.how(), theme.text),
        Cell::sentence(group.prospects.sentence(), theme.text),
        Cell::new(model.name_of(line.source), theme.dim),
    ]
}

fn bar(count: u64, most: u64) -> String {
    let cells = (count as f64 / most as f64 * f64::from(BAR)).ceil() as usize;
    "█".repeat(cells.clamp(1, usize::from(BAR)))
}

fn since(at: Option<Moment>) -> String {
    at.map_or_else(|| "–".into(), |at| at.rfc3339().get(11..19).unwrap_or_default().to_owned())
}
