//! Every source with all that is to be known of it: where it is, whether it answers, what may be done, its notes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span as Piece};

use super::theme::{Theme, mark};
use super::view::View;
use super::{header, popup, text};
use crate::app::model::Model;
use crate::app::source::{Access, LinkState, SourceView};
use crate::domain::recovery::Confirmation;
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

pub(super) fn draw(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    scroll: u16,
    area: Rect,
    buffer: &mut Buffer,
) {
    let place = popup::centred(area, 100, area.height.saturating_sub(2).max(1));
    let inner = popup::frame("Sources", theme.focus, theme, place, buffer);
    view.cover();
    view.page_lines = usize::from(inner.height);
    let room = usize::from(inner.width);
    let mut lines = Vec::new();
    for (number, source) in model.sources.iter().enumerate() {
        lines.extend(about(model, number, source, theme, room));
        lines.push(Line::default());
    }
    view.scroll_end = popup::lines(lines, scroll, theme, inner, buffer);
}

fn about(
    model: &Model,
    number: usize,
    source: &SourceView,
    theme: &Theme,
    room: usize,
) -> Vec<Line<'static>> {
    let mut head = vec![Piece::styled(format!("{} ", safe(&source.label)), theme.title)];
    if let Some(badge) = &source.badge {
        head.push(Piece::styled(format!(" {} ", safe(&badge.text)), theme.badge(badge.colour)));
    }
    let mut lines = vec![Line::from(head)];
    let mut field = |name: &str, said: &str, style: Style| {
        for (at, part) in text::wrap(said, room.saturating_sub(12).max(1)).into_iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            let name = Piece::styled(format!("  {name:<9} "), theme.dim);
            lines.push(Line::from(vec![name, Piece::styled(part, style)]));
        }
    };
    let place = source.place.as_deref().map_or_else(String::new, |place| format!(" · {}", safe(place)));
    field("engine", &format!("{}{place}", source.engine), theme.text);
    let profiles: Vec<&str> = source.snapshots.iter().map(|snapshot| snapshot.profile.as_str()).collect();
    if !profiles.is_empty() {
        field("systems", &profiles.join(", "), theme.text);
    }
    let (state, style) = state(model, number, source, theme);
    field("state", &state, style);
    let access = match source.access() {
        Access::ReadOnly(why) => format!("read-only: {}", safe(&why)),
        Access::Write if source.confirmation == Confirmation::Always => "acts need its name typed".into(),
        Access::Write => "acts are possible".into(),
    };
    field("access", &access, theme.text);
    if source.polled_at.is_some() {
        let counts = source.counts();
        let sets = Set::ALL.into_iter().filter(|set| counts.of(*set) > 0);
        let said: Vec<String> = sets.map(|set| format!("{} {} {set}", mark(set), counts.of(set))).collect();
        field("claims", &format!("{} in all: {}", counts.total, said.join(", ")), theme.text);
    }
    let notes =
        source.veiled().into_iter().chain(source.warnings.iter().map(String::as_str)).chain(source.notices());
    for note in notes {
        field("note", &safe(note), theme.set(Set::Expiring));
    }
    lines
}

fn state(model: &Model, number: usize, source: &SourceView, theme: &Theme) -> (String, Style) {
    match (&source.link, header::why_lost(source)) {
        (LinkState::Connecting, _) => ("the first answer is still to come".into(), theme.dim),
        (_, Some(why)) => (why, theme.set(Set::Stale)),
        (_, None) => {
            let cost = source.poll_cost().map_or_else(String::new, |cost| format!(", a poll takes {cost}"));
            let clock = text::clock(model.now_of(number));
            (format!("connected{cost}, its clock says {clock}"), theme.set(Set::Healthy))
        }
    }
}
