//! Laying profiles onto a database: the server itself compiles their SQL.

use std::cell::{Cell, RefCell};

use super::column_type::{TypeKind, kind};
use super::dialect::PostgresDialect;
use super::named_params::NamedParams;
use super::schema::{literal, quoted};
use super::trust::Trust;
use super::zone;
use crate::domain::time::{Span, TimeUnit, ZoneName};
use crate::postgres::error::PgError;
use crate::postgres::link::{Answers, Link, Row as LinkRow, Step};
use crate::profile::format::Act;
use crate::store::bind::{AliasedTable, Compiler, Fragment, Problem};
use crate::store::bound::{BoundZone, Sql, TimeSql};
use crate::store::driver::Dialect;
use crate::store::schema::Table;

/// A statement that changes rows locks their table while it is parsed. Nobody is kept waiting by a check.
const PATIENCE: &str = "SET LOCAL lock_timeout = 50";

/// Compiles on a connection inside a transaction that may only read.
#[derive(Debug)]
pub(super) struct Postgres<'a> {
    pub link: RefCell<&'a mut Link>,
    trust: Trust<'a>,
    /// Whatever kept the server from an answer meanwhile: of what was not asked nobody knows whether it fits.
    pub unanswered: RefCell<Option<PgError>>,
    /// Whether there is a place to go back to after an error.
    saved: Cell<bool>,
}

impl<'a> Postgres<'a> {
    pub(super) fn new(link: &'a mut Link, trust: Trust<'a>) -> Postgres<'a> {
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
        let rows = self.ask(&format!("SELECT pg_typeof(({sql}\n))::text"))?;
        Ok(rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned())
    }

    /// Asks, and goes back to where it was if the server does not understand.
    fn ask(&self, sql: &str) -> Result<Vec<LinkRow>, PgError> {
        let mut link = self.link.borrow_mut();
        let asked = link.ask_all(self.after_a_savepoint([Step::query(sql, &[])]))?.pop();
        let rows = asked.unwrap_or_else(|| Ok(Vec::new()));
        if rows.is_err() {
            link.batch("ROLLBACK TO claimtop_compile")?;
        }
        rows
    }

    /// Statements after which one can go back to where it was.
    fn after_a_savepoint<const N: usize>(&self, steps: [Step; N]) -> Vec<Step> {
        let save = Step::Batch("SAVEPOINT claimtop_compile".into());
        let first = if self.saved.replace(true) { None } else { Some(save) };
        first.into_iter().chain(steps).collect()
    }

    /// Has the server parse a statement and look up every name in it, in one round trip. It gets a name for that moment
    /// only, and the locks of its tables are given back at once.
    fn parse(&self, sql: &str) -> Result<(), PgError> {
        const FORGET: &str = "DEALLOCATE claimtop_check";
        let patience = self.link.borrow().patience();
        let steps = || {
            self.after_a_savepoint([
                Step::Batch(PATIENCE.into()),
                Step::query(&format!("PREPARE claimtop_check AS {sql}"), &[]),
                Step::query(FORGET, &[]),
                Step::Batch(format!("ROLLBACK TO claimtop_compile; {patience}")),
            ])
        };
        let parsed = |answers: Answers| answers.into_iter().find_map(Result::err).map_or(Ok(()), Err);
        let first = parsed(self.link.borrow_mut().ask_all(steps())?);
        match first {
            // A pooler gave us the connection of somebody who was interrupted here.
            Err(PgError::Server { code, .. }) if code == "42P05" => {
                self.ask(FORGET)?;
                parsed(self.link.borrow_mut().ask_all(steps())?)
            }
            other => other,
        }
    }

    /// Why the server does not understand something; unless it did not answer.
    fn explain(&self, error: PgError) -> Problem {
        match error {
            PgError::Server { code, message, .. } if code == "25006" || code == "42501" => {
                Problem::Refused(message)
            }
            PgError::Server { code, message, .. } if code == "42883" => Problem::Missing(format!(
                "{message} among what is built in; others are written with their schema, and allowed by \
                 allow_functions in the config"
            )),
            PgError::Server { code, message, .. } if !is_passing(&code) => Problem::Missing(message),
            PgError::Server { .. } | PgError::Lost(_) | PgError::TimedOut(_) => self.leave_open(error),
        }
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
        self.type_of(&sql).map_err(|error| self.explain(error))
    }

    /// By what it would write, as a question: that takes no lock which could keep anybody waiting.
    fn prepare_act(&self, act: &Act, rows: &AliasedTable<'_>, params: &NamedParams) -> Result<(), Problem> {
        let AliasedTable { table, alias } = *rows;
        let value = |(column, value): (&String, &String)| {
            let column = table.column(column)?;
            let assigned = PostgresDialect.assignment(column, value);
            assigned.strip_prefix(&format!("{} = ", quoted(&column.name))).map(str::to_owned)
        };
        let values: Vec<String> = act.set.iter().filter_map(value).collect();
        let values = if values.is_empty() { "1".into() } else { values.join(", ") };
        self.prepare(&format!("SELECT {values} FROM {} AS {alias}", table.sql), params)
    }

    fn prepare(&self, sql: &str, params: &NamedParams) -> Result<(), Problem> {
        match self.parse(&params.put_into(sql).sql) {
            Ok(()) => Ok(()),
            // What we may not read or write is another matter than what is not there: the act itself says so. So does
            // a standby, and a table that somebody has locked is looked at another time.
            Err(PgError::Server { code, .. }) if ["42501", "55000", "55P03"].contains(&code.as_str()) => {
                Ok(())
            }
            Err(error) => Err(self.explain(error)),
        }
    }

    fn effects(&self, sql: &str) -> Vec<String> {
        self.trust.effects(sql)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &PostgresDialect
    }

    fn time(&self, sql: Sql, unit: TimeUnit, zone: &BoundZone) -> Result<TimeSql, String> {
        let name = sql.column.clone().unwrap_or_else(|| "expression".into());
        let text = sql.text.clone();
        let kind = kind(&sql.declared);
        let (selected, unit, bound_type) = match (kind, unit.is_number()) {
            (TypeKind::Zoned, false) => (text.clone(), TimeUnit::Timestamptz, Some("timestamptz")),
            (TypeKind::Naive, false) => {
                let zoned = format!("(({text})::timestamp AT TIME ZONE {})", literal(&zone.sql));
                (zoned, TimeUnit::Timestamptz, Some("timestamp"))
            }
            // A text may be anything: it is read, but the database must not try to.
            (TypeKind::Text, false) if zone.own.is_some() => (text.clone(), TimeUnit::TextUtc, None),
            (TypeKind::Text, false) => {
                return Err(format!(
                    "{name} is text: its times can be in utc or an offset such as +02:00, not in {}",
                    zone.name
                ));
            }
            (TypeKind::Whole, true) => (text.clone(), unit, Some("bigint")),
            (TypeKind::Number, true) => (text.clone(), unit, Some("numeric")),
            (_, true) => {
                return Err(format!("{name} is declared {} but read as a number", sql.declared));
            }
            (_, false) => {
                return Err(format!("{name} is declared {} but read as a time", sql.declared));
            }
        };
        let is_naive = matches!(kind, TypeKind::Naive | TypeKind::Text);
        Ok(TimeSql { comparable: text, selected, cell: sql, unit, bound_type, zone: zone.clone(), is_naive })
    }

    fn or_after(&self, column: &TimeSql, since: &[&TimeSql], length: Span) -> Result<TimeSql, String> {
        if since.iter().any(|time| time.unit != column.unit) || column.bound_type.is_none() {
            return Err(
                "the time in the column and the sign of life have to be written alike, and not as texts"
                    .into(),
            );
        }
        let length = if column.unit.is_number() {
            (i128::from(length.as_micros()) * i128::from(column.unit.per_second()) / 1_000_000).to_string()
        } else {
            format!("interval '{} microseconds'", length.as_micros())
        };
        let signs: Vec<&str> = since.iter().map(|time| time.selected.as_str()).collect();
        let text = format!("coalesce({}, greatest({}) + {length})", column.selected, signs.join(", "));
        let cell = Sql { text: text.clone(), column: None, declared: column.cell.declared.clone() };
        let bound_type = if column.unit.is_number() { column.bound_type } else { Some("timestamptz") };
        let (selected, comparable) = (text.clone(), text);
        let (unit, zone) = (column.unit, column.zone.clone());
        Ok(TimeSql { cell, unit, selected, comparable, bound_type, zone, is_naive: false })
    }

    fn zone(&self, name: &ZoneName, table: &Table) -> Result<BoundZone, String> {
        // Otherwise a misspelt zone would show only with the first time that is read in it.
        if let ZoneName::Named(name) = name {
            let asked = self.ask(&format!("SELECT (now() AT TIME ZONE {})::text", literal(name)));
            asked.map_err(|error| self.explain(error).to_string())?;
        }
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
