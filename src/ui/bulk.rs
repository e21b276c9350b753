//! The dialog of a bulk act: what will be done, what needs a name, what is skipped and why.

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::dialog::{Button, InputLine, WIDTH, button_spots, draw_box, paragraph};
use super::text;
use super::theme::Theme;
use super::view::View;
use crate::app::bulk::{BulkField, InBulk, Many, PreviewLine, Ready, Stage};
use crate::app::model::Model;
use crate::domain::tally::{BulkTally, Foreseen, needs_name};
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

pub(super) fn draw(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    bulk: &InBulk,
    area: Rect,
    buffer: &mut Buffer,
) {
    let width = WIDTH.min(area.width.saturating_sub(2)).max(area.width.min(20));
    let room = usize::from(width.saturating_sub(4));
    let mut inputs = Vec::new();
    let mut buttons = None;
    let lines = match &bulk.stage {
        Stage::Looking => vec![Line::styled("looking at them ...", theme.dim)],
        Stage::Failed(why) => {
            let mut lines = paragraph(why, room, theme.set(Set::Stale));
            buttons = Some((lines.len(), vec![("esc close".into(), KeyCode::Esc)]));
            lines.push(Line::styled("esc close · nothing was done", theme.dim));
            lines
        }
        Stage::Running { done, of } => {
            buttons = Some((1, vec![("esc cancel the rest".into(), KeyCode::Esc)]));
            running(bulk, (*done, *of), theme, room)
        }
        Stage::Preview(ready) => {
            let mut preview = Preview { model, bulk, ready, theme, room, lines: Vec::new(), buttons: None };
            let list = preview.fill(area, &mut inputs);
            view.page_lines = list;
            buttons = preview.buttons;
            preview.lines
        }
    };
    let (inner, hidden) = draw_box(&title(model, bulk), lines, &inputs, theme, (area, width), view, buffer);
    if let Some((line, buttons)) = buttons
        && let Some(line) = line.checked_sub(hidden)
    {
        let y = inner.y + u16::try_from(line).unwrap_or(0);
        let buttons: Vec<Button<'_>> = buttons.iter().map(|(words, key)| (words.as_str(), *key)).collect();
        button_spots(&buttons, Rect { y, height: 1, ..inner }, view);
    }
}

/// "reclaim 66 claims of web-3 in billing?", "reclaim all stale claims of tasks.db? (2 of 3)".
fn title(model: &Model, bulk: &InBulk) -> String {
    let label = model.sources.get(bulk.source).map_or("", |source| source.label.as_str());
    let (action, label) = (bulk.action, visible(label));
    let tally = match &bulk.stage {
        Stage::Preview(ready) => Some(&ready.tally),
        Stage::Looking | Stage::Running { .. } | Stage::Failed(_) => None,
    };
    let count = tally.map_or_else(String::new, |tally| format!(" ({})", of_wanted(tally)));
    match &bulk.what {
        Many::Marked(targets) => format!("{action} these {} claims of {label}?{count}", targets.len()),
        Many::Worst(set) => format!("{action} all {set} claims of {label}?{count}"),
        Many::Session(session) => {
            format!("{action} everything {} holds in {label}?{count}", visible(session))
        }
        Many::Group(group) => {
            let wanted =
                tally.map_or_else(String::new, |tally| format!("{} ", text::number(tally.wanted as u64)));
            format!("{action} {wanted}claims of {} in {label}?", visible(&group.name))
        }
    }
}

fn running(bulk: &InBulk, (done, of): (usize, usize), theme: &Theme, room: usize) -> Vec<Line<'static>> {
    let share = done as f64 / of.max(1) as f64;
    let cells = room.saturating_sub(24).max(1);
    let full = (share * cells as f64) as usize;
    let bar = format!("{}{}", "█".repeat(full.min(cells)), "░".repeat(cells.saturating_sub(full)));
    let said = format!("{bar} {} of {}", text::number(done as u64), text::number(of as u64));
    let below = bulk.complaint.as_deref().unwrap_or("esc cancel the rest");
    vec![
        Line::styled(text::clip(&said, room), theme.accent),
        Line::styled(text::clip(below, room), theme.dim),
    ]
}

/// What a preview shows.
struct Preview<'a> {
    model: &'a Model,
    bulk: &'a InBulk,
    ready: &'a Ready,
    theme: &'a Theme,
    room: usize,
    lines: Vec<Line<'static>>,
    /// The line with the buttons, and what each does.
    buttons: Option<(usize, Vec<(String, KeyCode)>)>,
}

impl<'a> Preview<'a> {
    /// Fills in everything; returns how many lines of the list fit.
    fn fill(&mut self, area: Rect, inputs: &mut Vec<InputLine<'a>>) -> usize {
        self.counts();
        let list_at = self.lines.len();
        self.notes();
        self.idle_and_command();
        self.questions(inputs);
        let fits = usize::from(area.height).saturating_sub(self.lines.len() + 4).clamp(1, 12);
        let list = self.list(fits);
        for (at, ..) in inputs.iter_mut() {
            *at += list.len();
        }
        if let Some((at, _)) = &mut self.buttons {
            *at += list.len();
        }
        self.lines.splice(list_at..list_at, list);
        fits
    }

    /// How many will be done, how many need a name, how many are skipped and why.
    fn counts(&mut self) {
        let (bulk, ready, theme) = (self.bulk, self.ready, self.theme);
        let is_session = matches!(bulk.what, Many::Session(_));
        let claims = match (is_session, ready.tally.wanted) {
            (true, 1) => "act",
            (true, _) => "acts",
            (false, 1) => "claim",
            (false, _) => "claims",
        };
        let (wanted, applied) = (ready.tally.wanted, ready.tally.applied);
        let unnamed = ready.unnamed.count;
        let mut headline = format!("{} {claims} will be {}", of_wanted(&ready.tally), bulk.action.done());
        let skipped = wanted.saturating_sub(applied + unnamed);
        if skipped > 0 {
            headline += &format!("; {} skipped:", text::number(skipped as u64));
        }
        self.say(&headline, theme.strong);
        if unnamed > 0 {
            let said = format!(
                "{} need confirmation: the holder may still be running",
                text::number(unnamed as u64)
            );
            self.say(&said, theme.set(Set::Expiring));
        }
        for one in ready.tally.reasons.iter().filter(|one| !needs_name(&one.outcome)) {
            let count = text::number(one.count as u64);
            let example = if one.is_all_said() { one.example.clone() } else { one.in_full() };
            let said = format!("  {count} {}: {} ({example})", one.outcome.as_str(), one.why);
            self.lines.push(Line::styled(text::clip(&safe(&said), self.room), theme.set(Set::Expiring)));
        }
    }

    /// As many lines of the list as fit, from where it is scrolled to.
    fn list(&self, fits: usize) -> Vec<Line<'static>> {
        let (all, theme) = (&self.ready.lines, self.theme);
        let first = self.bulk.scroll.min(all.len().saturating_sub(fits));
        let shown = all.iter().skip(first).take(fits);
        let mut lines: Vec<Line<'static>> = shown.map(|line| self.listed(line)).collect();
        let below = all.len().saturating_sub(first + fits);
        let said = match (below + first, below, self.ready.unlisted) {
            (0, _, 0) => return lines,
            (_, 0, 0) => "  the end of the list · ↑↓ scroll".into(),
            (_, 0, unlisted) => {
                format!("  {} more are counted, not listed · ↑↓ scroll", text::number(unlisted as u64))
            }
            (_, below, unlisted) => {
                format!("  ... and {} more · ↑↓ scroll", text::number((below + unlisted) as u64))
            }
        };
        lines.push(Line::styled(text::clip(&said, self.room), theme.dim));
        lines
    }

    /// A line of the list. What is not done stands out, in words and in colour.
    fn listed(&self, line: &PreviewLine) -> Line<'static> {
        let (said, style) = match line {
            PreviewLine::Holder(said) | PreviewLine::Also(said) => (said.clone(), self.theme.text),
            PreviewLine::Claim { address, foreseen: Foreseen::Done, why } => {
                (format!("{address}  {why}"), self.theme.text)
            }
            PreviewLine::Claim { address, foreseen: Foreseen::NeedsName, why } => {
                (format!("{address}  needs the name: {why}"), self.theme.set(Set::Expiring))
            }
            PreviewLine::Claim { address, foreseen: Foreseen::Skipped, why } => {
                (format!("{address}  skipped: {why}"), self.theme.dim)
            }
        };
        Line::styled(text::clip(&format!("  {}", safe(&said)), self.room), style)
    }

    fn notes(&mut self) {
        let colour = self.theme.set(Set::Expiring);
        if self.bulk.elsewhere > 0 {
            let elsewhere = text::number(self.bulk.elsewhere as u64);
            self.say(&format!("{elsewhere} more in other sources are not included."), colour);
        }
        if let Many::Worst(set) = self.bulk.what {
            let worse = self.model.shown_worse(set, self.bulk.source);
            if worse > 0 {
                let count = text::number(worse as u64);
                self.say(
                    &format!("Not included: {count} more that are {set}, shown in a worse pane."),
                    colour,
                );
            }
        }
        for said in self.ready.notes.iter().take(3) {
            self.say(&safe(said), colour);
        }
    }

    fn idle_and_command(&mut self) {
        let (bulk, ready) = (self.bulk, self.ready);
        let left_alone = match ready.left_alone.as_str() {
            "" => "they stay as they are until a sweep, a worker or somebody takes them",
            known => known,
        };
        self.say(&format!("If you do nothing: {left_alone}."), self.theme.dim);
        let source = self.model.sources.get(bulk.source).map_or("", |source| source.in_commands.as_str());
        let profiles = self.model.generic_profiles(bulk.source, &ready.profiles);
        if let Some(command) = bulk.command_line(ready, source, &profiles) {
            self.say(&format!("$ {command}"), self.theme.accent);
        }
        self.lines.push(Line::default());
    }

    fn questions(&mut self, inputs: &mut Vec<InputLine<'a>>) {
        let (bulk, ready, theme) = (self.bulk, self.ready, self.theme);
        let is_named = bulk.is_named();
        let count = ready.tally.applied + if is_named { ready.unnamed.count } else { 0 };
        if count == 0 && ready.unnamed.count == 0 && ready.holder.is_none() {
            self.buttons = Some((self.lines.len(), vec![("esc close".into(), KeyCode::Esc)]));
            self.lines.push(Line::styled("esc close · nothing can be done", theme.dim));
            return;
        }
        inputs.push((self.lines.len(), "reason", &bulk.reason, bulk.field == BulkField::Reason));
        self.lines.push(Line::default());
        if let Some(name) = bulk.typed_name() {
            let name = visible(&name);
            let said = match &ready.holder {
                Some(_) => format!("It may still be running. Type its name, {name}, and a reason above:"),
                None => format!("Type {name} to include the {}:", text::number(ready.unnamed.count as u64)),
            };
            self.say(&said, theme.strong);
            inputs.push((self.lines.len(), "name", &bulk.name, bulk.field == BulkField::Name));
            self.lines.push(Line::default());
        }
        if let Some(source) = &bulk.source_name {
            self.say(&source.question(), theme.strong);
            inputs.push((self.lines.len(), "source", &source.typed, bulk.field == BulkField::Source));
            self.lines.push(Line::default());
        }
        self.keys(count);
        if let Some(complaint) = &bulk.complaint {
            self.say(complaint, theme.set(Set::Stale));
        }
    }

    /// The keys of the field that is selected; each is a button as well.
    fn keys(&mut self, count: usize) {
        let act = format!("{} {}", self.bulk.action, text::number(count as u64));
        let buttons = match self.bulk.field {
            BulkField::List => vec![
                (format!("y {act}"), KeyCode::Char('y')),
                ("tab reason".into(), KeyCode::Tab),
                ("c copy".into(), KeyCode::Char('c')),
                ("n cancel".into(), KeyCode::Char('n')),
            ],
            BulkField::Reason | BulkField::Name | BulkField::Source => vec![
                (format!("enter {act}"), KeyCode::Enter),
                ("tab next field".into(), KeyCode::Tab),
                ("esc cancel".into(), KeyCode::Esc),
            ],
        };
        let words: Vec<&str> = buttons.iter().map(|(words, _)| words.as_str()).collect();
        let line = text::clip(&words.join(" · "), self.room);
        self.buttons = Some((self.lines.len(), buttons));
        self.lines.push(Line::styled(line, self.theme.strong));
    }

    fn say(&mut self, said: &str, style: ratatui::style::Style) {
        self.lines.extend(paragraph(said, self.room, style));
    }
}

/// How many of the claims will be done: "3", or "2 of 3" if not all.
fn of_wanted(tally: &BulkTally) -> String {
    let (applied, wanted) = (text::number(tally.applied as u64), text::number(tally.wanted as u64));
    if tally.applied == tally.wanted { wanted } else { format!("{applied} of {wanted}") }
}
