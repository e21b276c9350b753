//! A claim in the overview: its id, its holder, how it stands, its bar, and badges for the other sets that it is in.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;

use super::theme::{Theme, mark};
use super::{fuse, text};
use crate::app::model::Model;
use crate::app::row::Row;

/// How a row is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowForm {
    OneLine,
    TwoLines,
    /// One line, its sets marked at the beginning.
    Marked,
}

impl RowForm {
    pub(super) fn lines(self) -> u16 {
        match self {
            RowForm::OneLine | RowForm::Marked => 1,
            RowForm::TwoLines => 2,
        }
    }
}

pub(super) fn draw(
    model: &Model,
    theme: &Theme,
    (row, form, chosen): (&Row, RowForm, bool),
    place: Rect,
    buffer: &mut Buffer,
) {
    let room = usize::from(place.width).saturating_sub(2);
    let lines = match form {
        RowForm::OneLine => vec![one_line(model, theme, row, room)],
        RowForm::TwoLines => two_lines(model, theme, row, room),
        RowForm::Marked => vec![marked(model, theme, row, room)],
    };
    for (line, y) in lines.into_iter().zip(place.y..place.bottom()) {
        line.render(Rect { x: place.x + 2, y, width: place.width.saturating_sub(2), height: 1 }, buffer);
    }
    let sign = if model.marked.contains(&row.id) { "●" } else { " " };
    buffer.set_stringn(place.x + 1, place.y, sign, 1, theme.accent);
    if chosen {
        theme.select(place, buffer);
    }
}

/// `mail-4312  send_mail  web-3-2  silent 7m06s ▓▓▓▓▓▓ !  billing`.
fn one_line(model: &Model, theme: &Theme, row: &Row, room: usize) -> Line<'static> {
    let now = model.now_of(row.id.source);
    let (stands, style) = fuse::stands(row, now, theme);
    let bar = (room / 6).min(16);
    let source = source(model, row, 12);
    let far = source.as_ref().map_or(0, |name| text::width(name) + 1);
    let names = room.saturating_sub(bar + STANDS + 2 + far + 8);
    let (id, kind) = (names * 5 / 11, names * 2 / 11);
    let mut pieces = vec![
        Piece::styled(text::fit(&row.shown(), id, false), theme.strong),
        Piece::raw("  "),
        Piece::styled(text::fit(&row.kind(), kind, false), theme.dim),
        Piece::raw("  "),
        Piece::styled(text::fit(&row.holder(), names - id - kind, false), theme.text),
        Piece::raw("  "),
        Piece::styled(text::fit(&stands, STANDS, true), style),
        Piece::raw(" "),
        fuse::bar(row, now, bar, theme),
        Piece::raw(" "),
    ];
    pieces.extend(badges(theme, row, 2));
    pieces.extend(source.map(|name| Piece::styled(format!(" {name}"), theme.dim)));
    Line::from(pieces)
}

/// The name of its source, as wide as the widest of them but for `most`.
fn source(model: &Model, row: &Row, most: usize) -> Option<String> {
    let name = model.source_name(row.id.source)?;
    Some(text::fit(&name, model.source_names.widest().min(most), false))
}

/// Room for "not registered".
const STANDS: usize = 14;

/// The id, the holder and how it stands; below, the bar, the badges, the kind and the source.
fn two_lines(model: &Model, theme: &Theme, row: &Row, room: usize) -> Vec<Line<'static>> {
    let now = model.now_of(row.id.source);
    let (stands, style) = fuse::stands(row, now, theme);
    let names = room.saturating_sub(text::width(&stands) + 4);
    let id =
        text::width(&row.shown()).min(names * 3 / 5).max(names.saturating_sub(text::width(&row.holder())));
    let holder = names - id;
    let bar = (room * 2 / 5).min(24);
    let mut below = vec![fuse::bar(row, now, bar, theme), Piece::raw(" ")];
    below.extend(badges(theme, row, 2));
    let kind = row.claim().kind.as_ref().map(|_| row.kind());
    let about: Vec<String> = model.source_name(row.id.source).into_iter().chain(kind).collect();
    let rest = room.saturating_sub(bar + 4);
    below.push(Piece::styled(format!(" {}", text::clip(&about.join(" · "), rest)), theme.dim));
    vec![
        Line::from(vec![
            Piece::styled(text::fit(&row.shown(), id, false), theme.strong),
            Piece::raw("  "),
            Piece::styled(text::fit(&row.holder(), holder, false), theme.text),
            Piece::raw("  "),
            Piece::styled(stands, style),
        ]),
        Line::from(below),
    ]
}

/// `✗! mail-4312  web-3-2  silent 7m06s ▓▓▓▓▓▓  billing`.
fn marked(model: &Model, theme: &Theme, row: &Row, room: usize) -> Line<'static> {
    let now = model.now_of(row.id.source);
    let (stands, style) = fuse::stands(row, now, theme);
    let set = row.headline();
    let bar = if room >= 56 { (room / 7).min(12) } else { 0 };
    let source = source(model, row, 10).filter(|_| room >= 36);
    let far = source.as_ref().map_or(0, |name| text::width(name) + 1);
    let names = room.saturating_sub(4 + 2 + STANDS + 1 + bar + far);
    let id = if room < 40 { names } else { names * 3 / 5 };
    let mut pieces = vec![Piece::styled(mark(set), theme.set(set))];
    pieces.extend(badges(theme, row, 1));
    pieces.push(Piece::raw(" "));
    pieces.push(Piece::styled(text::fit(&row.shown(), id, false), theme.strong));
    if names > id {
        pieces
            .push(Piece::styled(format!(" {}", text::fit(&row.holder(), names - id - 1, false)), theme.text));
    }
    pieces.push(Piece::styled(format!(" {}", text::fit(&stands, STANDS, true)), style));
    if bar > 0 {
        pieces.push(Piece::raw(" "));
        pieces.push(fuse::bar(row, now, bar, theme));
    }
    pieces.extend(source.map(|name| Piece::styled(format!(" {name}"), theme.dim)));
    Line::from(pieces)
}

/// The marks of the other sets that it is in, in so many columns.
fn badges(theme: &Theme, row: &Row, room: usize) -> Vec<Piece<'static>> {
    let mut pieces: Vec<Piece<'static>> =
        Model::badges(row).take(room).map(|set| Piece::styled(mark(set), theme.set(set))).collect();
    let used = pieces.len();
    pieces.push(Piece::raw(" ".repeat(room - used)));
    pieces
}
