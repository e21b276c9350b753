//! The results of a backtest: a table and a plot for people, JSON lines for programs.

use serde_json::{Value as Json, json};
use std::fmt::Write as _;

use super::json;
use super::table::{TableCell, render};
use crate::domain::backtest::{Advice, BarPlot, Series, Subject, Tested, TestedSeries, percent};
use crate::domain::time::Span;

/// A plot has at least so many thresholds, and these columns and lines.
const FEWEST_BARS: usize = 4;
const PLOT: (usize, usize) = (70, 6);

impl TestedSeries {
    /// One JSON object for each threshold.
    pub fn json(&self) -> String {
        self.tested.iter().map(|one| json::line(&threshold_json(&self.series, one)) + "\n").collect()
    }

    /// The table, what cannot be judged, the plot and the advice.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", self.title());
        if self.series.silences.is_empty() {
            let _ = writeln!(out, "  no silence of {} or longer was recorded", self.series.floor);
            return out;
        }
        let _ = writeln!(out, "  {}\n", self.basis());
        out.push_str(&indented(&table(&self.tested)));
        for remark in self.remarks() {
            let _ = writeln!(out, "  {remark}");
        }
        if self.tested.len() >= FEWEST_BARS {
            let _ = write!(out, "\n{}", indented(&self.plot()));
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

    /// The bars as text.
    pub fn plot(&self) -> String {
        BarPlot::new(&self.tested, PLOT.0, PLOT.1).text()
    }
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
            _ => percent(one.wrongly_at_most() as f64 / decided as f64),
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
        "at_least": series.is_partial, "judged": one.is_sound(), "why_not": one.judgement.why_not(),
    })
}
