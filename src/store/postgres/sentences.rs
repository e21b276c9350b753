//! What an answer of the server means, in one sentence: in a poll, or in an act.

use crate::postgres::error::PgError;
use crate::store::{Options, StoreError};

/// Puts errors into words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sentences<'a> {
    pub options: &'a Options,
    purpose: ErrorContext<'a>,
}

#[derive(Debug, Clone, Copy)]
enum ErrorContext<'a> {
    /// Nothing is written.
    Polls,
    /// Schemas of the search path that triggers do not see.
    Acts { kept_out: Option<&'a str> },
}

impl<'a> Sentences<'a> {
    pub(super) fn of_polls(options: &'a Options) -> Sentences<'a> {
        Sentences { options, purpose: ErrorContext::Polls }
    }

    pub(super) fn of_acts(options: &'a Options, kept_out: Option<&'a str>) -> Sentences<'a> {
        Sentences { options, purpose: ErrorContext::Acts { kept_out } }
    }

    pub(super) fn of(&self, error: &PgError, doing: &str) -> StoreError {
        match self.purpose {
            ErrorContext::Polls => self.options.sentence(error, doing),
            ErrorContext::Acts { kept_out } => self.of_act(error, doing, kept_out),
        }
    }

    fn of_act(&self, error: &PgError, doing: &str, kept_out: Option<&str>) -> StoreError {
        let source_name = self.options.name();
        let doing_it = || doing.to_owned();
        if error.is_of_a_row() {
            return StoreError::RowRefused { source_name, said: error.to_string(), doing: doing_it() };
        }
        match (error.code(), kept_out) {
            (Some(code), _) if code == "25006" || (code == "0A000" && doing == "beginning") => {
                let why = "it is a standby, or the role may only read".into();
                StoreError::ReadOnly { path: source_name.into(), why }
            }
            (Some("42501"), _) => {
                let why = format!("{error}; `assets/schema/postgres/roles.sql` has a role that may");
                StoreError::ReadOnly { path: source_name.into(), why }
            }
            (Some("42P01" | "42883" | "42704"), Some(kept_out)) => {
                let said = format!(
                    "{error}; triggers do not see the schemas {kept_out}, because other roles may create functions \
                     there: REVOKE CREATE ON SCHEMA from them, or give the trigger's function a search_path of its own"
                );
                StoreError::Server { source_name, said, doing: doing_it() }
            }
            _ => self.options.sentence(error, doing),
        }
    }
}
