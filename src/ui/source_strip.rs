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
    let parts = |form| -> Vec<Vec<Piece<'static>>> {
        (0..model.sources.len()).map(|number| part(model, theme, number, form)).collect()
    };
    let wide = |parts: &[Vec<Piece<'_>>]| parts.iter().map(|part| length(part) + 2).sum::<usize>();
    let forms = [StripForm::Full, StripForm::Short].into_iter().map(parts);
    let shown = forms.into_iter().find(|parts| wide(parts) <= usize::from(area.width) + 3);
    let shown = shown.unwrap_or_else(|| parts(StripForm::Tiny));
    let mut x = area.x;
    let last = shown.len();
    for (number, pieces) in shown.into_iter().enumerate() {
        let width = u16::try_from(length(&pieces)).unwrap_or(u16::MAX);
        // A cut name could be read as another source.
        let rest = if number + 1 < last { 2 } else { 0 };
        if x + width + rest > area.right() && number > 0 {
            buffer.set_stringn(x, area.y, "…", usize::from(area.right().saturating_sub(x)), theme.dim);
            break;
        }
        let place = Rect { x, y: area.y, width: width.min(area.right().saturating_sub(x)), height: 1 };
        Line::from(pieces).render(place, buffer);
        view.spot(place, ClickTarget::Source(number));
        x = place.right() + 2;
    }
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
