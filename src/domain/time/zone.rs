//! The zone of times that are written without one.
//!
//! What this host's clocks show, chrono looks up in the system's tables of zones: a constant as far as
//! the rest of the domain is concerned.

use chrono::{Local, MappedLocalTime, NaiveDateTime, TimeDelta, TimeZone};
use serde::{Deserialize, Deserializer};
use std::fmt;

use super::{Moment, Span};

/// Whose zone a time without a zone is in, as a profile or a config says it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ZoneName {
    /// The application writes UTC.
    #[default]
    Utc,
    /// The database stamps it: PostgreSQL in its `TimeZone`, SQLite in UTC.
    Server,
    /// The application writes the local time of this host, with its summer time.
    Host,
    /// A fixed distance from UTC.
    Offset(Offset),
    /// A name that PostgreSQL knows, such as `Europe/Berlin`.
    Named(String),
}

impl ZoneName {
    pub fn parse(text: &str) -> Result<ZoneName, String> {
        let text = text.trim();
        match text.to_ascii_lowercase().as_str() {
            "" => {
                Err("a zone is empty; write utc, server, host, +02:00 or a name such as Europe/Berlin".into())
            }
            "utc" | "z" | "etc/utc" | "gmt" => Ok(ZoneName::Utc),
            "server" => Ok(ZoneName::Server),
            "host" => Ok(ZoneName::Host),
            _ if text.starts_with(['+', '-']) => Offset::parse(text).map(ZoneName::Offset),
            _ => Ok(ZoneName::Named(text.into())),
        }
    }
}

impl fmt::Display for ZoneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ZoneName::Utc => f.pad("utc"),
            ZoneName::Server => f.pad("server"),
            ZoneName::Host => f.pad("host"),
            ZoneName::Offset(offset) => offset.fmt(f),
            ZoneName::Named(name) => f.pad(name),
        }
    }
}

impl<'de> Deserialize<'de> for ZoneName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ZoneName, D::Error> {
        let text = String::deserialize(deserializer)?;
        ZoneName::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// A distance from UTC in minutes; east of Greenwich it is positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Offset(i16);

impl Offset {
    /// `+02:00`, `-0330`, `+5`.
    pub fn parse(text: &str) -> Result<Offset, String> {
        let wrong = || format!("{text:?} is not an offset from UTC; write +02:00 or -03:30");
        let (sign, digits) = match text.split_at_checked(1) {
            Some(("+", digits)) => (1, digits),
            Some(("-", digits)) => (-1, digits),
            _ => return Err(wrong()),
        };
        let (hours, minutes) = match digits.split_once(':') {
            Some(parts) => parts,
            None if digits.len() == 4 => digits.split_at_checked(2).ok_or_else(wrong)?,
            None => (digits, "0"),
        };
        let number = |text: &str| {
            let plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| text.parse::<i16>().ok()).flatten()
        };
        match (number(hours), number(minutes)) {
            (Some(hours @ 0..=15), Some(minutes @ 0..=59)) => Ok(Offset(sign * (hours * 60 + minutes))),
            _ => Err(wrong()),
        }
    }

    pub fn of_minutes(minutes: i16) -> Offset {
        Offset(minutes)
    }

    pub fn minutes(self) -> i16 {
        self.0
    }

    pub fn span(self) -> Span {
        Span::minutes(self.0.into())
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { '-' } else { '+' };
        let minutes = self.0.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// A zone in which this program itself reads and writes texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Zone {
    #[default]
    Utc,
    Offset(Offset),
    /// The zone of this host, with its summer time.
    Host,
}

impl Zone {
    /// The instant that clocks in this zone show so, in microseconds.
    ///
    /// When clocks are set back an hour comes twice, and the later one is meant: nothing then looks
    /// older than it is. When they are set forward, an hour that never was is read by the clock
    /// before the change.
    pub fn micros(self, shown: NaiveDateTime) -> i64 {
        let as_utc = shown.and_utc().timestamp_micros();
        match self {
            Zone::Utc => as_utc,
            Zone::Offset(offset) => as_utc - offset.span().as_micros(),
            Zone::Host => on_this_host(shown).unwrap_or_else(|| {
                let gap = TimeDelta::hours(3);
                let before = shown.checked_sub_signed(gap).and_then(on_this_host);
                before.map_or(as_utc, |time| time + gap.num_microseconds().unwrap_or_default())
            }),
        }
    }

    /// An instant as SQLite's own `datetime()` writes it, in this zone.
    pub fn text(self, at: Moment) -> String {
        self.shown(at).format("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// What clocks in this zone show at an instant.
    pub fn shown(self, at: Moment) -> NaiveDateTime {
        let utc = |at: Moment| chrono::DateTime::from_timestamp_micros(at.micros()).unwrap_or_default();
        match self {
            Zone::Utc => utc(at).naive_utc(),
            Zone::Offset(offset) => utc(at.plus(offset.span())).naive_utc(),
            Zone::Host => utc(at).with_timezone(&Local).naive_local(),
        }
    }
}

fn on_this_host(shown: NaiveDateTime) -> Option<i64> {
    match Local.from_local_datetime(&shown) {
        MappedLocalTime::Single(time) => Some(time.timestamp_micros()),
        // chrono does not always have them in this order.
        MappedLocalTime::Ambiguous(one, other) => Some(one.timestamp_micros().max(other.timestamp_micros())),
        MappedLocalTime::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_read_and_printed_as_people_write_them() {
        for (text, shown) in [
            ("utc", "utc"),
            ("UTC", "utc"),
            ("Server", "server"),
            ("+02:00", "+02:00"),
            ("-0330", "-03:30"),
            ("+5", "+05:00"),
            ("+05:45", "+05:45"),
            ("America/St_Johns", "America/St_Johns"),
        ] {
            assert_eq!(ZoneName::parse(text).map(|zone| zone.to_string()), Ok(shown.to_owned()));
        }
        for text in ["", "+", "+25:00", "+2:7:1", "-", "+02:60", "+\u{e9}2", "-+2"] {
            assert!(ZoneName::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_offset_is_subtracted_in_reading_and_added_in_writing() {
        let Ok(ZoneName::Offset(offset)) = ZoneName::parse("+05:30") else { panic!("an offset") };
        let at = Moment::parse("2026-11-15 06:30:00").unwrap();
        let shown = Zone::Offset(offset).shown(at);
        assert_eq!(shown.to_string(), "2026-11-15 12:00:00");
        assert_eq!(Zone::Offset(offset).micros(shown), at.micros());
    }
}
