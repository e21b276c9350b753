//! Who was in a registry before, as far as this process has seen.
//!
//! Where holders need not register, one that is missing proves nothing, unless it was there: then
//! somebody took it out. A process remembers what its own looks showed, and no more: a command that
//! looks once knows of nobody.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The registries of all databases that this process looks at.
#[derive(Debug, Clone, Default)]
pub struct Registrations(Arc<Mutex<BTreeMap<String, Remembered>>>);

impl Registrations {
    /// What is remembered of one database.
    pub fn of(&self, fingerprint: &str) -> Remembered {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(fingerprint.to_owned()).or_default().clone()
    }
}

/// The registries of one database, by table.
#[derive(Debug, Clone, Default)]
pub struct Remembered(Arc<Mutex<HashMap<String, RememberedRegistry>>>);

#[derive(Debug, Default)]
struct RememberedRegistry {
    ever: HashSet<String>,
    gone: HashSet<String>,
}

/// Registered holders that one look takes in. Of larger registries nothing is remembered.
pub const MOST: usize = 20_000;
/// Holders that are remembered at all.
const EVER: usize = 5 * MOST;

impl Remembered {
    /// Takes in everybody who is registered at the moment.
    pub fn note(&self, table: &str, present: HashSet<String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let registry = all.entry(table.to_owned()).or_default();
        if present.len() > MOST || registry.ever.len() > EVER {
            *registry = RememberedRegistry::default();
            return;
        }
        registry.gone = registry.ever.difference(&present).cloned().collect();
        registry.ever.extend(present);
    }

    /// Whether a holder was registered once and is not any more.
    pub fn is_gone(&self, table: &str, holder: &str) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(table).is_some_and(|registry| registry.gone.contains(holder))
    }

    /// All of those.
    pub fn gone(&self, table: &str) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut gone: Vec<String> =
            all.get(table).map(|registry| registry.gone.iter().cloned().collect()).unwrap_or_default();
        gone.sort();
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_was_there_before_can_be_gone() {
        let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<HashSet<_>>();
        let registrations = Registrations::default();
        let known = registrations.of("db");
        known.note("workers", of(&["w1", "w2"]));
        assert!(!known.is_gone("workers", "w1"));
        known.note("workers", of(&["w2"]));
        let again = registrations.of("db");
        assert!(again.is_gone("workers", "w1") && !again.is_gone("workers", "w9"));
        assert_eq!(again.gone("workers"), ["w1"]);
        assert!(!registrations.of("other").is_gone("workers", "w1"));
        known.note("workers", of(&["w1", "w2"]));
        assert!(again.gone("workers").is_empty());
    }
}
