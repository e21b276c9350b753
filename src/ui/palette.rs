//! Every command by name: to run one, and to learn its key.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;

use super::theme::Theme;
use super::view::View;
use super::{popup, text};
use crate::app::message::ClickTarget;
use crate::app::model::Model;
use crate::app::overlay::PaletteInput;
use crate::app::palette::Choice;
use crate::domain::visible::safe;

pub(super) fn draw(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    palette: &PaletteInput,
    area: Rect,
    buffer: &mut Buffer,
) {
    let place = popup::centred(area, 84, 18);
    let inner = popup::frame("Commands", theme.focus, theme, place, buffer);
    view.cover();
    if inner.height == 0 {
        return;
    }
    let input = &palette.input;
    let prompt = Line::from(vec![
        Piece::styled(" : ", theme.title),
        Piece::styled(safe(input.value()), theme.strong),
        Piece::styled(
            if input.value().is_empty() { "a command, then a reason; tab completes" } else { "" },
            theme.dim,
        ),
    ]);
    prompt.render(Rect { height: 1, ..inner }, buffer);
    let column = u16::try_from(input.visual_cursor()).unwrap_or(0).saturating_add(3);
    view.cursor = Some(Position::new(inner.x + column.min(inner.width.saturating_sub(1)), inner.y));
    let lines = usize::from(inner.height.saturating_sub(1));
    let first = (palette.selected + 1).saturating_sub(lines);
    let room = usize::from(inner.width);
    let entries = model.palette_entries(input.value()).into_iter().enumerate();
    for (line, (at, entry)) in entries.skip(first).take(lines).enumerate() {
        let y = inner.y + 1 + u16::try_from(line).unwrap_or(0);
        let keys = match entry.choice {
            Choice::Command(command) => model.keymap.keys(command).join(" "),
            Choice::Source(_) | Choice::View(_) | Choice::Theme(_) => String::new(),
        };
        let name = text::fit(&entry.name, text::width(&entry.name).clamp(14, 30), false);
        let rest = room.saturating_sub(12 + text::width(&name) + 1);
        let said = Line::from(vec![
            Piece::styled(format!(" {} ", text::fit(&keys, 10, false)), theme.accent),
            Piece::styled(name, theme.strong),
            Piece::styled(format!(" {}", text::clip(&entry.what, rest)), theme.dim),
        ]);
        let place = Rect { y, height: 1, ..inner };
        said.render(place, buffer);
        view.spot(place, ClickTarget::Choice(at));
        if at == palette.selected {
            theme.select(place, buffer);
        }
    }
}
