//! The config file: sources by name, and thresholds.
//!
//! Unknown keys are errors that name their line; values are never printed, for one of them may
//! be a secret.

mod bounds;
mod file;
mod sweep;

use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::domain::claim::HoldersOn;
use crate::domain::time::{Span, ZoneName};
use crate::domain::visible::visible;
use crate::profile::parse::line_of;
use crate::profile::rules::{Limits, Operator};
use crate::store::{Source, SourceLocation, Standing};
use crate::ui::theme::Palette;
pub use file::{Loaded, folder};
pub use sweep::{Share, SweepLimits};

#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("{}: cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{}:{line}: {what}", path.display())]
    Invalid { path: PathBuf, line: usize, what: String },
    #[error("{}: the source {} holds a password that others can read; `chmod 600` the file and own it, or put the password into ~/.pgpass or a `password_command`", path.display(), visible(name))]
    Exposed { path: PathBuf, name: String },
    #[error("{}: the config was there before and is gone; put it back", path.display())]
    Gone { path: PathBuf },
    #[error("{}: the config was not empty before and is now; it may just be being written", path.display())]
    Emptied { path: PathBuf },
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
    /// Of a server: functions, operators and types that profiles may use although they are not built in, or do
    /// more than read.
    #[serde(default)]
    pub allow_functions: Vec<String>,
    /// Whether this source may never be written; unset, it may unless it is the same database as one that may not.
    pub read_only: Option<bool>,
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

impl SourceConfig {
    /// Where the database is.
    pub fn location(&self) -> SourceLocation {
        SourceLocation::of(&self.at.0, self.password_command.as_ref().map(|command| command.0.as_str()))
    }
}

/// A path or URL; shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Location(pub String);

impl<'de> Deserialize<'de> for Location {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Location, D::Error> {
        let text = String::deserialize(deserializer)?;
        match Source::parse(&text) {
            // A source that nobody can open would protect nothing.
            Source::Unsupported(_) => Err(serde::de::Error::custom(BAD_ADDRESS)),
            Source::Sqlite(path) if path.as_os_str().is_empty() => Err(serde::de::Error::custom(BAD_ADDRESS)),
            Source::Sqlite(_) | Source::Postgres(_) => Ok(Location(text)),
        }
    }
}

const BAD_ADDRESS: &str =
    "this kind of address is not supported; write the path of a SQLite file or a postgres:// URL";

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
        Loaded::load(path).map(|loaded| loaded.config)
    }

    /// The config in `text`, or the line and nature of its first error.
    pub fn parse(text: &str) -> Result<Config, (usize, String)> {
        let config: Config =
            toml::from_str(text).map_err(|error| (line_of(text, &error), without_values(error.message())))?;
        config.expect_sense(text)?;
        Ok(config)
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
        let wanted = Source::parse(text);
        let same = |source: &SourceConfig| match (&wanted, Source::parse(&source.at.0)) {
            (Source::Postgres(wanted), Source::Postgres(at)) => *wanted == at,
            _ => Source::is_same_place(&source.at.0, text),
        };
        self.source.iter().find(|(_, source)| same(source)).map(|(name, _)| name.as_str())
    }

    /// The source whose settings apply to what a user means by `text`, as far as can be told without asking a
    /// server: also that of the same database in other words.
    pub fn settings_for(&self, text: &str) -> Option<&str> {
        let same = |source: &SourceConfig| Source::is_same_place(&source.at.0, text);
        let found = || self.source.iter().find(|(_, source)| same(source)).map(|(name, _)| name.as_str());
        self.named(text).or_else(found)
    }

    /// What the config says about writing to what a user means by `text`.
    pub fn standing(&self, text: &str) -> Standing {
        match self.source.get(text).and_then(|source| source.read_only) {
            Some(true) => Standing::ReadOnly,
            Some(false) => Standing::Writable,
            None if self.settings_for(text).is_some() => Standing::Configured,
            None => Standing::Unconfigured,
        }
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
    if message == BAD_ADDRESS {
        return message.into();
    }
    if message.contains("is not a duration") {
        return "this is not a duration; write 90s, 30m or 1h 30m".into();
    }
    // Errors of syntax name what is missing, not what is there; a quotation would be the latter.
    message.split(['"', '`']).step_by(2).collect::<Vec<_>>().join("…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_example_file_equals_the_defaults() {
        let example = include_str!("../config.example.toml");
        assert_eq!(Config::parse(example).unwrap(), Config::default());
    }

    #[test]
    fn a_value_that_would_switch_something_off_is_named_with_its_line_and_the_least() {
        for (line, said, text) in [
            (1, "census_slice = 0 is too little; the least is 1", "census_slice = 0"),
            (2, "row_limit = 0 is too little; the least is 1", "interval = '1s'\nrow_limit = 0"),
            (1, "poll_timeout = 0ms is too little; the least is 1ms", "poll_timeout = '0s'"),
            (1, "interval = 0ms is too little; the least is 1ms", "interval = '0ms'"),
            (1, "clock_noise = 2h is too long; the most is 1h", "clock_noise = '2h'"),
            (3, "lease = 0ms is too little; the least is 1ms", "[defaults]\nttl = '1s'\nlease = '0s'"),
            (
                4,
                "ttl = 0ms is too little; the least is 1ms",
                "[source.a]\nat = 'x'\n[source.a.board.job.kind.run]\nttl = '0s'",
            ),
            (
                4,
                "orphan_after = 0ms is too little; the least is 1ms",
                "[source.a]\nat = 'x'\n[source.a.board.\"job\"]\norphan_after = '0s'",
            ),
        ] {
            assert_eq!(Config::parse(text), Err((line, said.into())), "{text}");
        }
        assert!(
            Config::parse("[defaults]\nwarn_before = '0s'\n[sweep]\nmax = 0\nsighted_for = '0s'").is_ok()
        );
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
