//! The scrubber of a replay: the whole recording on one axis, with the sets over time, events, causes and gaps.
//!
//! ```text
//! ✗ ▁▁▁▁▁▁▁▁▁▁▁▂████████░░░░██▇▃▁▁▁▁▁▁▁▁   orphaned; ░ is a gap: nothing is known
//! ! ▁▁▁▁▂▂▂▂▂▂▂▃▃▃▃▃▂▂▂▂░░░░▁▁▁▁▁▁▁▁▁▁▁▁   stale
//! 03:00 ───────▲web-3──┃─────·──────04:00   ▲ a cause, · events, ┃ where the replay stands
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text;
use super::theme::{Theme, mark};
use crate::app::model::Model;
use crate::app::replay::{Replay, ReplayMarkKind};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

/// How many lines it takes.
pub(super) fn height(model: &Model, area: Rect) -> u16 {
    match (&model.replay, area.height) {
        (None, _) | (_, 0..8) => 0,
        (Some(_), 8..18) => 1,
        (Some(_), _) => 3,
    }
}

pub(super) fn draw(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let Some(replay) = model.replay.as_ref().filter(|_| area.height > 0 && area.width > 20) else { return };
    let scale = Scale::new(replay, area);
    if area.height >= 3 {
        for (line, set) in [Set::Orphaned, Set::Stale].into_iter().enumerate() {
            let y = area.y + u16::try_from(line).unwrap_or(0);
            draw_plot(replay, &scale, theme, set, (area.x, y), buffer);
        }
    }
    draw_axis(replay, &scale, theme, Rect { y: area.bottom() - 1, height: 1, ..area }, buffer);
}

/// Which part of the recording each column stands for.
struct Scale {
    begins: Moment,
    /// How long a column is.
    step: Span,
    /// Where the first column is, and how many there are.
    x: u16,
    columns: u16,
}

impl Scale {
    fn new(replay: &Replay, area: Rect) -> Scale {
        // The mark of a set on the left, a space on the right.
        let columns = area.width.saturating_sub(4).max(1);
        let length = replay.ends.since(replay.begins).as_micros().max(1);
        let step = Span::micros((length / i64::from(columns) + 1).max(1));
        Scale { begins: replay.begins, step, x: area.x + 3, columns }
    }

    /// The column of an instant.
    fn column(&self, at: Moment) -> u16 {
        let column = at.since(self.begins).as_micros() / self.step.as_micros();
        u16::try_from(column.max(0)).unwrap_or(u16::MAX).min(self.columns - 1)
    }

    fn start_of(&self, column: u16) -> Moment {
        self.begins.plus(self.step.times(column.into()))
    }
}

fn draw_plot(
    replay: &Replay,
    scale: &Scale,
    theme: &Theme,
    set: Set,
    (x, y): (u16, u16),
    buffer: &mut Buffer,
) {
    let counts = highest(replay, scale, set);
    let most = counts.iter().copied().max().unwrap_or(0);
    let style = if most > 0 { theme.set(set) } else { theme.dim };
    buffer.set_string(x + 1, y, mark(set), style);
    for (column, count) in counts.into_iter().enumerate() {
        let column = u16::try_from(column).unwrap_or(0);
        let (cell, style) = match is_gap(replay, scale, column) {
            true => ('░', theme.dim),
            false => (text::bar(count, most), if count > 0 { style } else { theme.dim }),
        };
        let style = if column == scale.column(replay.at) { here(style) } else { style };
        buffer.set_string(scale.x + column, y, cell.to_string(), style);
    }
}

/// The highest count of a set in every column.
fn highest(replay: &Replay, scale: &Scale, set: Set) -> Vec<u64> {
    let mut columns = vec![0; usize::from(scale.columns)];
    let mut points = replay.plot.iter().peekable();
    while let Some(point) = points.next() {
        let until = points.peek().map_or(replay.ends, |next| next.at);
        for column in scale.column(point.at)..=scale.column(until) {
            // The next value begins in this column too.
            let ends_here = scale.start_of(column) >= until && until > point.at;
            let highest = &mut columns[usize::from(column)];
            *highest = (*highest).max(if ends_here { 0 } else { point.counts.of(set) });
        }
    }
    columns
}

/// Whether nothing is known of all the time that a column stands for.
fn is_gap(replay: &Replay, scale: &Scale, column: u16) -> bool {
    let (from, to) = (scale.start_of(column), scale.start_of(column + 1));
    replay.gaps.iter().any(|gap| gap.from <= from && to <= gap.to)
}

fn draw_axis(replay: &Replay, scale: &Scale, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let last = scale.columns - 1;
    for column in 0..=last {
        let cell = if is_gap(replay, scale, column) { "░" } else { "─" };
        buffer.set_string(scale.x + column, area.y, cell, theme.dim);
    }
    for event in &replay.marks {
        let column = scale.column(event.at);
        buffer.set_string(scale.x + column, area.y, "·", theme.accent);
    }
    for cause in &replay.marks {
        let ReplayMarkKind::Cause(name) = &cause.kind else { continue };
        let column = scale.column(cause.at);
        let said = format!("▲{}", text::cut(&safe(name), 16));
        let room = usize::from(scale.columns - column);
        buffer.set_stringn(scale.x + column, area.y, said, room, theme.cause());
    }
    let ends = [(text::clock(replay.begins), 0), (text::clock(replay.ends), last)];
    for (time, column) in ends {
        let width = u16::try_from(time.len()).unwrap_or(0);
        let start = if column == 0 { 0 } else { (last + 1).saturating_sub(width) };
        buffer.set_stringn(scale.x + start, area.y, time, usize::from(scale.columns), theme.dim);
    }
    buffer.set_string(scale.x + scale.column(replay.at), area.y, "┃", here(theme.strong));
}

/// Where the replay stands.
fn here(style: Style) -> Style {
    style.add_modifier(ratatui::style::Modifier::REVERSED)
}
