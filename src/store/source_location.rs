//! Where a source is, and which database is there.

use std::fmt;
use std::path::PathBuf;

#[cfg(feature = "mysql")]
use super::mysql;
#[cfg(feature = "postgres")]
use super::postgres::{self, Target};
use super::{Source, StoreError, sqlite};

/// Where a source is.
#[derive(Debug, Clone)]
pub enum SourceLocation {
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Server(Box<Target>),
    #[cfg(feature = "mysql")]
    Mysql(Box<mysql::Target>),
    /// Its address is wrong.
    Nowhere(String),
}

impl SourceLocation {
    /// Where an address leads; `password_command` prints the password of a server.
    pub fn of(address: &str, password_command: Option<&str>) -> SourceLocation {
        match Source::parse(address) {
            Source::Sqlite(path) => SourceLocation::File(path),
            Source::Unsupported(shown) => SourceLocation::Nowhere(Source::unsupported(&shown).to_string()),
            #[cfg(feature = "postgres")]
            Source::Postgres(_) => match Target::parse(address, password_command) {
                Ok(target) => SourceLocation::Server(Box::new(target)),
                Err(error) => SourceLocation::Nowhere(error.to_string()),
            },
            #[cfg(feature = "mysql")]
            Source::Mysql(_) => match mysql::Target::parse(address, password_command) {
                Ok(target) => SourceLocation::Mysql(Box::new(target)),
                Err(error) => SourceLocation::Nowhere(error.to_string()),
            },
            #[cfg(not(feature = "mysql"))]
            Source::Mysql(source_name) => {
                SourceLocation::Nowhere(StoreError::NotBuiltIn { source_name }.to_string())
            }
            #[cfg(not(feature = "postgres"))]
            Source::Postgres(source_name) => {
                SourceLocation::Nowhere(StoreError::NotBuiltIn { source_name }.to_string())
            }
        }
    }

    /// Tells the database that is there from every other; `None` if the file does not exist.
    pub(super) fn fingerprint(&self) -> Result<Option<String>, String> {
        match self {
            SourceLocation::File(path) => match sqlite::FileIdentity::at(path) {
                Ok(identity) => Ok(Some(identity.fingerprint())),
                Err(StoreError::Deleted { .. }) => Ok(None),
                Err(error) => Err(error.to_string()),
            },
            #[cfg(feature = "postgres")]
            SourceLocation::Server(target) => {
                postgres::identify(target).map(Some).map_err(|error| error.to_string())
            }
            #[cfg(feature = "mysql")]
            SourceLocation::Mysql(target) => {
                mysql::identify(target).map(Some).map_err(|error| error.to_string())
            }
            SourceLocation::Nowhere(why) => Err(why.clone()),
        }
    }

    pub(super) fn is_server(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            SourceLocation::Server(_) => true,
            #[cfg(feature = "mysql")]
            SourceLocation::Mysql(_) => true,
            SourceLocation::File(_) | SourceLocation::Nowhere(_) => false,
        }
    }

    /// Whether both are servers that may be on the same machine.
    fn may_share_a_machine(&self, other: &SourceLocation) -> bool {
        match (self, other) {
            #[cfg(feature = "postgres")]
            (SourceLocation::Server(one), SourceLocation::Server(other)) => one.may_share_a_machine(other),
            #[cfg(feature = "mysql")]
            (SourceLocation::Mysql(one), SourceLocation::Mysql(other)) => one.may_share_a_machine(other),
            _ => false,
        }
    }

    /// The first of the others that is the same database, as the servers themselves report; an error if this one
    /// does not answer. Only servers that may be on the same machine are asked.
    pub fn same_among<T>(
        &self,
        others: impl Iterator<Item = (T, SourceLocation)>,
    ) -> Result<Option<T>, String> {
        let near: Vec<(T, SourceLocation)> =
            others.filter(|(_, location)| location.may_share_a_machine(self)).collect();
        if near.is_empty() {
            return Ok(None);
        }
        let Some(here) = self.fingerprint()? else { return Ok(None) };
        let same = |location: &SourceLocation| {
            location
                .fingerprint()
                .is_ok_and(|there| there.is_some_and(|there| is_same_database(&there, &here)))
        };
        Ok(near.into_iter().find(|(_, location)| same(location)).map(|(other, _)| other))
    }

    pub(super) fn engine(&self) -> &'static str {
        match self {
            SourceLocation::File(_) => "sqlite",
            #[cfg(feature = "mysql")]
            SourceLocation::Mysql(_) => "mysql",
            _ => "postgres",
        }
    }
}

/// What the source is called.
impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceLocation::File(path) => write!(f, "{}", path.display()),
            #[cfg(feature = "postgres")]
            SourceLocation::Server(target) => f.write_str(target.label()),
            #[cfg(feature = "mysql")]
            SourceLocation::Mysql(target) => f.write_str(target.label()),
            SourceLocation::Nowhere(why) => f.write_str(why),
        }
    }
}

/// Whether two fingerprints are of one database. A server that does not tell its system identifier may be any.
pub(super) fn is_same_database(one: &str, other: &str) -> bool {
    let anonymous = |text: &str| text.strip_prefix("postgres:server:").map(str::to_owned);
    let database = |text: &str| text.splitn(3, ':').nth(2).map(str::to_owned);
    one == other
        || (anonymous(one).is_some() || anonymous(other).is_some()) && database(one) == database(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_its_identifier_may_be_any() {
        assert!(is_same_database("postgres:7:16384:app", "postgres:7:16384:app"));
        assert!(is_same_database("postgres:server:16384:app", "postgres:7:16384:app"));
        for other in [
            "postgres:8:16384:app",
            "postgres:server:16385:app",
            "postgres:server:16384:crm",
            "sqlite:7:16384",
        ] {
            assert!(!is_same_database("postgres:7:16384:app", other), "{other}");
        }
    }
}
