//! The last lines: the notice, the filter, the keys.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;
use tui_input::Input;

use super::text;
use super::theme::Theme;
use super::view::View;
use crate::app::actions::ActionGroup;
use crate::app::message::ClickTarget;
use crate::app::model::{Model, Pane, Tone};
use crate::app::source::{Access, SourceView};
use crate::app::{ACTIONS, ActionSpec, Command};
use crate::domain::time::Span;
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

/// The notice. If there is one line for both, it replaces the claim's sentence for a while.
pub(super) fn draw_notice(model: &Model, theme: &Theme, (area, sentence): (Rect, Rect), buffer: &mut Buffer) {
    let Some(notice) = model.notice.as_ref().filter(|notice| model.now.since(notice.at) < FRESH) else {
        if sentence.height == 0 {
            draw_sentence(model, theme, area, buffer);
        }
        return;
    };
    let sign = match notice.tone {
        Tone::Done => "✓",
        Tone::Info => "·",
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
pub(super) fn draw_sentence(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    // Not under a detail or a dialog: it would be about another claim.
    let Some(row) = model.selected_row().filter(|_| model.overlay.is_empty()) else { return };
    let now = model.now_of(row.id.source);
    let said = format!("{}: {}; holder {}", row.shown(), row.why(now), row.conclusion(now).as_str());
    let said = format!(" {}", model.about(row.id.source, &said));
    Line::styled(text::clip(&said, usize::from(area.width)), theme.dim).render(area, buffer);
}

pub(super) fn draw_filter(
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
    let hint = match model.filter_problem() {
        Some(problem) => Piece::styled(format!("   {}", safe(problem)), theme.set(Set::Stale)),
        None if input.value().is_empty() => {
            let keys = match model.pane {
                Pane::Audit => "by:x  since:2h  action:undo  outcome:moved  source:x  !not",
                _ => "text  holder:x  kind:x  board:x  set:stale  age>10m  !not",
            };
            Piece::styled(format!("   {keys}"), theme.dim)
        }
        None => Piece::styled("   enter keeps it   esc clears it", theme.dim),
    };
    // If there is no room for both, the error matters more than the input.
    if model.filter_problem().is_some() && area.width < 70 {
        pieces.remove(1);
    }
    pieces.push(hint);
    Line::from(pieces).render(area, buffer);
    let column = u16::try_from(input.visual_cursor()).unwrap_or(0).saturating_add(3);
    view.cursor = Some(Position::new(area.x + column.min(area.width.saturating_sub(1)), area.y));
}

pub(super) fn draw_keys(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let is_closed =
        |source: &SourceView| source.access() != Access::Write || source.link.lost_since().is_some();
    // The source of the selected row decides which keys work.
    let closed = match model.selected_row().and_then(|row| model.sources.get(row.id.source)) {
        Some(source) => is_closed(source),
        None => !model.sources.is_empty() && model.shown_sources().all(|(_, source)| is_closed(source)),
    };
    let here = |spec: &&ActionSpec| {
        let is_of_group = matches!(spec.command, Command::ReclaimAll | Command::ReleaseAll);
        (!model.overlay.is_empty() && !is_of_group) || applies(spec.command, model.pane)
    };
    // In a replay acts do not exist, and only there one can move through time.
    let is_there = |spec: &&ActionSpec| match model.replay {
        Some(_) => !(spec.writes || is_of_now(spec.command)),
        None => spec.group != ActionGroup::Replay,
    };
    let all: Vec<_> =
        ACTIONS.iter().filter(here).filter(is_there).filter_map(|spec| Some((spec, spec.short?))).collect();
    let key_of = |spec: &ActionSpec| match spec.command {
        // In a replay the key that marks claims plays and pauses.
        Command::Play => model.keymap.key(Command::Mark),
        command => model.keymap.key(command),
    };
    let width = |spec: &ActionSpec, short: &str| text::width(&key_of(spec)) + short.len() + 3;
    // The keys that lead to all others always stay.
    let mut kept: usize =
        all.iter().filter(|(spec, _)| stays(spec.command)).map(|(spec, short)| width(spec, short)).sum();
    let mut x = area.x + 1;
    for (spec, short) in all {
        let needs = width(spec, short);
        let stays = stays(spec.command);
        kept -= if stays { needs } else { 0 };
        if usize::from(x - area.x) + needs + kept > usize::from(area.width) + 2 {
            continue;
        }
        let key = key_of(spec);
        let dimmed = spec.writes && closed;
        let pieces = [
            Piece::styled(key, if dimmed { theme.dim } else { theme.accent }),
            Piece::styled(format!(" {short}"), theme.dim),
        ];
        let place = Rect { x, width: u16::try_from(needs - 2).unwrap_or(0), ..area };
        let place = place.intersection(area);
        Line::from(pieces.to_vec()).render(place, buffer);
        view.spot(place, ClickTarget::Command(spec.command));
        x = (x + u16::try_from(needs).unwrap_or(0)).min(area.right());
    }
}

/// Whether a key does anything in a pane.
fn applies(command: Command, pane: Pane) -> bool {
    let claims = matches!(pane, Pane::Overview | Pane::Claims | Pane::Locks);
    match command {
        Command::Reclaim | Command::Extend | Command::Mark | Command::CheckPid => claims,
        Command::Release => claims || pane == Pane::Sessions,
        Command::ReclaimAll | Command::ReleaseAll => pane == Pane::Groups,
        Command::Detail => !matches!(pane, Pane::Events | Pane::Backtest),
        _ => true,
    }
}

/// Whether a command looks at something that a recording does not have, or has another meaning in a replay.
fn is_of_now(command: Command) -> bool {
    matches!(command, Command::Mark | Command::CheckPid)
}

fn stays(command: Command) -> bool {
    matches!(command, Command::Filter | Command::Palette | Command::Detail | Command::Help | Command::Quit)
}
