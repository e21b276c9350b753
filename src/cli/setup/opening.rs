//! Opening: from an argument of the command line to a readable source, and to permission to write it.
//!
//! This is the only place outside `store` that names an engine.

use super::{RowSelection, Setup, Warnings};
use crate::cli::output::complain;
use crate::config::SourceConfig;
#[cfg(feature = "postgres")]
use crate::store::postgres::Target;
use crate::store::{
    Effort, NoWriteAccess, Options, Profiles, Source, SourceLocation, StoreError, WriteAccess,
};

/// How many rows a single poll reads where a set has no index: about a second's work.
const ONE_LOOK: usize = 5_000_000;

impl Setup {
    /// The source that an argument of the command line names.
    pub(crate) fn source(&self, word: &str) -> Source {
        Source::parse(self.configured(word).map_or(word, |source| &source.at.0))
    }

    fn configured(&self, word: &str) -> Option<&SourceConfig> {
        self.config.named(word).and_then(|name| self.config.source.get(name))
    }

    /// Permission to write to the source that `word` names, if this session and the config grant it.
    pub(crate) fn write_access(&self, word: &str, effort: Effort) -> Result<WriteAccess, NoWriteAccess> {
        self.grant(word, || self.options(word, effort))
    }

    /// The same for a database that may have no claims yet: no profile is detected.
    pub(crate) fn write_access_to_empty(&self, word: &str) -> Result<WriteAccess, NoWriteAccess> {
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

    /// How to read the source that `word` names.
    pub(crate) fn options(&self, word: &str, effort: Effort) -> Result<Options, StoreError> {
        let profiles = self.profiles(self.settings_for(word).as_deref())?;
        self.options_with(word, effort, profiles)
    }

    fn options_with(&self, word: &str, effort: Effort, profiles: Profiles) -> Result<Options, StoreError> {
        let name = self.settings_for(word);
        let name = name.as_deref();
        let configured = name.and_then(|name| self.config.source.get(name));
        let at = match self.source(word) {
            Source::Sqlite(path) => SourceLocation::File(path),
            Source::Unsupported(shown) => return Err(Source::unsupported(&shown)),
            #[cfg(not(feature = "postgres"))]
            Source::Postgres(source_name) => return Err(StoreError::NotBuiltIn { source_name }),
            #[cfg(feature = "postgres")]
            Source::Postgres(_) => SourceLocation::Server(Box::new(self.target(word)?)),
            #[cfg(feature = "mysql")]
            Source::Mysql(_) => SourceLocation::Mysql(Box::new(self.mysql_target(word)?)),
            #[cfg(not(feature = "mysql"))]
            Source::Mysql(source_name) => return Err(StoreError::NotBuiltIn { source_name }),
        };
        Ok(Options {
            at,
            profiles,
            operator: self.config.operator(name),
            effort,
            busy_timeout: self.config.busy_timeout.duration(),
            poll_timeout: self.config.poll_timeout.duration(),
            frozen_at: self.now,
            prober: self.check_pid.then(|| self.prober(name)),
            registrations: self.registrations.clone(),
            protected: Default::default(),
            allow_functions: configured.map(|source| source.allow_functions.clone()).unwrap_or_default(),
            warn: (self.warnings == Warnings::OnStandardError).then(|| self.warn()),
        })
    }

    /// An error if `word` is an address that can never be opened.
    pub(crate) fn admit_address(&self, word: &str) -> Result<(), StoreError> {
        match self.source(word) {
            Source::Sqlite(_) => Ok(()),
            Source::Unsupported(shown) => Err(Source::unsupported(&shown)),
            #[cfg(feature = "postgres")]
            Source::Postgres(_) => self.target(word).map(|_| ()),
            #[cfg(feature = "mysql")]
            Source::Mysql(_) => self.mysql_target(word).map(|_| ()),
            #[cfg(not(feature = "mysql"))]
            Source::Mysql(source_name) => Err(StoreError::NotBuiltIn { source_name }),
            #[cfg(not(feature = "postgres"))]
            Source::Postgres(source_name) => Err(StoreError::NotBuiltIn { source_name }),
        }
    }

    /// The same for a MySQL server.
    #[cfg(feature = "mysql")]
    fn mysql_target(&self, word: &str) -> Result<crate::store::mysql::Target, StoreError> {
        if Source::has_password(word) {
            return Err(StoreError::ToldPassword { source_name: self.label(word) });
        }
        let configured = self.configured(word);
        let command = configured.and_then(|source| source.password_command.as_ref());
        let text = configured.map_or(word, |source| &source.at.0);
        Ok(crate::store::mysql::Target::parse(text, command.map(|command| command.0.as_str()))?)
    }

    /// The server that `word` names. Other users can see a command line, so a password in it is refused even if it
    /// would work.
    #[cfg(feature = "postgres")]
    pub(crate) fn target(&self, word: &str) -> Result<Target, StoreError> {
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
            RowSelection::Claims => living,
            RowSelection::Dead => Profiles::Dead(Box::new(living)),
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

    /// The profiles that the command line, or else the config, names for a source. Naming a generic profile confirms
    /// that the tables belong to it.
    pub(crate) fn named_profiles(&self, word: &str) -> Vec<String> {
        let living = self.living_profiles(self.settings_for(word).as_deref());
        match living {
            Ok(Profiles::Named(profiles)) => profiles.into_iter().map(|profile| profile.name).collect(),
            Ok(Profiles::Detect(_) | Profiles::Dead(_)) | Err(_) => Vec::new(),
        }
    }

    /// The effort of a verb that polls once, and so cannot leave the rest to the next poll.
    pub(crate) fn effort(&self) -> Effort {
        Effort { rows: 0, slice: self.config.census_slice, whole: ONE_LOOK }
    }
}
