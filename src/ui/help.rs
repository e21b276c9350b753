//! Help for where you are: the pane, then every key.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as Piece};

use super::theme::{Theme, mark};
use super::view::View;
use super::{popup, text};
use crate::app::actions::{ACTIONS, ActionGroup};
use crate::app::model::{Model, Pane};
use crate::domain::verdict::Set;

pub(super) fn draw(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    scroll: u16,
    area: Rect,
    buffer: &mut Buffer,
) {
    let place = popup::centred(area, 92, area.height);
    let inner = popup::frame("Help", theme.focus, theme, place, buffer);
    view.cover();
    view.page_lines = usize::from(inner.height);
    let room = usize::from(inner.width);
    let mut lines = vec![Line::styled(model.pane.title(), theme.title)];
    lines.extend(text::wrap(about(model.pane), room).into_iter().map(|line| Line::styled(line, theme.text)));
    lines.push(Line::default());
    for group in ActionGroup::ALL {
        lines.push(Line::styled(group.title(), theme.title));
        for spec in ACTIONS.iter().filter(|spec| spec.group == group) {
            let keys = text::fit(&model.keymap.keys(spec.command).join(" "), 10, false);
            let name = text::fit(spec.name, 14, false);
            lines.push(Line::from(vec![
                Piece::styled(format!(" {keys} "), theme.accent),
                Piece::styled(name, theme.strong),
                Piece::styled(text::clip(spec.what, room.saturating_sub(26)), theme.text),
            ]));
        }
        lines.push(Line::default());
    }
    lines.push(Line::styled("The words", theme.title));
    for set in Set::ALL {
        let head = format!(" {} {:<10}", mark(set), set.as_str());
        let said = text::clip(meaning(set), room.saturating_sub(14));
        lines.push(Line::from(vec![Piece::styled(head, theme.set(set)), Piece::styled(said, theme.text)]));
    }
    lines.extend(
        text::wrap(
            "A claim may be in several sets. Nothing here is done to a claim that changed after you saw it; \
             every act is on record and can be taken back. What claimtop cannot do is stop a worker that wakes \
             up late: only fencing in the worker can.",
            room,
        )
        .into_iter()
        .map(|line| Line::styled(line, theme.dim)),
    );
    view.scroll_end = popup::lines(lines, scroll, theme, inner, buffer);
}

fn about(pane: Pane) -> &'static str {
    match pane {
        Pane::Overview => {
            "What needs you, worst first, each claim in the pane of its worst set, with the marks of the others. A bar \
             burns down to the claim's deadline and then counts how far it is over. In the timeline, left of now: when \
             the claims in trouble were last heard of; right of it: when deadlines come."
        }
        Pane::Claims => {
            "Every claim of a board, page by page, in the order of its table; left and right change the board. \
             holder=NAME and kind=NAME are looked for by the database, everything else on the loaded rows."
        }
        Pane::Groups => {
            "Trouble by host, holder, kind, board, source or reason (g cycles): how much of how much, since when, and \
             what R would do. enter shows the claims of a group; R and X act on all of them, loaded or not."
        }
        Pane::Sessions => {
            "Who holds claims, and what the kernel says of their processes. x releases everything a session holds; \
             enter shows its claims."
        }
        Pane::Jobs => {
            "What runs, waits and is dead, kind by kind, and the longest any of them took over what it may take. \
             enter lists the dead of a kind; there r queues one again."
        }
        Pane::Locks => "The locks in trouble; healthy ones are under Claims.",
        Pane::Events => {
            "What entered and left the sets while you watched. Claims that left were read again to say why."
        }
        Pane::Backtest => {
            "What other thresholds would have done in this recording: each bar is the number of claims that a sweep would \
             have taken from a living holder. The longer the threshold, the fewer, and the longer the claims of dead \
             holders wait. y copies the recommended line of the config."
        }
        Pane::Audit => {
            "Every act on record, newest first; enter shows an act or unfolds a bulk, u takes it back."
        }
    }
}

fn meaning(set: Set) -> &'static str {
    match set {
        Set::Orphaned => "its holder is not registered, has stopped beating, or its process is dead",
        Set::Stale => "its time is up, or its heartbeat fell silent under a running lease",
        Set::Unknown => "a time cannot be read or lies in the future, or nothing says how long it may take",
        Set::Expiring => "its deadline is near",
        Set::Healthy => "none of these",
    }
}
