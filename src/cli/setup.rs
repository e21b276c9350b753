//! What all verbs share: the config, the profiles, and how to open a source.

mod opening;
mod process_lookup;
mod recognition;
mod shared;

pub(super) use shared::SharedSetup;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};

use super::Common;
use super::output::complain;
use crate::config::{self, Config, LoadedConfig};
use crate::domain::shell::quoted;
use crate::domain::time::Moment;
use crate::profile::Library;
use crate::profile::format::Profile;
use crate::store::write_access::ProtectedSource;
use crate::store::{Registrations, SessionMode, Source, Warn, WriteRules};

#[derive(Debug, Clone)]
pub(super) struct Setup {
    /// Shared: every source has a setup.
    pub config: Arc<Config>,
    /// The config as it was read: `config` may have other sources by now.
    loaded: Arc<LoadedConfig>,
    pub library: Library,
    pub json: bool,
    pub now: Option<Moment>,
    /// Whether the kernel is asked about the holders' processes.
    pub check_pid: bool,
    /// Profiles that the command line names.
    named: Vec<Profile>,
    /// Options that a command on the same source must repeat, quoted for a shell.
    repeated: String,
    /// Whether claims or dead jobs are read.
    rows: RowSelection,
    /// What this session may write.
    write_rules: WriteRules,
    /// Words for servers that turned out to be sources of the config.
    recognised: Arc<Mutex<BTreeMap<String, Option<String>>>>,
    /// Sources whose warnings were printed: once is enough, and the dashboard must not print.
    warned: Arc<Mutex<BTreeSet<String>>>,
    /// The registered holders that this process has seen.
    registrations: Registrations,
    warnings: Warnings,
}

/// The options that select the source and its tables.
fn repeated(common: &Common) -> String {
    let config = common.config.iter().map(|file| ("--config", file.display().to_string()));
    let profiles = common.profile.iter().map(|name| ("--profile", name.clone()));
    config.chain(profiles).map(|(option, value)| format!(" {option} {}", quoted(&value))).collect()
}

/// How the warnings of a source are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Warnings {
    /// Printed once.
    OnStandardError,
    /// Together with the results.
    WithPolls,
}

/// Which rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowSelection {
    Claims,
    Dead,
}

impl Setup {
    pub(super) fn load(common: &Common) -> Result<Setup, String> {
        let loaded = LoadedConfig::load(common.config.as_deref()).map_err(|error| error.to_string())?;
        Setup::with(common, loaded)
    }

    /// The same, read again; an error if the config has disappeared, is empty or invalid.
    pub(super) fn reload(&self, common: &Common) -> Result<Setup, String> {
        let loaded = self.loaded.again(common.config.as_deref()).map_err(|error| error.to_string())?;
        Setup::with(common, loaded)
    }

    fn with(common: &Common, loaded: LoadedConfig) -> Result<Setup, String> {
        let folder = config::folder().map(|folder| folder.join("profiles"));
        let library = Library::with_folder(folder.as_deref()).map_err(|error| error.to_string())?;
        let mut named = Vec::new();
        for name in &common.profile {
            named.push(library.find(name).map_err(|error| error.to_string())?);
        }
        Ok(Setup {
            config: Arc::new(loaded.config.clone()),
            write_rules: write_rules(common, &loaded.config),
            recognised: Arc::default(),
            loaded: Arc::new(loaded),
            library,
            json: common.json,
            now: common.now,
            check_pid: common.check_pid,
            named,
            repeated: repeated(common),
            rows: RowSelection::Claims,
            warned: Arc::default(),
            registrations: Registrations::default(),
            // A cron job that runs every minute should not send a mail every minute.
            warnings: if std::io::stderr().is_terminal() {
                Warnings::OnStandardError
            } else {
                Warnings::WithPolls
            },
        })
    }

    /// The same for callers that must not print to standard error, because the screen is in use or warnings are shown
    /// elsewhere.
    pub(super) fn silent(&self) -> Setup {
        Setup { warnings: Warnings::WithPolls, ..self.clone() }
    }

    /// Prints each sentence once.
    fn warn(&self) -> Warn {
        let warned = Arc::clone(&self.warned);
        Warn::new(move |sentence| {
            if warned.lock().is_ok_and(|mut warned| warned.insert(sentence.to_owned())) {
                complain(sentence);
            }
        })
    }

    /// The named sources, or all of the config; an error if there are none.
    pub(super) fn sources_or_all(&self, named: &[String]) -> Result<Vec<String>, String> {
        if !named.is_empty() {
            return Ok(named.to_vec());
        }
        let all: Vec<String> = self.config.source.keys().cloned().collect();
        if all.is_empty() {
            return Err(
                "no source was named, and the config names none; name a SQLite file or a postgres:// \
                 address, or add a [source.NAME] to the config; --help has examples"
                    .into(),
            );
        }
        Ok(all)
    }

    /// The same for the dead jobs.
    pub(super) fn of_the_dead(&self) -> Setup {
        Setup { rows: RowSelection::Dead, ..self.clone() }
    }

    pub(super) fn rows(&self) -> RowSelection {
        self.rows
    }

    /// The word, safe to print: a URL without its password.
    pub(super) fn label(&self, word: &str) -> String {
        Source::shown(word)
    }

    /// What names the source in a command, with the options that select it and its tables.
    pub(super) fn in_commands(&self, word: &str) -> String {
        format!("{} {}", self.repeated, quoted(&self.label(word))).trim_start().to_owned()
    }

    /// The command that undoes an act on the source that `word` names, without the id of the act.
    pub(super) fn undo_command(&self, word: &str) -> String {
        format!("claimtop undo {}", self.in_commands(word))
    }
}

/// What this session and its config allow to write.
fn write_rules(common: &Common, config: &Config) -> WriteRules {
    let mode = if common.read_only { SessionMode::ReadOnly } else { SessionMode::ReadWrite };
    let protected = config.source.iter().filter(|(_, source)| source.read_only == Some(true));
    let protected =
        protected.map(|(name, source)| ProtectedSource::new(name, &source.at.0, source.location()));
    WriteRules::new(mode, protected.collect())
}
