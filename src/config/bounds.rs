//! Values that would switch something off without a word: a slice of no rows finds nothing, and a
//! lease of no time cannot be twice over. What a sweep may do is not among them: a brake that holds says
//! so.

use std::fmt::Display;

use super::Config;
use crate::domain::time::Span;
use crate::profile::rules::Limits;

/// A setting that is too small or too large.
struct Absurd {
    /// The table that it stands in; empty at the top of the file.
    table: String,
    key: &'static str,
    what: String,
}

const MILLISECOND: Span = Span::micros(1_000);

/// How far the clocks of workers may be apart. With more, no claim from the future would be noticed.
const MOST_CLOCK_NOISE: Span = Span::minutes(60);

impl Config {
    /// The line and the nature of the first value that makes no sense.
    pub(super) fn expect_sense(&self, text: &str) -> Result<(), (usize, String)> {
        match self.absurd().into_iter().next() {
            Some(Absurd { table, key, what }) => Err((line_of(text, &table, key), what)),
            None => Ok(()),
        }
    }

    fn absurd(&self) -> Vec<Absurd> {
        let top = String::new();
        let mut all = Vec::new();
        at_least(&mut all, &top, "row_limit", Some(self.row_limit), &1);
        at_least(&mut all, &top, "census_slice", Some(self.census_slice), &1);
        at_least(&mut all, &top, "poll_timeout", Some(self.poll_timeout), &MILLISECOND);
        at_least(&mut all, &top, "interval", Some(self.interval), &MILLISECOND);
        if self.clock_noise > MOST_CLOCK_NOISE {
            let what =
                format!("clock_noise = {} is too long; the most is {MOST_CLOCK_NOISE}", self.clock_noise);
            all.push(Absurd { table: top, key: "clock_noise", what });
        }
        self.defaults.add_absurd("defaults", &mut all);
        for (name, source) in &self.source {
            source.limits.add_absurd(&format!("source.{name}.limits"), &mut all);
            for (board, limits) in &source.board {
                limits.add_absurd(&format!("source.{name}.board.{board}"), &mut all);
            }
        }
        all
    }
}

impl Limits {
    fn add_absurd(&self, table: &str, all: &mut Vec<Absurd>) {
        // No warning at all is a wish that makes sense.
        for (key, span) in [
            ("ttl", self.ttl),
            ("lease", self.lease),
            ("silent_after", self.silent_after),
            ("orphan_after", self.orphan_after),
        ] {
            at_least(all, table, key, span, &MILLISECOND);
        }
        for (kind, limits) in &self.kind {
            limits.add_absurd(&format!("{table}.kind.{kind}"), all);
        }
    }
}

fn at_least<T: PartialOrd + Display>(
    all: &mut Vec<Absurd>,
    table: &str,
    key: &'static str,
    value: Option<T>,
    least: &T,
) {
    if let Some(value) = value.filter(|value| value < least) {
        let what = format!("{key} = {value} is too little; the least is {least}");
        all.push(Absurd { table: table.into(), key, what });
    }
}

/// The line of a key, by the table before it.
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
        // The table may be written in another way.
        if line.contains(key) && last == 1 {
            last = number + 1;
        }
    }
    last
}
