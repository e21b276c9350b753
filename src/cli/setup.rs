//! What all verbs share: the config, the profiles, and how to open a source.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Common;
use super::output::complain;
use crate::config::{self, Config, Loaded, SourceConfig};
use crate::domain::claim::Process;
use crate::domain::shell::quoted;
use crate::domain::time::{Moment, Span};
use crate::liveness::{Machine, Subject};
use crate::profile::Library;
use crate::profile::format::Profile;
use crate::store::postgres::Target;
use crate::store::protected::{Doubt, Place, Protected, ProtectedSource, is_same};
use crate::store::{
    Effort, Handle, Options, Prober, Profiles, Registrations, Source, StoreError, Warn, postgres, sqlite,
};

#[derive(Debug, Clone)]
pub struct Setup {
    pub config: Config,
    /// As it was read: `config` may have other sources since.
    loaded: Arc<Loaded>,
    pub library: Library,
    pub json: bool,
    pub now: Option<Moment>,
    /// Whether the kernel is asked about the holders' processes.
    pub check_pid: bool,
    /// Whether this session may not write, whatever the source.
    read_only: bool,
    /// Profiles that the command line names.
    named: Vec<Profile>,
    /// Options that a command about the same source has to repeat, each as a shell reads it.
    repeated: String,
    /// Whether it is about what is claimed, or about what is dead.
    rows: Rows,
    /// What the config protects from being written.
    protected: Protected,
    /// The sources whose settings apply to other words for their servers, as the servers told.
    recognised: Arc<Mutex<BTreeMap<String, Option<String>>>>,
    /// The words whose warnings were given: once is enough, and later the screen is taken.
    warned: Arc<Mutex<BTreeSet<String>>>,
    /// Who was registered before, as far as this process has seen.
    registrations: Registrations,
    warnings: Warnings,
}

/// The options that say which source and which tables are meant.
fn repeated(common: &Common) -> String {
    let config = common.config.iter().map(|file| ("--config", file.display().to_string()));
    let profiles = common.profile.iter().map(|name| ("--profile", name.clone()));
    config.chain(profiles).map(|(option, value)| format!(" {option} {}", quoted(&value))).collect()
}

/// Where a source's warnings go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Warnings {
    /// Once.
    OnStandardError,
    /// Along with what is read.
    WithPolls,
}

/// Which rows of the systems are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    Claims,
    Dead,
}

impl Setup {
    pub fn load(common: &Common) -> Result<Setup, String> {
        let loaded = Loaded::load(common.config.as_deref()).map_err(|error| error.to_string())?;
        Setup::with(common, loaded)
    }

    /// The same, read again: an error if the config that was there is gone, empty or wrong.
    pub fn reload(&self, common: &Common) -> Result<Setup, String> {
        let loaded = self.loaded.again(common.config.as_deref()).map_err(|error| error.to_string())?;
        Setup::with(common, loaded)
    }

    fn with(common: &Common, loaded: Loaded) -> Result<Setup, String> {
        let folder = config::folder().map(|folder| folder.join("profiles"));
        let library = Library::with_folder(folder.as_deref()).map_err(|error| error.to_string())?;
        let mut named = Vec::new();
        for name in &common.profile {
            named.push(library.find(name).map_err(|error| error.to_string())?);
        }
        Ok(Setup {
            config: loaded.config.clone(),
            protected: protected(&loaded.config),
            recognised: Arc::default(),
            loaded: Arc::new(loaded),
            library,
            json: common.json,
            now: common.now,
            check_pid: common.check_pid,
            read_only: common.read_only,
            named,
            repeated: repeated(common),
            rows: Rows::Claims,
            warned: Arc::default(),
            registrations: Registrations::default(),
            // A job that runs every minute should not send a mail every minute.
            warnings: if std::io::stderr().is_terminal() {
                Warnings::OnStandardError
            } else {
                Warnings::WithPolls
            },
        })
    }

    /// The same where nothing may be written to standard error, for the screen is taken, or the warnings are
    /// shown in another way.
    pub fn silent(&self) -> Setup {
        Setup { warnings: Warnings::WithPolls, ..self.clone() }
    }

    /// Says each sentence once.
    fn warn(&self) -> Warn {
        let warned = Arc::clone(&self.warned);
        Warn::new(move |sentence| {
            if warned.lock().is_ok_and(|mut warned| warned.insert(sentence.to_owned())) {
                complain(sentence);
            }
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

    /// Whether the source that `word` means may not be written in this session. An actor compares the database
    /// itself once more before anything is written: a server that did not answer now may answer then.
    pub fn is_read_only(&self, word: &str) -> bool {
        self.read_only || self.config.is_read_only(word) || self.is_protected_server(word)
    }

    fn is_protected_server(&self, word: &str) -> bool {
        let protected = self.protected(word);
        if protected.is_empty() || self.source(word).engine() != "postgres" {
            return false;
        }
        let found = self.target(word).and_then(|target| postgres::identify(&target));
        found.is_ok_and(|found| protected.covers(&found))
    }

    /// What may not be written when the source that `word` means is opened. A source with a name decides for
    /// itself if it says so.
    pub fn protected(&self, word: &str) -> Protected {
        match self.config.source.get(word).map(|source| source.read_only) {
            Some(Some(false)) => Protected::default(),
            Some(_) => self.protected.clone().in_doubt(Doubt::Allow),
            None if self.config.settings_for(word).is_some() => self.protected.clone().in_doubt(Doubt::Allow),
            None => self.protected.clone(),
        }
    }

    /// The source of the config whose settings apply to what `word` means: it is the same database, by its name,
    /// by its path or address, or because both servers say that they are one.
    pub fn settings_for(&self, word: &str) -> Option<String> {
        match self.config.settings_for(word) {
            Some(name) => Some(name.to_owned()),
            None => self.recognise(word),
        }
    }

    /// Asks the servers that may be the one that `word` means. Each word is asked for once: a poll must not
    /// connect to others every time.
    fn recognise(&self, word: &str) -> Option<String> {
        let Source::Postgres(_) = Source::parse(word) else { return None };
        if let Some(known) = self.recognised.lock().ok().and_then(|known| known.get(word).cloned()) {
            return known;
        }
        let wanted = Target::parse(word, None).ok()?;
        let candidates: Vec<(&String, Target)> = self
            .config
            .source
            .iter()
            .filter_map(|(name, source)| match place(source) {
                Place::Server(target) => Some((name, *target)),
                Place::File(_) | Place::Nowhere(_) => None,
            })
            .filter(|(_, target)| target.may_share_a_machine(&wanted))
            .collect();
        let mut found = None;
        if !candidates.is_empty() {
            let wanted = postgres::identify(&wanted).ok()?;
            let same = |target: &Target| postgres::identify(target).is_ok_and(|one| is_same(&one, &wanted));
            found = candidates.iter().find(|(_, target)| same(target)).map(|(name, _)| (*name).clone());
        }
        if let Ok(mut known) = self.recognised.lock() {
            known.insert(word.to_owned(), found.clone());
        }
        found
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

    /// The word as it may be printed: a URL without its password.
    pub fn label(&self, word: &str) -> String {
        Source::shown(word)
    }

    /// The command that takes back an act on the source that `word` means, up to the id of the act.
    pub fn undo_command(&self, word: &str) -> String {
        format!("claimtop undo{} {}", self.repeated, quoted(&self.label(word)))
    }

    /// Has a thread open the source that `word` means.
    pub async fn open(&self, word: &str) -> Result<Handle, StoreError> {
        Handle::open(self.options(word, self.effort())?).await
    }

    /// How to read the source that `word` means.
    pub fn options(&self, word: &str, effort: Effort) -> Result<Options, StoreError> {
        let name = self.settings_for(word);
        let name = name.as_deref();
        let profiles = self.profiles(name)?;
        let operator = self.config.operator(name);
        let busy_timeout = duration(self.config.busy_timeout);
        let poll_timeout = duration(self.config.poll_timeout);
        let frozen_at = self.now;
        let prober = self.check_pid.then(|| self.prober(name));
        let protected = self.protected(word);
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
                protected,
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
                    protected,
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

/// The sources of a config that may never be written.
fn protected(config: &Config) -> Protected {
    let protects = |source: &&SourceConfig| source.read_only == Some(true);
    let all = config.source.iter().filter(|(_, source)| protects(source));
    Protected::new(all.map(|(name, source)| ProtectedSource::new(name, place(source))).collect())
}

fn place(source: &SourceConfig) -> Place {
    let command = source.password_command.as_ref().map(|command| command.0.as_str());
    match Source::parse(&source.at.0) {
        Source::Sqlite(path) => Place::File(path),
        Source::Unsupported(shown) => Place::Nowhere(Source::unsupported(&shown).to_string()),
        Source::Postgres(_) => match Target::parse(&source.at.0, command) {
            Ok(target) => Place::Server(Box::new(target)),
            Err(error) => Place::Nowhere(error.to_string()),
        },
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
