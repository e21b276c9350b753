//! Times as people and databases write them.

use chrono::{DateTime, NaiveDate, NaiveDateTime};

use super::Zone;

/// RFC 3339, or the same without a zone, taken in `zone`; in microseconds since 1970.
pub(super) fn micros(text: &str, zone: Zone) -> Option<i64> {
    if let Some(time) = of_a_database(text) {
        let zone = if without_utc(text).is_some() { Zone::Utc } else { zone };
        return Some(zone.micros(time));
    }
    DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f%#z"))
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%#z"))
        .map(|time| time.timestamp_micros())
        .or_else(|_| naive(text).map(|time| zone.micros(time)))
        .ok()
}

/// Whether a text is a time that names no zone.
pub(super) fn is_naive(text: &str) -> bool {
    match of_a_database(text) {
        Some(_) => without_utc(text).is_none(),
        None => naive(text).is_ok(),
    }
}

/// The text of a time in UTC before its zone.
fn without_utc(text: &str) -> Option<&str> {
    text.strip_suffix("+00").or_else(|| text.strip_suffix('Z'))
}

/// The forms in which databases and programs write nearly all of their times, `2026-11-16 12:34:56.789012+00` and
/// `2026-11-16T12:34:56.789Z`, read without a search for the form: there may be a million of them.
fn of_a_database(text: &str) -> Option<NaiveDateTime> {
    let text = without_utc(text).unwrap_or(text);
    let (time, fraction) = text.split_at_checked(19)?;
    let number = |from: usize, to: usize| -> Option<u32> {
        let digits = &time.as_bytes()[from..to];
        let all = digits.iter().all(u8::is_ascii_digit);
        all.then(|| digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
    };
    let marks = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    let is_between = |mark: u8| mark == b' ' || mark == b'T';
    if !marks.iter().all(|(at, mark)| time.as_bytes()[*at] == *mark) || !is_between(time.as_bytes()[10]) {
        return None;
    }
    let micros = match fraction.strip_prefix('.') {
        None if fraction.is_empty() => 0,
        Some(digits) if (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse::<u32>().ok()? * 10_u32.pow(6 - u32::try_from(digits.len()).ok()?)
        }
        _ => return None,
    };
    NaiveDate::from_ymd_opt(i32::try_from(number(0, 4)?).ok()?, number(5, 7)?, number(8, 10)?)?
        .and_hms_micro_opt(number(11, 13)?, number(14, 16)?, number(17, 19)?, micros)
}

fn naive(text: &str) -> Result<NaiveDateTime, chrono::ParseError> {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f")
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f"))
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_way_to_read_a_time_reads_what_the_long_one_does() {
        for text in [
            "2026-11-16 12:34:56",
            "2026-11-16 12:34:56+00",
            "2026-11-16 12:34:56.7+00",
            "2026-11-16 12:34:56.789012",
            "0001-01-01 00:00:00",
            "9999-12-31 23:59:59.999999+00",
            "2024-02-29 00:00:00",
            "2026-11-16T12:34:56",
            "2026-11-16T12:34:56.789",
        ] {
            let quick = of_a_database(text).expect(text);
            assert_eq!(naive(text.trim_end_matches("+00")), Ok(quick), "{text}");
        }
        for text in ["2026-11-16T12:34:56Z", "2026-11-16T12:34:56.789Z", "1969-12-31T23:59:59.999999Z"] {
            let quick = of_a_database(text).expect(text);
            let long = DateTime::parse_from_rfc3339(text).map(|time| time.naive_utc());
            assert_eq!(long, Ok(quick), "{text}");
            assert!(!is_naive(text) && is_naive(text.trim_end_matches('Z')), "{text}");
        }
        for text in [
            "",
            "+00",
            "2026-11-16",
            "2026-02-30 00:00:00",
            "2026-11-16 24:00:00",
            "2026-11-16 12:34:5x",
            "2026-11-16 12:34:56.",
            "2026-11-16 12:34:56.1234567",
            "2026-11-16 12:34:56+0000",
            "2026-11-16 12:34:56.+1",
            "2026-11-16T12:34:60Z",
            "2026-11-16t12:34:56z",
            "2026-11-16_12:34:56",
            "2026-11-16 12:34:5\u{e9}",
            "+026-11-16 12:34:56",
        ] {
            assert_eq!(of_a_database(text), None, "{text}");
        }
    }
}
