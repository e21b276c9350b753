//! An event, named and shaped as in document 000, with where it happened.

use serde::Serialize;

use super::what::What;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;

/// Times are milliseconds since 1970, spans milliseconds. Fields come in this order; what is not known
/// is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
pub enum Event {
    /// A claim that is new; told of boards that are small enough to be read whole.
    #[serde(rename = "claim:acquired")]
    Acquired {
        task_id: String,
        session_id: Option<String>,
        expires_at: Option<i64>,
        #[serde(flatten)]
        about: About,
    },
    /// It left a set because its holder, or its holder's session, showed a sign of life.
    #[serde(rename = "claim:extended")]
    Extended {
        task_id: String,
        session_id: Option<String>,
        expires_at: Option<i64>,
        #[serde(flatten)]
        about: About,
    },
    /// Nobody claims it any more. Two looks cannot tell a finish from a release.
    #[serde(rename = "claim:released")]
    Released {
        task_id: String,
        session_id: Option<String>,
        reason: &'static str,
        held_for_ms: Option<i64>,
        #[serde(flatten)]
        about: About,
    },
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
    #[serde(rename = "claim:expiring")]
    Expiring {
        task_id: String,
        session_id: Option<String>,
        expires_at: Option<i64>,
        #[serde(flatten)]
        about: About,
    },
    /// Nothing can be said of it.
    #[serde(rename = "claim:unclear")]
    Unclear {
        task_id: String,
        session_id: Option<String>,
        reason: &'static str,
        #[serde(flatten)]
        about: About,
    },
    /// `session_id` has it now.
    #[serde(rename = "claim:changed_hands")]
    ChangedHands {
        task_id: String,
        session_id: Option<String>,
        from_session_id: Option<String>,
        #[serde(flatten)]
        about: About,
    },
    /// It is in none of the sets any more, and nothing tells why.
    #[serde(rename = "claim:left")]
    Left {
        task_id: String,
        session_id: Option<String>,
        #[serde(flatten)]
        about: About,
    },
    /// An act of the operator at a dashboard took it.
    #[serde(rename = "claim:recovered")]
    Recovered {
        task_id: String,
        session_id: Option<String>,
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
    /// A holder of claims is not registered any more, silent for too long, or proven dead.
    #[serde(rename = "session:lost")]
    SessionLost {
        session_id: String,
        /// `session_missing`, `session_stale` or `process_dead`.
        reason: &'static str,
        stale_for_ms: Option<i64>,
        /// The claims of it that this look showed.
        count: usize,
        #[serde(flatten)]
        of: OfSource,
    },
    /// All that a session was seen to hold went at once.
    #[serde(rename = "claims:session_cleanup")]
    SessionCleanup {
        session_id: String,
        reason: &'static str,
        count: usize,
        #[serde(flatten)]
        of: OfSource,
    },
    /// The end of what a sweep did on one ground.
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
    /// Stands for all events of one kind, where there are too many.
    #[serde(rename = "claims:batch")]
    Batch {
        /// The name of the events that it stands for.
        #[serde(rename = "type", serialize_with = "by_name")]
        what: What,
        count: usize,
        /// The addresses of the first of them.
        first: Vec<String>,
        by: By,
        #[serde(flatten)]
        of: OfSource,
    },
    #[serde(rename = "source:lost")]
    SourceLost { why: String, source: String, timestamp: i64 },
    #[serde(rename = "source:back")]
    SourceBack { source: String, timestamp: i64 },
    /// A board went or came, or another database took its place.
    #[serde(rename = "source:changed")]
    SourceChanged {
        why: String,
        source: String,
        profile: Option<String>,
        board: Option<String>,
        timestamp: i64,
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
    pub by: By,
    pub action_id: Option<String>,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "is_no")]
    pub dry_run: bool,
    /// Its id as it may be shown.
    #[serde(skip)]
    pub shown: String,
}

/// Of which source an event tells that is not of a single claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfSource {
    pub source: String,
    pub profile: String,
    pub timestamp: i64,
}

/// Whether two looks revealed it, or somebody here has done it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    Look,
    Sweep,
    Operator,
}

fn is_no(flag: &bool) -> bool {
    !*flag
}

fn by_name<S: serde::Serializer>(what: &What, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(what.name())
}

/// An instant as document 000 writes it.
pub fn millis(at: Moment) -> i64 {
    at.micros().div_euclid(1_000)
}

impl Event {
    /// Its kind; a batch is of the kind that it stands for.
    pub fn what(&self) -> What {
        match self {
            Event::Acquired { .. } => What::Acquired,
            Event::Extended { .. } => What::Renewed,
            Event::Released { .. } => What::Finished,
            Event::Expired { .. } => What::Entered(Set::Stale),
            Event::Orphaned { .. } => What::Entered(Set::Orphaned),
            Event::Expiring { .. } => What::Entered(Set::Expiring),
            Event::Unclear { .. } => What::Entered(Set::Unknown),
            Event::ChangedHands { .. } => What::ChangedHands,
            Event::Left { .. } => What::Left,
            Event::Recovered { .. } => What::Recovered,
            Event::Poison { .. } => What::Poison,
            Event::SessionLost { .. } => What::SessionLost,
            Event::SessionCleanup { .. } => What::SessionCleanup,
            Event::Cleanup { .. } => What::Cleanup,
            Event::Batch { what, .. } => *what,
            Event::SourceLost { .. } => What::SourceLost,
            Event::SourceBack { .. } => What::SourceBack,
            Event::SourceChanged { .. } => What::SourceChanged,
        }
    }

    /// The claim that it tells of, if it is a single one: its id, its holder, and the rest.
    pub fn claim(&self) -> Option<(&str, Option<&str>, &About)> {
        match self {
            Event::Acquired { task_id, session_id, about, .. }
            | Event::Extended { task_id, session_id, about, .. }
            | Event::Released { task_id, session_id, about, .. }
            | Event::Expired { task_id, session_id, about, .. }
            | Event::Orphaned { task_id, session_id, about, .. }
            | Event::Expiring { task_id, session_id, about, .. }
            | Event::Unclear { task_id, session_id, about, .. }
            | Event::ChangedHands { task_id, session_id, about, .. }
            | Event::Left { task_id, session_id, about, .. }
            | Event::Recovered { task_id, session_id, about, .. }
            | Event::Poison { task_id, session_id, about, .. } => {
                Some((task_id, session_id.as_deref(), about))
            }
            Event::SessionLost { .. }
            | Event::SessionCleanup { .. }
            | Event::Cleanup { .. }
            | Event::Batch { .. }
            | Event::SourceLost { .. }
            | Event::SourceBack { .. }
            | Event::SourceChanged { .. } => None,
        }
    }

    pub fn about(&self) -> Option<&About> {
        self.claim().map(|(_, _, about)| about)
    }

    /// The address of its claim; empty for what is not of a single one.
    pub fn address(&self) -> &str {
        self.about().map_or("", |about| &about.address)
    }

    /// The same claim, taken by an act at this screen.
    pub fn recovered(&self, why: String) -> Event {
        let Some((task_id, session_id, about)) = self.claim() else { return self.clone() };
        let about = About { why, by: By::Operator, ..about.clone() };
        Event::Recovered { task_id: task_id.into(), session_id: session_id.map(Into::into), about }
    }
}
