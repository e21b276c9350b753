//! What all verbs share: the config, the profiles, and how to open a source.

use std::time::Duration;

use super::Common;
use crate::config::{self, Config};
use crate::domain::time::{Moment, Span};
use crate::profile::Library;
use crate::profile::format::Profile;
use crate::store::sqlite::{Effort, Options, Profiles, SqliteStore};
use crate::store::{Source, StoreError};

#[derive(Debug, Clone)]
pub struct Setup {
    pub config: Config,
    pub library: Library,
    pub json: bool,
    pub now: Option<Moment>,
    /// Profiles that the command line names.
    named: Vec<Profile>,
}

impl Setup {
    pub fn load(common: Common) -> Result<Setup, String> {
        let config = Config::load(common.config.as_deref()).map_err(|error| error.to_string())?;
        let folder = config::folder().map(|folder| folder.join("profiles"));
        let library = Library::with_folder(folder.as_deref()).map_err(|error| error.to_string())?;
        let mut named = Vec::new();
        for name in &common.profile {
            named.push(library.find(name).map_err(|error| error.to_string())?.profile);
        }
        Ok(Setup { config, library, json: common.json, now: common.now, named })
    }

    /// The source that a word of the command line means.
    pub fn source(&self, word: &str) -> Source {
        let configured = self.config.named(word).and_then(|name| self.config.source.get(name));
        Source::parse(configured.map_or(word, |source| &source.at.0))
    }

    /// Opens the source that `word` means, with its settings.
    pub async fn open(&self, word: &str, effort: Effort) -> Result<SqliteStore, StoreError> {
        let profiles = self.profiles(self.config.named(word))?;
        SqliteStore::open(self.options(word, profiles, effort)?).await
    }

    /// How to read the source that `word` means.
    pub fn options(&self, word: &str, profiles: Profiles, effort: Effort) -> Result<Options, StoreError> {
        match self.source(word) {
            Source::Sqlite(path) => Ok(Options {
                path,
                profiles,
                operator: self.config.operator(self.config.named(word)),
                effort,
                busy_timeout: duration(self.config.busy_timeout),
                poll_timeout: duration(self.config.poll_timeout),
                frozen_at: self.now,
            }),
            Source::Postgres(url) => Err(StoreError::NoPostgres { source_name: url }),
        }
    }

    /// From strong to weak: the command line, the config, detection.
    fn profiles(&self, source: Option<&str>) -> Result<Profiles, StoreError> {
        if !self.named.is_empty() {
            return Ok(Profiles::Named(self.named.clone()));
        }
        let configured = source.and_then(|name| self.config.source.get(name));
        let names = configured.map_or(&[][..], |source| &source.profiles);
        if names.is_empty() {
            let all = self.library.entries().iter().map(|entry| entry.profile.clone());
            return Ok(Profiles::Detect(all.collect()));
        }
        let mut profiles = Vec::new();
        for name in names {
            profiles.push(self.library.find(name)?.profile);
        }
        Ok(Profiles::Named(profiles))
    }

    pub fn effort(&self, rows: usize) -> Effort {
        Effort { rows, slice: self.config.census_slice }
    }
}

fn duration(span: Span) -> Duration {
    Duration::from_micros(u64::try_from(span.as_micros()).unwrap_or(0))
}
