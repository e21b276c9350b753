//! What all verbs share: the config, the profiles, and how to open a source.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Common;
use super::output::complain;
use crate::config::{self, Config};
use crate::domain::claim::Process;
use crate::domain::time::{Moment, Span};
use crate::liveness::{Machine, Subject};
use crate::profile::Library;
use crate::profile::format::Profile;
use crate::store::postgres::Target;
use crate::store::{
    Effort, Handle, Options, Prober, Profiles, Registrations, Source, StoreError, postgres, sqlite,
};

#[derive(Debug, Clone)]
pub struct Setup {
    pub config: Config,
    pub library: Library,
    pub json: bool,
    pub now: Option<Moment>,
    /// Whether the kernel is asked about the holders' processes.
    pub check_pid: bool,
    /// Whether this session may not write, whatever the source.
    read_only: bool,
    /// Profiles that the command line names.
    named: Vec<Profile>,
    /// Whether it is about what is claimed, or about what is dead.
    rows: Rows,
    /// The words whose warnings were given: once is enough, and later the screen is taken.
    warned: Arc<Mutex<BTreeSet<String>>>,
    /// Who was registered before, as far as this process has seen.
    registrations: Registrations,
}

/// Which rows of the systems are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    Claims,
    Dead,
}

impl Setup {
    pub fn load(common: &Common) -> Result<Setup, String> {
        let config = Config::load(common.config.as_deref()).map_err(|error| error.to_string())?;
        let folder = config::folder().map(|folder| folder.join("profiles"));
        let library = Library::with_folder(folder.as_deref()).map_err(|error| error.to_string())?;
        let mut named = Vec::new();
        for name in &common.profile {
            named.push(library.find(name).map_err(|error| error.to_string())?);
        }
        Ok(Setup {
            config,
            library,
            json: common.json,
            now: common.now,
            check_pid: common.check_pid,
            read_only: common.read_only,
            named,
            rows: Rows::Claims,
            warned: Arc::default(),
            registrations: Registrations::default(),
        })
    }

    /// The same for the dead jobs.
    pub fn of_the_dead(&self) -> Setup {
        Setup { rows: Rows::Dead, ..self.clone() }
    }

    pub fn rows(&self) -> Rows {
        self.rows
    }

    /// The source that a word of the command line means.
    pub fn source(&self, word: &str) -> Source {
        let configured = self.config.named(word).and_then(|name| self.config.source.get(name));
        Source::parse(configured.map_or(word, |source| &source.at.0))
    }

    /// Whether the source that `word` means may not be written in this session.
    pub fn is_read_only(&self, word: &str) -> bool {
        self.read_only || self.config.is_read_only(word)
    }

    /// The profiles that the command line, or else the config, names for a source: whoever does that
    /// says that its tables are theirs.
    pub fn named_profiles(&self, word: &str) -> Vec<String> {
        let living = self.living_profiles(self.config.named(word));
        match living {
            Ok(Profiles::Named(profiles)) => profiles.into_iter().map(|profile| profile.name).collect(),
            Ok(Profiles::Detect(_) | Profiles::Dead(_)) | Err(_) => Vec::new(),
        }
    }

    /// The word as it may be printed: a URL without its password.
    pub fn label(&self, word: &str) -> String {
        match Source::parse(word) {
            Source::Postgres(url) => url,
            Source::Sqlite(_) => word.into(),
        }
    }

    /// Has a thread open the source that `word` means.
    pub async fn open(&self, word: &str) -> Result<Handle, StoreError> {
        Handle::open(self.options(word, self.effort())?).await
    }

    /// How to read the source that `word` means.
    pub fn options(&self, word: &str, effort: Effort) -> Result<Options, StoreError> {
        let name = self.config.named(word);
        let profiles = self.profiles(name)?;
        let operator = self.config.operator(name);
        let busy_timeout = duration(self.config.busy_timeout);
        let poll_timeout = duration(self.config.poll_timeout);
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
            }),
            Source::Postgres(_) => Options::Postgres(Box::new(postgres::Options {
                target: self.target(word)?,
                profiles,
                operator,
                effort,
                busy_timeout,
                poll_timeout,
                frozen_at,
                prober,
                registrations: self.registrations.clone(),
            })),
        })
    }

    /// The server that `word` means. Other users see the words of a command line: a password among
    /// them is refused even if it would work.
    pub fn target(&self, word: &str) -> Result<Target, StoreError> {
        if Source::has_password(word) {
            return Err(StoreError::ToldPassword { source_name: self.label(word) });
        }
        let configured = self.config.named(word).and_then(|name| self.config.source.get(name));
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

    /// Asks this machine's kernel, and trusts an answer for a few seconds: within one look the same
    /// process is asked for many times.
    pub fn prober(&self, source: Option<&str>) -> Prober {
        let holders_on = source.and_then(|name| self.config.source.get(name)?.holders_on);
        let machine = Machine::here();
        let known: Mutex<HashMap<String, (Instant, Looked)>> = Mutex::default();
        Prober::new(move |worker, started_at, beat_at| {
            let subject = Subject { pid: &worker.pid, host: worker.host.as_deref(), started_at, beat_at };
            let look = || {
                let finding = machine.probe(&subject, holders_on);
                (finding.process, finding.evidence)
            };
            let key = format!("{subject:?}");
            match known.lock() {
                Ok(mut known) => {
                    known.retain(|_, (at, _)| at.elapsed() < TRUSTED);
                    known.entry(key).or_insert_with(|| (Instant::now(), look())).1.clone()
                }
                Err(_) => look(),
            }
        })
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

    /// The effort of a verb that looks once, and so cannot leave the rest to the next poll.
    pub fn effort(&self) -> Effort {
        Effort { rows: 0, slice: self.config.census_slice, whole: ONE_LOOK }
    }
}

/// What the kernel said, and by what it is known.
type Looked = (Process, String);

/// How long an answer of the kernel holds.
const TRUSTED: Duration = Duration::from_secs(3);

/// Rows that one look reads where a set has no index: a second's work or so.
const ONE_LOOK: usize = 5_000_000;

fn duration(span: Span) -> Duration {
    Duration::from_micros(u64::try_from(span.as_micros()).unwrap_or(0))
}
