//! PostgreSQL's own SQL.

use std::cell::{Cell, RefCell};

use super::error::PgError;
use super::link::Link;
use super::named_params::NamedParams;
use super::schema::{literal, quoted};
use super::trust::Trust;
use super::zone;
use crate::domain::time::{Moment, Reading, Span, TimeUnit, ZoneName};
use crate::domain::value::Value;
use crate::store::bind::{Compiler, Fragment, Problem};
use crate::store::bound::{BoundBoard, BoundRegistry, BoundZone, Sql, TimeSql};
use crate::store::driver::{Dialect, Row, TraceTime};
use crate::store::image::{Image, RowAt};
use crate::store::schema::{Column, Table};
use crate::store::seen::Seen;
use crate::store::session::Registered;

/// How PostgreSQL writes things.
#[derive(Debug)]
pub struct PostgresDialect;

impl Dialect for PostgresDialect {
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

    fn trace_time(
        &self,
        at: &str,
        column: Option<&Column>,
        _: TimeUnit,
        zone: Option<&BoundZone>,
    ) -> TraceTime {
        let naive = column.is_some_and(|column| column.declared.contains("without time zone"));
        let shown = match zone {
            Some(zone) if naive => format!("({at} AT TIME ZONE {})", literal(&zone.sql)),
            // Of a zone that nobody knows, no time is better than a wrong one.
            None if naive => "NULL".into(),
            _ => at.to_owned(),
        };
        TraceTime { selected: self.selected(&shown), order: format!("{at} DESC NULLS LAST") }
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

    fn add_time(
        &self,
        params: &mut NamedParams,
        name: &str,
        unit: TimeUnit,
        zone: &BoundZone,
        moment: Moment,
    ) {
        params.add_time(name, unit, zone, moment);
    }

    /// Where times are texts, an instant has no type of its own: a log beside the claims may well keep times
    /// as such.
    fn add_instant(
        &self,
        params: &mut NamedParams,
        name: &str,
        unit: TimeUnit,
        zone: &BoundZone,
        moment: Moment,
    ) {
        match unit {
            TimeUnit::TextUtc => params.add_sql(name, &literal(&zone.own.unwrap_or_default().text(moment))),
            _ => params.add_time(name, unit, zone, moment),
        }
        params.add_time(&format!("{name}_zoned"), TimeUnit::Timestamptz, zone, moment);
        params.add_time(&format!("{name}_naive"), TimeUnit::Timestamp, zone, moment);
    }

    fn add_span(&self, params: &mut NamedParams, name: &str, unit: TimeUnit, span: Span) {
        params.add_span(name, unit, span);
    }
}

/// Compiles on a connection inside a transaction that may only read.
#[derive(Debug)]
pub struct Postgres<'a> {
    pub link: RefCell<&'a mut Link>,
    trust: Trust<'a>,
    /// Whatever kept the server from an answer meanwhile: of what was not asked nobody knows whether it fits.
    pub unanswered: RefCell<Option<PgError>>,
    /// Whether there is a place to go back to after an error.
    saved: Cell<bool>,
}

impl<'a> Postgres<'a> {
    pub fn new(link: &'a mut Link, trust: Trust<'a>) -> Postgres<'a> {
        let (link, unanswered, saved) = (RefCell::new(link), RefCell::new(None), Cell::new(false));
        Postgres { link, trust, unanswered, saved }
    }

    /// A question that the server did not answer: whether something fits is not known then.
    fn leave_open(&self, error: PgError) -> Problem {
        let said = error.to_string();
        *self.unanswered.borrow_mut() = Some(error);
        Problem::Missing(said)
    }

    /// The type of the one value that a statement selects. It has no rows, and the statement no name that a
    /// pooler could lose.
    fn type_of(&self, sql: &str) -> Result<String, PgError> {
        let mut link = self.link.borrow_mut();
        if !self.saved.replace(true) {
            link.batch("SAVEPOINT claimtop_compile")?;
        }
        let rows = link.query(&format!("SELECT pg_typeof(({sql}\n))::text"), &[]);
        if rows.as_ref().is_err_and(|error| !error.ends_the_link()) {
            link.batch("ROLLBACK TO claimtop_compile")?;
        }
        Ok(rows?.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned())
    }
}

impl Compiler for Postgres<'_> {
    fn resolve(&self, sql: &str, fragment: Fragment) -> Result<String, Problem> {
        let mut link = self.link.borrow_mut();
        self.trust.resolve(&mut link, sql, fragment).unwrap_or_else(|error| Err(self.leave_open(error)))
    }

    fn usable(&self, table: &Table, written: &str) -> Result<(), Problem> {
        self.trust.usable(table, written)
    }

    fn equality(&self, declared: &str) -> String {
        self.trust.types().equality(declared).to_owned()
    }

    fn compile(&self, expression: &str, from: &str) -> Result<String, Problem> {
        // Which type `:now` has is the board's business; NULL is of every type.
        let mut params = NamedParams::default();
        params.add_sql("now", "NULL");
        let sql = params.put_into(&format!("SELECT {expression} FROM {from} LIMIT 0")).sql;
        self.type_of(&sql).map_err(|error| match error {
            PgError::Server { code, message, .. } if code == "25006" || code == "42501" => {
                Problem::Refused(message)
            }
            PgError::Server { code, message, .. } if code == "42883" => Problem::Missing(format!(
                "{message} among what is built in; others are written with their schema, and allowed by \
                 allow_functions in the config"
            )),
            PgError::Server { code, message, .. } if !is_passing(&code) => Problem::Missing(message),
            PgError::Server { .. } | PgError::Lost(_) | PgError::TimedOut(_) => self.leave_open(error),
        })
    }

    fn time(&self, sql: Sql, unit: TimeUnit, zone: &BoundZone) -> Result<TimeSql, String> {
        let name = sql.column.clone().unwrap_or_else(|| "expression".into());
        let text = sql.text.clone();
        let kind = kind(&sql.declared);
        let (selected, unit, bound_type) = match (kind, unit.is_number()) {
            (Kind::Zoned, false) => (text.clone(), TimeUnit::Timestamptz, Some("timestamptz")),
            (Kind::Naive, false) => {
                let zoned = format!("(({text})::timestamp AT TIME ZONE {})", literal(&zone.sql));
                (zoned, TimeUnit::Timestamptz, Some("timestamp"))
            }
            // A text may be anything: it is read, but the database must not try to.
            (Kind::Text, false) if zone.own.is_some() => (text.clone(), TimeUnit::TextUtc, None),
            (Kind::Text, false) => {
                return Err(format!(
                    "{name} is text: its times can be in utc or an offset such as +02:00, not in {}",
                    zone.name
                ));
            }
            (Kind::Whole, true) => (text.clone(), unit, Some("bigint")),
            (Kind::Number, true) => (text.clone(), unit, Some("numeric")),
            (_, true) => {
                return Err(format!("{name} is declared {} but read as a number", sql.declared));
            }
            (_, false) => {
                return Err(format!("{name} is declared {} but read as a time", sql.declared));
            }
        };
        let is_naive = matches!(kind, Kind::Naive | Kind::Text);
        Ok(TimeSql { comparable: text, selected, cell: sql, unit, bound_type, zone: zone.clone(), is_naive })
    }

    fn zone(&self, name: &ZoneName, table: &Table) -> Result<BoundZone, String> {
        let mut link = self.link.borrow_mut();
        zone::bound(&mut link, name, &table.sql).unwrap_or_else(|error| {
            let said = error.to_string();
            *self.unanswered.borrow_mut() = Some(error);
            Err(said)
        })
    }

    fn always(&self) -> &'static str {
        "TRUE"
    }
}

/// Whether it is no fault of the SQL, and the same may do a moment later: another transaction, the time,
/// the server's means, its operator or its machine.
fn is_passing(code: &str) -> bool {
    ["40", "53", "55", "57", "58"].iter().any(|class| code.starts_with(class))
}

/// What a column can hold, as far as it matters for times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Zoned,
    Naive,
    Text,
    Whole,
    Number,
    Other,
}

fn kind(declared: &str) -> Kind {
    let plain = declared.split('(').next().unwrap_or_default().trim_end();
    match plain {
        // It is of an extension, and so in the schema that was chosen for that.
        _ if plain.ends_with(".citext") => Kind::Text,
        "timestamptz" => Kind::Zoned,
        "timestamp" if declared.ends_with("with time zone") => Kind::Zoned,
        "timestamp with time zone" => Kind::Zoned,
        "timestamp" | "timestamp without time zone" | "date" => Kind::Naive,
        "text" | "character varying" | "varchar" | "character" | "bpchar" | "unknown" => Kind::Text,
        "smallint" | "integer" | "bigint" | "int2" | "int4" | "int8" => Kind::Whole,
        "numeric" | "double precision" | "real" | "float4" | "float8" => Kind::Number,
        _ => Kind::Other,
    }
}

/// Whether values of this type are times with a zone (`true`), or without one; nothing, if they are no times.
pub fn names_zone(declared: &str) -> Option<bool> {
    match kind(declared) {
        Kind::Zoned => Some(true),
        Kind::Naive => Some(false),
        Kind::Text | Kind::Whole | Kind::Number | Kind::Other => None,
    }
}

/// Whether values of this type are whole numbers.
pub fn is_whole(declared: &str) -> bool {
    kind(declared) == Kind::Whole
}

/// Whether values of this type are numbers.
pub fn is_number(declared: &str) -> bool {
    matches!(kind(declared), Kind::Whole | Kind::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_both_of_their_names() {
        for (declared, expected) in [
            ("timestamp with time zone", Kind::Zoned),
            ("timestamp(6) with time zone", Kind::Zoned),
            ("timestamp(6) without time zone", Kind::Naive),
            ("timestamptz", Kind::Zoned),
            ("character varying(128)", Kind::Text),
            ("numeric(10,2)", Kind::Number),
            ("uuid", Kind::Other),
        ] {
            assert_eq!(kind(declared), expected, "{declared}");
        }
    }
}
