//! The strip of sources: each with its label, its state and its counts.
//!
//! ```text
//! [billing PROD ✗66 !8]  [audit PROD read-only ✗10]  [staging ok]  [search: disconnected]
//! billing PROD ✗66 !8 · audit RO ✗10 · staging ok · search ✗            where there is little room
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;

use super::text;
use super::theme::{Theme, mark};
use super::view::View;
use crate::app::message::ClickTarget;
use crate::app::model::Model;
use crate::app::source::{Access, LinkState, SourceView};
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

/// How much of each source there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StripForm {
    Full,
    Short,
    /// The worst of its sets, without a count.
    Tiny,
}

pub(super) fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let room = usize::from(area.width) + 3;
    let (form, numbers, has_room) = match form(model, theme, room) {
        Some(form) => (form, (0..model.sources.len()).collect(), true),
        None => (StripForm::Tiny, troubled_first(model), false),
    };
    let mut x = area.x;
    let last = numbers.len();
    for (at, number) in numbers.into_iter().enumerate() {
        let pieces = part(model, theme, number, form);
        let width = u16::try_from(length(&pieces)).unwrap_or(u16::MAX);
        let more = format!("… {} more", last - at);
        // A cut name could be read as another source.
        let is_last = has_room || at + 1 == last;
        let rest = if is_last { 0 } else { 2 + u16::try_from(text::width(&more)).unwrap_or(0) };
        if x + width + rest > area.right() && at > 0 {
            buffer.set_stringn(x, area.y, more, usize::from(area.right().saturating_sub(x)), theme.dim);
            break;
        }
        let place = Rect { x, y: area.y, width: width.min(area.right().saturating_sub(x)), height: 1 };
        Line::from(pieces).render(place, buffer);
        view.spot(place, ClickTarget::Source(number));
        x = place.right() + 2;
    }
}

/// The form in which all sources have room, if there is one.
fn form(model: &Model, theme: &Theme, room: usize) -> Option<StripForm> {
    let fits = |form: &StripForm| {
        let mut left = room;
        (0..model.sources.len()).all(|number| {
            let width = length(&part(model, theme, number, *form)) + 2;
            let has_room = width <= left;
            left = left.saturating_sub(width);
            has_room
        })
    };
    [StripForm::Full, StripForm::Short, StripForm::Tiny].into_iter().find(fits)
}

/// All sources, those first that somebody should look at: without room for all, these are shown.
fn troubled_first(model: &Model) -> Vec<usize> {
    let rank = |number: &usize| {
        let source = &model.sources[*number];
        let counts = source.counts();
        match &source.link {
            _ if model.only == Some(*number) => 0,
            LinkState::Silent { .. } | LinkState::Down { .. } => 1,
            LinkState::Live if counts.orphaned > 0 => 2,
            LinkState::Live if counts.stale > 0 => 3,
            LinkState::Live if counts.unknown > 0 => 4,
            LinkState::Live if counts.expiring > 0 => 5,
            LinkState::Connecting => 6,
            LinkState::Live => 7,
        }
    };
    let mut numbers: Vec<usize> = (0..model.sources.len()).collect();
    numbers.sort_by_cached_key(rank);
    numbers
}

fn length(pieces: &[Piece<'_>]) -> usize {
    pieces.iter().map(Piece::width).sum()
}

fn part(model: &Model, theme: &Theme, number: usize, form: StripForm) -> Vec<Piece<'static>> {
    let source = &model.sources[number];
    // An ellipsis stands for the sources without room.
    let is_shown = model.only.is_none_or(|only| only == number);
    let ink = |style: Style| if is_shown { style } else { theme.dim };
    let (open, close) = if form == StripForm::Full { ("[", "]") } else { ("", "") };
    let mut pieces = vec![
        Piece::styled(open, ink(theme.border)),
        Piece::styled(text::cut(&model.name_of(number), 24), ink(theme.strong)),
    ];
    if let Some(badge) = source.badge.as_ref().filter(|_| form != StripForm::Tiny) {
        pieces.push(Piece::styled(format!(" {}", safe(&badge.text)), ink(theme.badge(badge.colour))));
    }
    pieces
        .extend(state(source, theme, form).into_iter().map(|(said, style)| Piece::styled(said, ink(style))));
    pieces.push(Piece::styled(close, ink(theme.border)));
    pieces
}

/// Its access, then its link or its counts.
fn state(source: &SourceView, theme: &Theme, form: StripForm) -> Vec<(String, Style)> {
    let warning = theme.set(Set::Expiring);
    let mut said = Vec::new();
    if source.replica().is_some() {
        said.push((if form == StripForm::Full { " standby" } else { " SB" }.to_owned(), warning));
    } else if source.access() != Access::Write {
        said.push((if form == StripForm::Full { " read-only" } else { " RO" }.to_owned(), warning));
    }
    match (&source.link, form) {
        (LinkState::Connecting, _) => said.push((" …".into(), theme.dim)),
        (LinkState::Silent { .. } | LinkState::Down { .. }, StripForm::Short | StripForm::Tiny) => {
            said.push((" ✗".into(), theme.set(Set::Stale)));
        }
        (LinkState::Silent { .. }, StripForm::Full) => {
            said.push((": no answer".into(), theme.set(Set::Stale)));
        }
        (LinkState::Down { .. }, StripForm::Full) if source.polled_at.is_none() => {
            said.push((": cannot be read".into(), theme.set(Set::Stale)));
        }
        (LinkState::Down { .. }, StripForm::Full) => {
            said.push((": disconnected".into(), theme.set(Set::Stale)));
        }
        (LinkState::Live, StripForm::Full | StripForm::Short) => said.extend(counts(source, theme)),
        (LinkState::Live, StripForm::Tiny) => said.extend(counts(source, theme).into_iter().take(1)),
    }
    said
}

fn counts(source: &SourceView, theme: &Theme) -> Vec<(String, Style)> {
    let counts = source.counts();
    let troubled = Set::ALL.into_iter().filter(|set| *set != Set::Healthy && counts.of(*set) > 0);
    let shown: Vec<(String, Style)> = troubled
        .map(|set| (format!(" {}{}", mark(set), text::number(counts.of(set))), theme.set(set)))
        .collect();
    if source.veiled().is_some() {
        return shown.into_iter().chain([(" ?hidden rows".into(), theme.set(Set::Expiring))]).collect();
    }
    if shown.is_empty() { vec![(" ok".into(), theme.set(Set::Healthy))] } else { shown }
}
