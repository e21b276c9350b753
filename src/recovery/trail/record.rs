//! What is written down of an act, and its place in the chain.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::who::Who;

/// Which half of an act a record tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Written before the act: what it is about to do.
    Intent,
    /// Written after it: what came of it.
    Outcome,
}

/// What is written down of an act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub stage: Stage,
    /// A UUIDv7 that names one act on one claim; intent and outcome share it.
    pub action_id: String,
    /// reclaim, release, extend or undo
    pub action: String,
    /// The time by our own clock, in RFC 3339.
    pub at: String,
    /// The time by the database's clock.
    pub db_at: Option<String>,
    /// "operator" or "sweeper"
    pub by: String,
    pub who: Who,
    pub source: String,
    pub fingerprint: String,
    pub profile: String,
    pub board: String,
    pub address: String,
    pub holder: Option<String>,
    pub reason: Option<String>,
    pub evidence: Value,
    /// The rows as they were.
    pub before: Value,
    /// The rows as the act leaves them.
    pub after: Value,
    /// applied, moved, refused or unknown; only in outcomes
    pub outcome: Option<String>,
    pub why: Option<String>,
    /// The action that an undo undoes.
    pub refers_to: Option<String>,
    /// The database's own number of the transaction, where it can be asked what became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// The id that all acts of one bulk share: `undo` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// The outcome was inferred from the rows. They prove too little for an undo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
    /// claimtop and its version
    pub tool: String,
}

impl Record {
    /// Whether the record belongs to this batch: by the id of the bulk, or by that of one of its transactions.
    pub fn is_of_batch(&self, id: &str) -> bool {
        self.batch.as_deref() == Some(id)
            || self.action_id.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// An outcome that leaves nothing to find out. "unknown" does: the answer was lost, and the act
    /// stays open until a later outcome says what became of it.
    pub(super) fn settles(&self) -> bool {
        self.stage == Stage::Outcome && self.outcome.as_deref().is_some_and(|outcome| outcome != "unknown")
    }
}

/// A record in its place in the chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Counts from 1.
    pub seq: u64,
    /// The hash of the line before; 64 zeros in the first.
    pub prev: String,
    pub hash: String,
    pub record: Record,
}

/// A new name for an act. It begins with the time, so names sort as the acts were planned.
pub fn new_action_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
