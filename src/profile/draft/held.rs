//! Which rows of a table are claims.

use super::column::{Class, DraftColumn};
use super::names::ColumnPart;
use super::roles::Roles;
use super::sample::TableSample;
use super::sql::{column_sql, literal};
use super::words::{Meaning, Words, meaning};
use crate::domain::time::{Moment, TimeUnit};
use crate::domain::value::Value;

/// What makes a row a claim.
#[derive(Debug, Clone)]
pub enum Held {
    /// A column has one of these values.
    Values {
        column: usize,
        values: Vec<Value>,
        why: String,
    },
    Flag {
        column: usize,
        when: bool,
    },
    /// A column has a value, and none of the others has one: those of a job that has ended.
    Set {
        column: usize,
        unless: Vec<usize>,
    },
    /// A time is ahead of now.
    Ahead {
        column: usize,
        unit: TimeUnit,
    },
    /// The row is there.
    Every,
    /// No column says that somebody has a row.
    Unseen,
    /// There is a column for it, and nothing tells which of its values counts.
    Unknown {
        column: usize,
    },
}

impl Held {
    /// From the clearest sign to the weakest.
    pub fn guess(columns: &[DraftColumn<'_>], roles: &Roles, table: &TableSample) -> Held {
        let status = roles.column(ColumnPart::Status, columns);
        let sign = roles
            .column(ColumnPart::Holder, columns)
            .or_else(|| roles.column(ColumnPart::ClaimedAt, columns));
        if let Some(status) = status {
            if status.class == Class::Flag {
                return Held::Flag { column: status.at, when: !status.words.is(&["visible"]) };
            }
            let values = states(table, status);
            let found = by_words(&values).or_else(|| by_sign(&values, status, sign, table));
            if let Some((values, why)) = found {
                return Held::Values { column: status.at, values, why };
            }
        }
        // Without rows a column of states may say more than a holder that is set; nobody knows what.
        let is_sometimes_set = |column: &&DraftColumn<'_>| match table.rows.is_empty() {
            true => status.is_none() && !is_named_for_claims(&table.name),
            false => table.rows.iter().any(|row| !column.is_set(row)),
        };
        if let Some(sign) = sign.filter(is_sometimes_set) {
            let unless = roles.column(ColumnPart::EndedAt, columns).map(|column| column.at);
            return Held::Set { column: sign.at, unless: unless.into_iter().collect() };
        }
        if let Some(status) = status {
            return Held::Unknown { column: status.at };
        }
        match (sign, roles.column(ColumnPart::Deadline, columns)) {
            (None, Some(deadline)) => {
                Held::Ahead { column: deadline.at, unit: deadline.unit().unwrap_or_default() }
            }
            (None, None) if !is_named_for_claims(&table.name) => Held::Unseen,
            _ => Held::Every,
        }
    }

    /// The column that tells.
    pub fn column(&self) -> Option<usize> {
        match self {
            Held::Values { column, .. } | Held::Flag { column, .. } | Held::Unknown { column } => {
                Some(*column)
            }
            Held::Set { column, .. } | Held::Ahead { column, .. } => Some(*column),
            Held::Every | Held::Unseen => None,
        }
    }

    /// Whether a row of the sample is a claim.
    pub fn holds(&self, row: &[Value], now: Moment) -> bool {
        let cell = |at: &usize| row.get(*at).unwrap_or(&Value::Null);
        let is_set = |at: &usize| !matches!(cell(at), Value::Null) && *cell(at) != Value::Text(String::new());
        match self {
            Held::Values { column, values, .. } => values.contains(cell(column)),
            Held::Flag { column, when } => is_set(column) && is_true(cell(column)) == *when,
            Held::Set { column, unless } => is_set(column) && !unless.iter().any(is_set),
            Held::Ahead { column, unit } => {
                unit.read(cell(column)).at().is_some_and(|at| at.since(now).is_positive())
            }
            Held::Every => true,
            Held::Unknown { .. } | Held::Unseen => false,
        }
    }

    /// The predicate of the profile; none where every row is a claim.
    pub fn sql(&self, columns: &[DraftColumn<'_>]) -> Option<String> {
        let name =
            |at: &usize| columns.get(*at).map_or_else(String::new, |column| column_sql("c", column.name));
        Some(match self {
            Held::Values { column, values, .. } => match &values[..] {
                [one] => format!("{} = {}", name(column), literal(one)),
                several => {
                    let all: Vec<String> = several.iter().map(literal).collect();
                    format!("{} IN ({})", name(column), all.join(", "))
                }
            },
            Held::Flag { column, when } => {
                match (columns.get(*column).is_some_and(DraftColumn::is_number), when) {
                    (true, when) => format!("{} = {}", name(column), i32::from(*when)),
                    (false, true) => name(column),
                    (false, false) => format!("NOT {}", name(column)),
                }
            }
            Held::Set { column, unless } => {
                let ended: String = unless.iter().map(|at| format!(" AND {} IS NULL", name(at))).collect();
                format!("{} IS NOT NULL{ended}", name(column))
            }
            Held::Ahead { column, .. } => format!("{} > :now", name(column)),
            Held::Every => return None,
            Held::Unknown { .. } | Held::Unseen => "1 = 0".into(),
        })
    }
}

/// Whether every row of a table of this name is likely to be a claim.
pub(super) fn is_named_for_claims(table: &str) -> bool {
    Words::of(table)
        .has(&["claim", "claims", "claimed", "lock", "locks", "lease", "leases", "fired", "leader"])
}

/// The values of a column of states, as far as they were seen.
pub(super) fn states(table: &TableSample, status: &DraftColumn<'_>) -> Vec<(Value, u64)> {
    match table.values.get(status.name) {
        Some(values) => values.clone(),
        None => status.examples(20).into_iter().map(|value| (value.clone(), 0)).collect(),
    }
}

/// What a value of a state means, if it is a word.
pub(super) fn meaning_of(value: &Value) -> Option<Meaning> {
    match value {
        Value::Text(text) => meaning(text),
        _ => None,
    }
}

fn by_words(values: &[(Value, u64)]) -> Option<(Vec<Value>, String)> {
    let held = |(value, _): &&(Value, u64)| meaning_of(value) == Some(Meaning::Held);
    let held: Vec<Value> = values.iter().filter(held).map(|(value, _)| value.clone()).collect();
    (!held.is_empty()).then(|| (held, "by the word".to_owned()))
}

/// The states that are not an end, in which the holder or the time of the claim is always set, if there is another
/// state in which it is not.
fn by_sign(
    values: &[(Value, u64)],
    status: &DraftColumn<'_>,
    sign: Option<&DraftColumn<'_>>,
    table: &TableSample,
) -> Option<(Vec<Value>, String)> {
    let sign = sign?;
    let is_open = |value: &Value| !matches!(meaning_of(value), Some(Meaning::Done | Meaning::Dead));
    let share = |value: &Value| {
        let rows: Vec<_> = table.rows.iter().filter(|row| row.get(status.at) == Some(value)).collect();
        let set = rows.iter().filter(|row| sign.is_set(row)).count();
        (!rows.is_empty()).then(|| set as f64 / rows.len() as f64)
    };
    let open = values.iter().map(|(value, _)| value).filter(|value| is_open(value));
    let shares: Vec<(&Value, f64)> = open.filter_map(|value| Some((value, share(value)?))).collect();
    let (set, rest): (Vec<_>, Vec<_>) = shares.into_iter().partition(|(_, share)| *share == 1.0);
    // Words for an end are missing among numbers: then too many states have a time. The first is the claim.
    let most = if set.iter().any(|(value, _)| matches!(value, Value::Text(_))) { set.len() } else { 1 };
    let mut held: Vec<Value> = set.into_iter().map(|(value, _)| value.clone()).collect();
    held.sort_by_key(|value| value.visible());
    held.truncate(most);
    let is_told_apart = !held.is_empty() && rest.iter().any(|(_, share)| *share < 0.5);
    is_told_apart.then(|| (held, format!("{} is always set in it", sign.name)))
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Int(number) => *number != 0,
        Value::Text(text) => matches!(text.as_str(), "true" | "t" | "1" | "yes"),
        _ => false,
    }
}
