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
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        if is_url {
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

/// `scheme://user:secret@host` with the secret replaced; secrets are never kept or printed.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.into();
    };
    // The last @ before the path: a password may hold one of its own.
    let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_end);
    let Some((user, host)) = authority.rsplit_once('@') else {
        return url.into();
    };
    match user.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:***@{host}{path}"),
        None => url.into(),
    }
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
