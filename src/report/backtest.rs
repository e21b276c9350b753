//! The results of a backtest: a table and a plot for people, JSON lines for programs.

mod plot;

use serde_json::{Value as Json, json};
use std::fmt::Write as _;

use super::json;
use super::table::{TableCell, render};
use crate::domain::backtest::{Advice, Judgement, Measure, Series, Subject, Tested, advise};
use crate::domain::time::Span;
use crate::domain::visible::visible;

pub use plot::plot;

/// A plot has at least so many thresholds.
const FEWEST_BARS: usize = 4;

/// The thresholds of one subject that were tested.
#[derive(Debug)]
pub struct TestedSeries {
    pub series: Series,
    pub tested: Vec<Tested>,
}

impl TestedSeries {
    pub fn new(series: Series, thresholds: &[Span]) -> TestedSeries {
        let tested = series.test(thresholds);
        TestedSeries { series, tested }
    }

    pub fn advice(&self) -> Advice {
        advise(&self.series, &self.tested)
    }

    /// One JSON object for each threshold.
    pub fn json(&self) -> String {
        self.tested.iter().map(|one| json::line(&threshold_json(&self.series, one)) + "\n").collect()
    }

    /// The table, what cannot be judged, the plot and the advice.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", title(&self.series));
        if self.series.silences.is_empty() {
            let _ = writeln!(out, "  no silence of {} or longer was recorded", self.series.floor);
            return out;
        }
        let _ = writeln!(out, "  {}\n", basis(&self.series));
        out.push_str(&indented(&table(&self.tested)));
        for remark in remarks(&self.series, &self.tested) {
            let _ = writeln!(out, "  {remark}");
        }
        if self.tested.len() >= FEWEST_BARS {
            let _ = write!(out, "\n{}", indented(&plot(&self.tested)));
            let _ = writeln!(out, "\n  {}", self.advice_text());
            if let Some(line) = self.advised_line() {
                let _ = writeln!(out, "  config: {line}");
            }
        }
        out
    }

    /// The threshold to choose, or why there is none.
    pub fn advice_text(&self) -> String {
        match self.advice() {
            Advice::Choose { tested, reason } => {
                let now = self.series.current.map(|now| format!(" (now {now})")).unwrap_or_default();
                format!("recommended: {}{now}, {reason}", tested.threshold)
            }
            Advice::None(why) => format!("no recommendation: {why}"),
        }
    }

    /// The config line of the threshold to choose.
    pub fn advised_line(&self) -> Option<String> {
        match self.advice() {
            Advice::Choose { tested, .. } => Some(visible(&self.series.config_line(tested.threshold))),
            Advice::None(_) => None,
        }
    }
}

/// "billing: task-queue/job run_tsa, ttl (now 30m)".
pub fn title(series: &Series) -> String {
    let Subject { source, profile, board, kind, measure } = &series.subject;
    let kind = kind.as_deref().map(|kind| format!(" {}", visible(kind))).unwrap_or_default();
    let now = series.current.map(|now| format!(" (now {now})")).unwrap_or_default();
    format!("{}: {}/{}{kind}, {}{now}", visible(source), visible(profile), visible(board), measure.as_str())
}

/// What the test rests on.
pub fn basis(series: &Series) -> String {
    format!(
        "{} silences of {} or longer in {}, a sweep at each of {} polls",
        series.silences.len(),
        series.floor,
        series.length(),
        series.frames.len()
    )
}

/// What has to be said beside the numbers.
pub fn remarks(series: &Series, tested: &[Tested]) -> Vec<String> {
    let mut said = Vec::new();
    for is_this in [
        (|one: &Judgement| matches!(one, Judgement::BelowFloor(_))) as fn(&Judgement) -> bool,
        |one: &Judgement| matches!(one, Judgement::AboveRecovery(_)),
    ] {
        let of_these: Vec<&Tested> = tested.iter().filter(|one| is_this(&one.judgement)).collect();
        if let (Some(first), Some(last)) = (of_these.first(), of_these.last()) {
            let which = match first.threshold == last.threshold {
                true => first.threshold.to_string(),
                false => format!("{} to {}", first.threshold, last.threshold),
            };
            let why = first.judgement.why_not().unwrap_or_default();
            said.push(format!("░ {which} cannot be judged: {why}"));
        }
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
    if let Some(one) = tested.iter().find(|one| one.is_sound() && one.wrongly_at_most() == 0 && one.right > 0)
    {
        said.push(format!(
            "none wrong of {} says only that fewer than {} are",
            one.right,
            share(3.0 / one.right as f64)
        ));
    }
    if series.subject.measure == Measure::SilentAfter {
        said.push(
            "a sweep never takes a claim for a silent heartbeat alone: TAKEN is what would be called stale"
                .into(),
        );
    }
    said
}

fn table(tested: &[Tested]) -> String {
    let headings = [
        "THRESHOLD",
        "TAKEN",
        "WRONGLY",
        "SHARE",
        "UNDECIDED",
        "MISSED",
        "WAIT P50",
        "P95",
        "SAVED P50",
        "P95",
    ];
    let mut rows = vec![headings.map(TableCell::right).to_vec()];
    let span = |span: Option<Span>| span.map_or_else(|| "-".into(), |span| span.to_string());
    for one in tested {
        let sign = if one.is_sound() { " " } else { "░" };
        let decided = one.right + one.wrongly + one.unclear;
        let wrong = match decided {
            0 => "-".into(),
            _ => share(one.wrongly_at_most() as f64 / decided as f64),
        };
        rows.push(
            [
                format!("{sign} {}", one.threshold),
                one.taken().to_string(),
                one.wrongly_text(),
                wrong,
                one.undecided.to_string(),
                one.missed.to_string(),
                span(one.delay_p50),
                span(one.delay_p95),
                span(one.saved_p50),
                span(one.saved_p95),
            ]
            .map(TableCell::right)
            .to_vec(),
        );
    }
    render(&rows)
}

fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 10.0 || percent == 0.0 => format!("{percent:.0} %"),
        percent => format!("{percent:.1} %"),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn threshold_json(series: &Series, one: &Tested) -> Json {
    let Subject { source, profile, board, kind, measure } = &series.subject;
    let millis = |span: Option<Span>| span.map(Span::as_millis);
    json!({
        "source": source, "profile": profile, "board": board, "kind": kind,
        "threshold": measure.as_str(), "threshold_ms": one.threshold.as_millis(),
        "current": series.current == Some(one.threshold),
        "taken": one.taken(), "right": one.right, "wrongly": one.wrongly, "wrongly_at_most": one.wrongly_at_most(),
        "undecided": one.undecided, "missed": one.missed,
        "delay_p50_ms": millis(one.delay_p50), "delay_p95_ms": millis(one.delay_p95),
        "saved_p50_ms": millis(one.saved_p50), "saved_p95_ms": millis(one.saved_p95),
        "judged": one.is_sound(), "why_not": one.judgement.why_not(),
    })
}
