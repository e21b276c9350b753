//! What a user names on the command line: a file, or the URL of a server.

use std::fmt;
use std::path::PathBuf;

use crate::store::postgres::Target;
use crate::store::postgres::target::redact::{has_password, without_password};

/// One database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Sqlite(PathBuf),
    /// The URL, without its password.
    Postgres(String),
}

impl Source {
    pub fn parse(text: &str) -> Source {
        if is_postgres(text) {
            return Source::Postgres(without_password(text));
        }
        let path = text.strip_prefix("sqlite://").unwrap_or(text);
        Source::Sqlite(PathBuf::from(path))
    }

    /// Whether a text names a server and holds a password for it.
    pub fn has_password(text: &str) -> bool {
        is_postgres(text) && has_password(text)
    }

    /// Whether two texts lead to one database of one server.
    pub fn is_same_server(one: &str, other: &str) -> bool {
        let target = |text: &str| is_postgres(text).then(|| Target::parse(text, None).ok())?;
        target(one).zip(target(other)).is_some_and(|(one, other)| one.is_same_database(&other))
    }

    pub fn engine(&self) -> &'static str {
        match self {
            Source::Sqlite(_) => "sqlite",
            Source::Postgres(_) => "postgres",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Sqlite(path) => write!(f, "{}", path.display()),
            Source::Postgres(url) => f.write_str(url),
        }
    }
}

/// A URL, or the `key=value` form.
fn is_postgres(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["postgres://", "postgresql://"].iter().any(|scheme| lower.starts_with(scheme))
        || lower.split_whitespace().any(|word| {
            ["host=", "hostaddr=", "dbname=", "user=", "password=", "service="]
                .iter()
                .any(|key| word.starts_with(key))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_never_stays_in_a_source() {
        let source = Source::parse("postgres://ann:s3cr@t@db.example/app?x=1");
        assert_eq!(source.to_string(), "postgres://ann:***@db.example/app?x=1");
        assert!(!format!("{source:?}").contains("s3cr"));
        assert!(Source::has_password("host=db password='s3cr t'"));
        assert!(
            !Source::has_password("postgres://ann@db.example/app") && !Source::has_password("/password=x")
        );
    }

    #[test]
    fn other_words_for_a_server_lead_to_it_and_another_database_does_not() {
        let at = "postgres://ann@db.example/app";
        for same in [
            "postgresql://bob@DB.example:5432/app?application_name=x",
            "host=db.example dbname=app user=ann",
            "postgres://ann@standby.example,db.example/app",
        ] {
            assert!(Source::is_same_server(at, same), "{same}");
        }
        for other in ["postgres://ann@db.example/crm", "postgres://ann@db.example:5433/app", "app.db"] {
            assert!(!Source::is_same_server(at, other), "{other}");
        }
    }
}
