//! What only some versions of a system have, and this database does not.

use super::misfit::Problem;
use crate::profile::format::Profile;
use crate::store::schema::Schema;

/// The tables and columns that a profile marks as optional, as far as the database lacks them.
#[derive(Debug, Default)]
pub(super) struct Optional {
    missing: Vec<Missing>,
}

#[derive(Debug)]
struct Missing {
    /// The table of a column; nothing for a table.
    table: Option<String>,
    name: String,
}

impl Optional {
    pub(super) fn of(profile: &Profile, schema: &Schema) -> Optional {
        let is_missing = |name: &&String| schema.table(name).is_none() && !schema.has(name);
        let missing = |written: &String| {
            let (before, name) = written.rsplit_once('.').unwrap_or(("", written));
            let table = schema.table(before).map(|table| table.name.clone());
            Missing { table, name: name.to_ascii_lowercase() }
        };
        Optional { missing: profile.optional.iter().filter(is_missing).map(missing).collect() }
    }

    /// Whether SQL does not fit only because of what this version of the system lacks.
    pub(super) fn excuses(&self, problem: &Problem, sql: &str) -> bool {
        match problem {
            Problem::Refused(_) => false,
            Problem::NoColumn { table, column, .. } => self.missing.iter().any(|missing| {
                missing.name.eq_ignore_ascii_case(column) && missing.table.as_ref() == Some(table)
            }),
            Problem::NoTable { table } => self.names(table),
            Problem::Missing(_) => self.names(sql),
        }
    }

    fn names(&self, sql: &str) -> bool {
        let mut words = sql.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| self.missing.iter().any(|missing| missing.name.eq_ignore_ascii_case(word)))
    }
}
