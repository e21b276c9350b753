//! The config file: sources by name, and thresholds.
//!
//! Unknown keys are errors that name their line; values are never printed, for one of them may
//! be a secret.

mod sweep;

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::domain::claim::HoldersOn;
use crate::domain::time::{Span, ZoneName};
use crate::domain::visible::visible;
use crate::profile::parse::line_of;
use crate::profile::rules::{Limits, Operator};
use crate::store::Source;
use crate::ui::theme::Palette;
pub use sweep::{Share, SweepLimits};

#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("{}: cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{}:{line}: {what}", path.display())]
    Invalid { path: PathBuf, line: usize, what: String },
    #[error("{}: the source {} holds a password that others can read; `chmod 600` the file and own it, or put the password into ~/.pgpass or a `password_command`", path.display(), visible(name))]
    Exposed { path: PathBuf, name: String },
}

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The worst rows of each set that a poll fetches.
    pub row_limit: usize,
    /// Rows that a poll reads where no index helps.
    pub census_slice: usize,
    /// How long to wait for another process's lock.
    pub busy_timeout: Span,
    /// After this long a poll is stopped.
    pub poll_timeout: Span,
    /// Times this far in the future are noise between clocks.
    pub clock_noise: Span,
    /// How often the dashboard polls.
    pub interval: Span,
    pub theme: Palette,
    /// Whether the dashboard rings on the first stale or orphaned claim after a calm.
    pub bell: bool,
    pub mouse: MouseUse,
    /// Keys by command, in place of the usual ones.
    pub keys: BTreeMap<String, Keys>,
    /// Thresholds where the profile has none of its own.
    pub defaults: Limits,
    /// Automatic cleanup and its brakes.
    pub sweep: SweepLimits,
    pub source: BTreeMap<String, SourceConfig>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            row_limit: 200,
            census_slice: 20_000,
            busy_timeout: Span::seconds(2),
            poll_timeout: Span::seconds(10),
            clock_noise: Span::seconds(2),
            interval: Span::seconds(1),
            theme: Palette::Dark,
            bell: true,
            mouse: MouseUse::On,
            keys: BTreeMap::new(),
            defaults: Limits {
                lease: Some(Span::minutes(30)),
                silent_after: Some(Span::minutes(5)),
                orphan_after: Some(Span::minutes(10)),
                ..Limits::default()
            },
            sweep: SweepLimits::USUAL,
            source: BTreeMap::new(),
        }
    }
}

/// Whether the dashboard listens to the mouse; off, the terminal's own selection works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MouseUse {
    On,
    Off,
}

/// One key, or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Keys {
    One(String),
    Many(Vec<String>),
}

/// One database, by a name of the user's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    pub at: Location,
    /// A shell command whose first line of output is the password.
    pub password_command: Option<PasswordCommand>,
    /// The zone of times that have none, in place of what the profile says: utc, server, host, an offset
    /// such as +02:00, or on PostgreSQL a name such as Europe/Berlin.
    pub time_zone: Option<ZoneName>,
    /// Names or files; empty, they are detected.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// Whether this source may never be written.
    #[serde(default)]
    pub read_only: bool,
    /// Where the holders' processes run; unset, no process is ever called dead.
    pub holders_on: Option<HoldersOn>,
    /// Thresholds for every board.
    #[serde(default)]
    pub limits: Limits,
    /// Thresholds for single boards.
    #[serde(default)]
    pub board: BTreeMap<String, Limits>,
    /// Automatic cleanup of this source.
    #[serde(default)]
    pub sweep: SweepLimits,
}

/// A path or URL; shown without its password.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Location(pub String);

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Source::parse(&self.0))
    }
}

/// A command; never shown, for it may hold a secret itself.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct PasswordCommand(pub String);

impl fmt::Debug for PasswordCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Config {
    /// Reads `path`, or the user's config file if there is one, or else takes the defaults.
    pub fn load(path: Option<&Path>) -> Result<Config, ConfigError> {
        match path {
            Some(path) => Config::read(path),
            None => match folder().map(|folder| folder.join("config.toml")) {
                Some(path) if path.exists() => Config::read(&path),
                _ => Ok(Config::default()),
            },
        }
    }

    fn read(path: &Path) -> Result<Config, ConfigError> {
        let unreadable =
            |why: std::io::Error| ConfigError::Unreadable { path: path.into(), why: why.to_string() };
        let mut file = std::fs::OpenOptions::new().read(true).open(path).map_err(unreadable)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unreadable)?;
        let config = Config::parse(&text).map_err(|(line, what)| ConfigError::Invalid {
            path: path.into(),
            line,
            what,
        })?;
        // Asked of the file that was read, not of the path, which may lead elsewhere by now.
        let found = file.metadata().map_err(unreadable)?;
        let mut sources = config.source.iter();
        match sources.find(|(_, source)| Source::has_password(&source.at.0)) {
            Some((name, _)) if !is_private(&found) => {
                Err(ConfigError::Exposed { path: path.into(), name: name.clone() })
            }
            _ => Ok(config),
        }
    }

    /// The config in `text`, or the line and nature of its first error.
    pub fn parse(text: &str) -> Result<Config, (usize, String)> {
        toml::from_str(text).map_err(|error| (line_of(text, &error), without_values(error.message())))
    }

    /// The thresholds for the source `name`.
    pub fn operator(&self, name: Option<&str>) -> Operator {
        let source = name.and_then(|name| self.source.get(name));
        Operator {
            defaults: self.defaults.clone(),
            clock_noise: self.clock_noise,
            source: source.map(|source| source.limits.clone()).unwrap_or_default(),
            boards: source.map(|source| source.board.clone()).unwrap_or_default(),
            zone: source.and_then(|source| source.time_zone.clone()),
        }
    }

    /// What is set for automatic cleanup of the source `name`.
    pub fn sweep(&self, name: Option<&str>) -> SweepLimits {
        let source = name.and_then(|name| self.source.get(name));
        source.map(|source| source.sweep).unwrap_or_default().or(self.sweep)
    }

    /// Keys by command, as lists.
    pub fn keys(&self) -> BTreeMap<String, Vec<String>> {
        let list = |keys: &Keys| match keys {
            Keys::One(key) => vec![key.clone()],
            Keys::Many(keys) => keys.clone(),
        };
        self.keys.iter().map(|(command, keys)| (command.clone(), list(keys))).collect()
    }

    /// The source that a user means by `text`: its name, or the place that it names.
    pub fn named(&self, text: &str) -> Option<&str> {
        if let Some((name, _)) = self.source.get_key_value(text) {
            return Some(name);
        }
        let wanted = place(text);
        let same = |source: &SourceConfig| place(&source.at.0) == wanted;
        self.source.iter().find(|(_, source)| same(source)).map(|(name, _)| name.as_str())
    }

    /// Whether what a user means by `text` may not be written: the source that it names decides, and
    /// of a server that it does not name, every source that is the same database in other words.
    pub fn is_read_only(&self, text: &str) -> bool {
        match self.named(text).and_then(|name| self.source.get(name)) {
            Some(source) => source.read_only,
            None => self
                .source
                .values()
                .any(|source| source.read_only && Source::is_same_server(&source.at.0, text)),
        }
    }
}

/// Whether a file is ours or root's, and nobody else may read it.
fn is_private(found: &std::fs::Metadata) -> bool {
    let owner = found.uid();
    found.permissions().mode() & 0o077 == 0 && (owner == 0 || owner == rustix::process::geteuid().as_raw())
}

/// The source that a text leads to, whichever way the path is written.
fn place(text: &str) -> Source {
    match Source::parse(text) {
        Source::Sqlite(path) => Source::Sqlite(std::fs::canonicalize(&path).unwrap_or(path)),
        postgres => postgres,
    }
}

/// A parser's message quotes the value it stumbled over; that may be a password. The names of
/// keys stay.
fn without_values(message: &str) -> String {
    let expected = |message: &str| message.rfind(", expected ").map_or("", |at| &message[at..]).to_owned();
    if message.starts_with("unknown field") || message.starts_with("missing field") {
        return message.into();
    }
    for (start, said) in [
        ("invalid type", "a value of the wrong type"),
        ("invalid value", "a value that does not fit"),
        ("unknown variant", "an unknown word"),
    ] {
        if message.starts_with(start) {
            return format!("{said}{}", expected(message));
        }
    }
    if message.contains("is not a duration") {
        return "this is not a duration; write 90s, 30m or 1h 30m".into();
    }
    // Errors of syntax name what is missing, not what is there; a quotation would be the latter.
    message.split(['"', '`']).step_by(2).collect::<Vec<_>>().join("…")
}

/// The user's config folder for this program.
pub fn folder() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))?;
    Some(base.join("claimtop"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_file_equals_the_defaults() {
        let example = include_str!("../config.example.toml");
        assert_eq!(Config::parse(example).unwrap(), Config::default());
    }

    #[test]
    fn the_examples_comments_are_a_valid_config_too() {
        let example = include_str!("../config.example.toml");
        let uncommented: String = example
            .lines()
            .map(|line| line.strip_prefix("#: ").unwrap_or(line))
            .flat_map(|line| [line, "\n"])
            .collect();
        let config = Config::parse(&uncommented).unwrap();
        assert_eq!(config.source["prod"].board["job"].kind["run_tsa"].ttl, Some(Span::minutes(60)));
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_line_and_without_its_value() {
        let (line, what) =
            Config::parse("row_limit = 5\n\n[source.a]\nat = 'x'\npasword = 'hunter2'\n").unwrap_err();
        assert_eq!(line, 5);
        assert!(what.contains("pasword") && !what.contains("hunter2"), "{what}");
        let (_, what) = Config::parse("row_limit = \"postgres://u:hunter2@h/d\"").unwrap_err();
        assert!(!what.contains("hunter2"), "{what}");
        let config = Config::parse("[source.a]\nat = 'postgres://u:hunter2@h/d'").unwrap();
        assert!(!format!("{config:?}").contains("hunter2"));
        let config = Config::parse("[source.a]\nat = 'x'\npassword_command = 'echo hunter2'").unwrap();
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn a_password_in_a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "[source.a]\nat = 'postgres://u:hunter2@h/d'").unwrap();
        let set = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        set(0o640);
        let said = Config::load(Some(&path)).unwrap_err().to_string();
        assert!(said.contains("chmod 600") && !said.contains("hunter2"), "{said}");
        set(0o600);
        assert!(Config::load(Some(&path)).is_ok());
    }
}
