//! SQLite's own SQL, its rows, and statements on one connection to a file.

use std::borrow::Cow;

use super::cell::{bound, cell, to_sql};
use super::functions::code;
use super::keys::RowSql;
use crate::domain::time::{Moment, Reading, Span, TimeUnit};
use crate::domain::value::Value;
use crate::profile::format::Engine;
use crate::store::bound::{BoundBoard, BoundRegistry, TimeSql};
use crate::store::driver::{Dialect, Row, TimeForm, TraceTime};
use crate::store::found::RowRef;
use crate::store::image::{Image, RowAt};
use crate::store::named_params::{NamedParams, renamed};
use crate::store::schema::{Column, Names, Table, literal, quoted};
use crate::store::seen::Seen;
use crate::store::session::Registered;

/// How SQLite writes things.
#[derive(Debug)]
pub(super) struct SqliteDialect;

impl Dialect for SqliteDialect {
    fn engine(&self) -> Engine {
        Engine::Sqlite
    }

    fn selected(&self, sql: &str) -> String {
        sql.to_owned()
    }

    fn earliest(&self, time: &TimeSql) -> Option<String> {
        Some(time.comparable.clone())
    }

    fn read_earliest(&self, time: &TimeSql, row: &dyn Row, at: usize) -> Reading {
        time.compared_in().read(&row.number(at))
    }

    fn trace_time(&self, at: &str, _: Option<&Column>, form: TimeForm<'_>) -> TraceTime {
        let code = code(form.unit, form.own_zone());
        TraceTime { selected: at.into(), order: format!("claimtop_time({at}, {code}) DESC") }
    }

    fn small_tables(&self, table: &Table) -> String {
        let most = 20_000;
        format!("SELECT count(*) <= {most} FROM (SELECT 1 FROM {} LIMIT {most} + 1) AS few", table.sql)
    }

    fn partial_indexes(&self, table: &Table, column: &Column) -> String {
        let (table, column) = (literal(&table.name), literal(&column.name));
        format!(
            "SELECT count(*) FROM pragma_index_list({table}) AS i JOIN pragma_index_xinfo(i.name) AS x
             WHERE i.partial AND x.seqno = 0 AND lower(x.name) = lower({column})"
        )
    }

    fn holds_exactly(&self, column: &str, place: &str) -> String {
        format!("{column} COLLATE BINARY IS {place}")
    }

    fn is_same(&self, one: &str, other: &str) -> String {
        format!("{one} IS {other}")
    }

    /// A text that is not UTF-8 can only be bound as bytes.
    fn place(&self, name: &str, value: &Value) -> String {
        match value {
            Value::BadText(_) => format!("CAST(:{name} AS TEXT)"),
            _ => format!(":{name}"),
        }
    }

    fn version(&self, _: &str) -> Option<String> {
        None
    }

    fn is_claim(&self, board: &BoundBoard, seen: &Seen, params: &mut NamedParams) -> String {
        self.is_row("c", &board.key, (seen.place.rowid, &seen.row), params)
    }

    fn is_session(&self, registry: &BoundRegistry, seen: &Registered, params: &mut NamedParams) -> String {
        self.is_row("s", &registry.key, (seen.place.rowid, &seen.row), params)
    }

    fn has_key(&self, board: &BoundBoard, key: &[Value], params: &mut NamedParams) -> String {
        let parts = board.id.iter().zip(key).enumerate().map(|(at, (id, value))| {
            let place = self.place(&format!("key{at}"), value);
            params.add_value(&format!("key{at}"), "", value.clone());
            format!("{id} IS {place}")
        });
        parts.collect::<Vec<_>>().join(" AND ")
    }

    fn has_typed_key(&self, board: &BoundBoard, key: &[Value], params: &mut NamedParams) -> String {
        let parts = board.id.iter().zip(key).enumerate().map(|(at, (id, value))| {
            let place = self.place(&format!("key{at}"), value);
            params.add_value(&format!("key{at}"), "", value.clone());
            match value {
                Value::Null => format!("{id} IS NULL"),
                // Whoever types a number types its digits.
                Value::Text(text) if text.parse::<i64>().is_ok() => {
                    params.add_value(
                        &format!("number{at}"),
                        "",
                        text.parse().map_or(Value::Null, Value::Int),
                    );
                    format!("({id} = {place} OR {id} = :number{at})")
                }
                _ => format!("{id} = {place}"),
            }
        });
        parts.collect::<Vec<_>>().join(" AND ")
    }

    fn row_number(&self, table: &Table, alias: &'static str) -> String {
        RowSql::called(alias, table).number()
    }

    /// One value for all of them: the statement stays compiled.
    fn is_among(&self, board: &BoundBoard, places: &[RowRef], params: &mut NamedParams) -> String {
        // What was found on another engine is not here.
        let number = |place: &RowRef| match place {
            RowRef::Number(number) => Some(*number),
            RowRef::Version { .. } | RowRef::Key(_) => None,
        };
        let mut numbers = places.iter().filter_map(number);
        if !board.has_rowid {
            params.add_value("rowid", "", numbers.next().map_or(Value::Null, Value::Int));
            return RowSql::claims(board).is(":rowid");
        }
        let list: Vec<String> = numbers.map(|number| number.to_string()).collect();
        params.add_value("rowids", "", Value::Text(format!("[{}]", list.join(","))));
        "c.rowid IN (SELECT value FROM json_each(:rowids))".into()
    }

    /// Rows that have only a key are looked for one by one.
    fn places_at_once(&self, board: &BoundBoard) -> usize {
        if board.has_rowid { 500 } else { 1 }
    }

    /// A change of a table that was built otherwise then has no row in it.
    fn is_at(&self, table: &Table, at: &RowAt, alias: &str, params: &mut NamedParams) -> Option<String> {
        let key = match at {
            RowAt::Rowid(rowid) if table.has_rowid => {
                params.add_value("at", "", Value::Int(*rowid));
                return Some(format!("{alias}.rowid = :at"));
            }
            RowAt::Key(key) if !table.has_rowid && !table.key.is_empty() => key,
            RowAt::Rowid(_) | RowAt::Key(_) => return None,
        };
        let mut parts = Vec::new();
        for (at, name) in table.key.iter().enumerate() {
            let value = key.get(name)?;
            let place = self.place(&format!("at{at}"), value);
            params.add_value(&format!("at{at}"), "", value.clone());
            parts.push(format!("{alias}.{} = {place}", quoted(name)));
        }
        Some(parts.join(" AND "))
    }

    fn at_of(&self, table: &Table, row: &Image, was: &RowAt) -> RowAt {
        if table.has_rowid { was.clone() } else { RowAt::Key(row.part(&table.key)) }
    }

    /// `BEGIN IMMEDIATE` keeps all other writers out.
    fn shared_lock(&self) -> Option<&'static str> {
        None
    }

    fn exclusive_lock(&self, _: &str) -> Option<String> {
        None
    }

    fn add_time(&self, params: &mut NamedParams, name: &str, form: TimeForm<'_>, moment: Moment) {
        let value = match form.unit {
            unit @ (TimeUnit::UnixS | TimeUnit::UnixMs | TimeUnit::UnixUs | TimeUnit::UnixNs) => {
                bound(moment.micros(), unit)
            }
            // What SQLite's own datetime() writes: texts are compared as texts, so the form matters.
            TimeUnit::TextUtc => Value::Text(form.own_zone().text(moment)),
            TimeUnit::Timestamptz | TimeUnit::Timestamp => Value::Text(moment.rfc3339()),
        };
        params.add_value(name, "", value);
    }

    fn add_span(&self, params: &mut NamedParams, name: &str, unit: TimeUnit, span: Span) {
        params.add_value(name, "", bound(span.as_micros(), unit));
    }
}

impl SqliteDialect {
    /// That a row is the one with this number or, where rows have a key instead, with the key of an image of it:
    /// the number of a key may be another by now.
    fn is_row(
        &self,
        alias: &str,
        key: &Names,
        (number, row): (i64, &Image),
        params: &mut NamedParams,
    ) -> String {
        if key.is_empty() {
            params.add_value("rowid", "", Value::Int(number));
            return format!("{alias}.rowid = :rowid");
        }
        let parts = key.iter().enumerate().map(|(at, name)| {
            let value = row.get(name).unwrap_or(&Value::Null);
            params.add_value(&format!("own{at}"), "", value.clone());
            format!("{alias}.{} = {}", quoted(name), self.place(&format!("own{at}"), value))
        });
        parts.collect::<Vec<_>>().join(" AND ")
    }
}

impl Row for rusqlite::Row<'_> {
    fn value(&self, at: usize, _: &str) -> Value {
        cell(self, at)
    }

    fn number(&self, at: usize) -> Value {
        cell(self, at)
    }

    fn time(&self, at: usize, _: &str) -> Value {
        cell(self, at)
    }

    fn text(&self, at: usize) -> Option<String> {
        cell(self, at).text()
    }

    fn is_true(&self, at: usize) -> bool {
        matches!(cell(self, at), Value::Int(flag) if flag != 0)
    }
}

/// A statement with those of the values bound that it names.
pub(super) fn prepared<'a>(
    connection: &'a rusqlite::Connection,
    sql: &str,
    params: &NamedParams,
) -> rusqlite::Result<rusqlite::CachedStatement<'a>> {
    let mut statement = if params.has_written() {
        connection.prepare_cached(&spelled(&params.written_out(sql)))?
    } else {
        connection.prepare_cached(&spelled(sql))?
    };
    bind(&mut statement, params)?;
    Ok(statement)
}

/// The names of SQLite's parameters have no dots.
pub(super) fn spelled(sql: &str) -> Cow<'_, str> {
    if sql.contains(":old.") { renamed(sql, |name| name.replacen("old.", OLD, 1)).into() } else { sql.into() }
}

/// Stands for `old.` there.
const OLD: &str = "claimtop_old_";

/// Binds those of the values that the statement names; the first of a name counts.
pub(super) fn bind(statement: &mut rusqlite::Statement<'_>, params: &NamedParams) -> rusqlite::Result<()> {
    let mut bound = Vec::new();
    for (name, value) in params.sent() {
        let name = name.replacen("old.", OLD, 1);
        if let Some(at) = statement.parameter_index(&format!(":{name}"))?
            && !bound.contains(&at)
        {
            bound.push(at);
            statement.raw_bind_parameter(at, to_sql(value))?;
        }
    }
    Ok(())
}
