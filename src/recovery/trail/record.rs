//! The record of an act, and its place in the chain.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::user_identity::UserIdentity;
use crate::domain::audit::RecordedAct;
use crate::domain::time::Moment;

/// Whether a record is the intent or the outcome of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordStage {
    /// Written before the act: what it is about to do.
    Intent,
    /// Written after it: its result.
    Outcome,
}

/// The record of an act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub stage: RecordStage,
    /// A UUIDv7 that names one act on one claim; intent and outcome share it.
    pub action_id: String,
    /// reclaim, release, extend, requeue, terminate or undo
    pub action: String,
    /// The time of this host's clock, in RFC 3339.
    pub at: String,
    /// The time of the database's clock.
    pub db_at: Option<String>,
    /// "operator" or "sweeper"
    pub by: String,
    pub who: UserIdentity,
    pub source: String,
    pub fingerprint: String,
    pub profile: String,
    pub board: String,
    pub address: String,
    pub holder: Option<String>,
    pub reason: Option<String>,
    pub evidence: Value,
    /// The rows before the act.
    pub before: Value,
    /// The rows after the act.
    pub after: Value,
    /// applied, moved, refused or unknown; only in outcomes
    pub outcome: Option<String>,
    pub why: Option<String>,
    /// The action that an undo reverses.
    pub refers_to: Option<String>,
    /// The database's own id of the transaction, where its outcome can be queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// The id that all acts of one bulk share; `undo` accepts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// Whether the outcome was inferred from the rows, which is not enough for an undo.
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

    /// The time of this host's clock.
    pub fn moment(&self) -> Option<Moment> {
        Moment::parse(&self.at)
    }

    /// The fields that a filter compares.
    pub fn recorded_act(&self) -> RecordedAct<'_> {
        let UserIdentity { login, claimed_user, claimed_sudo_user, .. } = &self.who;
        let names = [login, claimed_user, claimed_sudo_user].into_iter().filter_map(Option::as_deref);
        RecordedAct {
            at: self.moment(),
            by: [self.by.as_str()].into_iter().chain(names).collect(),
            action: &self.action,
            outcome: self.outcome.as_deref(),
            source: &self.source,
            holder: self.holder.as_deref(),
            claim: &self.address,
            reason: self.reason.as_deref(),
            ids: [self.action_id.as_str()].into_iter().chain(self.batch.as_deref()).collect(),
        }
    }

    /// Whether the outcome is final. "unknown" is not: the answer was lost, and the act stays open until a later outcome
    /// is recorded.
    pub(super) fn settles(&self) -> bool {
        self.stage == RecordStage::Outcome
            && self.outcome.as_deref().is_some_and(|outcome| outcome != "unknown")
    }
}

/// A record with its place in the chain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JournalEntry {
    /// Counts from 1.
    pub seq: u64,
    /// The hash of the previous line; 64 zeros in the first.
    pub prev: String,
    pub hash: String,
    pub record: Record,
}

/// A new id for an act. It begins with the time, so ids sort in the order in which acts were planned.
pub fn new_action_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
