//! What a user names on the command line: a file, or the URL of a server.

use std::fmt;
use std::path::PathBuf;

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
            ["host=", "dbname=", "user=", "password=", "service="].iter().any(|key| word.starts_with(key))
        })
}

/// The text without its secrets, which are never kept or printed: neither `user:secret@` nor
/// `password=secret`.
fn without_password(text: &str) -> String {
    without_parameter(&without_userinfo(text))
}

fn without_userinfo(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.into() };
    // The last @: a password may hold one, or a slash. Rather too much is hidden than too little.
    let Some((user, host)) = rest.rsplit_once('@') else { return text.into() };
    match user.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:***@{host}"),
        None => text.into(),
    }
}

fn without_parameter(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let Some(start) = lower.find("password=").map(|at| at + "password=".len()) else { return text.into() };
    let end = text[start..].find(['&', ' ']).map_or(text.len(), |length| start + length);
    format!("{}***{}", &text[..start], without_parameter(&text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_never_stays_in_a_source() {
        let source = Source::parse("postgres://ann:s3cr@t@db.example/app?x=1");
        assert_eq!(source.to_string(), "postgres://ann:***@db.example/app?x=1");
        assert!(!format!("{source:?}").contains("s3cr"));
    }
}
