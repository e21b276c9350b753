//! The file format of a profile, and its validation.
//!
//! A value is a bare column name of the claim's row (`c`) or the registry's row (`s`), or an SQL
//! expression over them. Unknown keys are errors that point at their line.

use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use thiserror::Error;

pub use crate::domain::claim::{Role, StampedBy};
use crate::domain::time::{Span, TimeUnit, ZoneName};

/// Why a profile cannot be used.
#[derive(Debug, Error)]
pub enum ProfileError {
    #[error("profile {name}, line {line}: {what}")]
    Syntax { name: String, line: usize, what: String },
    #[error("profile {name}: {problem}")]
    Invalid { name: String, problem: String },
    /// Two or more of the others.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<ProfileError>),
}

impl ProfileError {
    /// All that is wrong, as one error; nothing, if nothing is.
    pub fn of(mut all: Vec<ProfileError>) -> Result<(), ProfileError> {
        match all.len() {
            0 => Ok(()),
            1 => Err(all.remove(0)),
            _ => Err(ProfileError::Several(all)),
        }
    }

    /// Everything that is wrong, one by one.
    pub fn each(&self) -> &[ProfileError] {
        match self {
            ProfileError::Several(all) => all,
            one => std::slice::from_ref(one),
        }
    }
}

/// The databases a profile can be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Sqlite => "sqlite",
            Engine::Postgres => "postgres",
        }
    }
}

/// One system.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The file's name; not a key of the file.
    #[serde(skip)]
    pub name: String,
    /// The file as it was written; not a key of the file.
    #[serde(skip)]
    pub text: String,
    pub title: String,
    #[serde(default)]
    pub about: String,
    /// The versions of the system that it was tried with.
    #[serde(default)]
    pub versions: String,
    /// Its table names could be anybody's: acts ask once to confirm it.
    #[serde(default)]
    pub generic: bool,
    /// Values for `{name}` anywhere in the file, such as a schema or a table prefix.
    #[serde(default)]
    pub vars: BTreeMap<String, Variable>,
    /// What they stand for here; not a key of the file.
    #[serde(skip)]
    pub values: BTreeMap<String, String>,
    /// The zone of times that have none, for every claim, session and history without one of its own.
    pub zone: Option<ZoneName>,
    /// `table.column` pairs that must all exist for the profile to be tried.
    #[serde(default)]
    pub detect: Vec<String>,
    /// Tables, and columns as `table.column`, that only some versions of the system have.
    #[serde(default)]
    pub optional: Vec<String>,
    #[serde(rename = "claim")]
    pub boards: Vec<Board>,
    /// The registry of every board without one of its own.
    pub session: Option<Registry>,
    /// The backlog of the first board.
    pub backlog: Option<Backlog>,
    #[serde(default)]
    pub history: Vec<History>,
}

/// What a variable may stand for: one text, or a list of which the first is the usual one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Variable {
    #[serde(deserialize_with = "one_or_many")]
    pub candidates: Vec<String>,
}

impl Variable {
    pub fn usual(&self) -> &str {
        self.candidates.first().map_or("", String::as_str)
    }
}

/// One table of claims.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    pub name: String,
    #[serde(default)]
    pub role: Role,
    pub table: String,
    /// Joins, over the claim's row `c`.
    pub from: Option<String>,
    /// `table.column` pairs that must exist for this board.
    #[serde(default)]
    pub detect: Vec<String>,
    /// Which rows are claims; unset, all of them.
    pub held: Option<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub id: Vec<String>,
    pub kind: Option<String>,
    pub holder: Option<String>,
    /// The holder's process, where the claim itself names it and no registry does.
    pub pid: Option<String>,
    pub host: Option<String>,
    /// The version of the holder's software.
    pub version: Option<String>,
    /// The server session that holds it, where ending that session frees it.
    pub backend: Option<String>,
    pub claimed_at: Option<Time>,
    pub beat_at: Option<Time>,
    pub attempts: Option<String>,
    pub max_attempts: Option<Defaulted>,
    pub error: Option<String>,
    /// The claims with the lowest value go first when many are acted on.
    pub priority: Option<String>,
    /// Whose clock writes the times of its claims.
    #[serde(default)]
    pub stamped_by: StampedBy,
    #[serde(default)]
    pub time: TimeUnit,
    /// The zone of times that have none: `utc`, written by the application, `server`, stamped by the
    /// database, or an offset such as `+02:00`.
    pub zone: Option<ZoneName>,
    pub deadline: Deadline,
    /// A predicate of the system's own: nobody can be working on this claim.
    pub orphaned_when: Option<String>,
    /// A predicate of the system's own: its holder is at work, whatever the registry says.
    pub alive_when: Option<String>,
    /// A predicate that refuses every act on the claim.
    pub refuse_when: Option<String>,
    pub orphan_after: Option<Span>,
    pub silent_after: Option<Span>,
    pub warn_before: Option<Span>,
    pub session: Option<Registry>,
    pub backlog: Option<Backlog>,
    pub reclaim: Option<Act>,
    pub release: Option<Act>,
    pub extend: Option<Act>,
    /// Queues a job again that is dead by `backlog.dead`.
    pub requeue: Option<Act>,
    /// A late holder's finish cannot settle somebody else's run.
    pub fenced: Option<bool>,
    /// After this long the system frees the claim by itself.
    pub self_heals_after: Option<Span>,
    /// Functions of the system in the database that recover claims: they are compared with these rules.
    #[serde(default)]
    pub recovered_by: Vec<String>,
    /// Keys that differ from engine to engine.
    #[serde(default)]
    pub on: BTreeMap<Engine, toml::Table>,
}

/// A time: a column in the board's unit, or an expression with a unit of its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Time {
    Column(String),
    Expression(TimeExpression),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeExpression {
    pub expr: String,
    pub unit: TimeUnit,
}

impl Time {
    pub fn sql(&self) -> &str {
        match self {
            Time::Column(column) => column,
            Time::Expression(time) => &time.expr,
        }
    }

    pub fn unit(&self, usual: TimeUnit) -> TimeUnit {
        match self {
            Time::Column(_) => usual,
            Time::Expression(time) => time.unit,
        }
    }
}

/// A column, or a column with a number for where it is missing or NULL.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Defaulted {
    Column(String),
    Otherwise(ColumnOrNumber),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnOrNumber {
    pub column: Option<String>,
    pub otherwise: i64,
}

/// Where deadlines come from: exactly one of the ways, save that `ttl` may stand in for `holder`
/// in databases without a registry.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Deadline {
    /// The instant is in the row.
    pub column: Option<Time>,
    /// `claimed_at` plus this column of seconds.
    pub claimed_at_plus: Option<String>,
    /// The sign of life plus a time to live by kind.
    pub ttl: Option<BTreeMap<String, Span>>,
    /// The time to live of kinds that `ttl` does not list.
    pub otherwise: Option<Span>,
    /// The holder's heartbeat plus `orphan_after`.
    #[serde(default)]
    pub holder: bool,
    /// The system has none.
    #[serde(default)]
    pub never: Never,
    /// The usual length of a lease: what an overrun is measured in.
    pub lease: Option<Span>,
}

/// What a claim is whose system has no deadline: `true` or `"healthy"` in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Never {
    /// There is a deadline.
    #[default]
    No,
    /// Unknown: only an operator's threshold can call it stale.
    Unknown,
    /// Healthy: only its holder can make it an orphan.
    Healthy,
}

impl<'de> Deserialize<'de> for Never {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Never, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Flag(bool),
            Meaning(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Flag(false) => Ok(Never::No),
            Written::Flag(true) => Ok(Never::Unknown),
            Written::Meaning(meaning) if meaning == "healthy" => Ok(Never::Healthy),
            Written::Meaning(other) => {
                Err(serde::de::Error::custom(format!("never is true or \"healthy\", not {other:?}")))
            }
        }
    }
}

/// A table of holders.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    pub table: String,
    pub id: String,
    pub beat_at: Option<String>,
    pub started_at: Option<String>,
    /// When the system gives a session up, where that is not its beat plus `orphan_after`.
    pub stale_at: Option<String>,
    pub pid: Option<String>,
    pub host: Option<String>,
    pub version: Option<String>,
    #[serde(default)]
    pub time: TimeUnit,
    pub zone: Option<ZoneName>,
    /// Every holder has to be registered: one that is not there is gone. Unset, a missing registration
    /// proves nothing.
    #[serde(default)]
    pub required: bool,
    /// After this long without a beat the system itself ends the session.
    pub ends_after: Option<Span>,
    /// How the system ends a session that holds nothing any more: an act on its own row, `s`.
    /// Unset, a released session keeps its row.
    pub end: Option<Act>,
}

/// The jobs nobody holds, as counts by predicate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backlog {
    /// The board's own table unless set.
    pub table: Option<String>,
    /// Since when the oldest queued job could have run.
    pub oldest: Option<String>,
    /// Counts by name; `queued` is the one whose oldest age is shown.
    #[serde(default)]
    pub count: BTreeMap<String, String>,
    pub queued: Option<String>,
    pub dead: Option<String>,
}

impl Backlog {
    /// Every counted state by name.
    pub fn states(&self) -> BTreeMap<&str, &str> {
        let mut states: BTreeMap<&str, &str> = BTreeMap::new();
        states.extend(self.count.iter().map(|(name, sql)| (name.as_str(), sql.as_str())));
        states.extend(self.queued.as_deref().map(|sql| ("queued", sql)));
        states.extend(self.dead.as_deref().map(|sql| ("dead", sql)));
        states
    }
}

/// Traces of earlier recoveries that the system itself keeps.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    pub name: String,
    pub table: String,
    #[serde(rename = "where")]
    pub only: Option<String>,
    pub id: String,
    pub kind: Option<String>,
    pub holder: Option<String>,
    pub at: String,
    pub what: String,
    /// Recoveries whose state is named are counted: too many are a sign of trouble.
    pub state: Option<String>,
    #[serde(default)]
    pub time: TimeUnit,
    pub zone: Option<ZoneName>,
}

/// What an act does to the claim's row, or to the session's. The program itself writes the guard
/// around it.
#[derive(Debug, Clone, Deserialize, Default, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Act {
    #[serde(default)]
    pub delete: bool,
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Statements that run first in the transaction.
    #[serde(default)]
    pub before: Vec<Statement>,
    /// Statements that run after it, or before it where they say so.
    #[serde(default)]
    pub also: Vec<Statement>,
    /// A predicate over the claim that refuses the act.
    pub blocked_by: Option<String>,
    /// Why it cannot be done on this database; not a key of the file.
    #[serde(skip)]
    pub unusable: Option<String>,
    /// Functions that its values and its condition call, and that may have effects outside of the transaction; not
    /// a key of the file.
    #[serde(skip)]
    pub outside: Vec<String>,
}

/// A statement that runs beside an act: a text, or a table in the file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenStatement")]
pub struct Statement {
    pub sql: String,
    /// So many rows it has to change or select; otherwise the act is taken back.
    pub rows: Option<u64>,
    pub when: When,
    /// Functions that it calls and that may have effects outside of the transaction; not a key of the file.
    pub outside: Vec<String>,
}

/// A statement with its keys.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementTable {
    pub sql: String,
    pub rows: Option<u64>,
    #[serde(default)]
    pub when: When,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenStatement {
    Sql(String),
    Table(StatementTable),
}

impl From<WrittenStatement> for Statement {
    fn from(written: WrittenStatement) -> Statement {
        let StatementTable { sql, rows, when } = match written {
            WrittenStatement::Sql(sql) => StatementTable { sql, rows: None, when: When::After },
            WrittenStatement::Table(table) => table,
        };
        Statement { sql, rows, when, outside: Vec::new() }
    }
}

/// When a statement of `also` runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    Before,
    #[default]
    After,
}

impl Act {
    /// An act either deletes the row or sets columns of it.
    pub fn is_complete(&self) -> bool {
        self.delete == self.set.is_empty()
    }

    /// Whether nothing runs beside it, and nothing is asked before.
    pub fn is_alone(&self) -> bool {
        self.before.is_empty() && self.also.is_empty() && self.blocked_by.is_none()
    }

    /// The statements that run before it, and those that run after it, in order.
    pub fn steps(&self) -> (Vec<Statement>, Vec<Statement>) {
        let (early, late): (Vec<_>, Vec<_>) =
            self.also.iter().cloned().partition(|statement| statement.when == When::Before);
        (self.before.iter().cloned().chain(early).collect(), late)
    }

    /// Refuses it on one more condition.
    pub fn refuse_when(&mut self, condition: Option<&str>) {
        // The line breaks end comments.
        let both = |own: String, more: &str| format!("({own}\n) OR ({more}\n)");
        self.blocked_by = match (self.blocked_by.take(), condition) {
            (Some(own), Some(more)) => Some(both(own, more)),
            (own, more) => own.or(more.map(str::to_owned)),
        };
    }

    /// Every statement that runs beside it.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.before.iter().chain(&self.also)
    }
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(column) => vec![column],
        OneOrMany::Many(columns) => columns,
    })
}

impl Profile {
    /// The same system, seen from its dead: what nobody will ever work on again, as rows that can be
    /// queued anew. Nothing, if the profile does not say how.
    pub fn of_the_dead(self) -> Option<Profile> {
        let bury = |board: &Board| {
            let backlog = self.backlog(board)?;
            board.requeue.as_ref()?;
            Some(Board {
                held: Some(backlog.dead.clone()?),
                holder: None,
                claimed_at: None,
                beat_at: None,
                pid: None,
                host: None,
                orphaned_when: None,
                alive_when: None,
                session: None,
                deadline: Deadline { never: Never::Unknown, ..Deadline::default() },
                reclaim: None,
                release: None,
                extend: None,
                ..board.clone()
            })
        };
        let boards: Vec<Board> = self.boards.iter().filter_map(bury).collect();
        (!boards.is_empty()).then_some(Profile { boards, session: None, backlog: None, ..self })
    }

    /// The registry of a board: its own, or the profile's.
    pub fn registry<'a>(&'a self, board: &'a Board) -> Option<&'a Registry> {
        board.session.as_ref().or(self.session.as_ref())
    }

    /// The zone of a board's times that have none.
    pub fn zone_of(&self, board: &Board) -> ZoneName {
        board.zone.clone().or_else(|| self.zone.clone()).unwrap_or_default()
    }

    /// The same for the times of its registry.
    pub fn zone_of_registry(&self, board: &Board, registry: &Registry) -> ZoneName {
        registry.zone.clone().unwrap_or_else(|| self.zone_of(board))
    }

    /// The same for a history.
    pub fn zone_of_history(&self, history: &History) -> ZoneName {
        history.zone.clone().or_else(|| self.zone.clone()).unwrap_or_default()
    }

    /// The backlog of a board: its own, or, for the first board, the profile's.
    pub fn backlog<'a>(&'a self, board: &'a Board) -> Option<&'a Backlog> {
        let first = self.boards.first().is_some_and(|first| first.name == board.name);
        board.backlog.as_ref().or(self.backlog.as_ref().filter(|_| first))
    }
}
