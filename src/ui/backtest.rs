//! The backtest of a replay: for every threshold, how many claims it would have taken wrongly, against the time that the
//! claims of dead holders wait for it.
//!
//! ```text
//!   CLAIMS        THRESHOLD     NOW  TAKEN  WRONGLY  BETTER  SAVES   the thresholds in force
//! ▸ queue/job     ttl           30m      5        0     10m  6m12s
//!  queue/job: how long a claim may be silent                         the selected one
//!  wrongly taken ↑                 recommended: 10m (now 30m), ...
//!  31k ┤█                          10m  taken 10,048 · wrongly 315 (3.1 %) · saves 6m12s each
//!    0 ┤█▅▃▂▁▁▁▁▁▁░░░░             config: ...
//!      └1m  4m  7m  10m            ░ 16m to 60m cannot be judged: ...
//!                ▲ better  ▲ now
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::table::{
    Cell, SOURCE, SourceColumns, TableColumn, TableContent, draw as draw_table, fixed, right, share,
};
use super::text;
use super::theme::Theme;
use super::view::View;
use crate::app::item::Item;
use crate::app::message::ClickTarget;
use crate::app::model::{Model, Pane};
use crate::domain::backtest::{Advice, BarPlot, Measure, NOTHING_TO_TEST, Tested, TestedSeries, percent};
use crate::domain::time::Span;
use crate::domain::verdict::Set;
use crate::domain::visible::{safe, visible};

const COLUMNS: &[TableColumn] = &[
    share("CLAIMS", 14, 3, 0),
    fixed("THRESHOLD", 12, 1),
    right("NOW", 7, 0),
    right("TAKEN", 7, 4),
    right("WRONGLY", 8, 3),
    right("BETTER", 7, 0),
    right("SAVES", 9, 2),
    share(SOURCE, 8, 2, 0),
];
/// From this width on, the words stand beside the plot.
const WIDE: u16 = 100;
/// The lines around the bars: the heading, the axis and the marks below it.
const AROUND: u16 = 3;
/// A plot with fewer lines says nothing.
const FEWEST_LINES: u16 = 2;

pub(super) fn draw(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let all = model.backtests();
    let Some(selected) = model.selected_backtest() else {
        let said = match model.replay.as_ref().and_then(|replay| replay.backtest.as_ref()) {
            Some(Err(why)) => safe(why),
            Some(Ok(_)) => NOTHING_TO_TEST.into(),
            None => "testing thresholds ...".into(),
        };
        Line::styled(format!("  {}", text::clip(&said, usize::from(area.width))), theme.dim)
            .render(area, buffer);
        return;
    };
    let lines = u16::try_from(all.len()).unwrap_or(u16::MAX).saturating_add(1);
    let lines = lines.min((area.height / 3).max(3));
    let [list, rest] = Layout::vertical([Constraint::Length(lines), Constraint::Fill(1)]).areas(area);
    draw_list(model, view, theme, list, buffer);
    draw_selected(selected, theme, rest, buffer);
}

fn draw_list(model: &Model, view: &mut View, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let all = model.backtests();
    let items: Vec<Item> = all.iter().map(|one| Item::Threshold(one.series.subject.clone())).collect();
    let columns = SourceColumns::new(model, COLUMNS);
    let listing = TableContent::of(model, Pane::Backtest, &columns.columns, &items);
    draw_table(&listing, view, theme, area, buffer, |at, _| {
        (columns.cells(cells(theme, &all[at])), Some(ClickTarget::Item(items[at].clone())))
    });
}

fn cells(theme: &Theme, one: &TestedSeries) -> Vec<Cell> {
    let now = one.in_force();
    let wrongly = now.map_or(0, Tested::wrongly_at_most);
    let better = match (one.advice(), one.better()) {
        (_, Some(better)) => Cell::new(better.threshold.to_string(), theme.set(Set::Healthy)),
        (Advice::Choose { .. }, None) => Cell::new("fits", theme.set(Set::Healthy)),
        (Advice::None(_), None) => Cell::new("–", theme.dim),
    };
    let saves = one.better().and_then(|better| better.saved_p50).filter(|saved| saved.is_positive());
    let count = |text: Option<String>| Cell::new(text.unwrap_or_else(|| "–".into()), theme.text);
    vec![
        Cell::new(one.series.subject.claims(), theme.strong),
        Cell::new(one.series.subject.measure.as_str(), theme.text),
        Cell::new(text::span(one.series.current), theme.text),
        count(now.map(|now| text::number(now.taken()))),
        Cell::new(
            now.map_or_else(|| "–".into(), Tested::wrongly_text),
            if wrongly > 0 { theme.set(Set::Stale) } else { theme.dim },
        ),
        better,
        Cell::new(text::span(saves), theme.dim),
        Cell::new(visible(&one.series.subject.source), theme.dim),
    ]
}

fn draw_selected(one: &TestedSeries, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let room = usize::from(area.width.saturating_sub(2));
    let title = format!("{}: {}", one.series.subject.claims(), question(one.series.subject.measure));
    let [head, area] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    Line::styled(format!(" {}", text::clip(&title, room)), theme.title).render(head, buffer);
    if one.series.silences.is_empty() {
        let said = format!(" no silence of {} or longer was recorded", one.series.floor);
        Line::styled(text::clip(&said, room), theme.dim).render(area, buffer);
        return;
    }
    let words = words(one, theme);
    if area.width >= WIDE {
        let [plot, _, beside] =
            Layout::horizontal([Constraint::Percentage(50), Constraint::Length(2), Constraint::Fill(1)])
                .areas(area);
        draw_plot(one, theme, plot, buffer);
        draw_words(words, theme, beside, buffer);
        return;
    }
    // The first words matter more than the height of the bars, the last ones less.
    let least = AROUND + FEWEST_LINES;
    let above = (area.height.saturating_sub(least)).min(4);
    let [above, plot] = Layout::vertical([Constraint::Length(above), Constraint::Fill(1)]).areas(area);
    for (line, (said, style)) in (above.y..above.bottom()).zip(words) {
        let said = text::clip(&said, room);
        buffer.set_stringn(above.x + 1, line, said, room, style);
    }
    draw_plot(one, theme, plot, buffer);
}

/// What the threshold decides.
fn question(measure: Measure) -> &'static str {
    match measure {
        Measure::Ttl => "how long to wait before taking a silent claim",
        Measure::OrphanAfter => "how long to wait before giving a silent session up",
        Measure::SilentAfter => "how long a heartbeat may be missing before a claim counts as stale",
    }
}

/// The advice, the numbers behind it and what the recording cannot tell, the most important first.
fn words(one: &TestedSeries, theme: &Theme) -> Vec<(String, Style)> {
    let mut said = Vec::new();
    let now = one.series.current.map(|now| format!(" (now {now})")).unwrap_or_default();
    match one.advice() {
        Advice::Choose { tested, reason } => {
            let head = format!("recommended: {}{now}, {reason}", tested.threshold);
            said.push((head, theme.set(Set::Healthy)));
            said.push((format!("{}: {}", tested.threshold, outcome(&tested)), theme.text));
        }
        Advice::None(why) => said.push((format!("no recommendation: {why}"), theme.set(Set::Expiring))),
    }
    if let Some(now) = one.in_force() {
        said.push((format!("{} (now): {}", now.threshold, outcome(now)), theme.text));
    }
    if let Some(line) = one.advised_line() {
        said.push((format!("config: {line}  y copies it"), theme.accent));
    }
    said.push((one.basis(), theme.dim));
    said.extend(one.remarks().into_iter().map(|remark| (remark, theme.dim)));
    said
}

/// "taken 10,048 · wrongly 315 (3.1 %) · saves 6m12s each".
fn outcome(one: &Tested) -> String {
    let mut parts = vec![format!("taken {}", text::number(one.taken()))];
    let decided = one.right + one.wrongly + one.unclear;
    let share = match decided {
        0 => String::new(),
        _ => format!(" ({})", percent(one.wrongly_at_most() as f64 / decided as f64)),
    };
    parts.push(format!("wrongly {}{share}", one.wrongly_text()));
    if one.undecided > 0 {
        parts.push(format!("undecided {}", text::number(one.undecided)));
    }
    if one.missed > 0 {
        parts.push(format!("too late for {}", text::number(one.missed)));
    }
    if let Some(saved) = one.saved_p50.filter(|saved| saved.is_positive()) {
        parts.push(format!("saves {} each", text::whole(saved)));
    }
    parts.join(" · ")
}

fn draw_words(words: Vec<(String, Style)>, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let room = usize::from(area.width.saturating_sub(1));
    let mut y = area.y;
    for (said, style) in words {
        let style = if style == theme.text { theme.strong } else { style };
        for line in text::wrap(&said, room) {
            if y >= area.bottom() {
                return;
            }
            buffer.set_stringn(area.x, y, line, room, style);
            y += 1;
        }
    }
}

fn draw_plot(one: &TestedSeries, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let Some(height) = area.height.checked_sub(AROUND).filter(|height| *height >= FEWEST_LINES) else {
        return;
    };
    let room = usize::from(area.width.saturating_sub(1));
    let plot = BarPlot::new(&one.tested, room, usize::from(height.min(12)));
    let heading = "wrongly taken ↑   claims of dead holders wait →";
    buffer.set_stringn(area.x + 1, area.y, text::clip(heading, room), room, theme.dim);
    let better = one.better().map(|better| better.threshold);
    let margin = u16::try_from(plot.margin).unwrap_or(0);
    let left = area.x + 1 + margin + 2;
    let place = |bar: usize| left + u16::try_from(bar * plot.step).unwrap_or(0);
    let style_of = |tested: &Tested| match tested.threshold {
        _ if !tested.is_sound() => theme.dim,
        threshold if Some(threshold) == better => theme.set(Set::Healthy),
        threshold if Some(threshold) == one.series.current => theme.strong,
        _ => theme.set(Set::Stale),
    };
    let mut y = area.y + 1;
    for line in &plot.lines {
        let tick = if line.label.is_empty() { '│' } else { '┤' };
        let label = format!("{:>width$} {tick}", line.label, width = plot.margin);
        buffer.set_string(area.x + 1, y, label, theme.dim);
        for (bar, cell) in line.cells.iter().enumerate() {
            let drawn = cell.to_string().repeat(plot.bar_width());
            buffer.set_string(place(bar), y, drawn, style_of(&plot.bars[bar]));
        }
        y += 1;
    }
    let axis = format!("{:>width$} └{}", "", plot.axis(), width = plot.margin);
    buffer.set_stringn(area.x + 1, y, axis, room, theme.dim);
    let of = |threshold: Option<Span>| {
        threshold.and_then(|threshold| plot.bars.iter().rposition(|bar| bar.threshold <= threshold))
    };
    let marks =
        [(of(one.series.current), "now", theme.strong), (of(better), "better", theme.set(Set::Healthy))];
    let marks = marks.into_iter().filter_map(|(bar, word, style)| Some((place(bar?), word, style)));
    draw_marks(marks.collect(), Rect { y: y + 1, height: 1, ..area }, buffer);
}

/// Arrows below the thresholds that matter. A word that would run into the next arrow stands left of its own, or is left
/// out.
fn draw_marks(mut marks: Vec<(u16, &str, Style)>, area: Rect, buffer: &mut Buffer) {
    marks.sort_by_key(|(x, ..)| *x);
    let mut free = area.x;
    for (at, (x, word, style)) in marks.iter().copied().enumerate() {
        let width = u16::try_from(word.len()).unwrap_or(0) + 1;
        let next = marks.get(at + 1).map_or(area.right(), |(next, ..)| *next);
        buffer.set_string(x, area.y, "▲", style);
        if x + width + 1 < next {
            buffer.set_string(x + 2, area.y, word, style);
            free = x + width + 1;
        } else if free + width < x {
            buffer.set_string(x - width, area.y, word, style);
            free = x + 1;
        }
    }
}
