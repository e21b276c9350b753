//! The config file: sources by name, and thresholds.
//!
//! Unknown keys are errors that name their line. Values are never printed, because one of them may be a secret.

mod events;
mod file;
mod sweep;
mod value_ranges;

use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::domain::claim::HoldersOn;
use crate::domain::recovery::Confirmation;
use crate::domain::saved_view::SavedView;
use crate::domain::source_label::{LabelColour, SourceLabel};
use crate::domain::time::{Span, ZoneName};
use crate::domain::visible::visible;
use crate::profile::parse::line_of;
use crate::profile::rules::{Operator, ThresholdSettings};
use crate::store::{Source, SourceLocation, Standing};
use crate::ui::theme::Palette;
pub use events::EventSettings;
pub use file::{LoadedConfig, folder};
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

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How many of the worst rows of each set a poll fetches.
    pub row_limit: usize,
    /// How many rows a poll reads where no index helps.
    pub census_slice: usize,
    /// How long to wait for another process's lock.
    pub busy_timeout: Span,
    /// A poll that takes longer is stopped.
    pub poll_timeout: Span,
    /// Times up to this far in the future count as differences between clocks.
    pub clock_noise: Span,
    /// How often the dashboard polls.
    pub interval: Span,
    pub theme: Palette,
    /// Whether the dashboard rings the bell on the first stale or orphaned claim after a calm period.
    pub bell: bool,
    pub mouse: MouseUse,
    /// Keys by command, instead of the default ones.
    pub keys: BTreeMap<String, KeyList>,
    /// Thresholds for profiles that have none of their own.
    pub defaults: ThresholdSettings,
    /// Automatic cleanup and its brakes.
    pub sweep: SweepLimits,
    /// How events are combined.
    pub events: EventSettings,
    /// Saved lists of claims by name, for `:view`.
    pub view: BTreeMap<String, SavedView>,
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
            defaults: ThresholdSettings {
                lease: Some(Span::minutes(30)),
                silent_after: Some(Span::minutes(5)),
                orphan_after: Some(Span::minutes(10)),
                ..ThresholdSettings::default()
            },
            sweep: SweepLimits::USUAL,
            events: EventSettings::USUAL,
            view: BTreeMap::new(),
            source: BTreeMap::new(),
        }
    }
}

/// Whether the dashboard uses the mouse; if off, the terminal's own selection works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MouseUse {
    On,
    Off,
}

/// One key, or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum KeyList {
    One(String),
    Many(Vec<String>),
}

/// One database, under a name chosen by the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    pub at: Location,
    /// A word beside its name, such as prod, and its colour.
    pub label: Option<String>,
    pub colour: Option<LabelColour>,
    /// Whether every act has to be confirmed.
    #[serde(default)]
    pub confirm: Confirmation,
    /// A shell command whose first line of output is the password.
    pub password_command: Option<PasswordCommand>,
    /// The zone of times without one, instead of the profile's: utc, server, host, an offset such as +02:00, or on
    /// PostgreSQL a name such as Europe/Berlin.
    pub time_zone: Option<ZoneName>,
    /// Names or files; if empty, profiles are detected.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// On a server: functions, operators and types that profiles may use although they are not built in, or do more
    /// than read.
    #[serde(default)]
    pub allow_functions: Vec<String>,
    /// Whether this source may never be written; if unset, it may, unless the same database is read-only under
    /// another name.
    pub read_only: Option<bool>,
    /// Where the holders' processes run; if unset, no process is ever called dead.
    pub holders_on: Option<HoldersOn>,
    /// Thresholds for every board.
    #[serde(default)]
    pub limits: ThresholdSettings,
    /// Thresholds for single boards.
    #[serde(default)]
    pub board: BTreeMap<String, ThresholdSettings>,
    /// Automatic cleanup of this source.
    #[serde(default)]
    pub sweep: SweepLimits,
}

impl SourceConfig {
    /// The label that the user chose.
    pub fn source_label(&self) -> Option<SourceLabel> {
        let text = self.label.clone()?;
        Some(SourceLabel { text, colour: self.colour.unwrap_or_default() })
    }

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
            // A source that cannot be opened would protect nothing.
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

/// A command; never shown, because it may contain a secret itself.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct PasswordCommand(pub String);

impl fmt::Debug for PasswordCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Config {
    /// Reads `path`, or the user's config file if there is one; otherwise returns the defaults.
    pub fn load(path: Option<&Path>) -> Result<Config, ConfigError> {
        LoadedConfig::load(path).map(|loaded| loaded.config)
    }

    /// The config in `text`, or the line and description of its first error.
    pub fn parse(text: &str) -> Result<Config, (usize, String)> {
        let config: Config =
            toml::from_str(text).map_err(|error| (line_of(text, &error), without_values(error.message())))?;
        config.check_ranges(text)?;
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

    /// How acts on the source that `text` names must be confirmed.
    pub fn confirmation(&self, text: &str) -> Confirmation {
        let source = self.settings_for(text).and_then(|name| self.source.get(name));
        source.map(|source| source.confirm).unwrap_or_default()
    }

    /// The settings of automatic cleanup for the source `name`.
    pub fn sweep(&self, name: Option<&str>) -> SweepLimits {
        let source = name.and_then(|name| self.source.get(name));
        source.map(|source| source.sweep.clone()).unwrap_or_default().or(self.sweep.clone())
    }

    /// Keys by command, as lists.
    pub fn keys(&self) -> BTreeMap<String, Vec<String>> {
        let list = |keys: &KeyList| match keys {
            KeyList::One(key) => vec![key.clone()],
            KeyList::Many(keys) => keys.clone(),
        };
        self.keys.iter().map(|(command, keys)| (command.clone(), list(keys))).collect()
    }

    /// The source that `text` names: by its name, or by its address.
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

    /// The source whose settings apply to `text`, as far as can be told without asking a server: also by another
    /// spelling of the same address.
    pub fn settings_for(&self, text: &str) -> Option<&str> {
        let same = |source: &SourceConfig| Source::is_same_place(&source.at.0, text);
        let found = || self.source.iter().find(|(_, source)| same(source)).map(|(name, _)| name.as_str());
        self.named(text).or_else(found)
    }

    /// Whether the config allows writes to the source that `text` names.
    pub fn standing(&self, text: &str) -> Standing {
        match self.source.get(text).and_then(|source| source.read_only) {
            Some(true) => Standing::ReadOnly,
            Some(false) => Standing::Writable,
            None if self.settings_for(text).is_some() => Standing::Configured,
            None => Standing::Unconfigured,
        }
    }
}

/// Removes values from a parser's message, which may quote a password. The names of keys stay.
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
    // Syntax errors name what is missing; a quotation would show a value.
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
