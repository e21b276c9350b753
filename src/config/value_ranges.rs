//! Values that would silently disable something: a slice of no rows finds nothing, and a lease of no time cannot be
//! twice over. The limits of a sweep are not checked here: a brake that holds is reported.

use std::fmt::Display;

use super::Config;
use crate::domain::time::Span;
use crate::profile::rules::ThresholdSettings;

/// A setting that is too small or too large.
struct OutOfRange {
    /// The table that contains it; empty at the top of the file.
    table: String,
    key: &'static str,
    what: String,
}

const MILLISECOND: Span = Span::micros(1_000);

/// The largest difference between the clocks of workers. With more, no claim from the future would be noticed.
const MOST_CLOCK_NOISE: Span = Span::minutes(60);

impl Config {
    /// The line and the description of the first value that is out of range.
    pub(super) fn check_ranges(&self, text: &str) -> Result<(), (usize, String)> {
        match self.out_of_range().into_iter().next() {
            Some(OutOfRange { table, key, what }) => Err((line_of(text, &table, key), what)),
            None => Ok(()),
        }
    }

    fn out_of_range(&self) -> Vec<OutOfRange> {
        let top = String::new();
        let mut all = Vec::new();
        at_least(&mut all, &top, "row_limit", Some(self.row_limit), &1);
        at_least(&mut all, &top, "census_slice", Some(self.census_slice), &1);
        at_least(&mut all, &top, "poll_timeout", Some(self.poll_timeout), &MILLISECOND);
        at_least(&mut all, &top, "interval", Some(self.interval), &MILLISECOND);
        if self.clock_noise > MOST_CLOCK_NOISE {
            let what =
                format!("clock_noise = {} is too long; the most is {MOST_CLOCK_NOISE}", self.clock_noise);
            all.push(OutOfRange { table: top, key: "clock_noise", what });
        }
        self.defaults.add_out_of_range("defaults", &mut all);
        for (name, source) in &self.source {
            source.limits.add_out_of_range(&format!("source.{name}.limits"), &mut all);
            for (board, limits) in &source.board {
                limits.add_out_of_range(&format!("source.{name}.board.{board}"), &mut all);
            }
        }
        all
    }
}

impl ThresholdSettings {
    fn add_out_of_range(&self, table: &str, all: &mut Vec<OutOfRange>) {
        // Zero is valid here: no warning at all.
        for (key, span) in [
            ("ttl", self.ttl),
            ("lease", self.lease),
            ("silent_after", self.silent_after),
            ("orphan_after", self.orphan_after),
        ] {
            at_least(all, table, key, span, &MILLISECOND);
        }
        for (kind, limits) in &self.kind {
            limits.add_out_of_range(&format!("{table}.kind.{kind}"), all);
        }
    }
}

fn at_least<T: PartialOrd + Display>(
    all: &mut Vec<OutOfRange>,
    table: &str,
    key: &'static str,
    value: Option<T>,
    least: &T,
) {
    if let Some(value) = value.filter(|value| value < least) {
        let what = format!("{key} = {value} is too little; the least is {least}");
        all.push(OutOfRange { table: table.into(), key, what });
    }
}

/// The line of a key in its table.
fn line_of(text: &str, table: &str, key: &str) -> usize {
    let mut here = String::new();
    let mut last = 1;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            here = header.split(']').next().unwrap_or_default().replace(['"', '\'', ' '], "");
        }
        let is_key = line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='));
        if is_key && here == table.replace(' ', "") {
            return number + 1;
        }
        // The table may be written in another form.
        if line.contains(key) && last == 1 {
            last = number + 1;
        }
    }
    last
}
