//! What a reader is told about its source.

use super::schema::Schema;
use std::path::Path;

use super::source_location::SourceLocation;
use super::{Prober, Protected, StoreError, postgres, sqlite};
use crate::profile::format::{Engine, Profile};
use crate::profile::library::{Entry, Library};

/// How to read one source.
#[derive(Debug, Clone)]
pub enum Options {
    Sqlite(Box<sqlite::Options>),
    Postgres(Box<postgres::Options>),
}

impl Options {
    /// What the source is called.
    pub fn name(&self) -> String {
        match self {
            Options::Sqlite(options) => options.path.display().to_string(),
            Options::Postgres(options) => options.target.label().to_owned(),
        }
    }

    /// The path of a file; a server has none.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Options::Sqlite(options) => Some(&options.path),
            Options::Postgres(_) => None,
        }
    }

    /// Has the holders' processes looked up.
    pub fn ask_the_kernel_by(&mut self, prober: Prober) {
        match self {
            Options::Sqlite(options) => options.prober = Some(prober),
            Options::Postgres(options) => options.prober = Some(prober),
        }
    }

    /// The same with another effort.
    pub fn with_effort(&self, effort: Effort) -> Options {
        let mut other = self.clone();
        match &mut other {
            Options::Sqlite(options) => options.effort = effort,
            Options::Postgres(options) => options.effort = effort,
        }
        other
    }

    /// The same with other profiles.
    pub fn with_profiles(mut self, profiles: Profiles) -> Options {
        match &mut self {
            Options::Sqlite(options) => options.profiles = profiles,
            Options::Postgres(options) => options.profiles = profiles,
        }
        self
    }

    /// Where the source is.
    pub(super) fn location(&self) -> SourceLocation {
        match self {
            Options::Sqlite(options) => SourceLocation::File(options.path.clone()),
            Options::Postgres(options) => SourceLocation::Server(Box::new(options.target.clone())),
        }
    }

    /// The databases that an actor must not write.
    pub(super) fn protected(&self) -> &Protected {
        match self {
            Options::Sqlite(options) => &options.protected,
            Options::Postgres(options) => &options.protected,
        }
    }

    /// The same with other protected databases.
    pub(super) fn protecting(mut self, protected: Protected) -> Options {
        match &mut self {
            Options::Sqlite(options) => options.protected = protected,
            Options::Postgres(options) => options.protected = protected,
        }
        self
    }

    pub fn profiles(&self) -> &Profiles {
        match self {
            Options::Sqlite(options) => &options.profiles,
            Options::Postgres(options) => &options.profiles,
        }
    }
}

impl From<sqlite::Options> for Options {
    fn from(options: sqlite::Options) -> Options {
        Options::Sqlite(Box::new(options))
    }
}

impl From<postgres::Options> for Options {
    fn from(options: postgres::Options) -> Options {
        Options::Postgres(Box::new(options))
    }
}

/// Which profiles to lay onto a database.
#[derive(Debug, Clone)]
pub enum Profiles {
    /// Every one of these that fits.
    Detect(Library),
    /// These, and an error if one does not fit.
    Named(Vec<Profile>),
    /// The dead jobs of these, see [`Profile::of_the_dead`].
    Dead(Box<Profiles>),
}

impl Profiles {
    /// The profiles to try on a database.
    pub fn candidates(&self, schema: &Schema, engine: Engine) -> Result<Vec<Profile>, StoreError> {
        match self {
            Profiles::Named(profiles) => Ok(profiles.clone()),
            Profiles::Detect(library) => {
                let likely = library.entries().iter().filter(|entry| entry.may_fit(schema.table_names()));
                Ok(likely.map(Entry::profile).collect::<Result<_, _>>()?)
            }
            Profiles::Dead(living) => {
                let mut dead = Vec::new();
                for profile in living.candidates(schema, engine)? {
                    // What the engine changes in a profile comes first: it is read out of the file anew.
                    dead.extend(profile.on(engine)?.of_the_dead());
                }
                Ok(dead)
            }
        }
    }

    /// Whether one of them speaks of a table.
    pub fn name(&self, table: &str) -> bool {
        match self {
            Profiles::Named(profiles) => {
                profiles.iter().flat_map(|profile| &profile.boards).any(|board| board.table == table)
            }
            Profiles::Detect(library) => library.entries().iter().any(|entry| entry.names(table)),
            Profiles::Dead(living) => living.name(table),
        }
    }

    /// Whether somebody named them, and so means the tables that they speak of, whatever those are.
    pub fn are_named(&self) -> bool {
        match self {
            Profiles::Named(_) => true,
            Profiles::Detect(_) => false,
            Profiles::Dead(living) => living.are_named(),
        }
    }

    pub fn is_a_guess(&self) -> bool {
        match self {
            Profiles::Detect(_) => true,
            Profiles::Named(_) => false,
            // Of several named ones it is enough that one knows its dead.
            Profiles::Dead(_) => true,
        }
    }
}

/// How much a poll may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Worst rows to fetch per set.
    pub rows: usize,
    /// Boards up to this size are always counted in full; of larger ones the census looks at as
    /// many rows, or fewer.
    pub slice: usize,
    /// The same where a set itself has no index, not only the search for unreadable values.
    pub whole: usize,
}
