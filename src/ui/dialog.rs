//! The confirmation of an act: what it does, what happens without it, and the same as a command.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;
use tui_input::Input;

use super::theme::Theme;
use super::view::View;
use super::{popup, text};
use crate::app::dialog::{
    Asks, Confirm, ConfirmField, UndoPreview, UndoStage, command_line, if_nothing_is_done, what_it_does,
    what_it_gives,
};
use crate::app::message::ClickTarget;
use crate::app::model::Model;
use crate::domain::recovery::Action;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

pub(super) const WIDTH: u16 = 84;

pub(super) fn draw_confirm(
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
    let mut lines = paragraph(&format!("This {}.", what_it_does(confirm.action, row)), room, theme.text);
    if !confirm.why.is_empty() {
        let why = format!("Confirmation needed: {}.", confirm.why);
        lines.extend(paragraph(&why, room, theme.set(Set::Expiring)));
    }
    if confirm.action == Action::Extend {
        lines.extend(paragraph(&format!("It gets {}.", gives(confirm, now)), room, theme.strong));
    }
    if let Some(risk) = row.risk(confirm.action).filter(|risk| *risk != confirm.why) {
        lines.extend(paragraph(&format!("Not fenced: {risk}."), room, theme.set(Set::Expiring)));
    }
    lines.extend(paragraph(
        &format!("If you do nothing: {}.", if_nothing_is_done(row, now)),
        room,
        theme.dim,
    ));
    let source = model.sources.get(row.id.source).map_or("", |source| source.in_commands.as_str());
    let command = command_line(confirm, source);
    lines.extend(paragraph(&format!("$ {command}"), room, theme.accent));
    lines.push(Line::default());
    let mut inputs = Vec::new();
    match &confirm.asks {
        Asks::Yes if confirm.time.is_some() => {}
        Asks::Yes => lines.push(Line::styled(format!("y {} · n cancel", confirm.action), theme.strong)),
        Asks::Profile(profile) => {
            let said = format!("y yes, this is {}; do not ask again · n cancel", visible(profile));
            lines.extend(paragraph(&said, room, theme.strong));
        }
        Asks::Name(_) => {
            let said = match &row.claim().holder {
                Some(holder) => format!("Type the holder's name, {}, and a reason:", visible(holder)),
                None => "It has no holder: leave the name empty and type a reason:".into(),
            };
            lines.extend(paragraph(&said, room, theme.strong));
        }
        Asks::Source(source) => {
            let said = format!("Every act on this source needs its name. Type {source}:");
            lines.extend(paragraph(&said, room, theme.strong));
        }
    }
    for field in confirm.fields() {
        let (name, input) = match field {
            ConfirmField::Time => ("time", confirm.time.as_ref().unwrap_or(&confirm.name)),
            ConfirmField::Name => ("name", &confirm.name),
            ConfirmField::Reason => ("reason", &confirm.reason),
        };
        inputs.push((lines.len(), name, input, confirm.field == field));
        lines.push(Line::default());
    }
    let yes = match &confirm.asks {
        Asks::Profile(profile) => format!("y yes, this is {}; do not ask again", visible(profile)),
        Asks::Yes | Asks::Source(_) | Asks::Name(_) => format!("y {}", confirm.action),
    };
    let yes_no = [(yes.as_str(), KeyCode::Char('y')), NO];
    let keys: &[Button<'_>] = if inputs.is_empty() { &yes_no } else { &TYPED };
    if !inputs.is_empty() {
        lines.push(Line::styled("enter confirm · tab next field · esc cancel", theme.dim));
    }
    let buttons = lines.len() - 1;
    if let Some(complaint) = &confirm.complaint {
        lines.extend(paragraph(complaint, room, theme.set(Set::Stale)));
    }
    let place = model.source_name(row.id.source).map_or_else(String::new, |name| format!(" in {name}"));
    let id = text::cut(&row.shown(), room.saturating_sub(14 + text::width(&place)));
    let title = format!("{} {id}{place}?", confirm.action);
    let (inner, hidden) = draw_box(&title, lines, &inputs, theme, (area, width), view, buffer);
    if let Some(line) = buttons.checked_sub(hidden) {
        let y = inner.y + u16::try_from(line).unwrap_or(0);
        button_spots(keys, Rect { y, height: 1, ..inner }, view);
    }
}

/// What an extension gives, as far as what was typed can be read.
fn gives(confirm: &Confirm, now: Moment) -> String {
    let typed = confirm.time.as_ref().map(|time| Span::parse_interval(time.value().trim()));
    match typed {
        Some(Ok(by)) => what_it_gives(&confirm.row, by, now),
        Some(Err(_)) => "as much time as you type: 10m, 1h 30m".into(),
        None => {
            let anew = what_it_gives(&confirm.row, confirm.row.usual_extension(), now);
            format!("the full time again, {anew}; this system allows no other length")
        }
    }
}

/// A button of a dialog: its words and its key.
pub(super) type Button<'a> = (&'a str, KeyCode);

const NO: Button<'static> = ("n cancel", KeyCode::Char('n'));
const TYPED: [Button<'static>; 3] =
    [("enter confirm", KeyCode::Enter), ("tab next field", KeyCode::Tab), ("esc cancel", KeyCode::Esc)];

/// Makes the buttons of a line answer to clicks; a dot stands between two of them.
pub(super) fn button_spots(buttons: &[Button<'_>], line: Rect, view: &mut View) {
    let mut x = line.x;
    for (words, key) in buttons {
        let width = u16::try_from(text::width(words)).unwrap_or(0);
        let spot = ClickTarget::Key(KeyEvent::new(*key, KeyModifiers::NONE));
        view.spot(Rect { x, width, ..line }.intersection(line), spot);
        x = (x + width + 3).min(line.right());
    }
}

pub(super) fn paragraph(said: &str, room: usize, style: ratatui::style::Style) -> Vec<Line<'static>> {
    text::wrap(said, room.max(1)).into_iter().map(|line| Line::styled(line, style)).collect()
}

/// A line of an input in a box: its place, its name, its text, and whether keys go there.
pub(super) type InputLine<'a> = (usize, &'static str, &'a Input, bool);

pub(super) fn draw_box(
    title: &str,
    mut lines: Vec<Line<'static>>,
    inputs: &[InputLine<'_>],
    theme: &Theme,
    (area, width): (Rect, u16),
    view: &mut View,
    buffer: &mut Buffer,
) -> (Rect, usize) {
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let place = popup::centred(area, width, height);
    let inner = popup::frame(title, theme.focus, theme, place, buffer);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    view.cover();
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
    // If there is not enough room, the questions at the end matter most.
    let hidden = lines.len().saturating_sub(usize::from(inner.height));
    if let Some((line, column)) = cursor
        && let Some(line) = line.checked_sub(hidden)
    {
        let x = inner.x + u16::try_from(column).unwrap_or(0).min(inner.width.saturating_sub(1));
        view.cursor = Some(Position::new(x, inner.y + u16::try_from(line).unwrap_or(0)));
    }
    let shown: Vec<Line<'static>> = lines.split_off(hidden);
    popup::lines(shown, 0, theme, inner, buffer);
    (inner, hidden)
}

/// What an undo writes: it scrolls, so that every row and column can be seen.
pub(super) fn draw_undo(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    undo: &UndoPreview,
    area: Rect,
    buffer: &mut Buffer,
) {
    let width = WIDTH.min(area.width.saturating_sub(2)).max(area.width.min(20));
    let room = usize::from(width.saturating_sub(4));
    let (lines, keys) = match &undo.stage {
        UndoStage::Looking => (vec![Line::styled("looking at the rows ...", theme.dim)], CANCEL),
        UndoStage::Failed(why) => (paragraph(why, room, theme.set(Set::Stale)), CLOSE),
        UndoStage::Preview(rows) => {
            let lines = rows.iter().flat_map(|row| text::wrap(&safe(row), room.max(1)));
            let keys = if undo.source_name.is_some() { TYPED_UNDO } else { UNDO };
            (lines.map(|line| Line::styled(line, theme.text)).collect(), keys)
        }
    };
    let question = undo_question(undo, theme, room);
    let below = u16::try_from(question.len()).unwrap_or(0) + 1;
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2 + below);
    let place = popup::centred(area, width, height);
    let source = model.source_name(undo.source).map_or_else(String::new, |name| format!(" in {name}"));
    let title = format!("Undo: these rows and columns will be written{source}");
    let inner = popup::frame(&title, theme.focus, theme, place, buffer);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let (rows, last) = (inner.height.saturating_sub(below), inner.bottom().saturating_sub(1));
    view.cover();
    view.page_lines = usize::from(rows);
    view.scroll_end = popup::lines(lines, undo.scroll, theme, Rect { height: rows, ..inner }, buffer);
    for (line, y) in question.into_iter().zip(inner.y + rows..last) {
        line.render(Rect { y, height: 1, ..inner }, buffer);
    }
    if let Some(source) = undo.source_name.as_ref().filter(|_| below > 1) {
        let column = u16::try_from(source.typed.visual_cursor()).unwrap_or(0).saturating_add(8);
        let y = last.saturating_sub(1 + u16::from(undo.complaint.is_some()));
        view.cursor = Some(Position::new(inner.x + column.min(inner.width.saturating_sub(1)), y));
    }
    let words: Vec<&str> = keys.iter().map(|(words, _)| *words).collect();
    let line = Rect { y: last, height: inner.height.min(1), ..inner };
    Line::styled(text::clip(&words.join(" · "), usize::from(inner.width)), theme.strong).render(line, buffer);
    button_spots(keys, line, view);
}

const UNDO: &[Button<'static>] = &[("y undo", KeyCode::Char('y')), NO, ("↑↓ scroll", KeyCode::Down)];
const TYPED_UNDO: &[Button<'static>] =
    &[("enter undo", KeyCode::Enter), ("esc cancel", KeyCode::Esc), ("↑↓ scroll", KeyCode::Down)];
const CANCEL: &[Button<'static>] = &[("esc cancel", KeyCode::Esc)];
const CLOSE: &[Button<'static>] = &[("esc close", KeyCode::Esc), ("nothing was done", KeyCode::Esc)];

/// What has to be typed before an undo, if anything.
fn undo_question(undo: &UndoPreview, theme: &Theme, room: usize) -> Vec<Line<'static>> {
    let (Some(source), UndoStage::Preview(_)) = (&undo.source_name, &undo.stage) else { return Vec::new() };
    let mut lines = paragraph(&source.question(), room, theme.strong);
    lines.push(Line::from(vec![
        Piece::styled("source  ", theme.dim),
        Piece::styled(safe(source.typed.value()), theme.strong),
    ]));
    let complaint = undo.complaint.as_ref().map(|said| text::clip(said, room));
    lines.extend(complaint.map(|said| Line::styled(said, theme.set(Set::Stale))));
    lines
}

pub(super) fn draw_save(view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
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
    view.cover();
    for (key, y) in ['t', 'a', 's'].into_iter().zip(inner.y..inner.bottom()) {
        let spot = ClickTarget::Key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
        view.spot(Rect { y, height: 1, ..inner }, spot);
    }
}
