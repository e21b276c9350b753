//! What is said of a sweep, named and shaped as in document 000, with where it happened.

use serde::Serialize;

use super::ground::Ground;
use crate::domain::claim::Registry;
use crate::domain::time::{Moment, Reading};
use crate::store::Seen;

/// Times are milliseconds since 1970, spans milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
pub enum Event {
    #[serde(rename = "claim:expired")]
    Expired {
        task_id: String,
        session_id: Option<String>,
        expired_at: Option<i64>,
        age_ms: Option<i64>,
        #[serde(flatten)]
        about: About,
    },
    #[serde(rename = "claim:orphaned")]
    Orphaned {
        task_id: String,
        session_id: Option<String>,
        reason: &'static str,
        stale_for_ms: Option<i64>,
        #[serde(flatten)]
        about: About,
    },
    /// Taken so often that it is left for a person.
    #[serde(rename = "claim:poison")]
    Poison {
        task_id: String,
        session_id: Option<String>,
        times: usize,
        #[serde(flatten)]
        about: About,
    },
    #[serde(rename = "claims:cleanup")]
    Cleanup {
        /// `expired` or `orphaned`.
        #[serde(rename = "type")]
        kind: &'static str,
        count: usize,
        timestamp: i64,
        source: String,
        #[serde(skip_serializing_if = "is_no")]
        dry_run: bool,
    },
}

/// Which claim of which source, and the act.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    pub source: String,
    pub profile: String,
    pub board: String,
    pub address: String,
    pub why: String,
    pub action_id: Option<String>,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "is_no")]
    pub dry_run: bool,
}

fn is_no(flag: &bool) -> bool {
    !*flag
}

pub(super) fn millis(at: Moment) -> i64 {
    at.micros().div_euclid(1_000)
}

impl Event {
    /// A claim that was taken.
    pub(super) fn taken(seen: &Seen, ground: Ground, about: About) -> Event {
        let claim = &seen.judged.claim;
        let (task_id, session_id) = (claim.key.text(), claim.holder.clone());
        let age = |at: Moment| seen.now.since(at).as_millis();
        match ground {
            Ground::Expired(_) => Event::Expired {
                task_id,
                session_id,
                expired_at: seen.judged.verdict.deadline.map(millis),
                age_ms: claim.claimed_at.at().map(age),
                about,
            },
            Ground::Orphaned(reason) => Event::Orphaned {
                task_id,
                session_id,
                reason: reason.as_str(),
                stale_for_ms: match &claim.registry {
                    Registry::Listed(session) => Reading::at(&session.beat_at).map(age),
                    Registry::None | Registry::Missing => None,
                },
                about,
            },
        }
    }

    /// A line for people; nothing for what the summary says anyway.
    pub fn text(&self) -> Option<String> {
        match self {
            Event::Expired { about, .. } | Event::Orphaned { about, .. } => {
                let done = if about.dry_run { "would reclaim" } else { "reclaimed" };
                Some(format!("{done} {}: {}", about.address, about.why))
            }
            Event::Poison { about, times, .. } => {
                Some(format!("poison {}: swept {times} times within a day already", about.address))
            }
            Event::Cleanup { .. } => None,
        }
    }
}
