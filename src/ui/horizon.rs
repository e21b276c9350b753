//! The expiry horizon: how many claims will reach their deadline in each of the coming minutes, or,
//! where all of them will within five, in every ten seconds of these.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType, Widget};

use super::text;
use super::theme::Theme;
use crate::app::model::Model;
use crate::domain::verdict::Set;

/// How many lines it takes; none where there is little room.
pub fn height(area: Rect) -> u16 {
    match area.height {
        0..14 => 0,
        14..26 => 5,
        _ => 7,
    }
}

/// What the bars stand for.
struct Scale {
    bars: Vec<u64>,
    /// How far all of them reach.
    reach: String,
    /// So many bars are near.
    near: usize,
    /// What is written below a bar, if anything.
    label: fn(usize) -> Option<String>,
}

pub fn draw(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let scale = scale(model);
    let at_least = model.shown_sources().any(|(_, source)| source.horizon.at_least);
    let about = if at_least { "at least " } else { "" };
    let reach = &scale.reach;
    let title = match scale.bars.iter().sum() {
        0 => format!(" Horizon: no deadline in the next {reach} "),
        1 => format!(" Horizon: {about}1 deadline in the next {reach} "),
        total => format!(" Horizon: {about}{} deadlines in the next {reach} ", text::number(total)),
    };
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.border)
        .title(Line::styled(title, theme.dim));
    let inner = block.inner(area);
    block.render(area, buffer);
    if inner.height >= 2 && inner.width >= 8 && !scale.bars.is_empty() {
        draw_bars(&scale, theme, inner, buffer);
    }
}

fn scale(model: &Model) -> Scale {
    let sum = |counts: fn(&crate::domain::detail::Horizon) -> &Vec<u64>| {
        let mut all: Vec<u64> = Vec::new();
        for (_, source) in model.shown_sources() {
            let counts = counts(&source.horizon);
            all.resize(all.len().max(counts.len()), 0);
            for (sum, count) in all.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        all
    };
    let (minutes, moments) = (sum(|horizon| &horizon.minutes), sum(|horizon| &horizon.moments));
    let soon = minutes.iter().skip(5).all(|count| *count == 0) && moments.iter().any(|count| *count > 0);
    if soon {
        return Scale {
            bars: moments,
            reach: "5 minutes".into(),
            near: 3,
            label: |bar| match bar {
                0 => Some("now".into()),
                bar if (bar + 1) % 6 == 0 => Some(format!("{}m", (bar + 1) / 6)),
                bar if (bar + 1) % 3 == 0 => Some(format!("{}s", (bar + 1) * 10 % 60)),
                _ => None,
            },
        };
    }
    Scale {
        reach: format!("{} minutes", minutes.len()),
        bars: minutes,
        near: 5,
        label: |bar| match bar {
            0 => Some("now".into()),
            bar if (bar + 1) % 5 == 0 => Some(format!("{}m", bar + 1)),
            _ => None,
        },
    }
}

fn draw_bars(scale: &Scale, theme: &Theme, inner: Rect, buffer: &mut Buffer) {
    // A bar is as wide as there is room for, and the far ones go first.
    let width = (usize::from(inner.width) / scale.bars.len()).clamp(2, 6);
    let shown = (usize::from(inner.width) / width).min(scale.bars.len());
    let most = scale.bars.iter().take(shown).copied().max().unwrap_or(0).max(1);
    for (at, count) in scale.bars.iter().take(shown).enumerate() {
        let x = inner.x + u16::try_from(at * width).unwrap_or(0);
        let style = if at < scale.near { theme.set(Set::Expiring) } else { theme.set(Set::Healthy) };
        draw_bar(*count, most, (x, width), style, inner, buffer);
        if let Some(label) = (scale.label)(at) {
            let room = usize::from(inner.right().saturating_sub(x));
            buffer.set_stringn(x, inner.bottom() - 1, label, room, theme.dim);
        }
    }
}

fn draw_bar(count: u64, most: u64, (x, width): (u16, usize), style: Style, inner: Rect, buffer: &mut Buffer) {
    const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let tall = u64::from(inner.height - 1);
    // A full bar leaves room for its number.
    let room = tall.saturating_sub(u64::from(tall > 2));
    let eighths = (count * room * 8).div_ceil(most);
    let bar = width.saturating_sub(1).max(1);
    for step in 0..eighths.div_ceil(8) {
        let full = (eighths - step * 8).min(8);
        let y = inner.bottom() - 2 - u16::try_from(step).unwrap_or(0);
        buffer.set_stringn(x, y, EIGHTHS[full as usize].repeat(bar), bar, style);
    }
    let label = count.to_string();
    if count > 0 && room < tall && label.len() <= width {
        let y = inner.bottom() - 2 - u16::try_from(eighths.div_ceil(8)).unwrap_or(0);
        buffer.set_stringn(x, y.max(inner.y), label, width, style);
    }
}
