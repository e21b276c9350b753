//! Everything that is wrong with the keys of a profile, not only the first thing.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::format::ProfileError;
use super::keys::{KeyGroup, Kind};
use crate::domain::similar::did_you_mean;

/// A problem, and where in the text it is.
#[derive(Debug)]
struct FoundProblem {
    at: usize,
    what: String,
}

/// What is wrong with the keys of a file, each with its line: unknown ones, wrong values, missing ones. If the
/// file is no TOML, only that.
pub(super) fn problems(name: &str, text: &str) -> Vec<ProfileError> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut found: Vec<FoundProblem> = errors.iter().map(|error| of_toml(error, text)).collect();
    if found.is_empty() {
        Search { found: &mut found, partial: false }.table(table.get_ref(), KeyGroup::Profile, 0);
    }
    found.sort_by_key(|found| found.at);
    found.into_iter().map(|found| found.in_file(name, text)).collect()
}

fn of_toml(error: &toml::de::Error, text: &str) -> FoundProblem {
    let what = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    FoundProblem { at: error.span().map_or(0, |span| span.start.min(text.len())), what }
}

impl FoundProblem {
    fn in_file(self, name: &str, text: &str) -> ProfileError {
        let line =
            text.as_bytes()[..self.at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
        ProfileError::Syntax { name: name.into(), line, what: self.what }
    }
}

struct Search<'a> {
    found: &'a mut Vec<FoundProblem>,
    /// The table only replaces keys of another, so that none has to be there.
    partial: bool,
}

impl Search<'_> {
    fn table(&mut self, table: &DeTable<'_>, group: KeyGroup, at: usize) {
        for (key, value) in table {
            self.entry(key, value, group);
        }
        let is_missing = |name: &str| !table.iter().any(|(key, _)| key.get_ref() == name);
        for key in group.keys().filter(|key| key.default.is_none() && !self.partial && is_missing(key.name)) {
            let what =
                format!("`{}` is missing ({}), for example {}", key.name, group.heading(), key.example);
            self.found.push(FoundProblem { at, what });
        }
    }

    fn entry(
        &mut self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        group: KeyGroup,
    ) {
        let at = name.span().start;
        let Some(key) = group.key(name.get_ref()) else {
            let near = did_you_mean(name.get_ref(), group.keys().map(|key| key.name));
            let what = format!("unknown key `{}` ({}){near}", name.get_ref(), group.heading());
            return self.found.push(FoundProblem { at, what });
        };
        // A part of such a table replaces that part of the other: it makes sense only together with it.
        let is_part = self.partial && matches!(key.kind, Kind::Time | Kind::ColumnOrNumber);
        if is_part && value.get_ref().is_table() {
            return;
        }
        if let Err(problem) = key.kind.check(value) {
            let what = format!("`{}`: {problem}; it is {}", key.name, key.kind.describe());
            return self.found.push(FoundProblem { at, what });
        }
        match (key.kind, value.get_ref()) {
            (Kind::Table(inner), DeValue::Table(table)) => self.table(table, inner, at),
            (Kind::Tables(inner), DeValue::Array(tables)) => {
                for table in tables.iter() {
                    self.element(table, inner);
                }
            }
            (Kind::Statements(inner), DeValue::Array(statements)) => {
                for statement in statements.iter().filter(|statement| !statement.get_ref().is_str()) {
                    // Even where it replaces another list, a statement is whole.
                    let mut search = Search { found: &mut *self.found, partial: false };
                    search.element(statement, inner);
                }
            }
            (Kind::Engines(inner), DeValue::Table(engines)) => {
                for (_, table) in engines {
                    let mut search = Search { found: &mut *self.found, partial: true };
                    search.element(table, inner);
                }
            }
            _ => {}
        }
    }

    fn element(&mut self, value: &Spanned<DeValue<'_>>, group: KeyGroup) {
        let at = value.span().start;
        match value.get_ref() {
            DeValue::Table(table) => self.table(table, group, at),
            _ => self.found.push(FoundProblem { at, what: format!("{} expects tables", group.heading()) }),
        }
    }
}
