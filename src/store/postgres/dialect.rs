//! PostgreSQL's own SQL, for laying profiles onto a database.

use std::cell::{Cell, RefCell};

use super::error::PgError;
use super::link::Link;
use super::schema::literal;
use super::words::Words;
use crate::domain::time::TimeUnit;
use crate::store::bind::{Dialect, Problem};
use crate::store::bound::{Sql, TimeSql};

/// Compiles on a connection inside a transaction that may only read.
#[derive(Debug)]
pub struct Postgres<'a> {
    pub link: RefCell<&'a mut Link>,
    /// The zone of times that have none.
    pub zone: &'a str,
    /// Whatever ended the connection meanwhile.
    pub lost: RefCell<Option<PgError>>,
    /// There is a point to go back to from a statement that does not compile.
    is_safe: Cell<bool>,
}

impl<'a> Postgres<'a> {
    pub fn new(link: &'a mut Link, zone: &'a str) -> Postgres<'a> {
        Postgres { link: RefCell::new(link), zone, lost: RefCell::new(None), is_safe: Cell::new(false) }
    }

    fn describe(&self, sql: &str) -> Result<Vec<String>, PgError> {
        let mut link = self.link.borrow_mut();
        if !self.is_safe.replace(true) {
            link.batch("SAVEPOINT claimtop_compile")?;
        }
        let described = link.describe(sql);
        // What compiles has changed nothing: only a failure costs a second trip.
        if described.as_ref().is_err_and(|error| !error.ends_the_link()) {
            link.batch("ROLLBACK TO claimtop_compile")?;
        }
        described
    }
}

impl Dialect for Postgres<'_> {
    fn compile(&self, sql: &str) -> Result<Vec<String>, Problem> {
        // Which type `:now` has is the board's business; NULL is of every type.
        let mut words = Words::default();
        words.add_sql("now", "NULL");
        let described = self.describe(&words.put_into(sql).sql);
        described.map_err(|error| match error {
            PgError::Server { code, message, .. } if code == "25006" || code == "42501" => {
                Problem::Refused(message)
            }
            PgError::Server { message, .. } => Problem::Missing(message),
            lost @ (PgError::Lost(_) | PgError::TimedOut(_)) => {
                let said = lost.to_string();
                *self.lost.borrow_mut() = Some(lost);
                Problem::Missing(said)
            }
        })
    }

    fn time(&self, sql: Sql, unit: TimeUnit) -> Result<TimeSql, String> {
        let name = sql.column.clone().unwrap_or_else(|| "expression".into());
        let text = sql.text.clone();
        let kind = kind(&sql.declared);
        let (selected, unit, bound_type) = match (kind, unit.is_number()) {
            (Kind::Zoned, false) => (text.clone(), TimeUnit::Timestamptz, Some("timestamptz")),
            (Kind::Naive, false) => {
                let zoned = format!("(({text})::timestamp AT TIME ZONE {})", literal(self.zone));
                (zoned, TimeUnit::Timestamptz, Some("timestamp"))
            }
            // A text may be anything: it is read, but the database must not try to.
            (Kind::Text, false) => (text.clone(), TimeUnit::TextUtc, None),
            (Kind::Whole, true) => (text.clone(), unit, Some("bigint")),
            (Kind::Number, true) => (text.clone(), unit, Some("numeric")),
            (_, true) => {
                return Err(format!("{name} is declared {} but read as a number", sql.declared));
            }
            (_, false) => {
                return Err(format!("{name} is declared {} but read as a time", sql.declared));
            }
        };
        Ok(TimeSql { comparable: text, selected, cell: sql, unit, bound_type })
    }

    fn always(&self) -> &'static str {
        "TRUE"
    }
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
        "timestamptz" => Kind::Zoned,
        "timestamp" if declared.ends_with("with time zone") => Kind::Zoned,
        "timestamp with time zone" => Kind::Zoned,
        "timestamp" | "timestamp without time zone" | "date" => Kind::Naive,
        "text" | "character varying" | "varchar" | "character" | "bpchar" | "citext" | "unknown" => {
            Kind::Text
        }
        "smallint" | "integer" | "bigint" | "int2" | "int4" | "int8" => Kind::Whole,
        "numeric" | "double precision" | "real" | "float4" | "float8" => Kind::Number,
        _ => Kind::Other,
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
