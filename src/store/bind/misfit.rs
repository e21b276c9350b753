//! Why a profile, or a part of it, does not fit a database.

use std::fmt;

/// Why a profile or a board cannot be used on this database.
#[derive(Debug, Default)]
pub struct Misfit {
    pub lacks: Vec<Lack>,
    pub refused: Option<RefusedSql>,
}

/// SQL of a profile that tries to do more than read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSql {
    /// Board and field, or the act and its field.
    pub field: String,
    pub why: String,
}

/// Something that a profile needs and the database does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lack {
    /// A table or column by which the profile is told apart from others.
    Detected { name: String },
    /// `near` is a table with a similar name.
    Table { table: String, near: Option<String> },
    /// The table is there, and may not be read.
    Unreadable { table: String },
    /// A field of a board whose table is there.
    Field { board: String, field: String, problem: Problem },
}

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The table is not there.
    NoTable { table: String },
    /// `near` is a column with a similar name.
    NoColumn { table: String, column: String, near: Option<String> },
    /// What the engine reports about it.
    Missing(String),
    /// It may not run at all.
    Refused(String),
}

/// What of a profile that fits is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// A board whose table is there.
    Board { board: String, lacks: Vec<Lack> },
    /// An act that cannot be done.
    Act { act: String, field: String, problem: Problem },
    /// Traces that cannot be read.
    History { history: String, field: String, problem: Problem },
    /// Nobody can tell whether holders are alive.
    Registry(Problem),
}

impl Misfit {
    /// The one of a board whose table is there.
    pub(super) fn of(board: &str, field: &str, problem: Problem) -> Misfit {
        let mut misfit = Misfit::default();
        misfit.complain(board, field, problem);
        misfit
    }

    pub(super) fn lacking(lack: Lack) -> Misfit {
        Misfit { lacks: vec![lack], refused: None }
    }

    pub(super) fn complain(&mut self, board: &str, field: &str, problem: Problem) {
        match problem {
            Problem::Refused(why) => {
                self.refused = Some(RefusedSql { field: format!("{board}.{field}"), why });
            }
            problem => self.lacks.push(Lack::Field { board: board.into(), field: field.into(), problem }),
        }
    }

    /// Adds what another one lacks; its SQL is refused unless other SQL was before.
    pub(super) fn add(&mut self, other: Misfit) {
        self.lacks.extend(other.lacks);
        self.refused = self.refused.take().or(other.refused);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lacks.is_empty() && self.refused.is_none()
    }

    /// Whether a table with the right name is there, so that the profile is probably meant.
    pub fn is_near(&self) -> bool {
        self.refused.is_some() || self.lacks.iter().any(Lack::is_of_a_field)
    }
}

impl Lack {
    pub fn is_of_a_field(&self) -> bool {
        matches!(self, Lack::Field { .. })
    }

    /// The same without the board.
    pub fn without_board(&self) -> String {
        match self {
            Lack::Field { field, problem, .. } => format!("{problem} ({field})"),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lack::Detected { name } => match name.strip_prefix('!') {
                Some(name) => write!(f, "{name} is there"),
                None => write!(f, "{name} is missing"),
            },
            Lack::Table { table, near } => write!(f, "table {table} is missing{}", meant(near.as_deref())),
            Lack::Unreadable { table } => write!(f, "table {table} may not be read by us: GRANT SELECT"),
            Lack::Field { board, .. } => write!(f, "board {board}: {}", self.without_board()),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoTable { table } => write!(f, "there is no table {table}"),
            Problem::NoColumn { table, column, near } => {
                write!(f, "column {table}.{column} is missing{}", meant(near.as_deref()))
            }
            Problem::Missing(why) | Problem::Refused(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for RefusedSql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the SQL of {} is refused: {}", self.field, self.why)
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Board { board, lacks } => {
                write!(f, "board {board} is left out: {}", joined(lacks, "; "))
            }
            LeftOut::Act { act, field, problem } => write!(f, "{act} is left out: {problem} ({field})"),
            LeftOut::History { history, field, problem } => {
                write!(f, "history {history} is left out: {problem} ({field})")
            }
            LeftOut::Registry(problem) => {
                write!(f, "{problem}: whether holders are alive is not known")
            }
        }
    }
}

/// The name that was most likely meant.
fn meant(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

/// All of them in one sentence.
pub(crate) fn joined(lacks: &[Lack], between: &str) -> String {
    lacks.iter().map(Lack::to_string).collect::<Vec<_>>().join(between)
}
