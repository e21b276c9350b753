//! The timeline: past and future on one axis. Left of now, when the claims in trouble were last heard of; right of it,
//! when deadlines come.
//!
//! ```text
//!  last heard of      ▾ web-3     │ deadlines
//!    ▁      ▂▁     ▁  █           │   ▂     ▃   ▁
//!  03:05   03:10    03:15        now  +5m   +10m
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType, Widget};

use super::text;
use super::theme::Theme;
use crate::app::model::Model;
use crate::domain::time::{Moment, Span};
use crate::domain::timeline::{Axis, Nearness, Timeline};
use crate::domain::verdict::Set;

/// How many lines it takes; none where there is little room.
pub(super) fn height(area: Rect) -> u16 {
    match area.height {
        0..14 => 0,
        14..26 => 5,
        _ => 6,
    }
}

pub(super) fn draw(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let timeline = model.timeline();
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.border)
        .title(Line::styled(title(model, &timeline), theme.dim));
    let inner = block.inner(area);
    block.render(area, buffer);
    if inner.height < 3 || inner.width < 16 {
        return;
    }
    let plot = Plot { axis: Axis::of(&timeline, usize::from(inner.width)), theme, inner };
    plot.draw_headings(buffer);
    plot.draw_past(&timeline, buffer);
    plot.draw_ahead(&timeline, buffer);
    plot.draw_labels(now(model), buffer);
    plot.draw_causes(model, buffer);
}

/// Now, by the clock of the first source that is shown, as in the header.
fn now(model: &Model) -> Moment {
    model.shown_sources().next().map_or(model.now, |(number, _)| model.now_of(number))
}

fn title(model: &Model, timeline: &Timeline) -> String {
    let deadlines = timeline.deadlines_ahead(text::number);
    let filtered = if model.is_narrowed() { ", filtered" } else { "" };
    format!(" Timeline: {}, {deadlines} ahead{filtered} ", timeline.trouble(text::number))
}

/// An axis and where it is drawn.
struct Plot<'a> {
    axis: Axis,
    theme: &'a Theme,
    inner: Rect,
}

impl Plot<'_> {
    /// The column of now. The past takes what is not needed for bars ahead.
    fn now(&self) -> u16 {
        let ahead = columns(self.axis.ahead * self.axis.wide).saturating_add(1);
        self.inner.x + self.inner.width.saturating_sub(ahead)
    }

    fn x_ago(&self, bar: usize) -> u16 {
        self.now().saturating_sub(columns((bar + 1) * self.axis.wide)).max(self.inner.x)
    }

    fn x_ahead(&self, bar: usize) -> u16 {
        self.now() + 1 + columns(bar * self.axis.wide)
    }

    fn draw_headings(&self, buffer: &mut Buffer) {
        let Plot { theme, inner, .. } = self;
        let now = self.now();
        let left = usize::from(now - inner.x).saturating_sub(1);
        buffer.set_stringn(inner.x, inner.y, "last heard of", left, theme.dim);
        let right = usize::from(inner.right().saturating_sub(now + 2));
        buffer.set_stringn(now + 2, inner.y, text::clip("deadlines", right), right, theme.dim);
        for y in inner.y..inner.bottom() - 1 {
            buffer.set_stringn(now, y, "│", 1, theme.accent);
        }
    }

    fn draw_past(&self, timeline: &Timeline, buffer: &mut Buffer) {
        let bars = self.axis.past_bars(timeline);
        let most = bars.iter().map(|(count, _)| *count).max().unwrap_or(0).max(1);
        for (at, (count, set)) in bars.into_iter().enumerate() {
            self.draw_bar((count, most), self.x_ago(at), self.theme.set(set), buffer);
        }
    }

    fn draw_ahead(&self, timeline: &Timeline, buffer: &mut Buffer) {
        let bars = self.axis.ahead_bars(timeline);
        let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
        for (at, bar) in bars.into_iter().enumerate() {
            let style = match bar.nearness {
                Nearness::Near => self.theme.set(Set::Expiring),
                Nearness::Far => self.theme.accent,
            };
            self.draw_bar((bar.count, most), self.x_ahead(at), style, buffer);
        }
    }

    fn draw_bar(&self, (count, most): (u64, u64), x: u16, style: Style, buffer: &mut Buffer) {
        const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
        let eighths = (count * u64::from(self.inner.height - 2) * 8).div_ceil(most);
        let cells = self.axis.wide.saturating_sub(1).max(1);
        for line in 0..eighths.div_ceil(8) {
            let full = (eighths - line * 8).min(8);
            let y = self.inner.bottom() - 2 - u16::try_from(line).unwrap_or(0);
            buffer.set_stringn(x, y, EIGHTHS[full as usize].repeat(cells), cells, style);
        }
    }

    /// The name of each cause above the moment at which it began.
    fn draw_causes(&self, model: &Model, buffer: &mut Buffer) {
        let mut free = self.now();
        let mut causes: Vec<(Moment, String)> =
            model.causes.iter().filter_map(|cause| Some((cause.since?, cause.name()))).collect();
        causes.sort_by_key(|(since, _)| std::cmp::Reverse(*since));
        for (since, name) in causes {
            let ago = now(model).since(since).max(Span::ZERO);
            let x = self.x_ago(self.axis.bar_ago(ago));
            let room = usize::from(free.saturating_sub(x + 1));
            if room < 4 {
                continue;
            }
            let said = text::clip(&format!("▾ {name} "), room);
            buffer.set_stringn(x, self.inner.y, said, room, self.theme.cause());
            free = x;
        }
    }

    /// The time of day before now, the time to go after it.
    fn draw_labels(&self, now: Moment, buffer: &mut Buffer) {
        let (y, at, dim) = (self.inner.bottom() - 1, self.now(), self.theme.dim);
        buffer.set_stringn(at.saturating_sub(1).max(self.inner.x), y, "now", 3, self.theme.accent);
        for (bar, label) in self.axis.past_labels(now) {
            let x = self.x_ago(bar);
            if x + columns(label.len()) + 1 < at {
                buffer.set_stringn(x, y, label, 8, dim);
            }
        }
        for (bar, label) in self.axis.ahead_labels() {
            let x = self.x_ahead(bar);
            if x > at + 2 && x + columns(label.len()) <= self.inner.right() {
                buffer.set_string(x, y, label, dim);
            }
        }
    }
}

fn columns(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}
