//! Numbers for rows that have none: a table `WITHOUT ROWID` is addressed by its primary key.
//!
//! Sets, places and slices are made of numbers. So a key that a statement selects gets a number, which
//! it keeps as long as its reader lives. In SQL `claimtop_row(part, ...)` is the number of a key, and
//! `claimtop_key(number, place)` is one part of the key with that number.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::value::Value;
use crate::store::bound::BoundBoard;
use crate::store::schema::{Names, Table, quoted};

/// The keys that have a number. Copies share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Arc<Mutex<Numbered>>);

#[derive(Debug, Default)]
struct Numbered {
    numbers: HashMap<Arc<[u8]>, i64>,
    keys: Vec<Arc<[u8]>>,
    /// The number of the first of these. A number is never given twice.
    first: i64,
}

impl Keys {
    fn lock(&self) -> MutexGuard<'_, Numbered> {
        // Every change leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a key, a new one if need be.
    pub(super) fn number(&self, parts: &[Value]) -> i64 {
        let mut all = self.lock();
        let key = encode(parts);
        if let Some(number) = all.numbers.get(&key[..]) {
            return *number;
        }
        let number = all.first.saturating_add(all.keys.len() as i64);
        let key: Arc<[u8]> = key.into();
        all.keys.push(Arc::clone(&key));
        all.numbers.insert(key, number);
        number
    }

    /// The key with a number.
    pub(super) fn parts(&self, number: i64) -> Option<Vec<Value>> {
        let all = self.lock();
        let at = usize::try_from(number.checked_sub(all.first)?).ok()?;
        all.keys.get(at).map(|key| decode(key))
    }

    pub(super) fn len(&self) -> u64 {
        self.lock().keys.len() as u64
    }

    /// Forgets all of them.
    pub(super) fn clear(&self) {
        let mut all = self.lock();
        let next = all.first.saturating_add(all.keys.len() as i64);
        *all = Numbered { first: next, ..Numbered::default() };
    }
}

/// Each part as a letter for its type, its length and its bytes.
fn encode(parts: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    let mut add = |kind: u8, bytes: &[u8]| {
        key.push(kind);
        key.extend((bytes.len() as u64).to_be_bytes());
        key.extend(bytes);
    };
    for part in parts {
        match part {
            Value::Null => add(b'n', &[]),
            Value::Int(number) => add(b'i', &number.to_be_bytes()),
            Value::Real(number) => add(b'r', &number.to_bits().to_be_bytes()),
            Value::Text(text) => add(b't', text.as_bytes()),
            Value::BadText(bytes) => add(b'u', bytes),
            Value::Bytes(bytes) => add(b'b', bytes),
        }
    }
    key
}

fn decode(mut key: &[u8]) -> Vec<Value> {
    let mut parts = Vec::new();
    while let Some((&kind, rest)) = key.split_first()
        && let Some((length, rest)) = rest.split_first_chunk::<8>()
        && let Some((bytes, rest)) = rest.split_at_checked(u64::from_be_bytes(*length) as usize)
    {
        let number = || <[u8; 8]>::try_from(bytes).unwrap_or_default();
        parts.push(match kind {
            b'i' => Value::Int(i64::from_be_bytes(number())),
            b'r' => Value::Real(f64::from_bits(u64::from_be_bytes(number()))),
            b't' => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
            b'u' => Value::BadText(bytes.into()),
            b'b' => Value::Bytes(bytes.into()),
            _ => Value::Null,
        });
        key = rest;
    }
    parts
}

/// One part of a key, as a function answers it.
pub(super) struct KeyCell(pub Value);

impl ToSql for KeyCell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match &self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::BadText(bytes) => ValueRef::Text(bytes),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// How SQL speaks of the rows of one table: by their rowids, or by their keys.
#[derive(Debug, Clone)]
pub(super) struct RowSql {
    alias: &'static str,
    /// The columns of the key, as SQL; none where the rows have rowids.
    key: Vec<String>,
}

impl RowSql {
    fn new(alias: &'static str, key: &Names) -> RowSql {
        RowSql { alias, key: key.iter().map(|name| format!("{alias}{}", quoted(name))).collect() }
    }

    /// The claims of a board, as `c`.
    pub(super) fn claims(board: &BoundBoard) -> RowSql {
        RowSql::new("c.", &board.key)
    }

    /// The rows of a table that are called by a name.
    pub(super) fn called(alias: &str, table: &Table) -> RowSql {
        let alias = if alias == "s" { "s." } else { "c." };
        RowSql::new(alias, &table.key_instead_of_rowid())
    }

    /// The rows of a table that has no other name.
    pub(super) fn of(table: &Table) -> RowSql {
        RowSql::new("", &table.key_instead_of_rowid())
    }

    /// The number of a row.
    pub(super) fn number(&self) -> String {
        match &self.key[..] {
            [] => format!("{}rowid", self.alias),
            key => format!("claimtop_row({})", key.join(", ")),
        }
    }

    /// That a row is the one whose number stands in `place`.
    pub(super) fn is(&self, place: &str) -> String {
        if self.key.is_empty() {
            return format!("{}rowid = {place}", self.alias);
        }
        let parts = self.key.iter().enumerate();
        let parts = parts.map(|(at, column)| format!("{column} = claimtop_key({place}, {at})"));
        parts.collect::<Vec<_>>().join(" AND ")
    }

    /// That a row lies before or after the one whose number stands in `place`, in the order of [`RowSql::order`].
    pub(super) fn lies(&self, how: &str, place: &str) -> String {
        if self.key.is_empty() {
            return format!("{}rowid {how} {place}", self.alias);
        }
        let there: Vec<String> =
            (0..self.key.len()).map(|at| format!("claimtop_key({place}, {at})")).collect();
        format!("({}) {how} ({})", self.key.join(", "), there.join(", "))
    }

    /// What rows are ordered by, `ASC` or `DESC`.
    pub(super) fn order(&self, direction: &str) -> String {
        match &self.key[..] {
            [] => format!("{}rowid {direction}", self.alias),
            key => key.iter().map(|column| format!("{column} {direction}")).collect::<Vec<_>>().join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_as_it_went_in_and_its_number_is_never_another_s() {
        let keys = Keys::default();
        let all: Vec<Vec<Value>> = vec![
            vec![Value::Text("a".into()), Value::Int(1)],
            vec![Value::Text("a1".into())],
            vec![Value::Int(1)],
            vec![Value::Real(1.0)],
            vec![Value::Text("1".into())],
            vec![Value::Bytes(vec![b'1'])],
            vec![Value::BadText(vec![0xff, 0, b't'])],
            vec![Value::Text(String::new()), Value::Bytes(Vec::new())],
            vec![Value::Null],
            Vec::new(),
        ];
        let numbers: Vec<i64> = all.iter().map(|key| keys.number(key)).collect();
        for (key, number) in all.iter().zip(&numbers) {
            assert_eq!(keys.number(key), *number);
            assert_eq!(keys.parts(*number).as_ref(), Some(key));
        }
        keys.clear();
        assert_eq!((keys.len(), keys.parts(numbers[0])), (0, None));
        assert!(!numbers.contains(&keys.number(&all[0])));
    }
}
