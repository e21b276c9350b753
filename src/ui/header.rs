//! The header: sources, mode, clock, cost of a poll, causes and counts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;

use super::theme::{Theme, mark};
use super::view::View;
use super::{source_strip, text};
use crate::app::message::ClickTarget;
use crate::app::model::{HeaderUse, Model, Pane, PollIntake};
use crate::app::replay::Replay;
use crate::app::source::{Access, LinkState, PollFailure, SourceView};
use crate::domain::source_label::LabelColour;
use crate::domain::time::Span;
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

/// How many lines it takes: fewer where there is little room, and one where the operator wants no more.
pub(super) fn height(model: &Model, area: Rect) -> u16 {
    match (area.height, model.header) {
        (0..7, _) | (_, HeaderUse::OneLine) => 1,
        (7..20, _) => 2,
        _ => 2 + u16::try_from(messages(model, area.height).len()).unwrap_or(1).max(1),
    }
}

pub(super) fn draw(
    model: &Model,
    view: &mut View,
    theme: &Theme,
    (area, screen): (Rect, Rect),
    buffer: &mut Buffer,
) {
    if area.height == 0 {
        return;
    }
    let line = |at: u16| Rect { y: area.y + at, height: 1, ..area };
    draw_first(model, view, theme, line(0), buffer);
    let room = usize::from(area.width.saturating_sub(2));
    let mut at = 1;
    if area.height > 2 {
        for message in messages(model, screen.height).into_iter().take(usize::from(area.height - 2)) {
            message.line(theme, room).render(line(at), buffer);
            at += 1;
        }
    }
    if at < area.height {
        counts(model, theme, area.width).render(line(at), buffer);
    }
}

/// A line of the header.
enum Message {
    /// Why a source does not answer.
    Lost(String),
    /// What the claims in trouble have in common.
    Cause(String),
    /// Rows may be hidden, or a source has changed.
    Warning(String),
    /// What is counted, in sentences.
    Reasons(String),
}

impl Message {
    fn line(&self, theme: &Theme, room: usize) -> Line<'static> {
        let (said, style) = match self {
            Message::Lost(said) => (said, theme.set(Set::Stale)),
            Message::Cause(said) => (said, theme.cause()),
            Message::Warning(said) => (said, theme.set(Set::Expiring)),
            Message::Reasons(said) => (said, theme.dim),
        };
        Line::styled(format!(" {}", text::clip(said, room)), style)
    }
}

/// The messages of the header, the most important first.
fn messages(model: &Model, height: u16) -> Vec<Message> {
    let most = match height {
        0..20 => 0,
        20..30 => 1,
        30..40 => 2,
        _ => 3,
    };
    let mut all: Vec<Message> = lost(model).map(Message::Lost).into_iter().collect();
    // A lost source does not take the line of the worst cause.
    let most = most + all.len();
    all.extend(model.causes.iter().map(|cause| Message::Cause(format!("⚠ {cause}"))));
    all.extend(warning(model).map(Message::Warning));
    let other = if all.is_empty() { reasons(model) } else { notes(model) };
    if all.is_empty() || !other.is_empty() {
        all.push(Message::Reasons(other.join(" · ")));
    }
    all.truncate(most);
    all
}

/// The sources on the left, the mode on the right.
fn draw_first(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let right = Line::from(mode(model, theme, area.width));
    let used = u16::try_from(right.width()).unwrap_or(area.width).min(area.width);
    let mut left = Rect { width: area.width.saturating_sub(used + 1), ..area };
    if model.sources.len() < 2 || area.width >= 100 {
        buffer.set_stringn(
            left.x + 1,
            left.y,
            "claimtop",
            usize::from(left.width.saturating_sub(1)),
            theme.title,
        );
        left = Rect { x: left.x + 10, width: left.width.saturating_sub(10), ..left };
    } else {
        left = Rect { x: left.x + 1, width: left.width.saturating_sub(1), ..left };
    }
    if let Some(replay) = &model.replay {
        left = draw_replay(replay, theme, left, buffer);
    }
    match model.sources.first() {
        Some(source) if model.sources.len() == 1 => {
            let mut pieces = Vec::new();
            if let Some(badge) = &source.badge {
                pieces.push(Piece::styled(format!(" {} ", safe(&badge.text)), theme.badge(badge.colour)));
                pieces.push(Piece::raw(" "));
            }
            let used: usize = pieces.iter().map(Piece::width).sum();
            let said = format!("{}{}", safe(&source.label), about(source));
            let rest = usize::from(left.width).saturating_sub(used);
            pieces.push(Piece::styled(text::cut(&said, rest), theme.text));
            Line::from(pieces).render(left, buffer);
        }
        _ => source_strip::draw(model, view, theme, left, buffer),
    }
    right.render(Rect { x: area.right() - used, width: used, ..area }, buffer);
}

/// That this is a recording, and which instant of it; returns the room that is left.
fn draw_replay(replay: &Replay, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Rect {
    let at = replay.at.rfc3339();
    let at = format!("{} {}Z", at.get(..10).unwrap_or_default(), at.get(11..19).unwrap_or_default());
    let runs =
        if replay.is_playing() { format!("▶ {}x", replay.speed) } else { format!("⏸ {}x", replay.speed) };
    let mut pieces = vec![
        Piece::styled(" REPLAY ", theme.badge(LabelColour::Magenta)),
        Piece::styled(format!(" {at} "), theme.strong),
        Piece::styled(format!("{runs}  "), theme.accent),
    ];
    match (replay.gap(), replay.since_cause()) {
        (Some(gap), _) => {
            let why = gap.why.as_deref().map_or_else(|| "nobody recorded".into(), safe);
            pieces.push(Piece::styled(format!("GAP: {why}  "), theme.set(Set::Stale)));
        }
        (None, Some((since, name))) => {
            let said = format!("{} after cause {}  ", text::whole(since), safe(name));
            pieces.push(Piece::styled(said, theme.dim));
        }
        (None, None) => {}
    }
    let mut left = area;
    for piece in pieces {
        let width = u16::try_from(piece.width()).unwrap_or(left.width).min(left.width);
        Line::from(piece).render(left, buffer);
        left = Rect { x: left.x + width, width: left.width - width, ..left };
    }
    left
}

/// Its engine, its place and its profiles.
fn about(source: &SourceView) -> String {
    let mut parts = vec![String::new()];
    // A URL says it already.
    let says_it = |text: &String| text.starts_with(source.engine);
    if !says_it(&source.label) && !source.place.as_ref().is_some_and(says_it) {
        parts.push(source.engine.to_owned());
    }
    parts.extend(source.place.as_deref().map(safe));
    let profiles: Vec<&str> = source.snapshots.iter().map(|snapshot| snapshot.profile.as_str()).collect();
    if !profiles.is_empty() {
        parts.push(profiles.join(", "));
    }
    parts.join(" · ")
}

fn mode(model: &Model, theme: &Theme, width: u16) -> Vec<Piece<'static>> {
    let mut pieces = Vec::new();
    if let Some(replay) = &model.replay {
        let keys = if width >= 130 { "space play  ← → step  [ ] event  : at  " } else { "" };
        pieces.push(Piece::styled(keys, theme.dim));
        pieces.push(Piece::styled(format!("{} ", text::cut(&safe(&replay.name), 30)), theme.dim));
        return pieces;
    }
    let wide = width >= 90;
    if let Some(file) = &model.recording {
        let said = if wide { format!("REC {}  ", text::cut(&safe(file), 24)) } else { "REC ".into() };
        pieces.push(Piece::styled(said, theme.set(Set::Stale)));
    }
    if wide && let Some((number, source)) = model.shown_sources().next() {
        if let Some(cost) = model.shown_sources().filter_map(|(_, source)| source.poll_cost()).max() {
            let millis = cost.as_micros() as f64 / 1_000.0;
            pieces.push(Piece::styled(format!("poll {millis:.1} ms  "), theme.dim));
        }
        if source.polled_at.is_some() {
            let clock = text::clock(model.now_of(number));
            let offset = source.clock_offset();
            let offset = if offset.abs() < NOISE { String::new() } else { format!(" ({offset} off ours)") };
            pieces.push(Piece::styled(format!("{clock}{offset}  "), theme.dim));
        }
    }
    // With several sources the strip says it of each.
    if let [source] = &model.sources[..] {
        pieces.extend(access(source, theme));
    }
    let (word, style) = pace(model, theme);
    pieces.push(Piece::styled(word, style));
    pieces.push(Piece::raw(" "));
    pieces
}

/// What cannot be done to the only source.
fn access(source: &SourceView, theme: &Theme) -> Vec<Piece<'static>> {
    let warning = |said: String| Piece::styled(said, theme.set(Set::Expiring));
    let mut pieces = Vec::new();
    if source.veiled().is_some() {
        pieces.push(warning("RLS ACTIVE ".into()));
    }
    if let Some(lag) = source.replica() {
        pieces.push(warning(format!("STANDBY {} behind ", text::whole(lag))));
    } else if source.access() != Access::Write {
        pieces.push(warning("READ-ONLY ".into()));
    }
    pieces
}

/// Whether polls come in. A source that is lost among others shows that itself.
fn pace(model: &Model, theme: &Theme) -> (String, Style) {
    let is_lost = |source: &SourceView| source.link.lost_since().is_some();
    let all_lost = !model.sources.is_empty() && model.shown_sources().all(|(_, source)| is_lost(source));
    let since = model.shown_sources().filter_map(|(_, source)| source.link.lost_since()).min();
    let connecting = model.shown_sources().all(|(_, source)| source.link == LinkState::Connecting);
    match (since.filter(|_| all_lost), model.pace) {
        (Some(since), _) => (format!("DISCONNECTED since {}", text::clock(since)), theme.set(Set::Stale)),
        (None, PollIntake::Paused) => ("PAUSED".into(), theme.set(Set::Expiring)),
        (None, PollIntake::Live) if model.sources.is_empty() => (String::new(), theme.dim),
        (None, PollIntake::Live) if connecting => ("CONNECTING".into(), theme.set(Set::Expiring)),
        (None, PollIntake::Live) => (format!("LIVE {}", model.settings.interval), theme.set(Set::Healthy)),
    }
}

/// Clocks that differ by less than this agree: an answer may take as long.
const NOISE: Span = Span::millis(100);

/// The sets with their counts and their recent past.
fn counts(model: &Model, theme: &Theme, width: u16) -> Line<'static> {
    let counts = model.counts();
    let mut pieces = vec![Piece::raw(" ")];
    let complete = model.shown_sources().all(|(_, source)| source.is_complete());
    let about = if complete { "" } else { "≥ " };
    let counted = model.shown_sources().filter_map(|(_, source)| source.total_since()).min();
    let counted = counted.map(|at| {
        format!(" ({} ago)", Span::seconds(model.now.since(at).as_millis() / 1_000).max(Span::seconds(1)))
    });
    // An empty set of unknown claims is not shown.
    for set in Set::ALL.into_iter().filter(|set| *set != Set::Unknown || counts.unknown > 0) {
        let all = counts.of(set);
        // How many healthy ones pass a filter is not known: they are not loaded.
        let passing = model.is_narrowed().then(|| model.passing(set));
        if set == Set::Healthy && passing.is_some() {
            continue;
        }
        let count = passing.unwrap_or(all);
        let style = if count > 0 { theme.set(set) } else { theme.dim };
        let word = if width < 60 { &set.as_str()[..3] } else { set.as_str() };
        let of = passing.map_or_else(String::new, |_| format!(" of {}", text::number(all)));
        pieces.push(Piece::styled(format!("{} {}{of} {word}", mark(set), text::number(count)), style));
        if width >= 110 && set != Set::Healthy && passing.is_none() {
            let past: Vec<u64> = past(model, set);
            pieces.push(Piece::styled(format!(" {}", text::sparkline(&past, 8)), theme.dim));
        }
        pieces.push(Piece::raw("  "));
    }
    let of = match (model.is_narrowed(), model.query.is_empty()) {
        (true, false) => "pass the filter".to_owned(),
        (true, true) => "are not snoozed".to_owned(),
        (false, _) => {
            format!("of {about}{}{}", text::number(counts.total), counted.unwrap_or_default())
        }
    };
    pieces.push(Piece::styled(of, theme.dim));
    let runaway = format!(", {} runaway", text::number(counts.runaway));
    let used: usize = pieces.iter().map(Piece::width).sum();
    // Leave it out rather than cut it.
    if counts.runaway > 0
        && !model.is_narrowed()
        && width >= 100
        && used + text::width(&runaway) <= usize::from(width)
    {
        pieces.push(Piece::styled(runaway, theme.set(Set::Stale)));
    }
    Line::from(pieces)
}

/// The sum of all shown sources, poll by poll, as far back as all of them go.
fn past(model: &Model, set: Set) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::new();
    for (_, source) in model.shown_sources() {
        let one: Vec<u64> = source.past_of(set).collect();
        if all.is_empty() {
            all = one;
            continue;
        }
        let common = all.len().min(one.len());
        let mine = all.split_off(all.len() - common);
        all = mine.into_iter().zip(&one[one.len() - common..]).map(|(one, other)| one + other).collect();
    }
    all
}

/// Why rows may be hidden from us, or how a source is no longer what it was.
fn warning(model: &Model) -> Option<String> {
    let veiled =
        model.shown_sources().find_map(|(number, source)| Some((number, source.veiled()?.to_owned())));
    let warned = || {
        let mut all = model.shown_sources().map(|(number, source)| (number, source.warnings.join(" · ")));
        all.find(|(_, said)| !said.is_empty())
    };
    veiled.or_else(warned).map(|(number, said)| model.about(number, &safe(&said)))
}

/// One sentence for each reason, and the notes.
fn reasons(model: &Model) -> Vec<String> {
    let mut reasons = std::collections::BTreeMap::new();
    for snapshot in model.shown_sources().flat_map(|(_, source)| &source.snapshots) {
        for (reason, count) in snapshot.reasons() {
            *reasons.entry(reason).or_insert(0) += count;
        }
    }
    let mut all: Vec<String> = reasons.into_iter().map(|(reason, count)| reason.sentence(count)).collect();
    if !model.snoozed.is_empty() {
        all.insert(0, format!("{} snoozed", model.snoozed.len()));
    }
    all.extend(notes(model));
    all
}

/// The notices of a source: in full while they are new, later only their number.
fn notes(model: &Model) -> Vec<String> {
    let mut all = Vec::new();
    for (number, source) in model.shown_sources() {
        let notices: Vec<String> = source.notices().map(safe).collect();
        match notices.len() {
            0 => {}
            _ if source.has_new_notices(model.now) => all.push(model.about(number, &notices.join(" · "))),
            count => {
                let key = model.keymap.key(crate::app::Command::Sources);
                let notes = if count == 1 { "1 note" } else { &format!("{count} notes") };
                all.push(model.about(number, &format!("{notes} ({key})")));
            }
        }
    }
    all
}

/// The text while an answer is still missing.
pub(super) fn waiting<'a>(sources: impl Iterator<Item = &'a SourceView>) -> String {
    let said = |source: &SourceView| match &source.link {
        LinkState::Connecting | LinkState::Live => None,
        LinkState::Silent { since } => {
            Some(format!("no answer since {}; still waiting for it", text::clock(*since)))
        }
        LinkState::Down { since, .. } => {
            Some(format!("no answer; the last one was before {}", text::clock(*since)))
        }
    };
    sources.filter_map(said).next().unwrap_or_else(|| "loading ...".into())
}

/// Why there is no answer from one of the sources, if so, and since when.
pub(super) fn lost(model: &Model) -> Option<String> {
    let (number, said) =
        model.shown_sources().find_map(|(number, source)| Some((number, why_lost(source)?)))?;
    // A single source is named above, so the reason gets all the room.
    Some(model.about(number, &said))
}

/// Why a source does not answer.
pub(super) fn why_lost(source: &SourceView) -> Option<String> {
    match &source.link {
        LinkState::Connecting | LinkState::Live => None,
        LinkState::Silent { since } => {
            Some(format!("no answer since {}; still waiting for it", text::clock(*since)))
        }
        LinkState::Down { since, trouble: PollFailure::NoLink(why) } => {
            Some(format!("disconnected since {}, trying again: {}", text::clock(*since), safe(why)))
        }
        LinkState::Down { trouble: PollFailure::Unreadable(why), .. } => Some(safe(why)),
    }
}

pub(super) fn draw_tabs(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let mut x = area.x + 1;
    let filter = model.filter_text();
    let marks =
        if model.marked.is_empty() { String::new() } else { format!("{} marked ", model.marked.len()) };
    let query = if filter.is_empty() { String::new() } else { format!("/{} ", safe(filter)) };
    let narrowed = format!("{marks}{query}");
    // Shorten the titles if they do not fit beside the filter.
    let long: usize = Pane::ALL.iter().map(|pane| pane.title().len() + 4).sum();
    let narrow = usize::from(area.width) < long + text::width(&narrowed).min(30);
    for (at, pane) in Pane::ALL.into_iter().enumerate() {
        let title = if narrow { &pane.title()[..3] } else { pane.title() };
        let label = format!("{} {title}", at + 1);
        let style = if pane == model.pane { theme.title } else { theme.dim };
        let width = u16::try_from(text::width(&label)).unwrap_or(0);
        if x + width > area.right() {
            break;
        }
        buffer.set_stringn(x, area.y, &label, usize::from(width), style);
        view.spot(Rect { x, y: area.y, width, height: 1 }, ClickTarget::Pane(pane));
        x += width + 2;
    }
    if !narrowed.is_empty() {
        let said = text::cut(&narrowed, usize::from(area.right().saturating_sub(x)));
        let width = u16::try_from(text::width(&said)).unwrap_or(0);
        buffer.set_string(area.right() - width, area.y, said, theme.set(Set::Expiring));
    }
}
