//! What a column holds, from its declaration and the values that were seen in it.

use super::sample::{SampleColumn, TableSample};
use super::words::Words;
use crate::domain::time::{Moment, Reading, Span, TimeUnit};
use crate::domain::value::Value;
use crate::profile::format::Engine;

/// What kind of values a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Time(TimeUnit),
    /// PostgreSQL's type for a length of time.
    Interval,
    Flag,
    Number,
    Text,
    /// An array or JSON: several values in one.
    List,
    Other,
}

/// One column of a table.
#[derive(Debug, Clone)]
pub struct DraftColumn<'a> {
    pub at: usize,
    pub name: &'a str,
    pub declared: &'a str,
    pub words: Words,
    pub class: Class,
    values: Vec<&'a Value>,
}

/// Times this far from now are numbers of another kind.
const FAR: Span = Span::minutes(25 * 366 * 24 * 60);

impl<'a> DraftColumn<'a> {
    pub fn all(table: &'a TableSample, engine: Engine, now: Moment) -> Vec<DraftColumn<'a>> {
        let of = |(at, column): (usize, &'a SampleColumn)| {
            let values: Vec<&Value> = table.rows.iter().filter_map(|row| row.get(at)).collect();
            let words = Words::of(&column.name);
            let class = class(column, &words, &values, engine, now);
            DraftColumn { at, name: &column.name, declared: &column.declared, words, class, values }
        };
        table.columns.iter().enumerate().map(of).collect()
    }

    pub fn unit(&self) -> Option<TimeUnit> {
        match self.class {
            Class::Time(unit) => Some(unit),
            _ => None,
        }
    }

    pub fn is_time(&self) -> bool {
        self.unit().is_some()
    }

    /// Whether it is declared as a number, also where it holds a flag.
    pub fn is_number(&self) -> bool {
        self.declared.to_ascii_lowercase().contains("int") && !is_declared_flag(self.declared)
    }

    /// The first values that are not NULL, without repetitions.
    pub fn examples(&self, most: usize) -> Vec<&'a Value> {
        let mut found: Vec<&Value> = Vec::new();
        for value in self.values.iter().filter(|value| is_set(value)) {
            if found.len() < most && !found.contains(value) {
                found.push(value);
            }
        }
        found
    }

    /// The instant in a row.
    pub fn instant(&self, row: &[Value]) -> Option<Moment> {
        match self.unit()?.read(row.get(self.at)?) {
            Reading::At(moment) => Some(moment),
            Reading::Absent | Reading::Null | Reading::Bad(_) => None,
        }
    }

    /// Whether a row has a value in it.
    pub fn is_set(&self, row: &[Value]) -> bool {
        row.get(self.at).is_some_and(is_set)
    }
}

fn is_declared_flag(declared: &str) -> bool {
    let declared = declared.to_ascii_lowercase();
    declared.contains("bool") || declared == "bit" || declared == "tinyint(1)"
}

/// Neither NULL nor an empty text.
fn is_set(value: &Value) -> bool {
    *value != Value::Null && *value != Value::Text(String::new())
}

fn class(column: &SampleColumn, words: &Words, values: &[&Value], engine: Engine, now: Moment) -> Class {
    let declared = column.declared.to_ascii_lowercase();
    let has = |any: &[&str]| any.iter().any(|part| declared.contains(part));
    let seen: Vec<&Value> = values.iter().copied().filter(|value| is_set(value)).collect();
    if declared.ends_with("[]") || has(&["json"]) || is_json_list(&seen) {
        return Class::List;
    }
    if is_declared_flag(&declared) {
        return Class::Flag;
    }
    // Some systems write a flag as a number: is_locked.
    let is_bit = |value: &&Value| matches!(value, Value::Int(0 | 1));
    if words.first() == "is" && has(&["int"]) && seen.iter().all(is_bit) {
        return Class::Flag;
    }
    if engine == Engine::Postgres {
        match declared.as_str() {
            "interval" => return Class::Interval,
            "bytea" => return Class::Other,
            other if other.starts_with("timestamp") => {
                let unit = if other.contains("with time zone") {
                    TimeUnit::Timestamptz
                } else {
                    TimeUnit::Timestamp
                };
                return Class::Time(unit);
            }
            _ => {}
        }
    }
    if let Some(unit) = unit_of(&seen, now).or_else(|| declared_unit(&declared, words, &seen)) {
        return Class::Time(unit);
    }
    let is_number = |value: &&Value| matches!(value, Value::Int(_) | Value::Real(_));
    let numeric = has(&["int", "serial", "numeric", "real", "double", "float", "decimal"]);
    if numeric || (!seen.is_empty() && seen.iter().all(is_number)) {
        return Class::Number;
    }
    match seen.iter().all(|value| matches!(value, Value::Bytes(_))) && (has(&["blob"]) || !seen.is_empty()) {
        true => Class::Other,
        false => Class::Text,
    }
}

/// The unit in which all of the values are times near now.
fn unit_of(seen: &[&Value], now: Moment) -> Option<TimeUnit> {
    let units = [TimeUnit::TextUtc, TimeUnit::UnixS, TimeUnit::UnixMs, TimeUnit::UnixUs, TimeUnit::UnixNs];
    let is_near = |unit: TimeUnit, value: &Value| {
        unit.read(value).at().is_some_and(|moment| moment.since(now).abs() < FAR)
    };
    let is_text_time = |value: &Value| matches!(value, Value::Text(text) if text.len() >= 10);
    units.into_iter().filter(|_| !seen.is_empty()).find(|unit| {
        let fits =
            |value: &&&Value| is_near(*unit, value) && (*unit != TimeUnit::TextUtc || is_text_time(value));
        // A few values may be marks such as "never", which some systems write as the year 9999.
        seen.iter().filter(fits).count() * 10 >= seen.len() * 8
    })
}

/// The unit that a column without values most likely has, if its name says that it is a time.
fn declared_unit(declared: &str, words: &Words, seen: &[&Value]) -> Option<TimeUnit> {
    if !seen.is_empty() {
        return None;
    }
    if declared.contains("date") || declared.contains("time") {
        return Some(TimeUnit::TextUtc);
    }
    let is_time = words.ends(&["at", "until", "time", "ms", "epoch", "heartbeat", "seen", "deadline"])
        && words.has(&["at", "until", "time", "epoch", "heartbeat", "seen", "deadline", "expires"]);
    let is_number = declared.contains("int") || declared.contains("real") || declared.contains("numeric");
    match (is_time, is_number) {
        (true, true) if words.has(&["ms", "millis"]) => Some(TimeUnit::UnixMs),
        (true, true) if words.has(&["ns", "nanos"]) => Some(TimeUnit::UnixNs),
        (true, true) => Some(TimeUnit::UnixS),
        (true, false) if declared.contains("text") || declared.contains("char") => Some(TimeUnit::TextUtc),
        _ => None,
    }
}

/// Whether every value is the text of a JSON array.
fn is_json_list(seen: &[&Value]) -> bool {
    let is_list =
        |value: &&&Value| matches!(value, Value::Text(text) if text.starts_with('[') && text.ends_with(']'));
    !seen.is_empty() && seen.iter().all(|value| is_list(&value))
}
