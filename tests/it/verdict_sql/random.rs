//! Random cells: instants at and around every boundary, and whatever else a column may hold.

use claimtop::domain::time::Moment;
use rusqlite::types::Value;

use crate::support::NOW;
use crate::support::engine::Engine;

/// A small generator of our own, so that a seed in a failure message is all it takes.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    fn word<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq)]
pub enum Column {
    Key,
    Milliseconds,
    Seconds,
    Nanoseconds,
    /// Seconds with a fraction.
    Fractions,
    /// The same, to any number of digits.
    Digits,
    /// An instant: text in SQLite.
    Instant,
    /// An instant without its zone.
    Naive,
    Timeout,
    /// A timeout as an interval, which only PostgreSQL has.
    Interval,
    Holder,
    One(&'static [&'static str]),
    /// The same where PostgreSQL has a list of its own for a column's words.
    Enumerated(&'static [&'static str]),
    Json(&'static [&'static str]),
    Flag,
    Number,
}

impl Column {
    /// Its type in PostgreSQL.
    pub fn declared(self) -> &'static str {
        match self {
            Column::Key | Column::Holder | Column::One(_) => "text",
            Column::Milliseconds | Column::Seconds | Column::Nanoseconds | Column::Number => "bigint",
            Column::Fractions => "double precision",
            Column::Digits => "numeric",
            Column::Instant => "timestamptz",
            Column::Naive => "timestamp(6)",
            Column::Timeout => "integer",
            Column::Interval => "interval",
            Column::Enumerated(_) => "word",
            Column::Json(_) => "jsonb",
            Column::Flag => "boolean",
        }
    }
}

/// Distances from now, in seconds, at which some verdict of some profile turns.
const TURNS: [i64; 22] = [
    -7200, -3600, -1800, -900, -660, -600, -599, -360, -301, -300, -299, -240, -61, -60, -30, -2, 0, 2, 15,
    60, 300, 1800,
];

/// Names that try to be something else.
const HOSTILE: [&str; 8] = [
    "",
    " ",
    "'; DROP TABLE tasks; --",
    "\u{1b}[2J",
    "\u{202e}reversed",
    "a,b{c}\"d\\",
    "$1 :now ?1",
    "NULL",
];

fn moment(random: &mut Random) -> i64 {
    let nudge = [-1_000, -1, 0, 0, 1, 999, 1_000, 2_001];
    NOW + random.pick(&TURNS) * 1_000 + random.pick(&nudge)
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// What SQLite lets into any column.
fn rot(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Null,
        1 => text("rubbish"),
        2 => Value::Blob(vec![0xff, 0xfe]),
        3 => Value::Integer(i64::MIN),
        4 => Value::Integer(i64::MAX),
        5 => text(""),
        6 => Value::Real(1.5),
        _ => Value::Integer(-1),
    }
}

/// What PostgreSQL lets into a column of this type.
fn extreme(random: &mut Random, column: Column) -> Value {
    const INSTANTS: [&str; 9] = [
        "infinity",
        "-infinity",
        "0001-01-01",
        "0044-03-15 BC",
        "4713-01-01 BC",
        "9999-12-31 23:59:59.999999",
        "10000-01-01",
        "294276-12-31",
        "1970-01-01",
    ];
    const REALS: [&str; 8] = ["NaN", "Infinity", "-Infinity", "1e300", "-1e300", "0", "1e-300", "-1.5"];
    const DIGITS: [&str; 5] = ["NaN", "1e100", "-1e100", "0", "1794744000.123456789012345"];
    const WHOLE: [&str; 5] = ["-9223372036854775808", "9223372036854775807", "0", "-1", "253402300800"];
    const TIMEOUTS: [&str; 4] = ["-2147483648", "2147483647", "-1", "0"];
    const INTERVALS: [&str; 5] = ["-1 day", "178000000 years", "1 mon", "0.0000004 seconds", "101 years"];
    if random.chance(4) {
        return Value::Null;
    }
    text(match column {
        Column::Instant | Column::Naive => random.word(&INSTANTS),
        Column::Fractions => random.word(&REALS),
        Column::Digits => random.word(&DIGITS),
        Column::Timeout => random.word(&TIMEOUTS),
        Column::Interval => random.word(&INTERVALS),
        _ => random.word(&WHOLE),
    })
}

/// A cell of row number `row`.
pub fn cell(random: &mut Random, engine: Engine, column: Column, row: u64) -> Value {
    let at = moment(random);
    let micros = random.below(1_000) as i64;
    let spoil = random.chance(24);
    let written = |form: u64| {
        let moment = Moment::from_micros(at * 1_000).expect("a moment").rfc3339();
        Value::Text(match form {
            0 => moment,
            1 => moment.replace('T', " ").replace('Z', ""),
            2 => moment.replace('Z', "+00:00"),
            _ => moment[..19].replace('T', " "),
        })
    };
    let can_rot = !matches!(
        column,
        Column::Key
            | Column::Holder
            | Column::One(_)
            | Column::Enumerated(_)
            | Column::Json(_)
            | Column::Flag
            | Column::Number
    );
    if spoil && can_rot {
        return match engine {
            Engine::Sqlite => rot(random),
            Engine::Postgres => extreme(random, column),
        };
    }
    match column {
        Column::Key => Value::Text(format!("key-{row}")),
        Column::Milliseconds => Value::Integer(at),
        Column::Seconds => Value::Integer(at / 1_000),
        Column::Nanoseconds => Value::Integer(at * 1_000_000 + random.below(1_000_000) as i64),
        Column::Fractions => Value::Real(at as f64 / 1_000.0),
        Column::Digits => Value::Text(format!("{}.{:03}{micros:03}", at / 1_000, at % 1_000)),
        // A text without its zone would be another instant in another session.
        Column::Instant if engine == Engine::Postgres => written(if random.chance(2) { 0 } else { 2 }),
        Column::Naive if engine == Engine::Postgres => written(1),
        Column::Instant | Column::Naive => written(random.below(4)),
        Column::Timeout => Value::Integer(*random.pick(&[0, 30, 60, 300, 3_600])),
        Column::Interval => text(random.word(&["0", "30 seconds", "5 minutes", "0.25 seconds", "01:00:00"])),
        Column::Holder if random.chance(12) => Value::Null,
        Column::Holder if random.chance(12) => text(random.word(&HOSTILE)),
        Column::Holder if random.chance(40) => Value::Text("long ".repeat(2_000)),
        Column::Holder => Value::Text(format!("holder-{}", random.below(6))),
        Column::One(words) | Column::Enumerated(words) | Column::Json(words) => text(random.word(words)),
        Column::Flag => Value::Integer(i64::from(random.chance(3))),
        Column::Number => Value::Integer(random.below(12) as i64),
    }
}
