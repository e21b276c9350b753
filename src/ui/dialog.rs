//! What is asked before an act: what it does, what happens without it, and the same as a command.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;
use tui_input::Input;

use super::theme::Theme;
use super::view::View;
use super::{popup, text};
use crate::app::dialog::{
    Asks, Confirm, Field, InBulk, Stage, UndoPreview, UndoStage, command_line, if_nothing_is_done,
    what_it_does,
};
use crate::app::message::{Many, Ready};
use crate::app::model::Model;
use crate::domain::shell::quoted;
use crate::domain::tally::BulkTally;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

const WIDTH: u16 = 84;

pub fn draw_confirm(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    confirm: &Confirm,
    area: Rect,
    buffer: &mut Buffer,
) {
    let row = &confirm.row;
    let width = WIDTH.min(area.width.saturating_sub(2)).max(area.width.min(20));
    let room = usize::from(width.saturating_sub(4));
    let now = model.now_of(row.id.source);
    let label = model.sources.get(row.id.source).map_or("", |source| source.label.as_str());
    let mut lines = paragraph(&format!("This {}.", what_it_does(confirm.action, row)), room, theme.text);
    lines.extend(paragraph(
        &format!("Confirmation needed: {}.", confirm.why),
        room,
        theme.set(Set::Expiring),
    ));
    lines.extend(paragraph(
        &format!("If you do nothing: {}.", if_nothing_is_done(row, now)),
        room,
        theme.dim,
    ));
    let command = command_line(confirm.action, row, label, &confirm.asks, confirm.reason.value());
    lines.extend(paragraph(&format!("$ {command}"), room, theme.accent));
    lines.push(Line::default());
    let mut inputs = Vec::new();
    match &confirm.asks {
        Asks::Yes => lines.push(Line::styled(format!("y {} · n cancel", confirm.action), theme.strong)),
        Asks::Profile(profile) => {
            let said = format!("y yes, this is {}; do not ask again · n cancel", visible(profile));
            lines.extend(paragraph(&said, room, theme.strong));
        }
        Asks::Name(holder) => {
            let said = format!("Type the holder's name, {}, and a reason:", visible(holder));
            lines.extend(paragraph(&said, room, theme.strong));
            inputs.push((lines.len(), "name", &confirm.name, confirm.field == Field::Name));
            lines.push(Line::default());
            inputs.push((lines.len(), "reason", &confirm.reason, confirm.field == Field::Reason));
            lines.push(Line::default());
            lines.push(Line::styled("enter confirm · tab next field · esc cancel", theme.dim));
        }
    }
    if let Some(complaint) = &confirm.complaint {
        lines.extend(paragraph(complaint, room, theme.set(Set::Stale)));
    }
    let title = format!("{} {}?", confirm.action, text::cut(&row.shown(), room.saturating_sub(14)));
    draw_box(&title, lines, &inputs, theme, (area, width), view, buffer);
}

fn paragraph(said: &str, room: usize, style: ratatui::style::Style) -> Vec<Line<'static>> {
    text::wrap(said, room.max(1)).into_iter().map(|line| Line::styled(line, style)).collect()
}

/// A line of an input in a box: its place, its name, its text, and whether keys go there.
type InputLine<'a> = (usize, &'static str, &'a Input, bool);

fn draw_box(
    title: &str,
    mut lines: Vec<Line<'static>>,
    inputs: &[InputLine<'_>],
    theme: &Theme,
    (area, width): (Rect, u16),
    view: &mut View,
    buffer: &mut Buffer,
) {
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let place = popup::centred(area, width, height);
    let inner = popup::frame(title, theme.focus, theme, place, buffer);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    view.rows.clear();
    let mut cursor = None;
    for (at, name, input, active) in inputs {
        let room = usize::from(inner.width).saturating_sub(8);
        let shown = safe(input.value());
        let scroll = text::width(&shown).saturating_sub(room.saturating_sub(1));
        let value: String = shown.chars().skip(scroll).collect();
        let style = if *active { theme.strong } else { theme.dim };
        lines[*at] =
            Line::from(vec![Piece::styled(format!("{name:<7} "), theme.dim), Piece::styled(value, style)]);
        if *active {
            let column = input.visual_cursor().saturating_sub(scroll) + 8;
            cursor = Some((*at, column));
        }
    }
    // Where there is no room for all of it, what is asked matters more than what was said before.
    let hidden = lines.len().saturating_sub(usize::from(inner.height));
    if let Some((line, column)) = cursor
        && let Some(line) = line.checked_sub(hidden)
    {
        let x = inner.x + u16::try_from(column).unwrap_or(0).min(inner.width.saturating_sub(1));
        view.cursor = Some(Position::new(x, inner.y + u16::try_from(line).unwrap_or(0)));
    }
    let shown: Vec<Line<'static>> = lines.split_off(hidden);
    popup::lines(shown, 0, theme, inner, buffer);
}

/// What an undo writes: it scrolls, so that every row and column can be seen.
pub fn draw_undo(view: &mut View, theme: &Theme, undo: &UndoPreview, area: Rect, buffer: &mut Buffer) {
    let width = WIDTH.min(area.width.saturating_sub(2)).max(area.width.min(20));
    let room = usize::from(width.saturating_sub(4));
    let (lines, keys) = match &undo.stage {
        UndoStage::Looking => (vec![Line::styled("looking at the rows ...", theme.dim)], "esc cancel"),
        UndoStage::Failed(why) => {
            (paragraph(why, room, theme.set(Set::Stale)), "nothing was done · esc close")
        }
        UndoStage::Preview(rows) => {
            let lines = rows.iter().flat_map(|row| text::wrap(&safe(row), room.max(1)));
            (lines.map(|line| Line::styled(line, theme.text)).collect(), "y undo · n cancel · ↑↓ scroll")
        }
    };
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(3);
    let place = popup::centred(area, width, height);
    let inner =
        popup::frame("Undo: these rows and columns will be written", theme.focus, theme, place, buffer);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let (rows, last) = (inner.height.saturating_sub(1), inner.bottom().saturating_sub(1));
    view.rows.clear();
    view.page_lines = usize::from(rows);
    popup::lines(lines, undo.scroll, theme, Rect { height: rows, ..inner }, buffer);
    Line::styled(text::clip(keys, usize::from(inner.width)), theme.strong)
        .render(Rect { y: last, height: inner.height.min(1), ..inner }, buffer);
}

pub fn draw_bulk(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    bulk: &InBulk,
    area: Rect,
    buffer: &mut Buffer,
) {
    let width = WIDTH.min(area.width.saturating_sub(2)).max(area.width.min(20));
    let room = usize::from(width.saturating_sub(4));
    let label = model.sources.get(bulk.source).map_or("", |source| source.label.as_str());
    let what = match &bulk.what {
        Many::Marked(targets) => format!("these {} claims of {}", targets.len(), visible(label)),
        Many::Set(set) => format!("all {set} claims of {}", visible(label)),
        Many::Session(session) => format!("everything {} holds", visible(session)),
    };
    let mut inputs = Vec::new();
    let lines = match &bulk.stage {
        Stage::Looking => vec![Line::styled("looking at them ...", theme.dim)],
        Stage::Failed(why) => {
            let mut lines = paragraph(why, room, theme.set(Set::Stale));
            lines.push(Line::styled("nothing was done; esc closes this", theme.dim));
            lines
        }
        Stage::Running { done, of } => {
            let share = *done as f64 / (*of).max(1) as f64;
            let cells = room.saturating_sub(24).max(1);
            let full = (share * cells as f64) as usize;
            let bar = format!("{}{}", "█".repeat(full.min(cells)), "░".repeat(cells.saturating_sub(full)));
            let said = format!("{bar} {} of {}", text::number(*done as u64), text::number(*of as u64));
            vec![Line::styled(text::clip(&said, room), theme.accent)]
        }
        Stage::Preview(ready) => preview(model, bulk, ready, theme, (area, room), &mut inputs),
    };
    let count = match &bulk.stage {
        Stage::Preview(ready) => format!(" ({})", of_wanted(&ready.tally)),
        Stage::Looking | Stage::Running { .. } | Stage::Failed(_) => String::new(),
    };
    draw_box(&format!("{} {what}?{count}", bulk.action), lines, &inputs, theme, (area, width), view, buffer);
}

fn preview<'a>(
    model: &Model,
    bulk: &'a InBulk,
    ready: &Ready,
    theme: &Theme,
    (area, room): (Rect, usize),
    inputs: &mut Vec<InputLine<'a>>,
) -> Vec<Line<'static>> {
    let claims = match (&bulk.what, ready.tally.wanted) {
        (Many::Session(_), 1) => "act",
        (Many::Session(_), _) => "acts",
        (Many::Marked(_) | Many::Set(_), 1) => "claim",
        (Many::Marked(_) | Many::Set(_), _) => "claims",
    };
    let skipped = ready.tally.wanted.saturating_sub(ready.tally.applied);
    let count = of_wanted(&ready.tally);
    let mut headline = format!("{count} {claims} will be {}", bulk.action.done());
    if skipped > 0 {
        headline += &format!("; {} skipped:", text::number(skipped as u64));
    }
    let mut lines = paragraph(&headline, room, theme.strong);
    for one in &ready.tally.reasons {
        let count = text::number(one.count as u64);
        let example = if one.is_all_said() { one.example.clone() } else { one.in_full() };
        let said = format!("  {count} {}: {} ({example})", one.outcome.as_str(), one.why);
        lines.push(Line::styled(text::clip(&safe(&said), room), theme.set(Set::Expiring)));
    }
    let taken = 14 + lines.len();
    let fits = usize::from(area.height).saturating_sub(taken).clamp(1, 12);
    for line in ready.lines.iter().take(fits) {
        lines.push(Line::styled(text::clip(&format!("  {}", safe(line)), room), theme.text));
    }
    let more = ready.tally.applied.saturating_sub(ready.lines.len().min(fits));
    if more > 0 {
        lines.push(Line::styled(format!("  ... and {} more", text::number(more as u64)), theme.dim));
    }
    if bulk.elsewhere > 0 {
        let elsewhere = text::number(bulk.elsewhere as u64);
        let said = format!("{elsewhere} more in other sources are not included.");
        lines.extend(paragraph(&said, room, theme.set(Set::Expiring)));
    }
    for said in ready.notes.iter().take(3) {
        lines.extend(paragraph(&safe(said), room, theme.set(Set::Expiring)));
    }
    let source = model.sources.get(bulk.source);
    let label = source.map_or("", |source| source.label.as_str());
    let is_generic = |profile: &String| {
        let mut all = source.into_iter().flat_map(|source| &source.snapshots);
        all.any(|snapshot| snapshot.generic && snapshot.profile == *profile)
    };
    // Whoever names one profile has to name all that are meant.
    let profiles: String = match ready.profiles.iter().any(is_generic) {
        true => ready.profiles.iter().map(|profile| format!(" --profile {}", quoted(profile))).collect(),
        false => String::new(),
    };
    let command = match &bulk.what {
        Many::Set(set) => {
            Some(format!("claimtop {} {} --set {set}{profiles} --yes", bulk.action, quoted(label)))
        }
        Many::Session(session) => {
            let session = quoted(session);
            Some(format!("claimtop release {} --session {session}{profiles} --yes", quoted(label)))
        }
        Many::Marked(_) => None,
    };
    let idle = "If you do nothing: they stay as they are until a sweep, a worker or somebody takes them.";
    lines.extend(paragraph(idle, room, theme.dim));
    lines.extend(
        command.into_iter().flat_map(|command| paragraph(&format!("$ {command}"), room, theme.accent)),
    );
    lines.push(Line::default());
    match &ready.holder {
        None if ready.tally.applied == 0 => {
            lines.push(Line::styled("nothing can be done; esc closes this", theme.dim));
        }
        None => lines.push(Line::styled(format!("y {} · n cancel", bulk.action), theme.strong)),
        Some(holder) => {
            let said = format!("It may still be running. Type its name, {}, and a reason:", visible(holder));
            lines.extend(paragraph(&said, room, theme.strong));
            inputs.push((lines.len(), "name", &bulk.name, bulk.field == Field::Name));
            lines.push(Line::default());
            inputs.push((lines.len(), "reason", &bulk.reason, bulk.field == Field::Reason));
            lines.push(Line::default());
            lines.push(Line::styled("enter confirm · tab next field · esc cancel", theme.dim));
        }
    }
    if let Some(complaint) = &bulk.complaint {
        lines.extend(paragraph(complaint, room, theme.set(Set::Stale)));
    }
    lines
}

/// How many of those that are meant will be done: "3", or "2 of 3" if not all.
fn of_wanted(tally: &BulkTally) -> String {
    let (applied, wanted) = (text::number(tally.applied as u64), text::number(tally.wanted as u64));
    if tally.applied == tally.wanted { wanted } else { format!("{applied} of {wanted}") }
}

pub fn draw_save(theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let lines = [("t", "text"), ("a", "text with colours (ANSI)"), ("s", "a picture (SVG)")]
        .map(|(key, what)| {
            Line::from(vec![
                Piece::styled(format!(" {key}  "), theme.accent),
                Piece::styled(what, theme.text),
            ])
        })
        .into_iter()
        .chain([Line::styled(" esc cancel", theme.dim)])
        .collect();
    let place = popup::centred(area, 40, 6);
    let inner = popup::frame("Save the screen as", theme.focus, theme, place, buffer);
    popup::lines(lines, 0, theme, inner, buffer);
}
