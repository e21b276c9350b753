//! Databases that may not be written, recognised by what they are and not by how they are spelled: a file by
//! its device and inode, a database on a server by the server's system identifier and its own number and name.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::StoreError;
use super::postgres::{self, Target};
use super::sqlite;

/// How long a server is believed to be the one that it was.
const BELIEVED: Duration = Duration::from_secs(60);

/// What the config protects, asked before anything can be written.
#[derive(Clone, Default)]
pub struct Protected {
    sources: Arc<Vec<ProtectedSource>>,
    doubt: Doubt,
}

/// What to do about a protected source that cannot be identified now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Doubt {
    /// It may be the one that is about to be written.
    #[default]
    Refuse,
    /// Whoever gave the other one a name in the config says that it is another.
    Allow,
}

/// One of them.
pub struct ProtectedSource {
    /// What the config calls it.
    name: String,
    place: Place,
    known: Mutex<Option<(Instant, String)>>,
}

/// Where a source is.
#[derive(Debug, Clone)]
pub enum Place {
    File(PathBuf),
    Server(Box<Target>),
    /// Its address is wrong.
    Nowhere(String),
}

impl ProtectedSource {
    pub fn new(name: &str, place: Place) -> ProtectedSource {
        ProtectedSource { name: name.to_owned(), place, known: Mutex::default() }
    }

    /// The fingerprint of the database; nothing if there is none.
    fn fingerprint(&self) -> Result<Option<String>, String> {
        match &self.place {
            Place::File(path) => match sqlite::Identity::at(path) {
                Ok(identity) => Ok(Some(identity.fingerprint())),
                Err(StoreError::Deleted { .. }) => Ok(None),
                Err(error) => Err(error.to_string()),
            },
            Place::Server(target) => self.of_server(target).map(Some),
            Place::Nowhere(why) => Err(why.clone()),
        }
    }

    fn of_server(&self, target: &Target) -> Result<String, String> {
        let fresh = |known: &(Instant, String)| known.0.elapsed() < BELIEVED;
        if let Some((_, known)) = self.known.lock().ok().and_then(|known| known.clone()).filter(fresh) {
            return Ok(known);
        }
        let found = postgres::identify(target).map_err(|error| error.to_string())?;
        if let Ok(mut known) = self.known.lock() {
            *known = Some((Instant::now(), found.clone()));
        }
        Ok(found)
    }
}

impl Protected {
    pub fn new(sources: Vec<ProtectedSource>) -> Protected {
        Protected { sources: Arc::new(sources), doubt: Doubt::Refuse }
    }

    pub fn in_doubt(self, doubt: Doubt) -> Protected {
        Protected { doubt, ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Whether the database with this fingerprint is known to be one of them.
    pub fn covers(&self, fingerprint: &str) -> bool {
        let same = |known: Option<String>| known.is_some_and(|known| is_same(&known, fingerprint));
        self.sources.iter().any(|source| source.fingerprint().is_ok_and(same))
    }

    /// An error if the database with this fingerprint may not be written, or if nobody can tell.
    pub fn admit(&self, shown: &str, fingerprint: &str) -> Result<(), StoreError> {
        let refused = |why: String| Err(StoreError::ReadOnly { path: shown.into(), why });
        let engine = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
        for source in self.sources.iter().filter(|source| source.engine() == engine(fingerprint)) {
            let name = &source.name;
            match source.fingerprint() {
                Ok(Some(known)) if is_same(&known, fingerprint) => {
                    return refused(format!(
                        "it is the same database as the source {name}, which is read-only in the config; if it is \
                         meant to be written, give it a source of its own there with `read_only = false`"
                    ));
                }
                Ok(_) => {}
                Err(_) if self.doubt == Doubt::Allow => {}
                Err(why) => {
                    return refused(format!(
                        "it may be the source {name}, which is read-only in the config and cannot be compared now \
                         ({why}); give this one a name in the config if it is another"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl ProtectedSource {
    fn engine(&self) -> &'static str {
        match self.place {
            Place::File(_) => "sqlite",
            Place::Server(_) | Place::Nowhere(_) => "postgres",
        }
    }
}

/// Whether two fingerprints are of one database. A server that does not tell its system identifier may be any.
pub fn is_same(one: &str, other: &str) -> bool {
    let anonymous = |text: &str| text.strip_prefix("postgres:server:").map(str::to_owned);
    let database = |text: &str| text.splitn(3, ':').nth(2).map(str::to_owned);
    one == other
        || (anonymous(one).is_some() || anonymous(other).is_some()) && database(one) == database(other)
}

impl fmt::Debug for Protected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sources.iter().map(|source| &source.name)).finish()
    }
}

impl fmt::Debug for ProtectedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtectedSource").field("name", &self.name).field("place", &self.place).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_its_identifier_may_be_any() {
        assert!(is_same("postgres:7:16384:app", "postgres:7:16384:app"));
        assert!(is_same("postgres:server:16384:app", "postgres:7:16384:app"));
        for other in [
            "postgres:8:16384:app",
            "postgres:server:16385:app",
            "postgres:server:16384:crm",
            "sqlite:7:16384",
        ] {
            assert!(!is_same("postgres:7:16384:app", other), "{other}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_compared_refuses_unless_the_other_has_a_name() {
        let place = || Place::Nowhere("its address is wrong".into());
        let all = |doubt| Protected::new(vec![ProtectedSource::new("prod", place())]).in_doubt(doubt);
        let refused = all(Doubt::Refuse).admit("x", "postgres:7:1:app").unwrap_err().to_string();
        assert!(refused.contains("prod") && refused.contains("read-only"), "{refused}");
        assert!(all(Doubt::Allow).admit("x", "postgres:7:1:app").is_ok());
        assert!(all(Doubt::Refuse).admit("x", "sqlite:7:1").is_ok());
    }
}
