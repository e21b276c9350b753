//! One claim: its timeline, the evidence line by line, the conclusion, what each act would do, every
//! column, and what was done to it before.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as Piece};

use super::theme::{Theme, mark};
use super::view::View;
use super::{fuse, header, popup, text};
use crate::app::dialog::{if_nothing_is_done, terminate_command, what_it_does};
use crate::app::model::Model;
use crate::app::overlay::{Detail, Examination};
use crate::app::row::Row;
use crate::domain::beat_intervals::BeatPace;
use crate::domain::claim::Registry;
use crate::domain::evidence::Conclusion;
use crate::domain::fencing::{Fencing, UNFENCED};
use crate::domain::recovery::{Action, Authorization, permit};
use crate::domain::snapshot::HeldBy;
use crate::domain::time::{Moment, Reading};
use crate::domain::value::Value;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

pub(super) fn draw(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    detail: &Detail,
    area: Rect,
    buffer: &mut Buffer,
) {
    let row = &detail.row;
    let title =
        format!("{} · {} · {}", text::cut(&row.shown(), 60), visible(&row.board), visible(&row.profile));
    let inner = popup::frame(&title, theme.focus, theme, area, buffer);
    view.cover();
    view.show(row);
    view.page_lines = usize::from(inner.height);
    let room = usize::from(inner.width);
    let now = model.now_of(row.id.source);
    let mut lines = verdict(row, now, theme, room);
    lines.push(Line::default());
    lines.extend(timeline(row, now, theme, room));
    lines.push(heading("Evidence", theme));
    lines.extend(evidence(row, now, model.pace(row, now), theme, room));
    // In a replay acts do not exist.
    if model.replay.is_none() {
        lines.push(heading("What can be done", theme));
        lines.extend(acts(model, row, now, theme, room));
    }
    lines.push(heading("Every column", theme));
    lines.extend(columns(model, detail, theme, room));
    lines.extend(history(model, row, theme, room));
    view.scroll_end = popup::lines(lines, detail.scroll, theme, inner, buffer);
}

/// The selected claim beside the panes, as far as there is room.
pub(super) fn draw_beside(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let Some(row) = model.selected_row() else {
        popup::frame("no claim is selected", theme.border, theme, area, buffer);
        return;
    };
    let mut parts = vec![text::cut(&row.shown(), 40), visible(&row.board)];
    parts.push(model.source_name(row.id.source).unwrap_or_else(|| visible(&row.profile)));
    let inner = popup::frame(&parts.join(" · "), theme.border, theme, area, buffer);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let room = usize::from(inner.width);
    let now = model.now_of(row.id.source);
    let mut lines = verdict(row, now, theme, room);
    lines.push(Line::default());
    lines.extend(timeline(row, now, theme, room));
    if model.replay.is_none() {
        lines.extend(acts(model, row, now, theme, room));
    }
    lines.extend(evidence(row, now, None, theme, room));
    let key = model.keymap.key(crate::app::Command::Detail);
    lines.truncate(usize::from(inner.height));
    if lines.len() == usize::from(inner.height) {
        lines.pop();
        lines.push(Line::styled(format!("{key} shows all"), theme.accent));
    }
    popup::lines(lines, 0, theme, inner, buffer);
}

fn heading(said: &'static str, theme: &Theme) -> Line<'static> {
    Line::styled(said, theme.title)
}

fn verdict(row: &Row, now: Moment, theme: &Theme, room: usize) -> Vec<Line<'static>> {
    let set = row.headline();
    let conclusion = row.conclusion(now);
    let said = match conclusion {
        Conclusion::Dead => "its holder is dead: proven",
        Conclusion::ProbablyDead => "its holder is probably dead",
        Conclusion::Slow => "its holder lives, but is slow or stuck",
        Conclusion::Alive => "its holder is alive",
        Conclusion::Unknown => "nothing tells whether its holder lives",
    };
    let mut lines = vec![Line::from(vec![
        Piece::styled(format!("{} {} ", mark(set), set.as_str().to_uppercase()), theme.set(set)),
        Piece::styled(said, theme.strong),
    ])];
    lines.extend(text::wrap(&row.why(now), room).into_iter().map(|line| Line::styled(line, theme.text)));
    lines
}

/// When it was claimed, when it last beat, when its time is up, and where now is.
fn timeline(row: &Row, now: Moment, theme: &Theme, room: usize) -> Vec<Line<'static>> {
    let claim = row.claim();
    let mut marks: Vec<(Moment, char, &str)> = Vec::new();
    let mut add = |at: Option<Moment>, sign, name| marks.extend(at.map(|at| (at, sign, name)));
    add(claim.claimed_at.at(), '├', "claimed");
    add(claim.beat_at.at(), '♥', "beat");
    if let Registry::Listed(session) = &claim.registry {
        add(session.beat_at.at(), '♡', "session beat");
    }
    add(row.judged.verdict.deadline, '⚑', "deadline");
    add(Some(now), '▼', "now");
    let (Some(first), Some(last)) =
        (marks.iter().map(|(at, ..)| *at).min(), marks.iter().map(|(at, ..)| *at).max())
    else {
        return Vec::new();
    };
    let wide = room.saturating_sub(2).clamp(1, 100);
    let whole = last.since(first).as_micros().max(1) as f64;
    let mut cells = vec!['─'; wide];
    for (at, sign, _) in &marks {
        let place = (at.since(first).as_micros() as f64 / whole * (wide - 1) as f64) as usize;
        cells[place.min(wide - 1)] = *sign;
    }
    let (left, style) = fuse::left(row, now, theme);
    let mut legend = vec![Line::from(vec![Piece::styled(format!("{left} "), style)])];
    marks.sort_by_key(|(at, ..)| *at);
    for (at, sign, name) in &marks {
        let ago = now.since(*at);
        let when = match ago.as_micros() {
            0 => String::new(),
            past if past > 0 => format!(" {} ago", text::whole(ago)),
            _ => format!(" in {}", text::whole(ago.abs())),
        };
        let said = Piece::styled(format!(" {sign} {name}{when} "), theme.dim);
        match legend.last_mut() {
            Some(line) if line.width() + said.width() <= room => line.push_span(said),
            _ => legend.push(Line::from(said)),
        }
    }
    let mut lines = vec![Line::styled(cells.into_iter().collect::<String>(), theme.accent)];
    lines.extend(legend);
    lines.push(Line::default());
    lines
}

fn evidence(
    row: &Row,
    now: Moment,
    pace: Option<BeatPace>,
    theme: &Theme,
    room: usize,
) -> Vec<Line<'static>> {
    let claim = row.claim();
    let reading = |reading: &Reading| match reading {
        Reading::At(at) => format!("{} ({} ago)", at.rfc3339(), text::whole(now.since(*at))),
        Reading::Null => "NULL".into(),
        Reading::Absent => "the system keeps none".into(),
        Reading::Bad(what) => format!("unreadable: {}", safe(what)),
    };
    let session = match &claim.registry {
        Registry::None => "the system keeps no registry of holders".into(),
        Registry::Unregistered => format!("{} is not registered; nobody has to be", row.holder()),
        Registry::Missing => format!("{} is not registered", row.holder()),
        Registry::Listed(session) => format!("registered, last beat {}", reading(&session.beat_at)),
    };
    let process = match (&claim.worker.evidence, &claim.worker.pid) {
        (Some(evidence), _) => format!("{}: {}", claim.worker.process.as_str(), safe(evidence)),
        (None, Value::Null) => "its rows name no process".into(),
        (None, pid) => format!("pid {} not checked yet; press p", pid.visible()),
    };
    let deadline = match row.judged.verdict.deadline {
        Some(at) => format!("{} ({})", at.rfc3339(), fuse::left(row, now, theme).0),
        None => "nothing says how long it may take".into(),
    };
    let attempts = match (claim.attempts, claim.max_attempts) {
        (Some(attempts), Some(most)) => Some(format!("{attempts} of {most}")),
        (Some(attempts), None) => Some(attempts.to_string()),
        _ => None,
    };
    let mut fields = vec![
        ("holder", row.holder()),
        ("kind", row.kind()),
        ("claimed", reading(&claim.claimed_at)),
        ("heartbeat", reading(&claim.beat_at)),
        ("deadline", deadline),
        ("session", session),
        ("process", process),
    ];
    fields.extend(pace.map(|pace| {
        let late = if pace.is_worth_saying(&row.judged.verdict) { "late: " } else { "" };
        ("pace", format!("{late}{pace}"))
    }));
    fields.extend(attempts.map(|attempts| ("attempts", attempts)));
    fields.extend(claim.error.as_deref().map(|error| ("error", visible(error))));
    if row.nature.fencing == Fencing::Unfenced {
        fields.push(("fencing", format!("none: {UNFENCED}")));
    }
    let mut lines = Vec::new();
    for (name, value) in fields {
        for (at, part) in text::wrap(&value, room.saturating_sub(12).max(1)).into_iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            lines.push(Line::from(vec![
                Piece::styled(format!("  {name:<10}"), theme.dim),
                Piece::styled(part, theme.text),
            ]));
        }
    }
    lines.push(Line::default());
    lines
}

/// What each act would do and what it takes, and what happens without any.
fn acts(model: &Model, row: &Row, now: Moment, theme: &Theme, room: usize) -> Vec<Line<'static>> {
    use crate::app::Command;
    let mut lines = Vec::new();
    for (action, command) in [
        (Action::Reclaim, Command::Reclaim),
        (Action::Release, Command::Release),
        (Action::Extend, Command::Extend),
    ] {
        let key = model.keymap.key(command);
        let said = if !row.nature.acts.contains(&action) {
            format!("{key} {action}: the profile does not say how")
        } else {
            let allowed = permit(
                action,
                row.claim(),
                &row.judged.verdict,
                row.conclusion(now),
                &Authorization::default(),
            );
            let takes = match (allowed, row.risk(action)) {
                (Ok(()), None) => "one key",
                (Ok(()), Some(_)) => "asks once",
                (Err(_), _) => "asks for the holder's name and a reason",
            };
            format!("{key} {action}: {} ({takes})", what_it_does(action, row))
        };
        lines.extend(
            text::wrap(&said, room.saturating_sub(2))
                .into_iter()
                .map(|line| Line::styled(format!("  {line}"), theme.text)),
        );
    }
    if row.nature.held_by == HeldBy::Session {
        let source = model.sources.get(row.id.source).map_or("", |source| source.in_commands.as_str());
        let said =
            format!("ends the holder's server session, not undoable: $ {}", terminate_command(row, source));
        lines.extend(
            text::wrap(&said, room.saturating_sub(2))
                .into_iter()
                .map(|line| Line::styled(format!("  {line}"), theme.text)),
        );
    }
    let idle = format!("if you do nothing: {}", if_nothing_is_done(row, now));
    lines.extend(
        text::wrap(&idle, room.saturating_sub(2))
            .into_iter()
            .map(|line| Line::styled(format!("  {line}"), theme.dim)),
    );
    lines.push(Line::default());
    lines
}

fn columns(model: &Model, detail: &Detail, theme: &Theme, room: usize) -> Vec<Line<'static>> {
    let examined = match &detail.examined {
        Examination::Pending => {
            let said = header::waiting(model.sources.get(detail.row.id.source).into_iter());
            return vec![Line::styled(format!("  {said}"), theme.dim), Line::default()];
        }
        Examination::Gone => {
            let said = "  it is no longer claimed: finished, released or taken";
            return vec![Line::styled(said, theme.set(Set::Expiring)), Line::default()];
        }
        Examination::Failed(why) => {
            let said = text::clip(&format!("  {why}"), room);
            return vec![Line::styled(said, theme.set(Set::Stale)), Line::default()];
        }
        Examination::Found(examined) => examined,
    };
    let field = |prefix: &str, name: &str, value: &Value| {
        let name = format!("  {prefix}{}", text::fit(&visible(name), 24 - prefix.len(), false));
        let value = match value {
            Value::Null => Piece::styled("NULL", theme.dim),
            value => Piece::styled(text::clip(&value.visible(), room.saturating_sub(27)), theme.text),
        };
        Line::from(vec![Piece::styled(name, theme.dim), Piece::raw(" "), value])
    };
    let mut lines: Vec<Line<'static>> =
        examined.columns.iter().map(|(name, value)| field("", name, value)).collect();
    lines.extend(examined.session.iter().map(|(name, value)| field("session.", name, value)));
    lines.push(Line::default());
    lines
}

/// Earlier acts on this claim.
fn history(model: &Model, row: &Row, theme: &Theme, room: usize) -> Vec<Line<'static>> {
    let mut lines = vec![heading("Done to it before", theme)];
    let of_this = |line: &&crate::app::message::TrailLine| {
        line.address == row.id.address && line.on == Some(row.id.source)
    };
    let known: Vec<_> = match &model.audit.history {
        Some((claim, lines)) if *claim == row.id => lines.iter().collect(),
        _ if model.audit.page.is_none() => return Vec::new(),
        _ => model.audit.acts().filter(of_this).collect(),
    };
    for line in known.into_iter().take(20) {
        let outcome = line.outcome.as_deref().unwrap_or("open");
        let reason =
            line.reason.as_deref().map(|reason| format!(": {}", visible(reason))).unwrap_or_default();
        let said = format!(
            "  {} {} {outcome} by {}{reason}",
            safe(&line.at),
            safe(&line.action),
            visible(&line.who)
        );
        lines.push(Line::styled(text::clip(&said, room), theme.text));
    }
    if lines.len() == 1 {
        lines.push(Line::styled("  nothing by claimtop", theme.dim));
    }
    lines
}
