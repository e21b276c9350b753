//! What all verbs share: the config, the profiles, and how to open a source.

mod opening;
mod process_lookup;
mod recognition;
mod shared;

pub use shared::SharedSetup;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};

use super::Common;
use super::output::complain;
use crate::config::{self, Config, Loaded};
use crate::domain::shell::quoted;
use crate::domain::time::Moment;
use crate::profile::Library;
use crate::profile::format::Profile;
use crate::store::write_access::ProtectedSource;
use crate::store::{Registrations, SessionMode, Source, Warn, WriteRules};

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
    /// Profiles that the command line names.
    named: Vec<Profile>,
    /// Options that a command about the same source has to repeat, each as a shell reads it.
    repeated: String,
    /// Whether it is about what is claimed, or about what is dead.
    rows: Rows,
    /// What this session may write.
    write_rules: WriteRules,
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
            write_rules: write_rules(common, &loaded.config),
            recognised: Arc::default(),
            loaded: Arc::new(loaded),
            library,
            json: common.json,
            now: common.now,
            check_pid: common.check_pid,
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

    /// The word as it may be printed: a URL without its password.
    pub fn label(&self, word: &str) -> String {
        Source::shown(word)
    }

    /// The command that takes back an act on the source that `word` means, up to the id of the act.
    pub fn undo_command(&self, word: &str) -> String {
        format!("claimtop undo{} {}", self.repeated, quoted(&self.label(word)))
    }
}

/// What this session and its config allow to be written.
fn write_rules(common: &Common, config: &Config) -> WriteRules {
    let mode = if common.read_only { SessionMode::ReadOnly } else { SessionMode::ReadWrite };
    let protected = config.source.iter().filter(|(_, source)| source.read_only == Some(true));
    let protected =
        protected.map(|(name, source)| ProtectedSource::new(name, &source.at.0, source.location()));
    WriteRules::new(mode, protected.collect())
}
