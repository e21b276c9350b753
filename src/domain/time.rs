//! Instants and spans of time as the databases store them.
//!
//! A [`Moment`] is a whole number of microseconds since 1970 in UTC, always within the years 1 to
//! 9999, so that it can be printed and subtracted without a second thought. What lies outside
//! that range in a database is not a time but a [`Reading::Bad`].

mod written;
mod zone;

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

use super::value::Value;
pub use zone::{Offset, Zone, ZoneName};

/// An instant, in microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// The start of the year 1.
    pub const EARLIEST: Moment = Moment(-62_135_596_800_000_000);
    /// The last microsecond of the year 9999.
    pub const LATEST: Moment = Moment(253_402_300_799_999_999);

    /// The moment, unless it lies outside the years 1 to 9999.
    pub fn from_micros(micros: i64) -> Option<Moment> {
        let moment = Moment(micros);
        (Moment::EARLIEST..=Moment::LATEST).contains(&moment).then_some(moment)
    }

    pub fn micros(self) -> i64 {
        self.0
    }

    /// Rounded down to a multiple of `tick`: the time as a clock of that resolution shows it.
    pub fn floor(self, tick: Span) -> Moment {
        let tick = tick.0.max(1);
        Moment((self.0.div_euclid(tick)) * tick).max(Moment::EARLIEST)
    }

    /// The moment `span` later, held inside the printable range.
    pub fn plus(self, span: Span) -> Moment {
        Moment(self.0.saturating_add(span.0)).clamp(Moment::EARLIEST, Moment::LATEST)
    }

    /// The moment `span` earlier, held inside the printable range.
    pub fn minus(self, span: Span) -> Moment {
        Moment(self.0.saturating_sub(span.0)).clamp(Moment::EARLIEST, Moment::LATEST)
    }

    /// The time from `earlier` to here; negative if `earlier` is in fact later.
    pub fn since(self, earlier: Moment) -> Span {
        Span(self.0 - earlier.0)
    }

    pub fn rfc3339(self) -> String {
        DateTime::from_timestamp_micros(self.0)
            .map_or_else(|| format!("{}us", self.0), |time| time.to_rfc3339_opts(SecondsFormat::Millis, true))
    }

    /// Reads what people and databases write: RFC 3339, or the same without a zone, taken as UTC.
    pub fn parse(text: &str) -> Option<Moment> {
        Moment::parse_in(text, Zone::Utc)
    }

    /// The same, or a time of day: the last one in UTC at or before `latest`.
    pub fn parse_near(text: &str, latest: Moment) -> Option<Moment> {
        const DAY: i64 = 86_400_000_000;
        let text = text.trim();
        if let Some(moment) = Moment::parse(text) {
            return Some(moment);
        }
        let time = ["%H:%M:%S%.f", "%H:%M"]
            .into_iter()
            .find_map(|form| chrono::NaiveTime::parse_from_str(text.trim_end_matches('Z'), form).ok())?;
        let since = time.signed_duration_since(chrono::NaiveTime::MIN).num_microseconds()?;
        let midnight = latest.0.div_euclid(DAY) * DAY;
        let today = midnight + since;
        Moment::from_micros(if today > latest.0 { today - DAY } else { today })
    }

    /// The same where a time without a zone is meant in this one.
    pub(crate) fn parse_in(text: &str, zone: Zone) -> Option<Moment> {
        written::micros(text.trim(), zone).and_then(Moment::from_micros)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.rfc3339())
    }
}

/// A signed length of time, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(i64);

impl Span {
    pub const ZERO: Span = Span(0);

    pub const fn micros(micros: i64) -> Span {
        Span(micros)
    }

    pub const fn millis(millis: i64) -> Span {
        Span(millis.saturating_mul(1_000))
    }

    pub const fn seconds(seconds: i64) -> Span {
        Span(seconds.saturating_mul(1_000_000))
    }

    pub const fn minutes(minutes: i64) -> Span {
        Span::seconds(minutes.saturating_mul(60))
    }

    pub fn plus(self, more: Span) -> Span {
        Span(self.0.saturating_add(more.0))
    }

    pub fn minus(self, less: Span) -> Span {
        Span(self.0.saturating_sub(less.0))
    }

    pub fn as_micros(self) -> i64 {
        self.0
    }

    pub fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    pub fn as_seconds_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub fn is_positive(self) -> bool {
        self.0 > 0
    }

    pub fn abs(self) -> Span {
        Span(self.0.saturating_abs())
    }

    pub fn times(self, factor: i64) -> Span {
        Span(self.0.saturating_mul(factor))
    }

    pub(crate) fn fifth(self) -> Span {
        Span(self.0 / 5)
    }

    /// `90s`, `30m`, `1h 30m`: the way durations are written in configs and profiles.
    pub fn parse(text: &str) -> Result<Span, String> {
        let duration = humantime::parse_duration(text.trim())
            .map_err(|error| format!("{text:?} is not a duration ({error}); write 90s, 30m or 1h 30m"))?;
        i64::try_from(duration.as_micros())
            .map(Span)
            .map_err(|_| format!("{text:?} is longer than any clock can count"))
    }
}

impl Span {
    /// How far apart things are done: long enough that there is a pause, short enough to be meant.
    pub(crate) fn parse_interval(text: &str) -> Result<Span, String> {
        let span = Span::parse(text)?;
        if (Span::micros(100_000)..=Span::minutes(366 * 24 * 60)).contains(&span) {
            return Ok(span);
        }
        Err(format!("{text:?} is not an interval: write 100ms or longer, and at most 366 days"))
    }

    /// The same for a key of a config.
    pub(crate) fn deserialize_interval<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        Span::parse_interval(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }

    /// As the standard library has it; nothing, if it is negative.
    pub fn duration(self) -> std::time::Duration {
        std::time::Duration::from_micros(u64::try_from(self.0).unwrap_or(0))
    }
}

/// Two units at most, as people say it: `850ms`, `4.2s`, `4m12s`, `2h05m`, `3d04h`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let micros = self.0.unsigned_abs();
        let seconds = micros / 1_000_000;
        match seconds {
            0 => write!(f, "{sign}{}ms", micros / 1_000),
            1..10 if micros % 1_000_000 >= 100_000 => {
                write!(f, "{sign}{seconds}.{}s", micros % 1_000_000 / 100_000)
            }
            1..60 => write!(f, "{sign}{seconds}s"),
            60..3_600 => match seconds % 60 {
                0 => write!(f, "{sign}{}m", seconds / 60),
                rest => write!(f, "{sign}{}m{rest:02}s", seconds / 60),
            },
            3_600..86_400 => match seconds % 3_600 / 60 {
                0 => write!(f, "{sign}{}h", seconds / 3_600),
                rest => write!(f, "{sign}{}h{rest:02}m", seconds / 3_600),
            },
            _ => match seconds % 86_400 / 3_600 {
                0 => write!(f, "{sign}{}d", seconds / 86_400),
                rest => write!(f, "{sign}{}d{rest:02}h", seconds / 86_400),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        let text = String::deserialize(deserializer)?;
        Span::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// What a cell that should hold a time really holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// The system keeps no such time, or this database lacks the column.
    Absent,
    Null,
    /// A value that is no time; the text says what it is.
    Bad(String),
    At(Moment),
}

impl Reading {
    pub fn at(&self) -> Option<Moment> {
        match self {
            Reading::At(moment) => Some(*moment),
            Reading::Absent | Reading::Null | Reading::Bad(_) => None,
        }
    }

    pub fn is_bad(&self) -> bool {
        matches!(self, Reading::Bad(_))
    }
}

/// How a system writes its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    UnixS,
    #[default]
    UnixMs,
    UnixUs,
    UnixNs,
    /// ISO 8601 text, with a zone or in the one that the profile names.
    TextUtc,
    /// PostgreSQL's type; in SQLite, which has none, ISO text or a number of evident size.
    Timestamptz,
    /// The same without a zone: the profile names it.
    Timestamp,
}

impl TimeUnit {
    /// The resolution at which the system's own clock ticks. Comparisons use `now` rounded down
    /// to it: a lease written in whole seconds still holds throughout its last second, because
    /// the system itself, comparing whole seconds, would say so.
    pub fn tick(self) -> Span {
        match self {
            TimeUnit::UnixS | TimeUnit::TextUtc => Span::seconds(1),
            TimeUnit::UnixMs => Span::millis(1),
            TimeUnit::UnixUs | TimeUnit::UnixNs | TimeUnit::Timestamptz | TimeUnit::Timestamp => {
                Span::micros(1)
            }
        }
    }

    /// Whether the database can compare such a column with a number, and so use an index on it.
    pub fn is_number(self) -> bool {
        match self {
            TimeUnit::UnixS | TimeUnit::UnixMs | TimeUnit::UnixUs | TimeUnit::UnixNs => true,
            TimeUnit::TextUtc | TimeUnit::Timestamptz | TimeUnit::Timestamp => false,
        }
    }

    /// Units per second; the text units are read into microseconds.
    pub fn per_second(self) -> i64 {
        match self {
            TimeUnit::UnixS => 1,
            TimeUnit::UnixMs => 1_000,
            TimeUnit::UnixNs => 1_000_000_000,
            TimeUnit::UnixUs | TimeUnit::TextUtc | TimeUnit::Timestamptz | TimeUnit::Timestamp => 1_000_000,
        }
    }

    /// Reads one cell; a text without a zone as UTC.
    pub fn read(self, value: &Value) -> Reading {
        self.read_in(value, Zone::Utc)
    }

    /// Reads one cell. Total: whatever the cell holds, the answer is a [`Reading`].
    pub fn read_in(self, value: &Value, zone: Zone) -> Reading {
        let moment = match (value, self) {
            (Value::Null, _) => return Reading::Null,
            (Value::Int(number), TimeUnit::Timestamptz | TimeUnit::Timestamp) => {
                by_magnitude(*number as f64).and_then(|unit| unit.int(*number))
            }
            (Value::Real(number), TimeUnit::Timestamptz | TimeUnit::Timestamp) => {
                by_magnitude(*number).and_then(|unit| unit.real(*number))
            }
            (Value::Int(number), unit) if unit.is_number() => unit.int(*number),
            (Value::Real(number), unit) if unit.is_number() => unit.real(*number),
            (Value::Text(text), unit) if !unit.is_number() => Moment::parse_in(text, zone),
            _ => None,
        };
        match moment {
            Some(moment) => Reading::At(moment),
            None => Reading::Bad(value.describe()),
        }
    }

    /// The instant of a text that names no zone: the only kind whose meaning depends on one.
    pub fn read_naive(self, value: &Value, zone: Zone) -> Option<Moment> {
        match value {
            Value::Text(text) if !self.is_number() && written::is_naive(text.trim()) => {
                Moment::parse_in(text, zone)
            }
            _ => None,
        }
    }

    fn int(self, number: i64) -> Option<Moment> {
        let micros = i128::from(number) * 1_000_000;
        let micros = micros.div_euclid(i128::from(self.per_second()));
        i64::try_from(micros).ok().and_then(Moment::from_micros)
    }

    fn real(self, number: f64) -> Option<Moment> {
        let micros = (number * (1e6 / self.per_second() as f64)).floor();
        // Beyond this the cast below would saturate and hide the overflow.
        (micros.abs() < 9e18).then_some(micros as i64).and_then(Moment::from_micros)
    }
}

/// The unit of a bare number in a column that should be a timestamp: today's instants differ by
/// three orders of magnitude from unit to unit, so the size tells. Small numbers tell nothing.
fn by_magnitude(number: f64) -> Option<TimeUnit> {
    match number {
        n if (1e8..1e11).contains(&n) => Some(TimeUnit::UnixS),
        n if (1e11..1e14).contains(&n) => Some(TimeUnit::UnixMs),
        n if (1e14..1e17).contains(&n) => Some(TimeUnit::UnixUs),
        n if (1e17..9e18).contains(&n) => Some(TimeUnit::UnixNs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_unit() {
        let expected = Reading::At(Moment(1_700_000_000_000_000));
        assert_eq!(TimeUnit::UnixS.read(&Value::Int(1_700_000_000)), expected);
        assert_eq!(TimeUnit::UnixMs.read(&Value::Int(1_700_000_000_000)), expected);
        assert_eq!(TimeUnit::UnixUs.read(&Value::Int(1_700_000_000_000_000)), expected);
        assert_eq!(TimeUnit::UnixNs.read(&Value::Int(1_700_000_000_000_000_000)), expected);
        assert_eq!(TimeUnit::UnixS.read(&Value::Real(1_700_000_000.0)), expected);
        for text in [
            "2023-11-14 22:13:20",
            "2023-11-14T22:13:20",
            "2023-11-14T22:13:20Z",
            "2023-11-14T22:13:20.000Z",
            "2023-11-14 22:13:20+00",
            "2023-11-15T00:13:20+02:00",
            "2023-11-14 22:13:20.000000+00:00",
        ] {
            assert_eq!(TimeUnit::TextUtc.read(&Value::Text(text.into())), expected, "{text}");
            assert_eq!(TimeUnit::Timestamptz.read(&Value::Text(text.into())), expected, "{text}");
        }
        for number in [1_700_000_000, 1_700_000_000_000, 1_700_000_000_000_000] {
            assert_eq!(TimeUnit::Timestamp.read(&Value::Int(number)), expected);
        }
    }

    #[test]
    fn a_time_of_day_is_the_last_one_before() {
        let latest = Moment::parse("2026-11-15T03:24:41Z").unwrap();
        let near = |text: &str| Moment::parse_near(text, latest).map(Moment::rfc3339);
        assert_eq!(near("03:12").as_deref(), Some("2026-11-15T03:12:00.000Z"));
        assert_eq!(near("03:24:41").as_deref(), Some("2026-11-15T03:24:41.000Z"));
        assert_eq!(near("23:00").as_deref(), Some("2026-11-14T23:00:00.000Z"));
        assert_eq!(near("2026-11-10 01:00").as_deref(), Some("2026-11-10T01:00:00.000Z"));
        assert_eq!(near("25:00"), None);
    }

    #[test]
    fn what_is_no_time_is_said_and_never_panics() {
        assert_eq!(TimeUnit::UnixMs.read(&Value::Null), Reading::Null);
        for value in [
            Value::Int(i64::MAX),
            Value::Int(i64::MIN),
            Value::Real(f64::INFINITY),
            Value::Text("yesterday".into()),
            Value::Bytes(vec![0xff]),
        ] {
            assert!(TimeUnit::UnixMs.read(&value).is_bad(), "{value:?}");
            assert!(TimeUnit::UnixS.read(&value).is_bad(), "{value:?}");
            assert!(TimeUnit::TextUtc.read(&value).is_bad(), "{value:?}");
            assert!(TimeUnit::Timestamptz.read(&value).is_bad(), "{value:?}");
        }
        // Every 64-bit number of nanoseconds is a date between 1677 and 2262.
        assert!(TimeUnit::UnixNs.read(&Value::Int(i64::MAX)).at().is_some());
    }

    #[test]
    fn spans_read_and_print_as_people_write_them() {
        for (text, shown) in [
            ("850ms", "850ms"),
            ("4200ms", "4.2s"),
            ("90s", "1m30s"),
            ("30m", "30m"),
            ("1h 5m", "1h05m"),
            ("76h", "3d04h"),
        ] {
            assert_eq!(Span::parse(text).unwrap().to_string(), shown);
        }
        assert_eq!(Span::seconds(-75).to_string(), "-1m15s");
        assert!(Span::parse("soon").unwrap_err().contains("write 90s"));
    }
}
