//! The config file: where it is, whether it exists, and who owns it.
//!
//! A config protects sources from writes. Only a file that does not exist counts as no config: a file that cannot be
//! reached or read is an error.

use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Config, ConfigError, Location};
use crate::store::Source;

/// A config, and the file that it was read from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadedConfig {
    pub config: Config,
    /// `None` if there was no file.
    pub file: Option<PathBuf>,
    is_empty: bool,
}

impl LoadedConfig {
    /// Reads `path`, or the user's config file if there is one; otherwise returns the defaults.
    pub fn load(path: Option<&Path>) -> Result<LoadedConfig, ConfigError> {
        match path {
            Some(path) => LoadedConfig::read(path),
            None => match folder().map(|folder| folder.join("config.toml")) {
                Some(path) if is_there(&path).map_err(|why| unreadable(&path, &why))? => {
                    LoadedConfig::read(&path)
                }
                _ => Ok(LoadedConfig::default()),
            },
        }
    }

    /// Reads it again. A file that has disappeared or is empty now may be being written: an error.
    pub fn again(&self, path: Option<&Path>) -> Result<LoadedConfig, ConfigError> {
        let new = LoadedConfig::load(path)?;
        match (&self.file, &new.file) {
            (Some(before), None) => Err(ConfigError::Gone { path: before.clone() }),
            (Some(_), Some(now)) if new.is_empty && !self.is_empty => {
                Err(ConfigError::Emptied { path: now.clone() })
            }
            _ => Ok(new),
        }
    }

    fn read(path: &Path) -> Result<LoadedConfig, ConfigError> {
        let failed = |why: io::Error| unreadable(path, &why);
        let mut file = std::fs::OpenOptions::new().read(true).open(path).map_err(failed)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let mut config = Config::parse(&text).map_err(|(line, what)| ConfigError::Invalid {
            path: path.into(),
            line,
            what,
        })?;
        // Checked on the open file, not on the path, which may lead elsewhere by now.
        let found = file.metadata().map_err(failed)?;
        let exposed = config.source.iter().find(|(_, source)| Source::has_password(&source.at.0));
        if let Some((name, _)) = exposed.filter(|_| !is_private(&found)) {
            return Err(ConfigError::Exposed { path: path.into(), name: name.clone() });
        }
        let folder = std::path::absolute(path).map_err(failed)?;
        for source in config.source.values_mut() {
            source.at.resolve(folder.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
        }
        Ok(LoadedConfig { config, file: Some(path.into()), is_empty: text.trim().is_empty() })
    }
}

impl Location {
    /// Resolves a relative path against the config's folder, not the working directory.
    fn resolve(&mut self, folder: &Path) -> io::Result<()> {
        if let Source::Sqlite(path) = Source::parse(&self.0)
            && path.is_relative()
        {
            let path = folder.join(path).into_os_string().into_string();
            self.0 = path.map_err(|_| {
                io::Error::other("the name of its folder is not UTF-8; write absolute paths in it")
            })?;
        }
        Ok(())
    }
}

fn unreadable(path: &Path, why: &io::Error) -> ConfigError {
    ConfigError::Unreadable { path: path.into(), why: why.to_string() }
}

/// Whether the file exists. A missing permission or a dangling link is an error.
fn is_there(path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let leads_nowhere = |folder: &&Path| {
                let is_link = std::fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink());
                is_link && !folder.exists()
            };
            match path.ancestors().find(leads_nowhere) {
                Some(link) => {
                    Err(io::Error::other(format!("{} is a link that leads nowhere", link.display())))
                }
                None => Ok(false),
            }
        }
        Err(error) => Err(error),
    }
}

/// Whether a file belongs to us or root and nobody else may read it.
fn is_private(found: &Metadata) -> bool {
    let owner = found.uid();
    found.permissions().mode() & 0o077 == 0 && (owner == 0 || owner == rustix::process::geteuid().as_raw())
}

/// The user's config folder for this program.
pub fn folder() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        // The XDG standard requires absolute paths: a relative one would depend on the working directory.
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")))?;
    Some(base.join("claimtop"))
}
