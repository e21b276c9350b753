//! A stretch of time, written as people write one.

use crate::domain::time::{Moment, Span};

/// A time: so long ago, at a time of day, or a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeriodTime {
    Ago(Span),
    /// The last time that a clock showed this: microseconds of the day, in UTC.
    TimeOfDay(i64),
    At(Moment),
}

const DAY: i64 = 86_400 * 1_000_000;

impl PeriodTime {
    /// `2h`, `03:17`, `03:17:35`, `2026-11-18`, `2026-11-18T03:17:35Z`.
    pub fn parse(text: &str) -> Result<PeriodTime, String> {
        let text = text.trim();
        if let Ok(span) = Span::parse(text) {
            return Ok(PeriodTime::Ago(span));
        }
        // A date is its midnight; a time of day is looked for on the first day of all.
        let written = [
            (text.to_owned(), false),
            (format!("{text}T00:00:00Z"), false),
            (format!("1970-01-01T{text}Z"), true),
            (format!("1970-01-01T{text}:00Z"), true),
        ];
        for (written, is_time_of_day) in written {
            match Moment::parse(&written) {
                Some(at) if is_time_of_day => return Ok(PeriodTime::TimeOfDay(at.micros())),
                Some(at) => return Ok(PeriodTime::At(at)),
                None => {}
            }
        }
        Err(format!("{text:?} is not a time; write 2h, 03:17, 2026-11-18 or 2026-11-18T03:17:35Z"))
    }

    pub fn moment(self, now: Moment) -> Moment {
        match self {
            PeriodTime::Ago(span) => now.minus(span),
            PeriodTime::At(at) => at,
            PeriodTime::TimeOfDay(micros) => {
                let today = now.floor(Span::micros(DAY)).plus(Span::micros(micros));
                if today <= now { today } else { today.minus(Span::micros(DAY)) }
            }
        }
    }
}

/// From one moment to another, both included; what is missing is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Period {
    pub since: Option<Moment>,
    pub until: Option<Moment>,
}

impl Period {
    pub fn contains(&self, at: Moment) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at <= until)
    }

    /// The same, longer at both ends.
    pub fn widened(&self, by: Span) -> Period {
        Period {
            since: self.since.map(|since| since.minus(by)),
            until: self.until.map(|until| until.plus(by)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let now = Moment::parse("2026-11-18T03:00:00Z").expect("a time");
        let read = |text| PeriodTime::parse(text).map(|when| when.moment(now).rfc3339());
        assert_eq!(read("2h").as_deref(), Ok("2026-11-18T01:00:00.000Z"));
        assert_eq!(read("02:30").as_deref(), Ok("2026-11-18T02:30:00.000Z"));
        assert_eq!(read("03:17:35").as_deref(), Ok("2026-11-17T03:17:35.000Z"));
        assert_eq!(read("2026-11-16").as_deref(), Ok("2026-11-16T00:00:00.000Z"));
        assert_eq!(read("2026-11-16T01:02:03+01:00").as_deref(), Ok("2026-11-16T00:02:03.000Z"));
        for wrong in ["", "yesterday", "25:00", "2026-13-01", "-2h"] {
            assert!(PeriodTime::parse(wrong).is_err(), "{wrong}");
        }
    }
}
