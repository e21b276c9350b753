//! PostgreSQL's own SQL.

use super::backend;
use super::column_type::names_zone;
use super::named_params::{NamedParams, array};
use super::schema::{literal, quoted};
use crate::domain::recovery::Refusal;
use crate::domain::time::{Moment, Reading, Span, TimeUnit};
use crate::domain::value::Value;
use crate::profile::format::Engine;
use crate::store::backend::BackendSql;
use crate::store::bound::{BoundBoard, BoundRegistry, TimeSql};
use crate::store::driver::{Dialect, Row, TimeForm, TraceTime};
use crate::store::found::RowRef;
use crate::store::image::{Image, RowAt};
use crate::store::schema::{Column, Table};
use crate::store::seen::Seen;
use crate::store::session::Registered;

/// How PostgreSQL writes things.
#[derive(Debug)]
pub(super) struct PostgresDialect;

impl Dialect for PostgresDialect {
    fn engine(&self) -> Engine {
        Engine::Postgres
    }

    fn without_backends(&self) -> Option<Refusal> {
        None
    }

    fn backend_sql(&self, from: &str, backend: &str, is_it: &str) -> Option<BackendSql> {
        Some(backend::sql(from, backend, is_it))
    }

    fn selected(&self, sql: &str) -> String {
        format!("({sql})::text")
    }

    fn seconds(&self, sql: &str, declared: &str) -> String {
        match declared {
            "interval" => format!("extract(epoch FROM ({sql}))::text"),
            _ => self.selected(sql),
        }
    }

    fn earliest(&self, time: &TimeSql) -> Option<String> {
        time.bound_type.map(|_| time.selected.clone())
    }

    fn read_earliest(&self, time: &TimeSql, row: &dyn Row, at: usize) -> Reading {
        time.read(&row.time(at, &time.cell.declared))
    }

    fn trace_time(&self, at: &str, column: Option<&Column>, form: TimeForm<'_>) -> TraceTime {
        let naive = column.is_some_and(|column| column.declared.contains("without time zone"));
        let shown = match form.zone {
            Some(zone) if naive => format!("({at} AT TIME ZONE {})", literal(&zone.sql)),
            // Of a zone that nobody knows, no time is better than a wrong one.
            None if naive => "NULL".into(),
            _ => at.to_owned(),
        };
        TraceTime { selected: self.selected(&shown), order: format!("{at} DESC NULLS LAST") }
    }

    /// Up to a megabyte, with its partitions.
    fn small_tables(&self, table: &Table) -> String {
        let table = literal(&table.sql);
        format!(
            "SELECT count(*)::text FROM (SELECT sum(pg_relation_size(t.relid)) AS bytes
             FROM pg_partition_tree(({table}::text)::regclass) AS t) AS size WHERE size.bytes <= 1048576"
        )
    }

    fn partial_indexes(&self, table: &Table, column: &Column) -> String {
        let (table, column) = (literal(&table.sql), literal(&column.name));
        format!(
            "SELECT count(*)::text FROM pg_index AS i
             JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
             WHERE i.indrelid = ({table}::text)::regclass AND i.indpred IS NOT NULL AND a.attname = {column}"
        )
    }

    /// As texts: not every type has an equality, and the texts have one form in a transaction of ours.
    fn holds_exactly(&self, column: &str, place: &str) -> String {
        format!("{column}::text IS NOT DISTINCT FROM {place}")
    }

    fn is_same(&self, one: &str, other: &str) -> String {
        format!("({one})::text IS NOT DISTINCT FROM ({other})::text")
    }

    /// An instant takes the form of the column that it is written to: without a zone, in that of the board; or
    /// with one. A cast would take the zone of our session.
    fn assignment(&self, column: &Column, expression: &str) -> String {
        let expression = match (expression.trim(), names_zone(&column.declared)) {
            (name @ (":now" | ":until"), Some(true)) => format!("{name}_zoned"),
            (name @ (":now" | ":until"), Some(false)) => format!("{name}_naive"),
            _ => expression.to_owned(),
        };
        format!("{} = ({expression}\n)::{}", quoted(&column.name), column.declared)
    }

    fn version(&self, alias: &str) -> Option<String> {
        Some(format!("{alias}.xmin::text"))
    }

    fn is_claim(&self, board: &BoundBoard, seen: &Seen, params: &mut NamedParams) -> String {
        self.has_key(board, &seen.judged.claim.key.0, params)
    }

    fn is_session(&self, registry: &BoundRegistry, seen: &Registered, params: &mut NamedParams) -> String {
        params.add_value("session_id", &registry.id.declared, seen.id.clone());
        format!("{} = :session_id", registry.id.text)
    }

    fn has_key(&self, board: &BoundBoard, key: &[Value], params: &mut NamedParams) -> String {
        let parts = board.id.iter().zip(&board.id_types).zip(key).enumerate();
        let condition = parts.map(|(at, ((id, kind), value))| {
            if *value == Value::Null {
                return format!("({id}) IS NULL");
            }
            params.add_value(&format!("key{at}"), kind, value.clone());
            format!("({id}) = :key{at}")
        });
        condition.collect::<Vec<_>>().join(" AND ")
    }

    fn is_among(&self, _: &BoundBoard, places: &[RowRef], params: &mut NamedParams) -> String {
        let spot = |place: &RowRef| match place {
            RowRef::Version { spot, .. } => Some(spot.to_string()),
            // What was found on another engine is not here.
            RowRef::Number(_) | RowRef::Key(_) => None,
        };
        params.add("tids", "tid[]", Some(array(places.iter().map(spot))));
        "c.ctid = ANY (:tids)".into()
    }

    /// With more of them reading the whole table would seem cheaper.
    fn places_at_once(&self, _: &BoundBoard) -> usize {
        250
    }

    fn is_at(&self, table: &Table, at: &RowAt, alias: &str, params: &mut NamedParams) -> Option<String> {
        let RowAt::Key(key) = at else { return None };
        let condition = key.iter().enumerate().map(|(at, (name, value))| {
            let kind = table.column(name).map(|column| column.declared.as_str()).unwrap_or_default();
            params.add_value(&format!("at{at}"), kind, value.clone());
            format!("{alias}.{} = :at{at}", quoted(name))
        });
        let all: Vec<String> = condition.collect();
        (!all.is_empty()).then(|| all.join(" AND "))
    }

    fn at_of(&self, table: &Table, row: &Image, _: &RowAt) -> RowAt {
        RowAt::Key(row.part(&table.key))
    }

    fn shared_lock(&self) -> Option<&'static str> {
        Some("FOR SHARE NOWAIT")
    }

    fn exclusive_lock(&self, alias: &str) -> Option<String> {
        Some(format!("FOR UPDATE OF {alias} NOWAIT"))
    }

    /// Rows that nothing tells apart are all the same: one of them goes.
    fn delete_one(&self, table: &Table, condition: &str) -> String {
        let table = &table.sql;
        format!(
            "DELETE FROM {table} WHERE (tableoid, ctid) IN \
             (SELECT c.tableoid, c.ctid FROM {table} AS c WHERE {condition} LIMIT 1)"
        )
    }

    /// The next act may defer constraints again.
    fn release(&self, savepoint: &str) -> String {
        format!("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED; RELEASE {savepoint}")
    }

    fn add_time(&self, params: &mut NamedParams, name: &str, form: TimeForm<'_>, moment: Moment) {
        params.add_time(name, form, moment);
    }

    /// Where times are texts, an instant has no type of its own: a log beside the claims may well keep times
    /// as such.
    fn add_instant(&self, params: &mut NamedParams, name: &str, form: TimeForm<'_>, moment: Moment) {
        match form.unit {
            TimeUnit::TextUtc => params.add_sql(name, &literal(&form.own_zone().text(moment))),
            _ => params.add_time(name, form, moment),
        }
        for (suffix, unit) in [("zoned", TimeUnit::Timestamptz), ("naive", TimeUnit::Timestamp)] {
            params.add_time(&format!("{name}_{suffix}"), TimeForm { unit, ..form }, moment);
        }
    }

    fn add_span(&self, params: &mut NamedParams, name: &str, unit: TimeUnit, span: Span) {
        params.add_span(name, unit, span);
    }
}
