//! Named values as PostgreSQL takes them: `$1`, sent as text and cast where it stands.

use std::borrow::Cow;

use super::cell::sent;
use super::schema::literal;
use crate::domain::time::{Moment, Span, TimeUnit};
use crate::postgres::link::Step;
use crate::store::driver::TimeForm;
pub(super) use crate::store::named_params::NamedParams;

impl NamedParams {
    /// The statement with numbered parameters, and their values.
    pub(in crate::store::postgres) fn put_into(&self, sql: &str) -> Put {
        let (sql, values) = self.numbered(sql, |number| format!("${number}::text"));
        Put { sql, values: values.into_iter().map(|value| sent(value).map(Cow::into_owned)).collect() }
    }

    /// An instant as a column of a form holds it.
    pub(in crate::store::postgres) fn add_time(&mut self, name: &str, form: TimeForm<'_>, moment: Moment) {
        let unit = form.unit;
        match unit {
            TimeUnit::UnixS | TimeUnit::UnixMs | TimeUnit::UnixUs | TimeUnit::UnixNs => {
                let scaled = i128::from(moment.micros()) * i128::from(unit.per_second()) / 1_000_000;
                self.add(name, "bigint", Some(scaled.to_string()));
            }
            TimeUnit::TextUtc => {
                self.add(name, "text", Some(form.own_zone().text(moment)));
            }
            TimeUnit::Timestamptz => self.add(name, "timestamptz", Some(stamp(moment))),
            TimeUnit::Timestamp => {
                let zone = form.zone.map_or("UTC", |zone| &zone.sql);
                let sql = format!("(({{}})::timestamptz AT TIME ZONE {})", literal(zone));
                self.add_as(name, &sql, Some(stamp(moment)));
            }
        }
    }

    /// A length of time as it is added to columns of `unit`.
    pub(in crate::store::postgres) fn add_span(&mut self, name: &str, unit: TimeUnit, span: Span) {
        if unit.is_number() {
            let scaled = i128::from(span.as_micros()) * i128::from(unit.per_second()) / 1_000_000;
            self.add(name, "bigint", Some(scaled.to_string()));
        } else {
            self.add(name, "interval", Some(format!("{} microseconds", span.as_micros())));
        }
    }
}

/// A statement that can be sent.
#[derive(Debug, Clone)]
pub(super) struct Put {
    pub sql: String,
    pub values: Vec<Option<String>>,
}

impl Put {
    /// As one of several statements that are sent together.
    pub(super) fn step(self) -> Step {
        Step::Query(self.sql, self.values)
    }

    pub(super) fn values(&self) -> Vec<Option<&str>> {
        self.values.iter().map(Option::as_deref).collect()
    }
}

/// An instant as PostgreSQL writes it, to the microsecond.
pub(super) fn stamp(moment: Moment) -> String {
    let time = chrono::DateTime::from_timestamp_micros(moment.micros()).unwrap_or_default();
    time.format("%Y-%m-%d %H:%M:%S%.6f+00").to_string()
}

/// An array of texts as PostgreSQL reads one.
pub(super) fn array(texts: impl IntoIterator<Item = Option<impl AsRef<str>>>) -> String {
    let mut all = String::from("{");
    for (at, text) in texts.into_iter().enumerate() {
        if at > 0 {
            all.push(',');
        }
        match text {
            None => all.push_str("NULL"),
            Some(text) => {
                all.push('"');
                let mut rest = text.as_ref();
                while let Some(at) = rest.find(['"', '\\']) {
                    all.push_str(&rest[..at]);
                    all.push('\\');
                    all.push_str(&rest[at..=at]);
                    rest = &rest[at + 1..];
                }
                all.push_str(rest);
                all.push('"');
            }
        }
    }
    all.push('}');
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_survives_quotes_and_commas() {
        assert_eq!(array([Some("a"), None, Some("b\"c\\d,e{}")]), "{\"a\",NULL,\"b\\\"c\\\\d,e{}\"}");
    }
}
