//! The timeline of the dashboard as SVG: the same bars, labels and marks of causes.

use std::fmt::Write as _;

use super::SourceState;
use crate::domain::snapshot::Judged;
use crate::domain::time::{Moment, Span};
use crate::domain::timeline::{Axis, LastSign, Nearness, Timeline};
use crate::domain::verdict::Set;
use crate::domain::visible::safe;
use crate::report::html::escaped;

/// Columns of the picture, and the width of each.
const COLUMNS: usize = 120;
const COLUMN: usize = 6;
const WIDTH: usize = COLUMNS * COLUMN;
const HEIGHT: usize = 112;
/// The line below the bars, and the line above which nothing but names of causes stands.
const FLOOR: usize = 92;
const CEILING: usize = 18;

/// The picture, and the sentence above it.
pub(super) fn svg(sources: &[&SourceState], clock: Moment) -> String {
    let mut timeline = Timeline::default();
    let (mut causes, mut now) = (Vec::new(), None);
    for look in sources.iter().filter_map(|source| source.look.as_ref()) {
        for snapshot in &look.snapshots {
            let rows = || snapshot.boards.iter().flat_map(|board| board.worst.iter());
            timeline.signs.extend(rows().filter_map(|judged| LastSign::of(judged, snapshot.now)));
            // A claim in both sets is orphaned first of all.
            let in_both =
                |judged: &&Judged| judged.verdict.is_in(Set::Orphaned) && judged.verdict.is_in(Set::Stale);
            let counts = snapshot.counts();
            let both = rows().filter(in_both).count() as u64;
            timeline.in_trouble += (counts.orphaned + counts.stale).saturating_sub(both);
            now = now.or(Some(snapshot.now));
        }
        timeline.add_horizon(&look.horizon);
        causes.extend(look.causes.iter().filter_map(|cause| Some((cause.since?, cause.name()))));
    }
    let picture = Picture { axis: Axis::of(&timeline, COLUMNS), now: now.unwrap_or(clock) };
    let deadlines = timeline.deadlines_ahead(|count| count.to_string());
    let mut out = format!(
        "<p class=\"dim\">{}, {deadlines} ahead</p><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"last signs of life left of now, deadlines right of it\">",
        timeline.trouble(|count| count.to_string())
    );
    picture.bars(&timeline, &mut out);
    picture.causes(causes, &mut out);
    picture.labels(&mut out);
    out.push_str("</svg>");
    out
}

struct Picture {
    axis: Axis,
    now: Moment,
}

impl Picture {
    /// Where now is, from the left edge.
    fn middle(&self) -> usize {
        WIDTH - (self.axis.ahead * self.axis.wide + 1) * COLUMN
    }

    fn x_ago(&self, bar: usize) -> usize {
        self.middle().saturating_sub((bar + 1) * self.axis.wide * COLUMN)
    }

    fn x_ahead(&self, bar: usize) -> usize {
        self.middle() + (1 + bar * self.axis.wide) * COLUMN
    }

    fn bars(&self, timeline: &Timeline, out: &mut String) {
        let past = self.axis.past_bars(timeline);
        let most = past.iter().map(|(count, _)| *count).max().unwrap_or(0);
        for (at, (count, set)) in past.into_iter().enumerate() {
            self.bar((count, most), self.x_ago(at), set.as_str(), out);
        }
        let ahead = self.axis.ahead_bars(timeline);
        let most = ahead.iter().map(|bar| bar.count).max().unwrap_or(0);
        for (at, bar) in ahead.into_iter().enumerate() {
            let class = match bar.nearness {
                Nearness::Near => "expiring",
                Nearness::Far => "far",
            };
            self.bar((bar.count, most), self.x_ahead(at), class, out);
        }
    }

    fn bar(&self, (count, most): (u64, u64), x: usize, class: &str, out: &mut String) {
        if count == 0 {
            return;
        }
        let room = (FLOOR - CEILING) as u64;
        // The smallest bar can still be seen.
        let height = usize::try_from(count * room / most.max(1)).unwrap_or(0).max(2);
        let width = (self.axis.wide * COLUMN).saturating_sub(2);
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"{width}\" height=\"{height}\"><title>{count}</title></rect>",
            FLOOR - height
        );
    }

    /// The name of each cause above the moment at which it began.
    fn causes(&self, mut causes: Vec<(Moment, String)>, out: &mut String) {
        causes.sort_by_key(|(since, _)| std::cmp::Reverse(*since));
        let mut free = self.middle();
        for (since, name) in causes {
            let ago = self.now.since(since).max(Span::ZERO);
            let x = self.x_ago(self.axis.bar_ago(ago));
            let name: String = safe(&name).chars().take(24).collect();
            if x + name.chars().count() * 7 > free {
                continue;
            }
            let _ = write!(out, "<text class=\"cause\" x=\"{x}\" y=\"12\">▾ {}</text>", escaped(&name));
            free = x;
        }
    }

    fn labels(&self, out: &mut String) {
        let middle = self.middle() + COLUMN / 2;
        let _ = write!(
            out,
            "<line class=\"axis\" x1=\"0\" y1=\"{FLOOR}\" x2=\"{WIDTH}\" y2=\"{FLOOR}\"/>\
             <line class=\"now\" x1=\"{middle}\" y1=\"0\" x2=\"{middle}\" y2=\"{FLOOR}\"/>\
             <text x=\"{middle}\" y=\"107\" text-anchor=\"middle\">now</text>"
        );
        for (bar, label) in self.axis.past_labels(self.now) {
            let x = self.x_ago(bar);
            if x + 60 < middle {
                let _ = write!(out, "<text x=\"{x}\" y=\"107\">{label}</text>");
            }
        }
        for (bar, label) in self.axis.ahead_labels() {
            let x = self.x_ahead(bar);
            if x > middle + 20 && x + 36 <= WIDTH {
                let _ = write!(out, "<text x=\"{x}\" y=\"107\">{label}</text>");
            }
        }
    }
}
