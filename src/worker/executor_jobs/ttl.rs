//! How long a job may go without a heartbeat, by type.

use std::collections::BTreeMap;

use crate::domain::time::Span;

/// Times to live by type; a type that is not listed has none and is never reclaimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ttls(BTreeMap<String, Span>);

impl Ttls {
    pub fn set(&mut self, kind: &str, ttl: Span) {
        self.0.insert(kind.into(), ttl);
    }

    pub fn of(&self, kind: &str) -> Option<Span> {
        self.0.get(kind).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, Span)> {
        self.0.iter().map(|(kind, ttl)| (kind.as_str(), *ttl))
    }
}

/// The TTLs of the specification.
impl Default for Ttls {
    fn default() -> Ttls {
        let minutes = [
            ("protect_document_v2", 5),
            ("document.protected", 5),
            ("run_tsa", 30),
            ("submit_anchor_polygon", 60),
            ("submit_anchor_bitcoin", 60),
            ("build_artifact", 15),
        ];
        Ttls(minutes.into_iter().map(|(kind, minutes)| (kind.into(), Span::minutes(minutes))).collect())
    }
}
