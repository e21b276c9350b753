//! What a server, or the way to it, answers instead of rows.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;
use tokio_postgres::error::{DbError, Severity};

use crate::domain::visible::safe;

/// A statement that was not done, or of which nobody knows whether it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PgError {
    /// The server refused; the connection goes on.
    Server { code: String, message: String, detail: Option<String>, hint: Option<String>, fault: Fault },
    /// The connection is gone: what was under way may have been done or not.
    Lost(String),
    /// No answer within our own limit: what was under way may still be done.
    TimedOut(Duration),
}

/// Whose fault it may be that a statement was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// One row's: a constraint, a trigger, a policy or a value of it. The same statement may do for others.
    Row,
    /// That of the statement, the transaction or the server.
    Statement,
}

impl Fault {
    /// `routine` is what in the server said it.
    fn of(code: &str, routine: Option<&str>) -> Fault {
        const OF_STATEMENTS: [&str; 17] = [
            "08", "0A", "25", "26", "28", "2D", "3B", "3D", "3F", "40", "42", "53", "54", "55", "57", "58",
            "XX",
        ];
        let is_of_statements = match code {
            // A policy that a row does not meet has the code of a privilege that is missing.
            "42501" => routine.is_none_or(|routine| routine.starts_with("aclcheck_error")),
            _ => OF_STATEMENTS.iter().any(|class| code.starts_with(class)),
        };
        if is_of_statements { Fault::Statement } else { Fault::Row }
    }
}

impl PgError {
    /// The five characters by which the server names an error.
    pub fn code(&self) -> Option<&str> {
        match self {
            PgError::Server { code, .. } => Some(code),
            PgError::Lost(_) | PgError::TimedOut(_) => None,
        }
    }

    /// Whether the connection cannot be used any more.
    pub fn ends_the_link(&self) -> bool {
        !matches!(self, PgError::Server { .. })
    }

    /// Whether it may be the fault of one row alone.
    pub fn is_of_a_row(&self) -> bool {
        matches!(self, PgError::Server { fault: Fault::Row, .. })
    }

    pub(crate) fn server(code: &str, message: &str) -> PgError {
        let fault = Fault::of(code, None);
        PgError::Server { code: code.into(), message: message.into(), detail: None, hint: None, fault }
    }
}

impl std::error::Error for PgError {}

impl fmt::Display for PgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PgError::Server { code, message, detail, hint, .. } => {
                write!(f, "{} (code {})", safe(message), safe(code))?;
                for more in [detail, hint].into_iter().flatten() {
                    write!(f, "; {}", safe(more.trim_end_matches('.')))?;
                }
                Ok(())
            }
            PgError::Lost(why) => write!(f, "the connection was lost: {}", safe(why)),
            PgError::TimedOut(limit) => {
                write!(f, "no answer within {}", humantime::format_duration(*limit))
            }
        }
    }
}

impl From<&tokio_postgres::Error> for PgError {
    fn from(error: &tokio_postgres::Error) -> PgError {
        match error.as_db_error() {
            Some(said) if is_final(said) => PgError::Lost(said.message().into()),
            Some(said) => PgError::Server {
                code: said.code().code().into(),
                message: said.message().into(),
                detail: said.detail().map(str::to_owned),
                hint: said.hint().map(str::to_owned),
                fault: Fault::of(said.code().code(), said.routine()),
            },
            None => PgError::Lost(chain(error)),
        }
    }
}

/// Whether the server closes the connection after this.
fn is_final(said: &DbError) -> bool {
    let severity = said.parsed_severity();
    matches!(severity, Some(Severity::Fatal | Severity::Panic)) || said.code().code().starts_with("08")
}

/// An error and its causes: the driver's own message alone explains next to nothing.
pub(super) fn chain(error: &tokio_postgres::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let message = deeper.to_string();
        if !said.contains(&message) {
            said = format!("{said}: {message}");
        }
        cause = deeper.source();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_clean_sentence() {
        let error = PgError::Server {
            code: "23505".into(),
            message: "duplicate \u{1b}[2J\nkey".into(),
            detail: Some("Key (id)=(1) exists.".into()),
            hint: None,
            fault: Fault::Row,
        };
        assert_eq!(error.to_string(), "duplicate \\u{1b}[2J\\nkey (code 23505); Key (id)=(1) exists");
        assert_eq!(error.code(), Some("23505"));
        assert_eq!(PgError::TimedOut(Duration::from_millis(1500)).to_string(), "no answer within 1s 500ms");
    }
}
