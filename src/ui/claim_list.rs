//! Lists of claims with columns: every claim of all boards, and the locks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::table::{Cell, TableColumn, TableContent, draw, fixed, right, share};
use super::theme::{Theme, mark};
use super::view::View;
use super::{fuse, header, text};
use crate::app::claim_column::ClaimColumn;
use crate::app::item::Item;
use crate::app::message::ClickTarget;
use crate::app::model::{Direction, Model, Pane, Sort};
use crate::app::row::Row;
use crate::domain::claim::Process;
use crate::domain::claim_list::{Matching, Tested};
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

/// How a column is drawn.
fn drawn(column: ClaimColumn) -> TableColumn {
    match column {
        ClaimColumn::Verdict => fixed("VERDICT", 10, 3),
        ClaimColumn::Id => share("ID", 14, 5, 0),
        ClaimColumn::Source => share("SOURCE", 8, 1, 2),
        ClaimColumn::Board => share("BOARD", 8, 1, 7),
        ClaimColumn::Kind => share("KIND", 8, 2, 5),
        ClaimColumn::Holder => share("HOLDER", 9, 3, 1),
        ClaimColumn::Age => right("AGE", 8, 4),
        ClaimColumn::Fuse => fixed("FUSE", 10, 8),
        ClaimColumn::Left => right("LEFT", 12, 2),
        ClaimColumn::Process => fixed("PROCESS", 8, 9),
        ClaimColumn::Why => share("WHY", 16, 6, 6),
    }
}

/// The columns that somebody chose; else all that tell claims apart.
fn columns(model: &Model) -> Vec<ClaimColumn> {
    if !model.claim_columns.is_empty() {
        return model.claim_columns.clone();
    }
    let tells = |column: &ClaimColumn| match column {
        ClaimColumn::Source => model.shown_sources().count() > 1,
        ClaimColumn::Board => model.boards().len() > 1,
        _ => true,
    };
    ClaimColumn::ALL.into_iter().filter(tells).collect()
}

pub(super) fn draw_claims(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
    let rows = model.claim_rows();
    draw_title(model, &rows, theme, title, buffer);
    if rows.is_empty() {
        let said = match (model.claims.problem(), model.claims.is_waiting()) {
            (Some(problem), _) => problem.to_owned(),
            (None, true) => header::waiting(model.shown_sources().map(|(_, source)| source)),
            (None, false) if model.query.is_empty() => "no claims".into(),
            (None, false) => "no claim passes the filter; esc clears it".into(),
        };
        Line::styled(format!("  {}", text::clip(&said, usize::from(body.width))), theme.dim)
            .render(body, buffer);
        return;
    }
    draw_rows(model, view, theme, Pane::Claims, &rows, body, buffer);
}

/// How many claims there are or pass the filter, in which order, and what is true of the loaded rows only.
fn draw_title(model: &Model, rows: &[&Row], theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let mut said = format!("  {}", counted(model, rows));
    if model.claims.matching().is_some_and(|matching| matching.tested == Tested::OneByOne) {
        let looked_at = text::number(model.claims.looked_at() as u64);
        said += &format!(
            "; this database cannot answer all of the filter: {looked_at} rows were read and tested"
        );
    }
    let is_usual = model.sort == Sort::Worst && model.direction == Direction::Usual;
    let is_whole = model.claims.is_at_top() && model.claims.is_at_bottom();
    if !is_usual && !is_whole {
        said += &format!("; sorted are the {} loaded rows", text::number(rows.len() as u64));
    }
    if let Some(problem) = model.claims.problem().filter(|_| !rows.is_empty()) {
        said += &format!("; {problem}");
    }
    Line::styled(text::clip(&said, usize::from(area.width)), theme.dim).render(area, buffer);
}

fn counted(model: &Model, rows: &[&Row]) -> String {
    let total = text::number(model.counts().total);
    if model.query.is_empty() {
        let boards = model.boards().len();
        let sources = model.shown_sources().count();
        let of_boards = if boards == 1 { "1 board".into() } else { format!("{boards} boards") };
        let of_sources = if sources > 1 { format!(" in {sources} sources") } else { String::new() };
        let order = match model.direction {
            Direction::Usual => "",
            Direction::Reversed => ", reversed",
        };
        return format!("{total} claims on {of_boards}{of_sources}, {}{order}", model.sort.word());
    }
    let loaded = rows.len() as u64;
    if model.is_list_outdated() {
        return format!(
            "{} of the loaded rows pass the filter; ⏎ looks among {total} claims",
            text::number(loaded)
        );
    }
    match model.claims.matching() {
        Some(Matching { total: Some(all), troubled, .. }) => {
            format!("{} of {total} claims pass the filter{}", text::number(all), in_trouble(troubled))
        }
        Some(Matching { total: None, troubled, .. }) => {
            let least =
                if model.claims.is_at_bottom() && model.claims.is_at_top() { "" } else { "at least " };
            let all = text::number(loaded.max(troubled));
            format!("{least}{all} of {total} claims pass the filter{}", in_trouble(troubled))
        }
        None if model.claims.is_waiting() => format!("looking among {total} claims"),
        None => format!("{} of {total} claims pass the filter", text::number(loaded)),
    }
}

fn in_trouble(troubled: u64) -> String {
    if troubled == 0 { String::new() } else { format!(", {} of them in trouble", text::number(troubled)) }
}

pub(super) fn draw_locks(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let rows = model.lock_rows();
    if rows.is_empty() {
        let said = if model.query.is_empty() {
            "  no lock is in trouble; healthy ones are under Claims, on the boards of locks"
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
    let shown = columns(model);
    let drawn: Vec<TableColumn> = shown.iter().map(|column| drawn(*column)).collect();
    let by = shown.iter().position(|column| column.sort() == Some(model.sort));
    let sorted = by.map(|at| (at, model.direction.arrow()));
    let listing = TableContent { sorted, ..TableContent::of(model, pane, &drawn, &items) };
    draw(&listing, view, theme, area, buffer, |at, view| {
        let row = rows[at];
        view.show(row);
        let cells = shown.iter().map(|column| cell(model, theme, row, *column)).collect();
        (cells, Some(ClickTarget::Item(items[at].clone())))
    });
}

fn cell(model: &Model, theme: &Theme, row: &Row, column: ClaimColumn) -> Cell {
    let (now, set) = (model.now_of(row.id.source), row.headline());
    match column {
        ClaimColumn::Verdict => {
            let late = set == Set::Healthy && model.late(row, now).is_some();
            let (sign, word, style) = match late {
                true => ("~", "late", theme.set(Set::Expiring)),
                false => (mark(set), set.as_str(), theme.set(set)),
            };
            let marked = if model.marked.contains(&row.id) { "●" } else { sign };
            Cell::new(format!("{marked} {word}"), style)
        }
        ClaimColumn::Id => Cell::new(row.shown(), theme.strong),
        ClaimColumn::Source => {
            let label = model.sources.get(row.id.source).map_or("", |source| &source.label);
            Cell::new(safe(label), theme.accent)
        }
        ClaimColumn::Board => Cell::new(visible(&row.board), theme.dim),
        ClaimColumn::Kind => Cell::new(row.kind(), theme.dim),
        ClaimColumn::Holder => Cell::new(row.holder(), theme.text),
        ClaimColumn::Age => Cell::new(text::span(row.age(now)), theme.dim),
        ClaimColumn::Fuse => {
            let bar = fuse::bar(row, now, 10, theme);
            Cell::new(bar.content.into_owned(), bar.style)
        }
        ClaimColumn::Left => {
            let (left, style) = fuse::left(row, now, theme);
            Cell::new(left, style)
        }
        ClaimColumn::Process => {
            let process = match row.process() {
                Process::Unknown => String::new(),
                known => known.as_str().to_owned(),
            };
            Cell::new(process, theme.process(row.process()))
        }
        ClaimColumn::Why => {
            let why = match (set, model.late(row, now)) {
                (Set::Healthy, Some(pace)) => pace.to_string(),
                (Set::Healthy, None) => String::new(),
                (_, Some(pace)) => format!("{}; late: {pace}", row.why(now)),
                (_, None) => row.why(now),
            };
            Cell::sentence(why, theme.dim)
        }
    }
}
