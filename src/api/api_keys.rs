//! API keys. A key is 256 random bits; the file keeps only its SHA-256, so whoever reads the file cannot ask.
//!
//! A line of the file is a name and a hash. A key is revoked by deleting its line; SIGHUP reads the file again.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Makes a key recognisable where it should not be, such as in a commit.
const PREFIX: &str = "ctk_";
const RANDOM_BYTES: usize = 32;

type Hash = [u8; 32];

/// The keys that may ask, by their hash.
///
/// A key is looked up by its hash. The time of that tells a client something about the hash of what it sent, which it
/// knows, and nothing about a key.
#[derive(Debug, Clone, Default)]
pub(crate) struct ApiKeys {
    names: HashMap<Hash, String>,
}

#[derive(Debug, Error)]
pub(crate) enum KeyFileError {
    #[error("{path}: {error}; `claimtop api key new --keys {path}` makes a key", path = path.display())]
    Missing { path: PathBuf, error: io::Error },
    #[error("{path}: {error}", path = path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error(
        "{path}: others may read or write this file; make it yours alone: chmod 600 {path}",
        path = path.display()
    )]
    NotYoursAlone { path: PathBuf },
    #[error(
        "{path}: line {line} is not a name and a hash; `claimtop api key new --keys {path}` writes such lines",
        path = path.display()
    )]
    Line { path: PathBuf, line: usize },
    #[error("{path}: there is no key in it; `claimtop api key new --keys {path}` makes one", path = path.display())]
    Empty { path: PathBuf },
    #[error("a key's name is 1 to 64 letters, digits, dashes and underscores, not {0:?}")]
    Name(String),
    #[error("{path}: there is a key with the name {name} already", path = path.display())]
    Taken { path: PathBuf, name: String },
    #[error("the system has no random numbers: {0}")]
    Random(getrandom::Error),
}

impl ApiKeys {
    pub(crate) fn read(path: &Path) -> Result<ApiKeys, KeyFileError> {
        let error = |error: io::Error| {
            let path = path.into();
            match error.kind() {
                io::ErrorKind::NotFound => KeyFileError::Missing { path, error },
                _ => KeyFileError::Io { path, error },
            }
        };
        let text = fs::read_to_string(path).map_err(error)?;
        let found = fs::metadata(path).map_err(error)?;
        let owner = found.uid();
        let is_ours = owner == 0 || owner == rustix::process::geteuid().as_raw();
        if found.permissions().mode() & 0o077 != 0 || !is_ours {
            return Err(KeyFileError::NotYoursAlone { path: path.into() });
        }
        let mut names = HashMap::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| holds_a_key(line)) {
            let error = || KeyFileError::Line { path: path.into(), line: number + 1 };
            let (name, hash) = line.trim().split_once(' ').ok_or_else(error)?;
            names.insert(unhex(hash.trim()).ok_or_else(error)?, name.to_owned());
        }
        if names.is_empty() {
            return Err(KeyFileError::Empty { path: path.into() });
        }
        Ok(ApiKeys { names })
    }

    /// The name of the key that a client sent.
    pub(crate) fn name(&self, sent: &str) -> Option<&str> {
        self.names.get(&hash(sent)).map(String::as_str)
    }
}

/// Makes a key, adds its hash to the file, and returns the key: it is never seen again.
pub(crate) fn new_key(path: &Path, name: &str) -> Result<String, KeyFileError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(KeyFileError::Name(name.into()));
    }
    match ApiKeys::read(path) {
        Ok(keys) if keys.names.values().any(|taken| taken == name) => {
            return Err(KeyFileError::Taken { path: path.into(), name: name.into() });
        }
        Ok(_) | Err(KeyFileError::Missing { .. } | KeyFileError::Empty { .. }) => {}
        Err(error) => return Err(error),
    }
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(KeyFileError::Random)?;
    let key = format!("{PREFIX}{}", hex(&random));
    let line = format!("{name} {}\n", hex(&hash(&key)));
    let written = OpenOptions::new().create(true).append(true).mode(0o600).open(path).and_then(|mut file| {
        file.write_all(line.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| KeyFileError::Io { path: path.into(), error })?;
    Ok(key)
}

fn holds_a_key(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

fn hash(key: &str) -> Hash {
    Sha256::digest(key.as_bytes()).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_by_its_hash_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let (one, two) = (new_key(&path, "one").unwrap(), new_key(&path, "two").unwrap());
        assert_ne!(one, two);
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&one[PREFIX.len()..]) && !text.contains(&two[PREFIX.len()..]), "{text}");
        let keys = ApiKeys::read(&path).unwrap();
        assert_eq!((keys.name(&one), keys.name(&two)), (Some("one"), Some("two")));
        for bad in ["", "ctk_", &one[1..], &format!("{one}0"), text.split(' ').nth(1).unwrap().trim()] {
            assert_eq!(keys.name(bad), None, "{bad}");
        }
        assert!(matches!(new_key(&path, "one"), Err(KeyFileError::Taken { .. })));
        assert!(matches!(new_key(&path, "a b"), Err(KeyFileError::Name(_))));
    }

    #[test]
    fn a_file_that_others_may_read_or_that_holds_no_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        assert!(matches!(ApiKeys::read(&path), Err(KeyFileError::Missing { .. })));
        new_key(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(ApiKeys::read(&path), Err(KeyFileError::NotYoursAlone { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "# nobody\n\n").unwrap();
        assert!(matches!(ApiKeys::read(&path), Err(KeyFileError::Empty { .. })));
        fs::write(&path, "one 1234\n").unwrap();
        assert!(matches!(ApiKeys::read(&path), Err(KeyFileError::Line { line: 1, .. })));
    }
}
