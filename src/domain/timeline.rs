//! Past and future of claims on one axis, relative to now: left of now, when those in trouble were last heard of; right
//! of it, when deadlines come. The dashboard draws it in cells, the page as SVG.

use super::detail::Horizon;
use super::snapshot::Judged;
use super::time::{Moment, Span};
use super::verdict::Set;

/// The last sign of life of a claim in trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastSign {
    pub ago: Span,
    pub set: Set,
}

impl LastSign {
    /// Of a claim that is stale or orphaned and was heard of at all.
    pub fn of(judged: &Judged, now: Moment) -> Option<LastSign> {
        let set = judged.verdict.headline();
        let is_in_trouble = matches!(set, Set::Orphaned | Set::Stale);
        let at = judged.claim.last_heard_of().filter(|_| is_in_trouble)?;
        Some(LastSign { ago: now.since(at).max(Span::ZERO), set })
    }
}

/// Deadlines between two instants ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    pub from: Span,
    pub count: u64,
}

/// All that the timeline shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Timeline {
    pub signs: Vec<LastSign>,
    /// How many claims are in trouble, loaded or not.
    pub in_trouble: u64,
    pub deadlines: Vec<Deadlines>,
    /// Not all deadlines could be looked at.
    pub at_least: bool,
}

impl Timeline {
    /// Adds the deadlines of a source: the next five minutes by ten seconds, if they were counted that way, and the
    /// rest by minutes.
    pub fn add_horizon(&mut self, horizon: &Horizon) {
        let is_fine = horizon.moments.iter().any(|count| *count > 0);
        let skipped = if is_fine { horizon.moments.len() / 6 } else { 0 };
        let moments = horizon.moments.iter().enumerate();
        let moments = moments.map(|(at, count)| (Span::seconds(10 * at as i64), *count));
        let minutes = horizon.minutes.iter().enumerate().skip(skipped);
        let minutes = minutes.map(|(at, count)| (Span::minutes(at as i64), *count));
        let all = moments.chain(minutes).filter(|(_, count)| *count > 0);
        self.deadlines.extend(all.map(|(from, count)| Deadlines { from, count }));
        self.at_least |= horizon.at_least;
    }

    /// "66 in trouble", or "200 of 8400 in trouble" if the last sign of some is not known or not loaded.
    pub fn trouble(&self, number: impl Fn(u64) -> String) -> String {
        let shown = self.signs.len() as u64;
        match self.in_trouble > shown {
            true => format!("{} of {} in trouble", number(shown), number(self.in_trouble)),
            false => format!("{} in trouble", number(shown)),
        }
    }

    /// "at least 12 deadlines", with the count as `number` writes it.
    pub fn deadlines_ahead(&self, number: impl Fn(u64) -> String) -> String {
        let count: u64 = self.deadlines.iter().map(|some| some.count).sum();
        let about = if self.at_least && count > 0 { "at least " } else { "" };
        match count {
            0 => "no deadline".into(),
            1 => format!("{about}1 deadline"),
            count => format!("{about}{} deadlines", number(count)),
        }
    }

    /// How far back nine in ten signs lie.
    fn reach(&self) -> Span {
        let mut ages: Vec<Span> = self.signs.iter().map(|sign| sign.ago).collect();
        ages.sort_unstable();
        let most = ages.get(ages.len() * 9 / 10).copied().unwrap_or(Span::ZERO);
        most.min(OLDEST)
    }
}

/// How time is divided into bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// How much time a bar stands for.
    pub step: Span,
    /// How many bars lie before and after now.
    pub past: usize,
    pub ahead: usize,
    /// How many columns of the picture a bar takes, with the gap after it.
    pub wide: usize,
}

/// A bar ahead of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AheadBar {
    pub count: u64,
    pub nearness: Nearness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nearness {
    Near,
    Far,
}

/// What a bar can stand for, from fine to coarse.
const STEPS: [Span; 6] = [
    Span::seconds(10),
    Span::minutes(1),
    Span::minutes(2),
    Span::minutes(5),
    Span::minutes(10),
    Span::minutes(60),
];
/// So far into the past bars reach; what is older stands in the first.
const OLDEST: Span = Span::minutes(12 * 60);
/// Deadlines that are no further ahead are near.
const NEAR: Span = Span::minutes(5);
/// The most bars on either side.
const MOST: i64 = 36;

impl Axis {
    /// The finest steps with which everything fits into so many columns.
    pub fn of(timeline: &Timeline, columns: usize) -> Axis {
        let past = timeline.reach();
        let ahead = timeline.deadlines.iter().map(|some| some.from).max().unwrap_or(Span::ZERO);
        let bars = |span: Span, step: Span| span.as_micros() / step.as_micros() + 1;
        // One column is for now.
        let cells = columns.saturating_sub(1);
        let fits = |step: &Span| {
            let (past, ahead) = (bars(past, *step).max(5), bars(ahead, *step).max(5));
            past <= MOST && ahead <= MOST && past + ahead <= i64::try_from(cells).unwrap_or(i64::MAX)
        };
        let step = STEPS.into_iter().find(fits).unwrap_or(STEPS[5]);
        let side = |span: Span| usize::try_from(bars(span, step).clamp(5, MOST)).unwrap_or(5);
        let (past, ahead) = (side(past), side(ahead));
        let wide = (cells / (past + ahead)).clamp(1, 6);
        // The past takes the columns that are left.
        Axis { step, past: (cells / wide).saturating_sub(ahead).max(past), ahead, wide }
    }

    /// The bar of something that was so long ago, counted from now.
    pub fn bar_ago(&self, ago: Span) -> usize {
        usize::try_from(ago.as_micros() / self.step.as_micros()).unwrap_or(usize::MAX).min(self.past - 1)
    }

    /// The claims and the worst set of each bar, from now into the past.
    pub fn past_bars(&self, timeline: &Timeline) -> Vec<(u64, Set)> {
        let mut bars = vec![(0, Set::Healthy); self.past];
        for sign in &timeline.signs {
            let bar = &mut bars[self.bar_ago(sign.ago)];
            *bar = (bar.0 + 1, bar.1.min(sign.set));
        }
        bars
    }

    /// The deadlines of each bar, from now on.
    pub fn ahead_bars(&self, timeline: &Timeline) -> Vec<AheadBar> {
        let mut counts = vec![0; self.ahead];
        for some in &timeline.deadlines {
            let at = usize::try_from(some.from.as_micros() / self.step.as_micros()).unwrap_or(usize::MAX);
            counts[at.min(self.ahead - 1)] += some.count;
        }
        let bar = |(at, count): (usize, u64)| {
            let is_near = self.step.as_micros() * at as i64 <= NEAR.as_micros();
            AheadBar { count, nearness: if is_near { Nearness::Near } else { Nearness::Far } }
        };
        counts.into_iter().enumerate().map(bar).collect()
    }

    /// The bars of the past that have a label, and the time of day at which each begins.
    pub fn past_labels(&self, now: Moment) -> impl Iterator<Item = (usize, String)> {
        let every = self.bars_per_label();
        // Seconds only where a bar stands for less than a minute.
        let length = if self.step < Span::minutes(1) { 8 } else { 5 };
        (every - 1..self.past).step_by(every).map(move |bar| {
            let ago = Span::micros(self.step.as_micros() * (bar as i64 + 1));
            let at = now.minus(ago).rfc3339();
            (bar, at.get(11..11 + length).unwrap_or_default().to_owned())
        })
    }

    /// The bars ahead that have a label, and how far ahead each begins.
    pub fn ahead_labels(&self) -> impl Iterator<Item = (usize, String)> {
        let every = self.bars_per_label();
        let label = |bar: usize| format!("+{}", Span::micros(self.step.as_micros() * bar as i64));
        (every..self.ahead).step_by(every).map(move |bar| (bar, label(bar)))
    }

    fn bars_per_label(&self) -> usize {
        [1, 2, 3, 5, 6, 10, 12, 15, 30].into_iter().find(|bars| bars * self.wide >= 9).unwrap_or(30)
    }
}
