//! The header: what is watched, in which mode, by which clock, at which cost, and how it stands.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as Piece};
use ratatui::widgets::Widget;

use super::text;
use super::theme::{Theme, mark};
use super::view::View;
use crate::app::message::Spot;
use crate::app::model::{Model, Pace, Pane};
use crate::app::source::{Access, Link, SourceView, Trouble};
use crate::domain::time::Span;
use crate::domain::verdict::Set;
use crate::domain::visible::safe;

/// How many lines it takes: fewer where there is little room.
pub fn height(area: Rect) -> u16 {
    match area.height {
        0..7 => 1,
        7..20 => 2,
        _ => 3,
    }
}

pub fn draw(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let line = |at: u16| Rect { y: area.y + at, height: 1, ..area };
    draw_first(model, theme, line(0), buffer);
    if area.height > 1 {
        counts(model, theme, area.width).render(line(1), buffer);
    }
    if area.height > 2 {
        sentences(model, theme, area.width).render(line(2), buffer);
    }
}

/// The name on the left, the mode on the right; the middle gives way first.
fn draw_first(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let right = Line::from(mode(model, theme, area.width));
    let used = u16::try_from(right.width()).unwrap_or(area.width).min(area.width);
    let room = usize::from(area.width.saturating_sub(used + 1));
    let mut left = vec![Piece::styled(" claimtop ", theme.title)];
    left.push(Piece::styled(text::cut(&sources(model), room.saturating_sub(11)), theme.text));
    Line::from(left).render(Rect { width: area.width.saturating_sub(used), ..area }, buffer);
    right.render(Rect { x: area.right() - used, width: used, ..area }, buffer);
}

fn sources(model: &Model) -> String {
    let mut all: Vec<String> = Vec::new();
    for (number, source) in model.shown_sources() {
        let number = if model.sources.len() > 1 { format!("{}·", number + 1) } else { String::new() };
        let mut parts = vec![format!("{number}{}", safe(&source.label))];
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
        all.push(parts.join(" · "));
    }
    all.join("  |  ")
}

fn mode(model: &Model, theme: &Theme, width: u16) -> Vec<Piece<'static>> {
    let mut pieces = Vec::new();
    let wide = width >= 90;
    if wide && let Some((number, source)) = model.shown_sources().next() {
        if let Some(cost) = source.poll_cost() {
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
    let warning = |said: String| Piece::styled(said, theme.set(Set::Expiring));
    if model.shown_sources().any(|(_, source)| source.veiled().is_some()) {
        pieces.push(warning("RLS ACTIVE ".into()));
    }
    if let Some(lag) = model.shown_sources().filter_map(|(_, source)| source.replica()).max() {
        pieces.push(warning(format!("STANDBY {} behind ", text::whole(lag))));
    } else if model.shown_sources().any(|(_, source)| source.access() != Access::Write) {
        pieces.push(warning("READ-ONLY ".into()));
    }
    let down = model.shown_sources().filter_map(|(_, source)| source.link.lost_since()).min();
    let connecting = model.shown_sources().any(|(_, source)| source.link == Link::Connecting);
    let (word, style) = match (down, model.pace) {
        (Some(since), _) => {
            (format!("STALE for {}", text::whole(model.now.since(since))), theme.set(Set::Stale))
        }
        (None, Pace::Paused) => ("PAUSED".into(), theme.set(Set::Expiring)),
        (None, Pace::Live) if model.sources.is_empty() => (String::new(), theme.dim),
        (None, Pace::Live) if connecting => ("CONNECTING".into(), theme.set(Set::Expiring)),
        (None, Pace::Live) => (format!("LIVE {}", model.settings.interval), theme.set(Set::Healthy)),
    };
    pieces.push(Piece::styled(word, style));
    pieces.push(Piece::raw(" "));
    pieces
}

/// Clocks that differ by less than this agree: so long may an answer be under way.
const NOISE: Span = Span::millis(100);

/// The sets with their counts and their recent past.
fn counts(model: &Model, theme: &Theme, width: u16) -> Line<'static> {
    let counts = model.counts();
    let mut pieces = vec![Piece::raw(" ")];
    let exact = model.shown_sources().all(|(_, source)| source.is_exact());
    let about = if exact { "" } else { "≥ " };
    for set in Set::ALL {
        let count = counts.of(set);
        let style = if count > 0 { theme.set(set) } else { theme.dim };
        let word = if width < 60 { &set.as_str()[..3] } else { set.as_str() };
        pieces.push(Piece::styled(format!("{} {} {word}", mark(set), text::number(count)), style));
        if width >= 110 && set != Set::Healthy {
            let past: Vec<u64> = past(model, set);
            pieces.push(Piece::styled(format!(" {}", text::sparkline(&past, 8)), theme.dim));
        }
        pieces.push(Piece::raw("  "));
    }
    let of = format!("of {about}{}", text::number(counts.total));
    pieces.push(Piece::styled(of, theme.dim));
    let runaway = format!(", {} runaway", text::number(counts.runaway));
    let used: usize = pieces.iter().map(Piece::width).sum();
    // Half a word is worse than none.
    if counts.runaway > 0 && width >= 100 && used + text::width(&runaway) <= usize::from(width) {
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

/// Why the screen is not to be believed, or one sentence for each reason.
fn sentences(model: &Model, theme: &Theme, width: u16) -> Line<'static> {
    let room = usize::from(width.saturating_sub(2));
    if let Some(said) = lost(model) {
        return Line::styled(text::clip(&format!(" {said}"), room), theme.set(Set::Stale));
    }
    if let Some(why) = model.shown_sources().find_map(|(_, source)| source.veiled()) {
        return Line::styled(format!(" {}", text::clip(&safe(why), room)), theme.set(Set::Expiring));
    }
    let mut all: Vec<String> = Vec::new();
    let mut reasons = std::collections::BTreeMap::new();
    for snapshot in model.shown_sources().flat_map(|(_, source)| &source.snapshots) {
        for (reason, count) in snapshot.reasons() {
            *reasons.entry(reason).or_insert(0) += count;
        }
        all.extend(snapshot.notices.iter().map(|notice| safe(notice)));
    }
    all.splice(0..0, reasons.into_iter().map(|(reason, count)| reason.sentence(count)));
    if !model.snoozed.is_empty() {
        all.insert(0, format!("{} snoozed", model.snoozed.len()));
    }
    let warnings: Vec<&str> =
        model.shown_sources().flat_map(|(_, source)| &source.warnings).map(String::as_str).collect();
    if warnings.is_empty() {
        return Line::styled(format!(" {}", text::clip(&all.join(" · "), room)), theme.dim);
    }
    let said = text::clip(&warnings.join(" · "), room);
    let rest = room.saturating_sub(text::width(&said) + 3);
    let rest = if rest > 10 && !all.is_empty() {
        format!(" · {}", text::clip(&all.join(" · "), rest))
    } else {
        String::new()
    };
    Line::from(vec![
        Piece::styled(format!(" {said}"), theme.set(Set::Expiring)),
        Piece::styled(rest, theme.dim),
    ])
}

/// What is said where an answer of a source is still to come.
pub fn waiting<'a>(sources: impl Iterator<Item = &'a SourceView>) -> String {
    let said = |source: &SourceView| match &source.link {
        Link::Connecting | Link::Live => None,
        Link::Silent { since } => {
            Some(format!("no answer since {}; still waiting for it", text::clock(*since)))
        }
        Link::Down { since, .. } => {
            Some(format!("no answer; the last one was before {}", text::clock(*since)))
        }
    };
    sources.filter_map(said).next().unwrap_or_else(|| "loading ...".into())
}

/// Why there is no answer from one of the sources, if so, and since when.
pub fn lost(model: &Model) -> Option<String> {
    let (number, source, said) =
        model.shown_sources().find_map(|(number, source)| Some((number, source, why_lost(source)?)))?;
    // The only one is named above; what is wrong must not be pushed off the screen.
    Some(match model.sources.len() {
        1 => said,
        _ => format!("{}·{}: {said}", number + 1, safe(&source.label)),
    })
}

fn why_lost(source: &SourceView) -> Option<String> {
    match &source.link {
        Link::Connecting | Link::Live => None,
        Link::Silent { since } => {
            Some(format!("no answer since {}; still waiting for it", text::clock(*since)))
        }
        Link::Down { since, trouble: Trouble::NoLink(why) } => {
            Some(format!("no link since {}, trying again: {}", text::clock(*since), safe(why)))
        }
        Link::Down { trouble: Trouble::Unreadable(why), .. } => Some(safe(why)),
    }
}

pub fn draw_tabs(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let mut x = area.x + 1;
    // The words go first where there is no room for all of them.
    let long: usize = Pane::ALL.iter().map(|pane| pane.title().len() + 4).sum();
    let narrow = usize::from(area.width) < long;
    for (at, pane) in Pane::ALL.into_iter().enumerate() {
        let title = if narrow { &pane.title()[..3] } else { pane.title() };
        let label = format!("{} {title}", at + 1);
        let style = if pane == model.pane { theme.title } else { theme.dim };
        let width = u16::try_from(text::width(&label)).unwrap_or(0);
        if x + width > area.right() {
            break;
        }
        buffer.set_stringn(x, area.y, &label, usize::from(width), style);
        view.spot(Rect { x, y: area.y, width, height: 1 }, Spot::Pane(pane));
        x += width + 2;
    }
    if !model.query.is_empty() || !model.marked.is_empty() {
        let marks =
            if model.marked.is_empty() { String::new() } else { format!("{} marked ", model.marked.len()) };
        let query =
            if model.query.is_empty() { String::new() } else { format!("/{} ", safe(&model.query.text)) };
        let said = text::cut(&format!("{marks}{query}"), usize::from(area.right().saturating_sub(x)));
        let width = u16::try_from(text::width(&said)).unwrap_or(0);
        buffer.set_string(area.right() - width, area.y, said, theme.set(Set::Expiring));
    }
}
