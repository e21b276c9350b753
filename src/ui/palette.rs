//! Every command by name: to run one, and to learn its key.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;

use super::theme::Theme;
use super::view::View;
use super::{popup, text};
use crate::app::model::Model;
use crate::app::overlay::Palette;
use crate::app::update::keys::found;
use crate::domain::visible::safe;

pub fn draw(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    palette: &Palette,
    area: Rect,
    buffer: &mut Buffer,
) {
    let place = popup::centred(area, 84, 18);
    let inner = popup::frame("Commands", theme.focus, theme, place, buffer);
    view.rows.clear();
    if inner.height == 0 {
        return;
    }
    let input = &palette.input;
    let prompt = Line::from(vec![
        Piece::styled(" : ", theme.title),
        Piece::styled(safe(input.value()), theme.strong),
        Piece::styled(if input.value().is_empty() { "a command, then a reason" } else { "" }, theme.dim),
    ]);
    prompt.render(Rect { height: 1, ..inner }, buffer);
    let column = u16::try_from(input.visual_cursor()).unwrap_or(0).saturating_add(3);
    view.cursor = Some(Position::new(inner.x + column.min(inner.width.saturating_sub(1)), inner.y));
    let lines = usize::from(inner.height.saturating_sub(1));
    let first = (palette.selected + 1).saturating_sub(lines);
    let room = usize::from(inner.width);
    for (line, (at, spec)) in found(input.value()).into_iter().enumerate().skip(first).take(lines).enumerate()
    {
        let y = inner.y + 1 + u16::try_from(line).unwrap_or(0);
        let keys = text::fit(&model.keymap.keys(spec.command).join(" "), 10, false);
        let said = Line::from(vec![
            Piece::styled(format!(" {keys} "), theme.accent),
            Piece::styled(text::fit(spec.name, 14, false), theme.strong),
            Piece::styled(text::clip(spec.what, room.saturating_sub(26)), theme.dim),
        ]);
        let place = Rect { y, height: 1, ..inner };
        said.render(place, buffer);
        if at == palette.selected {
            buffer.set_style(place, theme.selected);
        }
    }
}
