//! The live log: what entered and left the sets.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::table::{
    Cell, SOURCE, SourceColumns, TableColumn, TableContent, draw as draw_table, fixed, share,
};
use super::text;
use super::theme::Theme;
use super::view::View;
use crate::app::item::Item;
use crate::app::message::ClickTarget;
use crate::app::model::{Model, Pane};
use crate::domain::verdict::Set;
use crate::domain::visible::visible;
use crate::events::EventKind;

const COLUMNS: &[TableColumn] = &[
    fixed("TIME", 8, 1),
    fixed("WHAT", 13, 0),
    share("BOARD", 6, 1, 3),
    share("CLAIM", 10, 3, 0),
    share("", 12, 7, 2),
    share(SOURCE, 8, 1, 0),
];

pub(super) fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let lines: Vec<_> = model.event_lines().collect();
    if lines.is_empty() {
        let said = "  nothing has happened since this screen was opened";
        Line::styled(text::clip(said, usize::from(area.width)), theme.dim).render(area, buffer);
        return;
    }
    let items: Vec<Item> = lines.iter().map(|line| Item::LoggedEvent(line.number)).collect();
    let columns = SourceColumns::new(model, COLUMNS);
    let listing = TableContent::of(model, Pane::Events, &columns.columns, &items);
    draw_table(&listing, view, theme, area, buffer, |at, _| {
        let event = &lines[at].event;
        let time = event.at().rfc3339().get(11..19).unwrap_or_default().to_owned();
        let board = Some(event.board()).filter(|board| !board.is_empty()).map(visible).unwrap_or_default();
        let cells = vec![
            Cell::new(time, theme.dim),
            Cell::new(event.kind().word(), style(event.kind(), theme)),
            Cell::new(board, theme.dim),
            Cell::new(event.shown(), theme.strong),
            Cell::sentence(event.message(), theme.text),
            Cell::new(model.name_of(lines[at].source), theme.dim),
        ];
        (columns.cells(cells), Some(ClickTarget::Item(items[at].clone())))
    });
}

fn style(what: EventKind, theme: &Theme) -> Style {
    match what {
        EventKind::Entered(set) => theme.set(set),
        EventKind::Renewed | EventKind::Finished | EventKind::SessionCleanup => theme.set(Set::Healthy),
        EventKind::Acquired | EventKind::Left | EventKind::Cleanup => theme.text,
        EventKind::ChangedHands | EventKind::Retried | EventKind::Recovered => theme.accent,
        EventKind::SourceLost | EventKind::SourceBack | EventKind::SourceChanged => theme.set(Set::Stale),
        EventKind::CauseBegan | EventKind::SessionLost | EventKind::Poison => theme.set(Set::Orphaned),
        EventKind::CauseEnded => theme.set(Set::Healthy),
    }
}
