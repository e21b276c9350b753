//! A list with columns: only the lines that are on the screen are ever built.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text;
use super::theme::Theme;
use super::view::View;
use crate::app::item::Item;
use crate::app::message::ClickTarget;
use crate::app::model::{ListId, Model, Pane};

/// One column.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableColumn {
    pub title: &'static str,
    pub width: Width,
    pub right: bool,
    /// Columns with the highest number are dropped first if there is no room.
    pub spare: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Fixed(u16),
    /// What is left, at least this, in proportion.
    Share(u16, u16),
}

pub(super) const fn fixed(title: &'static str, width: u16, spare: u8) -> TableColumn {
    TableColumn { title, width: Width::Fixed(width), right: false, spare }
}

pub(super) const fn right(title: &'static str, width: u16, spare: u8) -> TableColumn {
    TableColumn { title, width: Width::Fixed(width), right: true, spare }
}

pub(super) const fn share(title: &'static str, least: u16, parts: u16, spare: u8) -> TableColumn {
    TableColumn { title, width: Width::Share(least, parts), right: false, spare }
}

/// A cell: its text and how it looks.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub text: String,
    pub style: Style,
    /// Sentences lose their end, names their middle.
    pub sentence: bool,
}

impl Cell {
    pub(super) fn new(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), style, sentence: false }
    }

    pub(super) fn sentence(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), style, sentence: true }
    }
}

/// The columns of a list in which every line belongs to a source. With one source they have no `SOURCE`.
pub(super) struct SourceColumns {
    pub columns: Vec<TableColumn>,
    hidden: Option<usize>,
}

impl SourceColumns {
    pub(super) fn new(model: &Model, columns: &[TableColumn]) -> SourceColumns {
        let source = columns.iter().position(|column| column.title == SOURCE);
        let hidden = source.filter(|_| model.sources.len() == 1);
        let mut columns = columns.to_vec();
        hidden.map(|at| columns.remove(at));
        SourceColumns { columns, hidden }
    }

    /// The cells of a line, without that of a hidden column.
    pub(super) fn cells(&self, mut cells: Vec<Cell>) -> Vec<Cell> {
        self.hidden.map(|at| cells.remove(at));
        cells
    }
}

/// The heading of the column that names the source.
pub(super) const SOURCE: &str = "SOURCE";

/// The columns that fit, with their widths.
pub(super) fn layout(columns: &[TableColumn], room: u16) -> Vec<(usize, u16)> {
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let least = |at: usize| match columns[at].width {
        Width::Fixed(width) => width,
        Width::Share(least, _) => least,
    };
    let needed = |kept: &[usize]| {
        kept.iter().map(|at| least(*at)).sum::<u16>()
            + u16::try_from(kept.len().saturating_sub(1)).unwrap_or(0) * 2
    };
    while kept.len() > 1 && needed(&kept) > room {
        let Some(goes) = kept.iter().copied().max_by_key(|at| columns[*at].spare) else { break };
        kept.retain(|at| *at != goes);
    }
    let mut rest = room.saturating_sub(needed(&kept));
    let mut parts: u16 = kept
        .iter()
        .map(|at| match columns[*at].width {
            Width::Fixed(_) => 0,
            Width::Share(_, parts) => parts,
        })
        .sum();
    let widths = kept.into_iter().map(|at| match columns[at].width {
        Width::Fixed(width) => (at, width),
        Width::Share(least, share) => {
            let more = (rest * share).checked_div(parts).unwrap_or(0);
            parts -= share;
            rest -= more;
            (at, least + more)
        }
    });
    widths.collect()
}

/// A list as it stands.
pub(super) struct TableContent<'a> {
    pub list: ListId,
    pub columns: &'a [TableColumn],
    pub total: usize,
    pub selected: Option<usize>,
    /// Whether keys act on its selection.
    pub focused: bool,
    /// The column that the list is sorted by, and the arrow that says how.
    pub sorted: Option<(usize, &'static str)>,
}

impl<'a> TableContent<'a> {
    /// The list of a pane as the model has it.
    pub(super) fn of(
        model: &Model,
        pane: Pane,
        columns: &'a [TableColumn],
        items: &[Item],
    ) -> TableContent<'a> {
        let list = ListId::Pane(pane);
        let selected = model.selection(list).place(items);
        TableContent { list, columns, total: items.len(), selected, focused: true, sorted: None }
    }
}

/// Draws the headings and the lines that fit. `line` is asked for those only.
pub(super) fn draw(
    listing: &TableContent<'_>,
    view: &mut View,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
    mut line: impl FnMut(usize, &mut View) -> (Vec<Cell>, Option<ClickTarget>),
) {
    if area.height == 0 || area.width == 0 {
        return;
    }
    // One column for the mark of the selection.
    let columns = layout(listing.columns, area.width.saturating_sub(2));
    let mut y = area.y;
    if area.height > 2 {
        let mut x = area.x + 2;
        for (at, width) in &columns {
            let column = &listing.columns[*at];
            let (arrow, style) = match listing.sorted {
                Some((sorted, arrow)) if sorted == *at => (arrow, theme.accent),
                _ => ("", theme.dim),
            };
            let title = text::fit(&format!("{}{arrow}", column.title), usize::from(*width), column.right);
            buffer.set_stringn(x, y, title, usize::from(*width), style);
            x += width + 2;
        }
        y += 1;
    }
    let lines = usize::from(area.bottom() - y);
    if listing.focused {
        view.page_lines = lines;
    }
    let first = view.scroll_to(listing.list, listing.selected, lines, listing.total);
    for at in first..listing.total.min(first + lines) {
        let (cells, spot) = line(at, view);
        let place = Rect { x: area.x, y, width: area.width, height: 1 };
        draw_line(&cells, &columns, listing, listing.selected == Some(at), theme, place, buffer);
        if let Some(spot) = spot {
            view.spot(place, spot);
        }
        y += 1;
    }
}

fn draw_line(
    cells: &[Cell],
    columns: &[(usize, u16)],
    listing: &TableContent<'_>,
    selected: bool,
    theme: &Theme,
    place: Rect,
    buffer: &mut Buffer,
) {
    let mut x = place.x + 2;
    for (at, width) in columns {
        let Some(cell) = cells.get(*at) else { continue };
        let room = usize::from(*width);
        let shown = if cell.sentence { text::clip(&cell.text, room) } else { text::cut(&cell.text, room) };
        let shown = text::fit(&shown, room, listing.columns[*at].right);
        buffer.set_stringn(x, place.y, shown, room, cell.style);
        x += width + 2;
    }
    if selected && listing.focused {
        theme.select(place, buffer);
    }
}
