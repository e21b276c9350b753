//! Lists of claims with columns: every claim page by page, and the locks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::table::{Cell, Column, Listing, draw, fixed, right, share};
use super::theme::{Theme, mark};
use super::view::View;
use super::{fuse, header, text};
use crate::app::item::Item;
use crate::app::message::Spot;
use crate::app::model::{Model, Pane};
use crate::app::row::Row;
use crate::domain::claim::Process;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

const COLUMNS: &[Column] = &[
    fixed("VERDICT", 10, 3),
    share("ID", 14, 5, 0),
    share("KIND", 8, 2, 5),
    share("HOLDER", 9, 3, 1),
    right("AGE", 8, 4),
    fixed("FUSE", 10, 7),
    right("LEFT", 9, 2),
    fixed("PROCESS", 8, 8),
    share("WHY", 16, 6, 6),
];

pub fn draw_claims(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
    draw_title(model, theme, title, buffer);
    let rows = model.browsed_rows();
    if rows.is_empty() {
        let said = match (&model.browsed.problem, model.browsed.pending.is_some()) {
            (Some(problem), _) => problem.clone(),
            (None, true) => header::waiting(model.shown_sources().map(|(_, source)| source)),
            (None, false) if model.query.is_empty() => {
                "no claims on this board; ← and → show the others".into()
            }
            (None, false) => "no claim on this page passes the filter".into(),
        };
        Line::styled(format!("  {}", text::clip(&said, usize::from(body.width))), theme.dim)
            .render(body, buffer);
        return;
    }
    draw_rows(model, view, theme, Pane::Claims, &rows, body, buffer);
}

/// Which board, how much of it, and who filters.
fn draw_title(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let boards = model.boards();
    let Some(board) = boards.get(model.browsed.board) else { return };
    let mut said = format!("  {} ({})", visible(&board.board), visible(&board.profile));
    if model.sources.len() > 1 {
        said += &format!(" in {}", safe(&model.sources[board.source].label));
    }
    said += &format!(", board {} of {}", model.browsed.board + 1, boards.len());
    let (rows, total) = (model.browsed.rows.len() as u64, board.total);
    let place = match (model.browsed.is_first, model.browsed.is_last) {
        _ if rows == 0 => String::new(),
        (true, true) => format!(": all {}", text::number(rows)),
        (true, false) => format!(": the first {} of {}", text::number(rows), text::number(total)),
        (false, true) => format!(": the last {} of {}", text::number(rows), text::number(total)),
        (false, false) => format!(": {} of {}, further up and down", text::number(rows), text::number(total)),
    };
    said += &place;
    if !model.query.is_empty() {
        let by = if model.query.is_for_database() { "in the database" } else { "on the loaded rows" };
        said += &format!("; filtered {by}");
    }
    Line::styled(text::clip(&said, usize::from(area.width)), theme.dim).render(area, buffer);
}

pub fn draw_locks(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let rows = model.lock_rows();
    if rows.is_empty() {
        let said = if model.query.is_empty() {
            "  no lock needs a look; healthy ones are under Claims, on the boards of locks"
        } else {
            "  no lock passes the filter"
        };
        Line::styled(text::clip(said, usize::from(area.width)), theme.dim).render(area, buffer);
        return;
    }
    draw_rows(model, view, theme, Pane::Locks, &rows, area, buffer);
}

fn draw_rows(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    pane: Pane,
    rows: &[&Row],
    area: Rect,
    buffer: &mut Buffer,
) {
    let items: Vec<Item> = rows.iter().map(|row| Item::Claim(row.id.clone())).collect();
    let listing = Listing::of(model, pane, COLUMNS, &items);
    draw(&listing, view, theme, area, buffer, |at, view| {
        let row = rows[at];
        view.show(row);
        (cells(model, theme, row), Some(Spot::Item(items[at].clone())))
    });
}

fn cells(model: &Model, theme: &Theme, row: &Row) -> Vec<Cell> {
    let now = model.now_of(row.id.source);
    let set = row.headline();
    let marked = if model.marked.contains(&row.id) { "●" } else { mark(set) };
    let bar = fuse::bar(row, now, 10, theme);
    let (left, left_style) = fuse::left(row, now, theme);
    let process = match row.process() {
        Process::Unknown => String::new(),
        known => known.as_str().to_owned(),
    };
    let many = model.sources.len() > 1 && model.only.is_none();
    let id = if many { format!("{}·{}", row.id.source + 1, row.shown()) } else { row.shown() };
    let why = if set == Set::Healthy { String::new() } else { row.why(now) };
    vec![
        Cell::new(format!("{marked} {set}"), theme.set(set)),
        Cell::new(id, theme.strong),
        Cell::new(row.kind(), theme.dim),
        Cell::new(row.holder(), theme.text),
        Cell::new(text::span(row.age(now)), theme.dim),
        Cell::new(bar.content.into_owned(), bar.style),
        Cell::new(left, left_style),
        Cell::new(process, theme.process(row.process())),
        Cell::sentence(why, theme.dim),
    ]
}
