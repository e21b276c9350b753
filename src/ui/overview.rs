//! The overview: the three sets side by side, worst first, and the horizon below them.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::{Block, BorderType, Paragraph, Widget};

use super::theme::{Theme, mark};
use super::view::View;
use super::{fuse, header, horizon, text};
use crate::app::item::Item;
use crate::app::message::Spot;
use crate::app::model::{ListId, Model};
use crate::app::row::Row;
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

pub fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let waiting = model.shown_sources().all(|(_, source)| source.polled_at.is_none());
    let ahead = if waiting { 0 } else { horizon::height(area) };
    let [sets, below] = Layout::vertical([Constraint::Min(1), Constraint::Length(ahead)]).areas(area);
    if waiting {
        draw_waiting(model, theme, sets, buffer);
    } else if model.is_calm() {
        draw_calm(model, theme, sets, buffer);
    } else if area.width < 48 {
        // No room for three: the one that keys mean.
        draw_set(model, view, theme, model.column, sets, buffer);
    } else {
        let shown = shown(model, sets.width);
        let places = Layout::horizontal(vec![Constraint::Fill(1); shown.len()]).split(sets);
        for (set, place) in shown.iter().zip(places.iter()) {
            draw_set(model, view, theme, *set, *place, buffer);
        }
    }
    if ahead > 0 {
        horizon::draw(model, theme, below, buffer);
    }
}

/// As many columns as there is room for, the one that keys mean among them.
fn shown(model: &Model, width: u16) -> &'static [Set] {
    let columns = model.columns();
    let fit = usize::from(width / 24).clamp(3, columns.len());
    let at = columns.iter().position(|set| *set == model.column).unwrap_or(0);
    let first = (at + 1).saturating_sub(fit);
    &columns[first..first + fit]
}

fn draw_set(model: &Model, view: &mut View, theme: &Theme, set: Set, area: Rect, buffer: &mut Buffer) {
    let focused = model.column == set;
    let count = model.counts().of(set);
    let border = if focused { theme.focus } else { theme.border };
    let style = if count > 0 { theme.set(set) } else { theme.dim };
    let mut title = set.to_string();
    if let Some(first) = title.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    let title = Line::styled(format!(" {} {title} {} ", mark(set), text::number(count)), style);
    let block = Block::bordered().border_type(BorderType::Rounded).border_style(border).title(title);
    let inner = block.inner(area);
    block.render(area, buffer);
    view.spot(area, Spot::Column(set));
    let rows = model.set_rows(set);
    if rows.is_empty() {
        let narrowed = !model.query.is_empty() || !model.snoozed.is_empty();
        let said = match (count, narrowed) {
            (0, _) => nothing(set),
            (_, true) => "none of the loaded rows passes the filter",
            (_, false) => "counted, but not among the loaded rows",
        };
        let lines: Vec<Line<'_>> =
            text::wrap(said, usize::from(inner.width)).into_iter().map(Line::from).collect();
        Paragraph::new(lines).style(theme.dim).render(inner, buffer);
        return;
    }
    let list = ListId::Overview(set);
    let tall = if inner.width >= WIDE { 1 } else { 2 };
    let fits = usize::from(inner.height / tall).max(1);
    if focused {
        view.page_lines = fits;
    }
    let items: Vec<Item> = rows.iter().map(|row| Item::Claim(row.id.clone())).collect();
    let selected = model.selection(list).place(&items);
    let first = view.scroll_to(list, selected, fits, rows.len());
    for (line, (at, row)) in rows.iter().enumerate().skip(first).take(fits).enumerate() {
        let y = inner.y + u16::try_from(line).unwrap_or(0) * tall;
        let place = Rect { y, height: tall.min(inner.bottom().saturating_sub(y)), ..inner };
        if place.height == 0 {
            break;
        }
        let chosen = focused && selected == Some(at);
        draw_row(model, theme, row, chosen, place, buffer);
        view.show(row);
        view.spot(place, Spot::Item(Item::Claim(row.id.clone())));
    }
    let hidden = count.saturating_sub(rows.len() as u64);
    // What a filter or a snooze hides is loaded all the same.
    if hidden > 0 && inner.width > 20 && model.query.is_empty() && model.snoozed.is_empty() {
        let said = format!(" the worst {} are loaded ", text::number(rows.len() as u64));
        let width = u16::try_from(said.len()).unwrap_or(0);
        if width + 2 <= area.width {
            buffer.set_string(area.right() - width - 1, area.bottom() - 1, said, theme.dim);
        }
    }
}

/// From here on a row takes one line.
const WIDE: u16 = 58;

fn draw_row(model: &Model, theme: &Theme, row: &Row, chosen: bool, place: Rect, buffer: &mut Buffer) {
    let now = model.now_of(row.id.source);
    let marked = if model.marked.contains(&row.id) { "●" } else { " " };
    let room = usize::from(place.width).saturating_sub(2);
    let age = text::span(row.age(now));
    let (left, left_style) = fuse::left(row, now, theme);
    let source = if model.sources.len() > 1 && model.only.is_none() {
        format!("{}·", row.id.source + 1)
    } else {
        String::new()
    };
    let lines = if place.width >= WIDE {
        let bar = (room / 6).min(16);
        let names = room.saturating_sub(bar + 8 + 9 + 8);
        let (id, kind) = (names * 5 / 11, names * 2 / 11);
        vec![Line::from(vec![
            Piece::styled(text::fit(&format!("{source}{}", row.shown()), id, false), theme.strong),
            Piece::raw("  "),
            Piece::styled(text::fit(&row.kind(), kind, false), theme.dim),
            Piece::raw("  "),
            Piece::styled(text::fit(&row.holder(), names - id - kind, false), theme.text),
            Piece::raw("  "),
            Piece::styled(text::fit(&age, 8, true), theme.dim),
            Piece::raw("  "),
            fuse::bar(row, now, bar, theme),
            Piece::styled(text::fit(&left, 9, true), left_style),
        ])]
    } else {
        let id = room.saturating_sub(text::width(&age) + 1);
        let name = text::cut(&format!("{source}{}", row.shown()), id);
        // The kind takes what the id leaves.
        let rest = id - text::width(&name);
        let kind = row.claim().kind.as_ref().filter(|_| rest > 4).map(|_| format!(" {}", row.kind()));
        let kind = text::fit(&kind.unwrap_or_default(), rest, false);
        let bar = (room / 4).min(14);
        let holder = room.saturating_sub(bar + 9 + 1);
        vec![
            Line::from(vec![
                Piece::styled(name, theme.strong),
                Piece::styled(kind, theme.dim),
                Piece::styled(format!(" {age}"), theme.dim),
            ]),
            Line::from(vec![
                Piece::styled(text::fit(&row.holder(), holder, false), theme.dim),
                Piece::raw(" "),
                fuse::bar(row, now, bar, theme),
                Piece::styled(text::fit(&left, 9, true), left_style),
            ]),
        ]
    };
    for (line, y) in lines.into_iter().zip(place.y..place.bottom()) {
        line.render(Rect { x: place.x + 2, y, width: place.width.saturating_sub(2), height: 1 }, buffer);
    }
    buffer.set_stringn(place.x + 1, place.y, marked, 1, theme.accent);
    if chosen {
        buffer.set_style(place, theme.selected);
        buffer.set_stringn(place.x, place.y, "▸", 1, theme.accent.patch(theme.selected));
    }
}

fn nothing(set: Set) -> &'static str {
    match set {
        Set::Stale => "nothing is stale",
        Set::Expiring => "nothing is about to expire",
        Set::Orphaned => "every holder is there",
        Set::Unknown => "nothing is unclear",
        Set::Healthy => "no claim is healthy",
    }
}

fn draw_waiting(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let down = header::lost(model);
    let (said, style) = match down {
        Some(why) => (why, theme.set(Set::Stale)),
        None => ("looking ...".into(), theme.dim),
    };
    middle(&[(said, style)], area, buffer);
}

fn draw_calm(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let counts = model.counts();
    let claims = match counts.total {
        0 => "nobody holds anything".to_owned(),
        1 => "the one claim is healthy".to_owned(),
        total => format!("all {} claims are healthy", text::number(total)),
    };
    let next = model
        .shown_sources()
        .flat_map(|(_, source)| source.horizon.minutes.iter().enumerate())
        .filter(|(_, count)| **count > 0)
        .map(|(minute, _)| minute)
        .min()
        .map(|minute| match minute {
            0 => "the next deadline is less than a minute away".into(),
            minute => format!("the next deadline is {minute} to {} minutes away", minute + 1),
        });
    let mut lines = match model.shown_sources().find_map(|(_, source)| source.veiled()) {
        None => vec![("✓ all calm".to_owned(), theme.set(Set::Healthy)), (claims, theme.text)],
        // What cannot be seen may be anything but calm.
        Some(why) => vec![
            ("? nothing is wrong with what we may see".to_owned(), theme.set(Set::Expiring)),
            (safe(why), theme.set(Set::Expiring)),
            (format!("of those: {claims}"), theme.text),
        ],
    };
    lines.extend(next.map(|said| (said, theme.dim)));
    middle(&lines, area, buffer);
}

/// A few words in the middle of an empty place.
fn middle(lines: &[(String, ratatui::style::Style)], area: Rect, buffer: &mut Buffer) {
    let wrapped: Vec<(String, ratatui::style::Style)> = lines
        .iter()
        .flat_map(|(said, style)| {
            text::wrap(said, usize::from(area.width.saturating_sub(4)).max(1))
                .into_iter()
                .map(|line| (line, *style))
        })
        .collect();
    let height = u16::try_from(wrapped.len()).unwrap_or(area.height).min(area.height);
    let top = area.y + (area.height - height) / 2;
    for ((said, style), y) in wrapped.into_iter().zip(top..area.bottom()) {
        Line::styled(said, style).centered().render(Rect { y, height: 1, ..area }, buffer);
    }
}
