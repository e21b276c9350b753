//! Recognises a source of the config under another spelling.

use super::Setup;
use crate::store::{Source, SourceLocation};

impl Setup {
    /// The source of the config whose settings apply to `word`: the same database by its name, by its path or
    /// address, or because both servers report the same identity.
    pub(crate) fn settings_for(&self, word: &str) -> Option<String> {
        match self.config.settings_for(word) {
            Some(name) => Some(name.to_owned()),
            None => self.recognise(word),
        }
    }

    /// Asks the servers that may be the one that `word` names. Each word is resolved once: a poll must not connect to
    /// others every time.
    fn recognise(&self, word: &str) -> Option<String> {
        let (Source::Postgres(_) | Source::Mysql(_)) = Source::parse(word) else { return None };
        if let Some(known) = self.recognised.lock().ok().and_then(|known| known.get(word).cloned()) {
            return known;
        }
        let wanted = SourceLocation::of(word, None);
        let all = self.config.source.iter().map(|(name, source)| (name, source.location()));
        let found = wanted.same_among(all).ok()?.cloned();
        if let Ok(mut known) = self.recognised.lock() {
            known.insert(word.to_owned(), found.clone());
        }
        found
    }
}
