//! The overview: the sets by severity, each claim once, and the timeline below them.
//!
//! ```text
//!  from 140 columns           from 100 columns        below
//! ╭orphaned╮╭stale───╮╭detail╮ ╭orphaned╮╭stale───╮   ✗! mail-4312  web-3-2  silent 7m06s
//! │        ││        ││      │ │        ││        │   !  mail-4379  web-4-4  over 14m13s
//! │        │╭expiring╮│      │ │        │╭expiring╮   ~  order-4127 proc-91  2s left
//! ╰────────╯╰────────╯╰──────╯ ╰────────╯╰────────╯
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType, Paragraph, Widget};

use super::overview_row::{self, RowForm};
use super::theme::{Theme, mark};
use super::view::View;
use super::{detail, header, text, timeline};
use crate::app::item::Item;
use crate::app::message::ClickTarget;
use crate::app::model::{ListId, Model, Zoom};
use crate::app::overview::PaneTally;
use crate::app::row::Row;
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

/// From here on there are panes; below, one list.
const PANES: u16 = 100;
/// From here on there is room for the detail of the selected claim.
const DETAIL: u16 = 140;

pub(super) fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let waiting = model.shown_sources().all(|(_, source)| source.polled_at.is_none());
    let tall = if waiting || model.zoom == Zoom::On { 0 } else { timeline::height(area) };
    let [sets, below] = Layout::vertical([Constraint::Min(1), Constraint::Length(tall)]).areas(area);
    if waiting {
        draw_waiting(model, theme, sets, buffer);
    } else if model.is_calm() {
        draw_calm(model, theme, sets, buffer);
    } else if area.width < PANES && model.zoom == Zoom::Off {
        draw_list(model, view, theme, sets, buffer);
    } else {
        let beside = if area.width >= DETAIL { area.width * 2 / 5 } else { 0 };
        let [panes, right] = Layout::horizontal([Constraint::Min(1), Constraint::Length(beside)]).areas(sets);
        draw_panes(model, view, theme, panes, buffer);
        if beside > 0 {
            detail::draw_beside(model, theme, right, buffer);
        }
    }
    if tall > 0 {
        timeline::draw(model, theme, below, buffer);
    }
}

/// The worst set that has anything in it on the left, the others on the right.
fn draw_panes(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if model.zoom == Zoom::On {
        return draw_set(model, view, theme, model.column, area, buffer);
    }
    let all: Vec<(Set, usize)> = model.columns().iter().map(|set| (*set, model.set_len(*set))).collect();
    let worst = all.iter().position(|(_, rows)| *rows > 0).unwrap_or(0);
    let split = (worst + 1).min(all.len() - 1);
    let [left, right] = Layout::horizontal([Constraint::Fill(1); 2]).areas(area);
    for (part, area) in [(&all[..split], left), (&all[split..], right)] {
        let heights = heights(part, area);
        for ((set, _), place) in part.iter().zip(Layout::vertical(heights).split(area).iter()) {
            draw_set(model, view, theme, *set, *place, buffer);
        }
    }
}

/// Empty panes get the least height; the others share the rest by their rows.
fn heights(panes: &[(Set, usize)], area: Rect) -> Vec<Constraint> {
    const LEAST: u16 = 3;
    if panes.iter().all(|(_, rows)| *rows == 0) {
        return vec![Constraint::Fill(1); panes.len()];
    }
    let lines = u16::from(area.width < WIDE + 2) + 1;
    let full = panes.iter().filter(|(_, rows)| *rows > 0).count().max(1);
    let share = area.height / u16::try_from(full).unwrap_or(1);
    let height = |(at, (_, rows)): (usize, &(Set, usize))| match *rows {
        0 => Constraint::Length(LEAST),
        // The first takes what the others leave.
        _ if panes[..at].iter().all(|(_, rows)| *rows == 0) => Constraint::Min(LEAST),
        rows => {
            let wanted = u16::try_from(rows).unwrap_or(u16::MAX).saturating_mul(lines).saturating_add(2);
            Constraint::Length(wanted.min(share).max(LEAST))
        }
    };
    panes.iter().enumerate().map(height).collect()
}

fn draw_set(model: &Model, view: &mut View, theme: &Theme, set: Set, area: Rect, buffer: &mut Buffer) {
    let focused = model.column == set;
    let tally = model.pane_tally(set);
    let border = if focused { theme.focus } else { theme.border };
    let style = if tally.claims > 0 { theme.set(set) } else { theme.dim };
    let title = Line::styled(format!(" {} {} ", mark(set), title(set, &tally, area.width)), style);
    let block = Block::bordered().border_type(BorderType::Rounded).border_style(border).title(title);
    let inner = block.inner(area);
    block.render(area, buffer);
    view.spot(area, ClickTarget::Column(set));
    let rows = model.set_rows(set);
    if rows.is_empty() {
        let said = match (tally.of.unwrap_or(tally.claims), model.is_narrowed()) {
            (0, _) => nothing(set),
            (_, true) => "none of the loaded rows passes the filter",
            (_, false) => "counted, but not among the loaded rows",
        };
        let lines: Vec<Line<'_>> =
            text::wrap(said, usize::from(inner.width)).into_iter().map(Line::from).collect();
        return Paragraph::new(lines).style(theme.dim).render(inner, buffer);
    }
    let form = if inner.width >= WIDE { RowForm::OneLine } else { RowForm::TwoLines };
    draw_rows(model, view, theme, (set, &rows, form), inner, buffer);
    let hidden = tally.claims.saturating_sub(rows.len() as u64);
    // Hidden rows are loaded as well, so they do not count here.
    if hidden > 0 && inner.width > 20 && !model.is_narrowed() {
        let said = format!(" the worst {} are loaded ", text::number(rows.len() as u64));
        let width = u16::try_from(said.len()).unwrap_or(0);
        if width + 2 <= area.width {
            buffer.set_string(area.right() - width - 1, area.bottom() - 1, said, theme.dim);
        }
    }
}

/// From here on a row takes one line.
const WIDE: u16 = 78;

fn draw_rows(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    (set, rows, form): (Set, &[&Row], RowForm),
    inner: Rect,
    buffer: &mut Buffer,
) {
    let list = ListId::Overview(set);
    let focused = model.column == set;
    let tall = form.lines();
    let fits = usize::from(inner.height / tall).max(1);
    if focused {
        view.page_lines = fits;
    }
    let selected = model.selection(list).place_of_claim(rows);
    let first = view.scroll_to(list, selected, fits, rows.len());
    for (line, (at, row)) in rows.iter().enumerate().skip(first).take(fits).enumerate() {
        let y = inner.y + u16::try_from(line).unwrap_or(0) * tall;
        let place = Rect { y, height: tall.min(inner.bottom().saturating_sub(y)), ..inner };
        if place.height == 0 {
            break;
        }
        overview_row::draw(model, theme, (row, form, focused && selected == Some(at)), place, buffer);
        view.show(row);
        view.spot(place, ClickTarget::Item(Item::Claim(row.id.clone())));
    }
}

/// All panes as one list, the mark of the set before each row.
fn draw_list(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let panes: Vec<(Set, Vec<&Row>)> =
        model.columns().iter().map(|set| (*set, model.set_rows(*set))).collect();
    let rows: Vec<&Row> = panes.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
    if rows.is_empty() {
        let said = if model.is_narrowed() {
            "no claim in trouble passes the filter; esc clears it"
        } else {
            "counted, but not among the loaded rows"
        };
        return middle(&[(said.into(), theme.dim)], area, buffer);
    }
    let before: usize =
        panes.iter().take_while(|(set, _)| *set != model.column).map(|(_, rows)| rows.len()).sum();
    let own = panes.iter().find(|(set, _)| *set == model.column).map_or(&[][..], |(_, rows)| rows);
    let selected = model.selection(ListId::Overview(model.column)).place_of_claim(own).map(|at| before + at);
    let lines = usize::from(area.height);
    view.page_lines = lines.max(1);
    let first = view.scroll_to(ListId::Pane(crate::app::model::Pane::Overview), selected, lines, rows.len());
    for ((at, row), y) in rows.iter().enumerate().skip(first).zip(area.y..area.bottom()) {
        let place = Rect { y, height: 1, ..area };
        overview_row::draw(model, theme, (row, RowForm::Marked, selected == Some(at)), place, buffer);
        view.show(row);
        view.spot(place, ClickTarget::Item(Item::Claim(row.id.clone())));
    }
}

/// "Stale 8 (+13 shown as orphaned)".
fn title(set: Set, tally: &PaneTally, width: u16) -> String {
    let mut title = set.to_string();
    if let Some(first) = title.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    title += &format!(" {}", text::number(tally.claims));
    if let Some(of) = tally.of {
        title += &format!(" of {}", text::number(of));
    }
    if tally.elsewhere > 0 {
        let more = if tally.or_more { " or more" } else { "" };
        let place = tally.shown_as.map_or_else(|| "worse".into(), |set| set.to_string());
        let said = format!(" (+{}{more} shown as {place})", text::number(tally.elsewhere));
        if text::width(&title) + text::width(&said) + 6 <= usize::from(width) {
            title += &said;
        } else {
            title += &format!(" (+{})", text::number(tally.elsewhere));
        }
    }
    title
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
    let unseen = model.shown_sources().filter(|(_, source)| source.polled_at.is_none()).count();
    let mut lines = match model.shown_sources().find_map(|(_, source)| source.veiled()) {
        // A source that does not answer may be in trouble.
        None if unseen > 0 => vec![
            (format!("? calm, as far as {} can be read", sources(model, unseen)), theme.set(Set::Expiring)),
            (claims, theme.text),
        ],
        None => vec![("✓ all calm".to_owned(), theme.set(Set::Healthy)), (claims, theme.text)],
        // Hidden rows may be in trouble.
        Some(why) => vec![
            ("? nothing is wrong with what we may see".to_owned(), theme.set(Set::Expiring)),
            (safe(why), theme.set(Set::Expiring)),
            (format!("of those: {claims}"), theme.text),
        ],
    };
    lines.extend(next.map(|said| (said, theme.dim)));
    middle(&lines, area, buffer);
}

fn sources(model: &Model, unseen: usize) -> String {
    let all = model.shown_sources().count();
    format!("{} of {all} sources", all - unseen)
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
