//! MySQL's own SQL, and MariaDB's.

use std::sync::Arc;

use super::conditions::{bytes, equals};
use super::keys;
use crate::domain::recovery::Refusal;
use crate::domain::time::{Moment, Reading, Span, TimeUnit};
use crate::domain::value::Value;
use crate::mysql::link::Flavor;
use crate::profile::format::Engine;
use crate::store::bound::{BoundBoard, BoundRegistry, TimeSql};
use crate::store::conditions::NEVER;
use crate::store::driver::{Dialect, Row, RowComparison, TimeForm, TraceTime};
use crate::store::found::RowRef;
use crate::store::image::{Image, RowAt};
use crate::store::named_params::NamedParams;
use crate::store::schema::{Column, Names, Table, literal, quoted};
use crate::store::seen::Seen;
use crate::store::session::Registered;

/// How one of the two systems writes things.
#[derive(Debug)]
pub(super) struct MysqlDialect {
    flavor: Flavor,
}

static MYSQL: MysqlDialect = MysqlDialect { flavor: Flavor::MySql };
static MARIADB: MysqlDialect = MysqlDialect { flavor: Flavor::MariaDb };

pub(super) fn of(flavor: Flavor) -> &'static MysqlDialect {
    match flavor {
        Flavor::MySql => &MYSQL,
        Flavor::MariaDb => &MARIADB,
    }
}

impl MysqlDialect {
    /// Locks sessions' rows against writers of them, less those that somebody else holds.
    pub(super) fn shared_locks(&self) -> &'static str {
        match self.flavor {
            Flavor::MySql => "FOR SHARE SKIP LOCKED",
            Flavor::MariaDb => "LOCK IN SHARE MODE SKIP LOCKED",
        }
    }
}

impl Dialect for MysqlDialect {
    fn engine(&self) -> Engine {
        Engine::Mysql
    }

    /// Every cell comes with its type.
    fn selected(&self, sql: &str) -> String {
        format!("({sql})")
    }

    /// An ENUM may hold what its list does not have: the server shows that as an empty text, which may be a member.
    fn image_column(&self, column: &Column, alias: &str) -> String {
        let sql = format!("{alias}.{}", quoted(&column.name));
        if column.declared.to_ascii_lowercase().starts_with("enum(") {
            return format!("(CASE WHEN {sql} + 0 = 0 THEN '(not in the list)' ELSE {sql} END)");
        }
        self.selected(&sql)
    }

    fn earliest(&self, time: &TimeSql) -> Option<String> {
        time.bound_type.map(|_| time.selected.clone())
    }

    fn read_earliest(&self, time: &TimeSql, row: &dyn Row, at: usize) -> Reading {
        time.read(&row.time(at, &time.cell.declared))
    }

    fn trace_time(&self, at: &str, _: Option<&Column>, form: TimeForm<'_>) -> TraceTime {
        // Of a zone that nobody knows, no time is better than a wrong one.
        let shown = if form.zone.is_some() { at } else { "NULL" };
        TraceTime { selected: self.selected(shown), order: format!("{at} DESC") }
    }

    /// Up to a megabyte, by the estimate that the server keeps.
    fn small_tables(&self, table: &Table) -> String {
        format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()
             AND table_name = {} AND data_length <= 1048576",
            literal(&table.name)
        )
    }

    /// It has none.
    fn partial_indexes(&self, _: &Table, _: &Column) -> String {
        "SELECT 0".into()
    }

    fn holds_exactly(&self, column: &str, place: &str) -> String {
        format!("{} <=> {}", bytes(column), bytes(place))
    }

    fn is_same(&self, one: &str, other: &str) -> String {
        format!("{} <=> {}", bytes(one), bytes(other))
    }

    fn row_comparison(&self) -> RowComparison {
        RowComparison::InClient
    }

    fn without_backends(&self) -> Option<Refusal> {
        Some(Refusal::NoBackends)
    }

    fn version(&self, _: &str) -> Option<String> {
        None
    }

    /// By the primary key: by anything else a lock would take other rows along.
    fn is_claim(&self, board: &BoundBoard, seen: &Seen, params: &mut NamedParams) -> String {
        match by_key("c", &board.key, &seen.row, params) {
            Some(condition) => condition,
            None => self.has_key(board, &seen.judged.claim.key.0, params),
        }
    }

    fn is_session(&self, registry: &BoundRegistry, seen: &Registered, params: &mut NamedParams) -> String {
        by_key("s", &registry.key, &seen.row, params).unwrap_or_else(|| {
            equals(&registry.id.text, &registry.id.declared, &seen.id, "session_id", params)
        })
    }

    fn has_key(&self, board: &BoundBoard, key: &[Value], params: &mut NamedParams) -> String {
        let parts = board.id.iter().zip(&board.id_types).zip(key).enumerate();
        let all = parts
            .map(|(at, ((id, declared), value))| equals(id, declared, value, &format!("key{at}"), params));
        all.collect::<Vec<_>>().join(" AND ")
    }

    fn is_among(&self, board: &BoundBoard, places: &[RowRef], params: &mut NamedParams) -> String {
        let columns: Vec<String> = board.key.iter().map(|name| format!("c.{}", quoted(name))).collect();
        let mut add = |at: usize, part: usize, value: Value| {
            let name = format!("at{at}_{part}");
            params.add_value(&name, "", value);
            format!(":{name}")
        };
        let rows = places.iter().enumerate().filter_map(|(at, place)| {
            let values = match place {
                RowRef::Number(number) => vec![Value::Int(*number)],
                RowRef::Key(key) => keys::values(key)?,
                // What was found on another engine is not here.
                RowRef::Version { .. } => return None,
            };
            let names: Vec<String> =
                values.into_iter().enumerate().map(|(part, value)| add(at, part, value)).collect();
            (names.len() == columns.len()).then(|| match &names[..] {
                [one] => one.clone(),
                several => format!("({})", several.join(", ")),
            })
        });
        let rows: Vec<String> = rows.collect();
        match &columns[..] {
            _ if rows.is_empty() => NEVER.into(),
            [one] => format!("{one} IN ({})", rows.join(", ")),
            several => format!("({}) IN ({})", several.join(", "), rows.join(", ")),
        }
    }

    fn places_at_once(&self, _: &BoundBoard) -> usize {
        500
    }

    fn is_at(&self, table: &Table, at: &RowAt, alias: &str, params: &mut NamedParams) -> Option<String> {
        let RowAt::Key(key) = at else { return None };
        // By anything but its own key a row could be another, or several.
        if table.key.is_empty()
            || key.by_name().keys().ne(table.key.sorted().map(|(_, name)| name).collect::<Vec<_>>().iter())
        {
            return None;
        }
        let parts = key.iter().enumerate().map(|(at, (name, value))| {
            let declared = table.column(name).map(|column| column.declared.as_str()).unwrap_or_default();
            equals(&format!("{alias}.{}", quoted(name)), declared, value, &format!("at{at}"), params)
        });
        let all: Vec<String> = parts.collect();
        (!all.is_empty()).then(|| all.join(" AND "))
    }

    fn at_of(&self, table: &Table, row: &Image, _: &RowAt) -> RowAt {
        RowAt::Key(row.part(&table.key))
    }

    fn shared_lock(&self) -> Option<&'static str> {
        Some(match self.flavor {
            Flavor::MySql => "FOR SHARE NOWAIT",
            Flavor::MariaDb => "LOCK IN SHARE MODE NOWAIT",
        })
    }

    fn exclusive_lock(&self, _: &str) -> Option<String> {
        Some("FOR UPDATE NOWAIT".into())
    }

    fn delete_one(&self, table: &Table, condition: &str) -> String {
        format!("DELETE c FROM {} AS c WHERE {condition}", table.sql)
    }

    fn release(&self, savepoint: &str) -> String {
        format!("RELEASE SAVEPOINT {savepoint}")
    }

    fn add_time(&self, params: &mut NamedParams, name: &str, form: TimeForm<'_>, moment: Moment) {
        if form.unit.is_number() {
            params.add_value(name, "bigint", scaled(form.unit, moment.micros()));
            return;
        }
        match form.unit {
            TimeUnit::TextUtc => params.add(name, "", Some(form.own_zone().text(moment))),
            _ => {
                let shown = form.own_zone().shown(moment).format("%Y-%m-%d %H:%M:%S%.6f").to_string();
                params.add_as(name, "CAST({} AS DATETIME(6))", Some(shown));
            }
        }
    }

    /// In microseconds where times are no numbers: `+ INTERVAL :by MICROSECOND`.
    fn add_span(&self, params: &mut NamedParams, name: &str, unit: TimeUnit, span: Span) {
        let unit = if unit.is_number() { unit } else { TimeUnit::UnixUs };
        params.add_value(name, "bigint", scaled(unit, span.as_micros()));
    }
}

/// Microseconds in another unit.
pub(super) fn scaled(unit: TimeUnit, micros: i64) -> Value {
    let scaled = i128::from(micros) * i128::from(unit.per_second()) / 1_000_000;
    Value::Int(i64::try_from(scaled).unwrap_or(if scaled < 0 { i64::MIN } else { i64::MAX }))
}

/// That a row has the primary key of an image; nothing, if its table has none.
fn by_key(alias: &str, key: &Arc<Names>, row: &Image, params: &mut NamedParams) -> Option<String> {
    let parts = row.part(key);
    let all = parts.iter().enumerate().map(|(at, (name, value))| {
        let place = format!("key{at}");
        params.add_value(&place, "", value.clone());
        format!("{alias}.{} = :{place}", quoted(name))
    });
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| all.join(" AND "))
}
