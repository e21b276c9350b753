//! What is shown when there is nothing to watch: how to start.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::text;
use super::theme::Theme;

const LINES: [(&str, bool); 9] = [
    ("No source was named, and the config names none.", false),
    ("", false),
    ("claimtop tasks.db", true),
    ("watches a SQLite file; its system is detected automatically", false),
    ("claimtop demo", true),
    ("shows a live fleet of workers on a database of its own", false),
    ("[source.prod] in the config file", true),
    ("gives a source a name, thresholds and a mode; config.example.toml lists all", false),
    ("q leaves", false),
];

pub(super) fn draw(theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let height = u16::try_from(LINES.len()).unwrap_or(0).min(area.height);
    let top = area.y + (area.height - height) / 2;
    for ((said, loud), y) in LINES.into_iter().zip(top..area.bottom()) {
        let style = if loud { theme.title } else { theme.text };
        let said = text::clip(said, usize::from(area.width));
        Line::styled(said, style).centered().render(Rect { y, height: 1, ..area }, buffer);
    }
}
