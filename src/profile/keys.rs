//! Every key of the profile format, with its type, default and an example.
//!
//! `claimtop profile help`, the reference in `docs/profiles.md` and the check of a file's keys all come from this one
//! table; a test compares it with the structs of the format.

mod reference;
mod table;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::format::{Defaulted, Engine, Never, Role, StampedBy, Time, Variable, When};
use crate::domain::time::{Span, TimeUnit, ZoneName};
pub use reference::markdown;
pub use table::KEYS;

/// One key.
#[derive(Debug)]
pub struct ProfileKey {
    pub group: KeyGroup,
    pub name: &'static str,
    pub kind: Kind,
    /// What holds without it; `None` if it has to be there.
    pub default: Option<&'static str>,
    /// A line of TOML.
    pub example: &'static str,
    pub about: &'static str,
}

/// A table of the file, with the keys that may stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyGroup {
    Profile,
    Claim,
    Deadline,
    Session,
    Backlog,
    Act,
    Statement,
    History,
}

/// What a key's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A table with keys of its own.
    Table(KeyGroup),
    /// Several such tables.
    Tables(KeyGroup),
    /// SQL statements, each a text or such a table.
    Statements(KeyGroup),
    /// For each engine a table with keys of this one, which replace those of the table around it.
    Engines(KeyGroup),
    Text,
    Texts,
    /// A column, or SQL over the row.
    Value,
    Values,
    Condition,
    TextMap,
    Variables,
    Flag,
    /// A flag, or what a claim is then.
    Never,
    Duration,
    DurationMap,
    Count,
    When,
    Time,
    Unit,
    Zone,
    Role,
    StampedBy,
    ColumnOrNumber,
}

impl KeyGroup {
    pub const ALL: [KeyGroup; 8] = [
        KeyGroup::Profile,
        KeyGroup::Claim,
        KeyGroup::Deadline,
        KeyGroup::Session,
        KeyGroup::Backlog,
        KeyGroup::Act,
        KeyGroup::Statement,
        KeyGroup::History,
    ];

    /// What `profile help` calls it.
    pub fn name(self) -> &'static str {
        match self {
            KeyGroup::Profile => "profile",
            KeyGroup::Claim => "claim",
            KeyGroup::Deadline => "deadline",
            KeyGroup::Session => "session",
            KeyGroup::Backlog => "backlog",
            KeyGroup::Act => "act",
            KeyGroup::Statement => "statement",
            KeyGroup::History => "history",
        }
    }

    /// Where it stands in a file.
    pub fn heading(self) -> &'static str {
        match self {
            KeyGroup::Profile => "top of the file",
            KeyGroup::Claim => "[[claim]]",
            KeyGroup::Deadline => "[claim.deadline]",
            KeyGroup::Session => "[session], [claim.session]",
            KeyGroup::Backlog => "[backlog], [claim.backlog]",
            KeyGroup::Act => {
                "[claim.reclaim], [claim.release], [claim.extend], [claim.requeue], [session.end]"
            }
            KeyGroup::Statement => "{ } in `before` and `also`",
            KeyGroup::History => "[[history]]",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            KeyGroup::Profile => "One system. The name of the profile is the name of the file.",
            KeyGroup::Claim => {
                "One table of claims: a board. A value is a column, or an SQL expression over the claim's \
                             row `c` and, where holders are registered, the holder's row `s`."
            }
            KeyGroup::Deadline => {
                "When a claim is over. Exactly one of `column`, `claimed_at_plus`, `ttl` or \
                                `otherwise`, `holder`, `never`; `column` may have an `otherwise`."
            }
            KeyGroup::Session => {
                "The table in which holders are registered. At the top of the file it is for every claim \
                               without one of its own."
            }
            KeyGroup::Backlog => {
                "The jobs that nobody holds, as counts. At the top of the file it is for the first claim."
            }
            KeyGroup::Act => {
                "What an act changes: either `delete = true` or a `set`. claimtop itself adds the guard that \
                           nothing has changed since you looked. In SQL, `:id`, `:holder`, `:now`, `:until`, `:why` and \
                           other parameters stand for values of the claim."
            }
            KeyGroup::Statement => {
                "A statement that runs in the same transaction as the act. A plain text is its `sql`. Besides the \
                           parameters of the act it may name every column of the row as it was before: `:old.queue_id`. A \
                           dry run leaves it out if it calls a function that the config allows although its effects may \
                           stay."
            }
            KeyGroup::History => {
                "Traces of earlier recoveries that the system itself keeps, for `claimtop list --history`."
            }
        }
    }

    /// Its keys, in the order of the table.
    pub fn keys(self) -> impl Iterator<Item = &'static ProfileKey> {
        KEYS.iter().filter(move |key| key.group == self)
    }

    pub fn key(self, name: &str) -> Option<&'static ProfileKey> {
        self.keys().find(|key| key.name == name)
    }
}

impl ProfileKey {
    /// As `profile help` and error messages call it.
    pub fn path(&self) -> String {
        match self.group {
            KeyGroup::Profile => self.name.to_owned(),
            group => format!("{}.{}", group.name(), self.name),
        }
    }
}

impl Kind {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Kind::Table(_) => "table",
            Kind::Tables(_) => "one or more tables",
            Kind::Statements(_) => "list of SQL statements, each a text or a table",
            Kind::Engines(_) => "tables by engine: sqlite, postgres",
            Kind::Text => "text",
            Kind::Texts => "list of texts",
            Kind::Value => "column, or SQL expression",
            Kind::Values => "column, or list of columns",
            Kind::Condition => "SQL condition",
            Kind::TextMap => "table of texts",
            Kind::Variables => "table of texts, or of lists of texts",
            Kind::Flag => "true or false",
            Kind::Never => "true or \"healthy\"",
            Kind::Duration => "duration: \"90s\", \"30m\", \"1h 30m\"",
            Kind::DurationMap => "table of durations",
            Kind::Count => "number",
            Kind::When => "before or after",
            Kind::Time => "column, or { expr = SQL, unit = UNIT }",
            Kind::Unit => "unix_s, unix_ms, unix_us, unix_ns, text_utc, timestamptz or timestamp",
            Kind::Zone => {
                "utc, server, host, an offset such as +02:00, or on PostgreSQL a name such as Europe/Berlin"
            }
            Kind::Role => "task, job or lock",
            Kind::StampedBy => "holder or database",
            Kind::ColumnOrNumber => "column, or { column = COLUMN, otherwise = NUMBER }",
        }
    }

    /// What is wrong with a value; tables are not looked into.
    pub fn check(self, value: &Spanned<DeValue<'_>>) -> Result<(), String> {
        use std::collections::BTreeMap;
        fn is<T: for<'de> Deserialize<'de>>(value: &Spanned<DeValue<'_>>) -> Result<(), String> {
            let read = T::deserialize(ValueDeserializer::from(value.clone()));
            read.map(|_| ()).map_err(|error| error.message().split_whitespace().collect::<Vec<_>>().join(" "))
        }
        match self {
            Kind::Table(_) => expect(value.get_ref().is_table(), "a table"),
            Kind::Tables(_) => {
                expect(value.get_ref().is_array(), "[[ ]] around the name: there may be several")
            }
            Kind::Statements(_) => expect(value.get_ref().is_array(), "a list"),
            Kind::Engines(_) => is::<BTreeMap<Engine, toml::Table>>(value),
            Kind::Text | Kind::Value | Kind::Condition => is::<String>(value),
            Kind::Texts => is::<Vec<String>>(value),
            Kind::Values => is::<String>(value).or_else(|_| is::<Vec<String>>(value)),
            Kind::TextMap => is::<BTreeMap<String, String>>(value),
            Kind::Variables => is::<BTreeMap<String, Variable>>(value),
            Kind::Flag => is::<bool>(value),
            Kind::Never => is::<Never>(value),
            Kind::Duration => is::<Span>(value),
            Kind::DurationMap => is::<BTreeMap<String, Span>>(value),
            Kind::Count => is::<u64>(value),
            Kind::When => is::<When>(value),
            Kind::Time => is::<Time>(value),
            Kind::Unit => is::<TimeUnit>(value),
            Kind::Zone => is::<ZoneName>(value),
            Kind::Role => is::<Role>(value),
            Kind::StampedBy => is::<StampedBy>(value),
            Kind::ColumnOrNumber => is::<Defaulted>(value),
        }
    }
}

fn expect(is: bool, what: &str) -> Result<(), String> {
    if is { Ok(()) } else { Err(format!("expected {what}")) }
}

#[cfg(test)]
mod tests;
