//! What a user names on the command line: a file, or the address of a server.

use std::fmt;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::sqlite;
#[cfg(feature = "mysql")]
use crate::mysql;
#[cfg(feature = "postgres")]
use crate::postgres::Target;
use crate::postgres::address::{self, Form, SUPPORTED, Secret};

/// One database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Sqlite(PathBuf),
    /// The address, without its password.
    Postgres(String),
    /// The same of a MySQL or MariaDB server.
    Mysql(String),
    /// An address that claimtop does not know how to open, without what may be a password.
    Unsupported(String),
}

impl Source {
    pub fn parse(text: &str) -> Source {
        match address::form(text) {
            Form::Path(path) => Source::Sqlite(PathBuf::from(path)),
            Form::Postgres(_) => Source::Postgres(address::shown(text).text),
            Form::Mysql(_) => Source::Mysql(address::shown(text).text),
            Form::Unsupported => Source::Unsupported(address::shown(text).text),
        }
    }

    /// The text as it may be shown: without its password.
    pub fn shown(text: &str) -> String {
        address::shown(text).text
    }

    /// Whether a text holds a password for a server.
    pub fn has_password(text: &str) -> bool {
        address::shown(text).secret == Secret::Password
    }

    /// Whether a text holds anything that is not shown.
    pub fn has_secret(text: &str) -> bool {
        address::shown(text).secret != Secret::None
    }

    /// Whether two texts lead to one database of one server, as far as their words tell.
    #[cfg(feature = "postgres")]
    pub fn is_same_server(one: &str, other: &str) -> bool {
        let target = |text: &str| match address::form(text) {
            Form::Postgres(text) => Target::parse(text, None).ok(),
            Form::Path(_) | Form::Mysql(_) | Form::Unsupported => None,
        };
        target(one).zip(target(other)).is_some_and(|(one, other)| one.is_same_database(&other))
    }

    /// The same for a build that cannot read the words: only the same text surely leads there.
    #[cfg(not(feature = "postgres"))]
    pub fn is_same_server(one: &str, other: &str) -> bool {
        one == other
    }

    /// Whether two texts lead to one database: one file by whichever path, or one server as far as their words tell.
    pub fn is_same_place(one: &str, other: &str) -> bool {
        match (Source::parse(one), Source::parse(other)) {
            (Source::Sqlite(one), Source::Sqlite(other)) => {
                let identity = |path: &PathBuf| sqlite::FileIdentity::at(path).ok();
                match identity(&one).zip(identity(&other)) {
                    Some((one, other)) => one == other,
                    None => resolved(&one) == resolved(&other),
                }
            }
            (Source::Postgres(_), Source::Postgres(_)) => Source::is_same_server(one, other),
            (Source::Mysql(_), Source::Mysql(_)) => is_same_mysql(one, other),
            _ => false,
        }
    }

    pub fn engine(&self) -> &'static str {
        match self {
            Source::Sqlite(_) => "sqlite",
            Source::Postgres(_) => "postgres",
            Source::Mysql(_) => "mysql",
            Source::Unsupported(_) => "unknown",
        }
    }

    /// What is wrong with an address that is not supported.
    pub fn unsupported(shown: &str) -> StoreError {
        StoreError::BadTarget {
            source_name: shown.to_owned(),
            why: format!("this kind of address is not supported; {SUPPORTED}"),
        }
    }
}

/// Whether two addresses of MySQL lead to one database, as far as their words tell.
#[cfg(feature = "mysql")]
fn is_same_mysql(one: &str, other: &str) -> bool {
    let target = |text: &str| mysql::Target::parse(text, None).ok();
    target(one).zip(target(other)).is_some_and(|(one, other)| one.is_same_database(&other))
}

#[cfg(not(feature = "mysql"))]
fn is_same_mysql(one: &str, other: &str) -> bool {
    one == other
}

/// A path that leads to the same file from everywhere, also if that file does not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Ok(real) = std::fs::canonicalize(&path) {
        return real;
    }
    match (path.parent().map(std::fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path,
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Sqlite(path) => write!(f, "{}", path.display()),
            Source::Postgres(shown) | Source::Mysql(shown) | Source::Unsupported(shown) => f.write_str(shown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_never_stays_in_a_source() {
        let source = Source::parse("postgres://ann:s3cr@t@db.example/app?sslmode=require");
        assert_eq!(source.to_string(), "postgres://ann:***@db.example/app?sslmode=require");
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
        for here in ["0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "127.0.0.1", "localhost"] {
            assert!(Source::is_same_server(
                "host=/run/pg dbname=app user=a",
                &format!("postgres://b@{here}/app")
            ));
        }
    }
}
