//! Opening: from a word of the command line to a source that can be read, and to permission to write it.
//!
//! This is the only place outside `store` that names an engine.

use super::{Rows, Setup, Warnings};
use crate::cli::output::complain;
use crate::config::SourceConfig;
use crate::store::postgres::{self, Target};
use crate::store::sqlite;
use crate::store::{Effort, NoWriteAccess, Options, Profiles, Source, StoreError, WriteAccess};

/// Rows that one look reads where a set has no index: a second's work or so.
const ONE_LOOK: usize = 5_000_000;

impl Setup {
    /// The source that a word of the command line means.
    pub fn source(&self, word: &str) -> Source {
        Source::parse(self.configured(word).map_or(word, |source| &source.at.0))
    }

    fn configured(&self, word: &str) -> Option<&SourceConfig> {
        self.config.named(word).and_then(|name| self.config.source.get(name))
    }

    /// Permission to write to the source that `word` means, if this session and the config give it.
    pub fn write_access(&self, word: &str, effort: Effort) -> Result<WriteAccess, NoWriteAccess> {
        self.grant(word, || self.options(word, effort))
    }

    /// The same for a database that may have no claims yet: no profile is looked for.
    pub fn write_access_to_empty(&self, word: &str) -> Result<WriteAccess, NoWriteAccess> {
        self.grant(word, || self.options_with(word, self.effort(), Profiles::Named(Vec::new())))
    }

    fn grant(
        &self,
        word: &str,
        options: impl FnOnce() -> Result<Options, StoreError>,
    ) -> Result<WriteAccess, NoWriteAccess> {
        let address = self.config.source.get(word).map_or(word, |source| &source.at.0);
        self.write_rules.grant(address, self.config.standing(word), options)
    }

    /// How to read the source that `word` means.
    pub fn options(&self, word: &str, effort: Effort) -> Result<Options, StoreError> {
        let profiles = self.profiles(self.settings_for(word).as_deref())?;
        self.options_with(word, effort, profiles)
    }

    fn options_with(&self, word: &str, effort: Effort, profiles: Profiles) -> Result<Options, StoreError> {
        let name = self.settings_for(word);
        let name = name.as_deref();
        let operator = self.config.operator(name);
        let busy_timeout = self.config.busy_timeout.duration();
        let poll_timeout = self.config.poll_timeout.duration();
        let frozen_at = self.now;
        let prober = self.check_pid.then(|| self.prober(name));
        Ok(match self.source(word) {
            Source::Sqlite(path) => Options::from(sqlite::Options {
                path,
                profiles,
                operator,
                effort,
                busy_timeout,
                poll_timeout,
                frozen_at,
                prober,
                registrations: self.registrations.clone(),
                protected: Default::default(),
            }),
            Source::Unsupported(shown) => return Err(Source::unsupported(&shown)),
            Source::Postgres(_) => {
                let configured = name.and_then(|name| self.config.source.get(name));
                let allow_functions = configured.map(|source| source.allow_functions.clone());
                Options::Postgres(Box::new(postgres::Options {
                    target: self.target(word)?,
                    profiles,
                    operator,
                    effort,
                    busy_timeout,
                    poll_timeout,
                    frozen_at,
                    prober,
                    registrations: self.registrations.clone(),
                    protected: Default::default(),
                    allow_functions: allow_functions.unwrap_or_default(),
                    warn: (self.warnings == Warnings::OnStandardError).then(|| self.warn()),
                }))
            }
        })
    }

    /// The server that `word` means. Other users see the words of a command line: a password among
    /// them is refused even if it would work.
    pub fn target(&self, word: &str) -> Result<Target, StoreError> {
        if let Source::Unsupported(shown) = Source::parse(word) {
            return Err(Source::unsupported(&shown));
        }
        if Source::has_password(word) {
            return Err(StoreError::ToldPassword { source_name: self.label(word) });
        }
        let configured = self.configured(word);
        let command = configured.and_then(|source| source.password_command.as_ref());
        let text = configured.map_or(word, |source| &source.at.0);
        let target = Target::parse(text, command.map(|command| command.0.as_str()))?;
        let is_new = self.warned.lock().is_ok_and(|mut warned| warned.insert(word.to_owned()));
        if is_new {
            for warning in target.warnings() {
                complain(warning);
            }
        }
        Ok(target)
    }

    /// From strong to weak: the command line, the config, detection.
    fn profiles(&self, source: Option<&str>) -> Result<Profiles, StoreError> {
        let living = self.living_profiles(source)?;
        Ok(match self.rows {
            Rows::Claims => living,
            Rows::Dead => Profiles::Dead(Box::new(living)),
        })
    }

    fn living_profiles(&self, source: Option<&str>) -> Result<Profiles, StoreError> {
        if !self.named.is_empty() {
            return Ok(Profiles::Named(self.named.clone()));
        }
        let configured = source.and_then(|name| self.config.source.get(name));
        let names = configured.map_or(&[][..], |source| &source.profiles);
        if names.is_empty() {
            return Ok(Profiles::Detect(self.library.clone()));
        }
        let mut profiles = Vec::new();
        for name in names {
            profiles.push(self.library.find(name)?);
        }
        Ok(Profiles::Named(profiles))
    }

    /// The profiles that the command line, or else the config, names for a source: whoever does that
    /// says that its tables are theirs.
    pub fn named_profiles(&self, word: &str) -> Vec<String> {
        let living = self.living_profiles(self.settings_for(word).as_deref());
        match living {
            Ok(Profiles::Named(profiles)) => profiles.into_iter().map(|profile| profile.name).collect(),
            Ok(Profiles::Detect(_) | Profiles::Dead(_)) | Err(_) => Vec::new(),
        }
    }

    /// The effort of a verb that looks once, and so cannot leave the rest to the next poll.
    pub fn effort(&self) -> Effort {
        Effort { rows: 0, slice: self.config.census_slice, whole: ONE_LOOK }
    }
}
