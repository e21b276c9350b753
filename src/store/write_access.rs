//! Permission to write: the one place that decides which sources are read-only.
//!
//! Acting on a source takes a [`WriteAccess`], and only [`WriteRules::grant`] makes one. It refuses a read-only
//! session, and every database that the config protects. A database is recognised by what it is and not by how its
//! address is spelled: a file by its device and inode, a database on a server by the server's system identifier and
//! its own number and name. A server that does not answer now is compared when the actor connects to it.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::source_location::{SourceLocation, is_same_database};
use super::{Options, Prober, Source, StoreError};

/// How long a server's identity is remembered.
const REMEMBERED: Duration = Duration::from_secs(60);

/// Permission to write to one source, with what it takes to open it. A read-only session has none.
#[derive(Debug, Clone)]
pub struct WriteAccess {
    options: Options,
}

impl WriteAccess {
    /// How to read the source: whoever acts reads first.
    pub fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn into_options(self) -> Options {
        self.options
    }

    /// The same, with a prober that looks up the holders' processes.
    pub fn probing_with(mut self, prober: Prober) -> WriteAccess {
        self.options.prober = Some(prober);
        self
    }

    /// An error if the database that answers is protected, or if nobody can tell.
    pub fn admit(&self, shown: &str, fingerprint: &str) -> Result<(), StoreError> {
        self.options.protected.admit(shown, fingerprint)
    }
}

/// Why a source may not be written.
#[derive(Debug)]
pub enum NoWriteAccess {
    /// The session is read-only, or the config protects the source.
    ReadOnly,
    /// The source cannot be opened at all.
    Store(StoreError),
}

impl From<StoreError> for NoWriteAccess {
    fn from(error: StoreError) -> NoWriteAccess {
        NoWriteAccess::Store(error)
    }
}

/// What the session and the config allow to be written. By default everything.
#[derive(Debug, Clone, Default)]
pub struct WriteRules {
    session: SessionMode,
    protected: Protected,
}

/// Whether this run of the program may write at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionMode {
    #[default]
    ReadWrite,
    ReadOnly,
}

/// What the config says about the source that is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// `read_only = false`: the user vouches for it.
    Writable,
    /// `read_only = true`.
    ReadOnly,
    /// It has settings there, so the user says that it is not one of the protected sources.
    Configured,
    /// Nothing.
    Unconfigured,
}

impl WriteRules {
    pub fn new(session: SessionMode, protected: Vec<ProtectedSource>) -> WriteRules {
        WriteRules { session, protected: Protected { sources: Arc::new(protected), doubt: Doubt::Refuse } }
    }

    /// Permission to write to the source at `address`, or why there is none. `options` are made only if the address
    /// itself is not protected.
    pub fn grant(
        &self,
        address: &str,
        standing: Standing,
        options: impl FnOnce() -> Result<Options, StoreError>,
    ) -> Result<WriteAccess, NoWriteAccess> {
        if self.session == SessionMode::ReadOnly {
            return Err(NoWriteAccess::ReadOnly);
        }
        let protected = match standing {
            Standing::ReadOnly => return Err(NoWriteAccess::ReadOnly),
            Standing::Writable => Protected::default(),
            Standing::Configured => Protected { doubt: Doubt::Allow, ..self.protected.clone() },
            Standing::Unconfigured => self.protected.clone(),
        };
        if protected.sources.iter().any(|source| Source::is_same_place(&source.address, address)) {
            return Err(NoWriteAccess::ReadOnly);
        }
        let options = options()?;
        if !protected.sources.is_empty() && protected.covers(&options.at) {
            return Err(NoWriteAccess::ReadOnly);
        }
        Ok(WriteAccess { options: Options { protected, ..options } })
    }
}

/// The databases that may not be written, compared again with every connection that is opened for an act.
#[derive(Clone, Default)]
pub struct Protected {
    sources: Arc<Vec<ProtectedSource>>,
    doubt: Doubt,
}

/// What to do about a protected source that cannot be identified now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Doubt {
    /// It may be the one that is about to be written.
    #[default]
    Refuse,
    /// Whoever gave the other one a name in the config says that it is another.
    Allow,
}

/// One source that the config protects.
pub struct ProtectedSource {
    /// What the config calls it.
    name: String,
    address: String,
    location: SourceLocation,
    known: Mutex<Option<(Instant, String)>>,
}

impl ProtectedSource {
    pub fn new(name: &str, address: &str, location: SourceLocation) -> ProtectedSource {
        ProtectedSource {
            name: name.to_owned(),
            address: address.to_owned(),
            location,
            known: Mutex::default(),
        }
    }

    /// The fingerprint of the database; `None` if the file does not exist. A server's is remembered for a while.
    fn fingerprint(&self) -> Result<Option<String>, String> {
        if !self.location.is_server() {
            return self.location.fingerprint();
        }
        let fresh = |known: &(Instant, String)| known.0.elapsed() < REMEMBERED;
        if let Some((_, known)) = self.known.lock().ok().and_then(|known| known.clone()).filter(fresh) {
            return Ok(Some(known));
        }
        let found = self.location.fingerprint()?;
        if let (Some(found), Ok(mut known)) = (&found, self.known.lock()) {
            *known = Some((Instant::now(), found.clone()));
        }
        Ok(found)
    }
}

impl Protected {
    /// Whether a source is known to be one of them. A file needs no second look: its address was compared.
    fn covers(&self, location: &SourceLocation) -> bool {
        if !location.is_server() {
            return false;
        }
        let Ok(Some(fingerprint)) = location.fingerprint() else { return false };
        let same = |known: Option<String>| known.is_some_and(|known| is_same_database(&known, &fingerprint));
        self.sources.iter().any(|source| source.fingerprint().is_ok_and(same))
    }

    /// An error if the database with this fingerprint may not be written, or if nobody can tell.
    pub(super) fn admit(&self, shown: &str, fingerprint: &str) -> Result<(), StoreError> {
        let refused = |why: String| Err(StoreError::ReadOnly { path: shown.into(), why });
        let engine = |text: &str| text.split(':').next().unwrap_or_default().to_owned();
        for source in self.sources.iter().filter(|source| source.location.engine() == engine(fingerprint)) {
            let name = &source.name;
            match source.fingerprint() {
                Ok(Some(known)) if is_same_database(&known, fingerprint) => {
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

impl fmt::Debug for Protected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sources.iter().map(|source| &source.name)).finish()
    }
}

impl fmt::Debug for ProtectedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtectedSource").field("name", &self.name).field("place", &self.location).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_compared_refuses_unless_the_other_has_a_name() {
        let all = |doubt| {
            let location = SourceLocation::Nowhere("its address is wrong".into());
            let sources = Arc::new(vec![ProtectedSource::new("prod", "postgres://", location)]);
            Protected { sources, doubt }
        };
        let refused = all(Doubt::Refuse).admit("x", "postgres:7:1:app").unwrap_err().to_string();
        assert!(refused.contains("prod") && refused.contains("read-only"), "{refused}");
        assert!(all(Doubt::Allow).admit("x", "postgres:7:1:app").is_ok());
        assert!(all(Doubt::Refuse).admit("x", "sqlite:7:1").is_ok());
    }

    #[test]
    fn a_read_only_session_gets_no_access_and_opens_nothing() {
        let rules = WriteRules::new(SessionMode::ReadOnly, Vec::new());
        let granted =
            rules.grant("tasks.db", Standing::Writable, || panic!("the source is not even looked up"));
        assert!(matches!(granted, Err(NoWriteAccess::ReadOnly)));
    }

    #[test]
    fn a_protected_file_gets_no_access_by_any_spelling_unless_the_config_vouches_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.db");
        std::fs::write(&path, "").unwrap();
        let address = path.to_str().unwrap();
        let rules = WriteRules::new(
            SessionMode::ReadWrite,
            vec![ProtectedSource::new("prod", address, SourceLocation::of(address, None))],
        );
        let spelled = folder.path().join("../").join(folder.path().file_name().unwrap()).join("./tasks.db");
        let unavailable = || Err(StoreError::Deleted { path: path.clone() });
        for standing in [Standing::ReadOnly, Standing::Configured, Standing::Unconfigured] {
            let granted = rules.grant(spelled.to_str().unwrap(), standing, unavailable);
            assert!(matches!(granted, Err(NoWriteAccess::ReadOnly)), "{standing:?}");
        }
        let granted = rules.grant(spelled.to_str().unwrap(), Standing::Writable, unavailable);
        assert!(matches!(granted, Err(NoWriteAccess::Store(_))), "its options were asked for");
    }
}
