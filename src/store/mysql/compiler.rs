//! Laying profiles onto a database: the server itself compiles their SQL.

use std::cell::RefCell;

use super::column_type::{TypeKind, declared, kind};
use super::dialect::{self, MysqlDialect};
use super::zone;
use crate::domain::time::{Span, TimeUnit, ZoneName};
use crate::mysql::{Link, MyError};
use crate::profile::format::Act;
use crate::store::bind::{AliasedTable, Compiler, Fragment, Problem};
use crate::store::bound::{BoundZone, Sql, TimeSql};
use crate::store::driver::Dialect;
use crate::store::named_params::NamedParams;
use crate::store::schema::Table;

/// Compiles on a connection that may only read.
#[derive(Debug)]
pub(super) struct MysqlCompiler<'a> {
    link: RefCell<&'a mut Link>,
    dialect: &'static MysqlDialect,
    /// Views may be read: the profile was named.
    views: bool,
    /// Whatever kept the server from an answer meanwhile.
    pub unanswered: RefCell<Option<MyError>>,
}

/// What reads files, waits, holds locks or sets variables although the session may only read.
const REFUSED: [&str; 14] = [
    "load_file(",
    "sleep(",
    "benchmark(",
    "get_lock(",
    "release_lock(",
    "release_all_locks(",
    "outfile",
    "dumpfile",
    "into @",
    ":=",
    "master_pos_wait(",
    "source_pos_wait(",
    "sys_exec(",
    "sys_eval(",
];

/// Comments that the server runs, or takes advice from.
const RUN_COMMENTS: [&str; 3] = ["/*!", "/*m!", "/*+"];

impl<'a> MysqlCompiler<'a> {
    pub(super) fn new(link: &'a mut Link, views: bool) -> MysqlCompiler<'a> {
        let dialect = dialect::of(link.flavor());
        MysqlCompiler { link: RefCell::new(link), dialect, views, unanswered: RefCell::new(None) }
    }

    /// Why the server does not understand something; unless it did not answer.
    fn explain(&self, error: MyError) -> Problem {
        let said = error.to_string();
        let is_passing = error.is_locked() || error.is_too_slow() || error.ends_the_link();
        if is_passing {
            *self.unanswered.borrow_mut() = Some(error);
        }
        Problem::Missing(said)
    }
}

/// Why a profile's SQL may not run, if it may not.
fn refusal(sql: &str) -> Option<String> {
    let plain: String =
        sql.to_ascii_lowercase().split_whitespace().collect::<Vec<_>>().join(" ").replace(" (", "(");
    let comment = RUN_COMMENTS.iter().find(|comment| plain.contains(*comment));
    let word = REFUSED.iter().find(|word| plain.contains(*word));
    match (comment, word) {
        (Some(_), _) => Some("comments that the server runs, such as /*! */, are not allowed".into()),
        (None, Some(word)) => Some(format!("{} is not allowed in a profile", word.trim_end_matches('('))),
        (None, None) => None,
    }
}

impl Compiler for MysqlCompiler<'_> {
    fn resolve(&self, sql: &str, _: Fragment) -> Result<String, Problem> {
        refusal(sql).map_or_else(|| Ok(sql.to_owned()), |why| Err(Problem::Refused(why)))
    }

    /// A view runs with the rights of whoever made it.
    fn usable(&self, table: &Table, _: &str) -> Result<(), Problem> {
        match &table.standing.runs {
            Some(why) if !self.views => Err(Problem::Missing(format!(
                "{why}: name the profile (--profile, or `profiles` in the config) to use it"
            ))),
            _ => Ok(()),
        }
    }

    fn compile(&self, expression: &str, from: &str) -> Result<String, Problem> {
        let mut params = NamedParams::default();
        params.add_sql("now", "NULL");
        let sql = params.written_out(&format!("SELECT {expression} FROM {from} LIMIT 0"));
        let columns = self.link.borrow_mut().prepare(&sql).map_err(|error| self.explain(error))?;
        Ok(columns.first().map(declared).unwrap_or_default().to_owned())
    }

    /// By what it would write, as a question: that takes no lock and needs no right to write.
    fn prepare_act(&self, act: &Act, rows: &AliasedTable<'_>, params: &NamedParams) -> Result<(), Problem> {
        let AliasedTable { table, alias } = *rows;
        let values: Vec<String> = act.set.values().map(|value| format!("({value}\n)")).collect();
        let values = if values.is_empty() { "1".into() } else { values.join(", ") };
        self.prepare(&format!("SELECT {values} FROM {} AS {alias}", table.sql), params)
    }

    fn prepare(&self, sql: &str, params: &NamedParams) -> Result<(), Problem> {
        let put = super::cell::put(params, sql);
        match self.link.borrow_mut().prepare(&put.sql) {
            Ok(_) => Ok(()),
            // What we may not read or write is another matter than what is not there: the act itself says so.
            Err(error) if error.is_not_allowed() || error.is_read_only() => Ok(()),
            Err(error) => Err(self.explain(error)),
        }
    }

    fn dialect(&self) -> &'static dyn Dialect {
        self.dialect
    }

    fn time(&self, sql: Sql, unit: TimeUnit, zone: &BoundZone) -> Result<TimeSql, String> {
        let name = sql.column.clone().unwrap_or_else(|| "expression".into());
        let kind = kind(&sql.declared);
        let text = sql.text.clone();
        let (unit, bound_type, zone) = match (kind, unit.is_number()) {
            (TypeKind::Instant, false) => (TimeUnit::Timestamptz, Some("datetime"), zone::utc()),
            (TypeKind::Naive, false) => (TimeUnit::Timestamp, Some("datetime"), zone.clone()),
            // A text may be anything: it is read, but the database must not try to.
            (TypeKind::Text, false) => (TimeUnit::TextUtc, None, zone.clone()),
            (TypeKind::Whole, true) => (unit, Some("bigint"), zone.clone()),
            (TypeKind::Number, true) => (unit, Some("decimal"), zone.clone()),
            (_, true) => return Err(format!("{name} is declared {} but read as a number", sql.declared)),
            (_, false) => return Err(format!("{name} is declared {} but read as a time", sql.declared)),
        };
        let is_naive = matches!(kind, TypeKind::Naive | TypeKind::Text);
        Ok(TimeSql { comparable: text.clone(), selected: text, cell: sql, unit, bound_type, zone, is_naive })
    }

    fn or_after(&self, column: &TimeSql, since: &[&TimeSql], length: Span) -> Result<TimeSql, String> {
        if since.iter().any(|time| time.unit != column.unit) || column.bound_type.is_none() {
            return Err(
                "the time in the column and the sign of life have to be written alike, and not as texts"
                    .into(),
            );
        }
        let signs: Vec<&str> = since.iter().map(|time| time.selected.as_str()).collect();
        // The greatest of several is NULL if one of them is.
        let last = match &signs[..] {
            [one] => (*one).to_owned(),
            all => format!("COALESCE(GREATEST({}), {})", all.join(", "), all.join(", ")),
        };
        let micros = length.as_micros();
        let later = if column.unit.is_number() {
            let scaled = i128::from(micros) * i128::from(column.unit.per_second()) / 1_000_000;
            format!("{last} + {scaled}")
        } else {
            format!("{last} + INTERVAL {micros} MICROSECOND")
        };
        let text = format!("COALESCE({}, {later})", column.selected);
        let cell = Sql { text: text.clone(), column: None, declared: column.cell.declared.clone() };
        Ok(TimeSql { cell, selected: text.clone(), comparable: text, ..column.clone() })
    }

    fn zone(&self, name: &ZoneName, _: &Table) -> Result<BoundZone, String> {
        let mut link = self.link.borrow_mut();
        zone::bound(&mut link, name).unwrap_or_else(|error| {
            let said = error.to_string();
            *self.unanswered.borrow_mut() = Some(error);
            Err(said)
        })
    }

    fn always(&self) -> &'static str {
        "TRUE"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_more_than_read_is_refused() {
        for sql in [
            "SELECT 1 /*! INTO @z */",
            "1 /*M! 2 */",
            "/*+ MAX_EXECUTION_TIME(1) */ 1",
            "LOAD_FILE ('/etc/passwd')",
            "Sleep(10)",
            "x INTO OUTFILE '/tmp/x'",
            "@a := 1",
        ] {
            assert!(refusal(sql).is_some(), "{sql}");
        }
        for sql in ["c.status = 'running'", "COALESCE(c.a, 0) /* a remark */", "c.sleeping = 1"] {
            assert_eq!(refusal(sql), None, "{sql}");
        }
    }
}
