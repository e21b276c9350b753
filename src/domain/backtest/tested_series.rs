//! The thresholds of one subject that were tested, and what is to be said about them.

use super::advice::{Advice, advise};
use super::range::ladder;
use super::series::{Measure, Series, Subject};
use super::tested::{Judgement, Tested};
use crate::domain::time::Span;
use crate::domain::visible::visible;

#[derive(Debug, Clone, PartialEq)]
pub struct TestedSeries {
    pub series: Series,
    pub tested: Vec<Tested>,
}

impl TestedSeries {
    pub fn new(series: Series, thresholds: &[Span]) -> TestedSeries {
        let tested = series.test(thresholds);
        TestedSeries { series, tested }
    }

    /// Tests the threshold in force and those from the shortest that the recording can judge to twice as long; nothing
    /// if none is in force.
    pub fn around_current(series: Series) -> Option<TestedSeries> {
        let thresholds = ladder(series.floor, series.current?);
        Some(TestedSeries::new(series, &thresholds))
    }

    pub fn advice(&self) -> Advice {
        advise(&self.series, &self.tested)
    }

    /// The result of the threshold in force.
    pub fn in_force(&self) -> Option<&Tested> {
        let current = self.series.current?;
        self.tested.iter().find(|one| one.threshold == current)
    }

    /// The threshold to choose, if it is not nearly the one in force.
    pub fn better(&self) -> Option<Tested> {
        match self.advice() {
            Advice::Choose { tested, .. } if !self.is_near_current(tested.threshold) => Some(tested),
            Advice::Choose { .. } | Advice::None(_) => None,
        }
    }

    /// Whether a threshold is within a fifth of the one in force.
    pub fn is_near_current(&self, threshold: Span) -> bool {
        self.series.current.is_some_and(|now| threshold.minus(now).abs().times(5) <= now)
    }

    /// The config line of the threshold to choose.
    pub fn advised_line(&self) -> Option<String> {
        match self.advice() {
            Advice::Choose { tested, .. } => Some(visible(&self.series.config_line(tested.threshold))),
            Advice::None(_) => None,
        }
    }

    /// "billing: task-queue/job run_tsa, ttl (now 30m)".
    pub fn title(&self) -> String {
        let Subject { source, measure, .. } = &self.series.subject;
        let now = self.series.current.map(|now| format!(" (now {now})")).unwrap_or_default();
        format!("{}: {}, {}{now}", visible(source), self.series.subject.claims(), measure.as_str())
    }

    /// What the test rests on.
    pub fn basis(&self) -> String {
        let Series { silences, floor, frames, .. } = &self.series;
        format!(
            "{} silences of {floor} or longer in {}, a sweep at each of {} polls",
            silences.len(),
            self.series.length(),
            frames.len()
        )
    }

    /// What has to be said beside the numbers.
    pub fn remarks(&self) -> Vec<String> {
        let TestedSeries { series, tested } = self;
        let mut said = self.unjudged();
        if series.is_partial {
            said.push(
                "at some polls more claims were in trouble than were read: TAKEN counts only those that were read"
                    .into(),
            );
        }
        if let Some(healed) = series.self_heals_after {
            said.push(format!("the profile says that the system frees a claim after {healed}"));
        }
        if tested.iter().any(|one| one.unclear > 0) {
            said.push(
                "claims disappear and no registry tells whether their holders were alive: WRONGLY is a range"
                    .into(),
            );
        }
        let none_wrong = |one: &&Tested| one.is_sound() && one.wrongly_at_most() == 0 && one.right > 0;
        if let Some(one) = tested.iter().find(none_wrong) {
            let share = percent(3.0 / one.right as f64);
            said.push(format!("none wrong of {} says only that fewer than {share} are", one.right));
        }
        if series.subject.measure == Measure::SilentAfter {
            said.push(
                "a sweep never takes a claim for a silent heartbeat alone: TAKEN is what would be called stale"
                    .into(),
            );
        }
        said
    }

    /// The thresholds that the recording cannot judge, and why.
    fn unjudged(&self) -> Vec<String> {
        let of = |is_this: fn(&Judgement) -> bool| {
            let of_these: Vec<&Tested> = self.tested.iter().filter(|one| is_this(&one.judgement)).collect();
            let (first, last) = (of_these.first()?, of_these.last()?);
            let which = match first.threshold == last.threshold {
                true => first.threshold.to_string(),
                false => format!("{} to {}", first.threshold, last.threshold),
            };
            Some(format!("░ {which} cannot be judged: {}", first.judgement.why_not()?))
        };
        let below = of(|one| matches!(one, Judgement::BelowFloor(_)));
        let above = of(|one| matches!(one, Judgement::AboveRecovery(_)));
        below.into_iter().chain(above).collect()
    }
}

/// A share as people read it: "3.1 %".
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 10.0 || percent == 0.0 => format!("{percent:.0} %"),
        percent => format!("{percent:.1} %"),
    }
}
