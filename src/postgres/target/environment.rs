//! The variables and files around the process that say where servers are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The variables of this process that matter here; a value of its own, so that tests have theirs.
pub(super) struct Environment(BTreeMap<String, String>);

impl Environment {
    pub(super) fn here() -> Environment {
        let matters = |name: &str| name.starts_with("PG") || ["HOME", "USER", "LOGNAME"].contains(&name);
        let known = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok().filter(|name| matters(name))?;
            Some((name, value.into_string().ok()?))
        });
        Environment(known.collect())
    }

    #[cfg(test)]
    pub(super) fn of(known: &[(&str, &str)]) -> Environment {
        Environment(known.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    /// The value of a variable that is set to something.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A file in the user's home.
    pub(super) fn in_home(&self, name: &str) -> Option<PathBuf> {
        self.get("HOME").map(|home| Path::new(home).join(name))
    }

    /// Who runs this process: the system's word first, for the variables can say anything.
    pub(super) fn user(&self) -> Option<String> {
        let uid = rustix::process::getuid().as_raw();
        let of_system = fs::read("/etc/passwd").ok().and_then(|bytes| {
            String::from_utf8_lossy(&bytes).lines().find_map(|line| {
                let mut fields = line.split(':');
                let name = fields.next()?;
                (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
            })
        });
        of_system.or_else(|| self.get("USER").or_else(|| self.get("LOGNAME")).map(str::to_owned))
    }
}
