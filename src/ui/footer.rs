//! The last lines: what came of the last key, the filter as it is written, the keys that matter.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;
use tui_input::Input;

use super::text;
use super::theme::Theme;
use super::view::View;
use crate::app::model::{Model, Pane, Tone};
use crate::app::source::{Access, SourceView};
use crate::app::{ACTIONS, ActionSpec, Command};
use crate::domain::time::Span;
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

pub fn draw_notice(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let Some(notice) = model.notice.as_ref().filter(|notice| model.now.since(notice.at) < FRESH) else {
        return draw_selected(model, theme, area, buffer);
    };
    let sign = match notice.tone {
        Tone::Done => "✓",
        Tone::Told => "·",
        Tone::Moved => "~",
        Tone::Refused => "!",
        Tone::Unknown => "?",
    };
    let said = text::clip(&format!(" {sign} {}", safe(&notice.text)), usize::from(area.width));
    Line::styled(said, theme.tone(notice.tone)).render(area, buffer);
}

/// How long a notice stays when nothing replaces it: long enough to be read twice.
const FRESH: Span = Span::seconds(20);

/// Why the selected claim is where it is.
fn draw_selected(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    // Under a detail or a dialog it would be about something else.
    let Some(row) = model.selected_row().filter(|_| model.overlay.is_empty()) else { return };
    let now = model.now_of(row.id.source);
    let said = format!(" {}: {}; holder {}", row.shown(), row.why(now), row.conclusion(now).as_str());
    Line::styled(text::clip(&said, usize::from(area.width)), theme.dim).render(area, buffer);
}

pub fn draw_filter(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    input: &Input,
    area: Rect,
    buffer: &mut Buffer,
) {
    if area.height == 0 {
        return;
    }
    buffer.set_string(area.x, area.y, " ".repeat(usize::from(area.width)), theme.text);
    let mut pieces =
        vec![Piece::styled(" / ", theme.title), Piece::styled(safe(input.value()), theme.strong)];
    let hint = match &model.query_problem {
        Some(problem) => Piece::styled(format!("   {}", safe(problem)), theme.set(Set::Stale)),
        None if input.value().is_empty() => {
            Piece::styled("   text  holder:x  kind:x  board:x  set:stale  age>10m  !not", theme.dim)
        }
        None => Piece::styled("   enter keeps it   esc clears it", theme.dim),
    };
    // Where there is no room for both, what is wrong matters more than what was typed.
    if model.query_problem.is_some() && area.width < 70 {
        pieces.remove(1);
    }
    pieces.push(hint);
    Line::from(pieces).render(area, buffer);
    let column = u16::try_from(input.visual_cursor()).unwrap_or(0).saturating_add(3);
    view.cursor = Some(Position::new(area.x + column.min(area.width.saturating_sub(1)), area.y));
}

pub fn draw_keys(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let is_closed =
        |source: &SourceView| source.access() != Access::Write || source.link.lost_since().is_some();
    let closed = !model.sources.is_empty() && model.shown_sources().all(|(_, source)| is_closed(source));
    let mut pieces = vec![Piece::raw(" ")];
    let mut used = 1;
    // Quitting and help stay, whatever has to go.
    let here = |spec: &&ActionSpec| !model.overlay.is_empty() || applies(spec.command, model.pane);
    let all: Vec<_> = ACTIONS.iter().filter(here).filter_map(|spec| Some((spec, spec.short?))).collect();
    let width = |key: &str, short: &str| text::width(key) + short.len() + 3;
    let last: usize = all
        .iter()
        .filter(|(_, short)| is_last(short))
        .map(|(spec, short)| width(&model.keymap.key(spec.command), short))
        .sum();
    for (spec, short) in all {
        let key = model.keymap.key(spec.command);
        let needs = width(&key, short);
        let limit = usize::from(area.width).saturating_sub(if is_last(short) { 0 } else { last });
        if used + needs > limit {
            continue;
        }
        used += needs;
        let dimmed = spec.writes && closed;
        pieces.push(Piece::styled(key, if dimmed { theme.dim } else { theme.accent }));
        pieces.push(Piece::styled(format!(" {short}  "), theme.dim));
    }
    Line::from(pieces).render(area, buffer);
}

/// Whether a key does anything in a pane.
fn applies(command: Command, pane: Pane) -> bool {
    let claims = matches!(pane, Pane::Overview | Pane::Claims | Pane::Locks);
    match command {
        Command::Reclaim | Command::Extend | Command::Mark | Command::CheckPid => claims,
        Command::Release => claims || pane == Pane::Sessions,
        Command::Detail => pane != Pane::Events,
        _ => true,
    }
}

fn is_last(short: &str) -> bool {
    matches!(short, "help" | "quit")
}
