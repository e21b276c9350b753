//! A box over the screen, with lines that scroll.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, BorderType, Clear, Paragraph, Widget};

use super::theme::Theme;

/// Draws a frame with a title; returns its inside.
pub(super) fn frame(title: &str, style: Style, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Rect {
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(style)
        .title(Line::styled(format!(" {title} "), style));
    let inner = block.inner(area);
    Clear.render(area, buffer);
    buffer.set_style(area, theme.text);
    block.render(area, buffer);
    inner
}

/// A box of this size in the middle, as far as there is room.
pub(super) fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// Draws the lines from `scroll` on and a hint if there are more; returns how far they can be scrolled.
pub(super) fn lines(
    lines: Vec<Line<'_>>,
    scroll: u16,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> u16 {
    let total = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let last = total.saturating_sub(area.height);
    let scroll = scroll.min(last);
    let shown: Vec<Line<'_>> =
        lines.into_iter().skip(usize::from(scroll)).take(usize::from(area.height)).collect();
    Paragraph::new(shown).render(area, buffer);
    if scroll < last && area.height > 0 {
        let more = format!(" {} more ↓ ", last - scroll);
        let width = u16::try_from(more.chars().count()).unwrap_or(0).min(area.width);
        buffer.set_stringn(area.right() - width, area.bottom(), more, usize::from(width), theme.accent);
    }
    last
}
