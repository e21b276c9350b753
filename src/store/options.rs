//! What a reader or an actor is told about its source.

use std::path::Path;
use std::time::Duration;

use super::schema::Schema;
use super::source_location::SourceLocation;
use super::variants::variants;
use super::{Prober, Protected, Registrations, StoreError, Warn};
use crate::domain::time::Moment;
use crate::profile::format::{Engine, Profile, ProfileError};
use crate::profile::library::{Library, LibraryEntry};
use crate::profile::rules::Operator;

/// How to read one source.
#[derive(Debug, Clone)]
pub struct Options {
    pub at: SourceLocation,
    pub profiles: Profiles,
    pub operator: Operator,
    pub effort: Effort,
    /// How long an act waits for what a worker holds: the file, or a row.
    pub busy_timeout: Duration,
    pub poll_timeout: Duration,
    /// A clock that stands still, for tests on frozen data.
    pub frozen_at: Option<Moment>,
    /// Who asks the kernel about the holders' processes, if that is wanted.
    pub prober: Option<Prober>,
    /// Who was registered before.
    pub registrations: Registrations,
    /// What may not be acted on.
    pub protected: Protected,
    /// Functions, operators and types of a server that profiles may use although they are not built in, or do
    /// more than read.
    pub allow_functions: Vec<String>,
    /// Hears what the operator should know once; unset, it is said with every poll.
    pub warn: Option<Warn>,
}

impl Options {
    /// What the source is called.
    pub fn name(&self) -> String {
        self.at.to_string()
    }

    /// The path of a file; a server has none.
    pub fn file(&self) -> Option<&Path> {
        match &self.at {
            SourceLocation::File(path) => Some(path),
            _ => None,
        }
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
            Profiles::Named(profiles) => in_all_places(profiles.iter().cloned().map(Ok), schema),
            Profiles::Detect(library) => {
                let likely = library.entries().iter().filter(|entry| entry.may_fit(schema.table_names()));
                in_all_places(likely.map(LibraryEntry::profile), schema)
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

/// The profiles with the values that their variables have in a database.
fn in_all_places(
    profiles: impl Iterator<Item = Result<Profile, ProfileError>>,
    schema: &Schema,
) -> Result<Vec<Profile>, StoreError> {
    let mut all = Vec::new();
    for profile in profiles {
        all.extend(variants(profile?, schema)?);
    }
    Ok(all)
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
