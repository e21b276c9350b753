//! An event: its name and its fields follow coordination, plus the place where it happened.

use serde::Serialize;

use super::event_kind::EventKind;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;

/// Times are milliseconds since 1970, durations milliseconds. The order of the fields is part of the format; unknown
/// values are null.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
pub enum Event {
    /// A new claim. Reported only for boards that are small enough to be read in full.
    #[serde(rename = "claim:acquired")]
    Acquired {
        task_id: String,
        session_id: Option<String>,
        expires_at: Option<i64>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    /// It left a set because its holder, or its holder's session, gave a sign of life.
    #[serde(rename = "claim:extended")]
    Extended {
        task_id: String,
        session_id: Option<String>,
        expires_at: Option<i64>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    /// Nobody holds it any more. Two polls cannot tell a finish from a release.
    #[serde(rename = "claim:released")]
    Released {
        task_id: String,
        session_id: Option<String>,
        reason: &'static str,
        held_for_ms: Option<i64>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    #[serde(rename = "claim:expired")]
    Expired {
        task_id: String,
        session_id: Option<String>,
        expired_at: Option<i64>,
        age_ms: Option<i64>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    #[serde(rename = "claim:orphaned")]
    Orphaned {
        task_id: String,
        session_id: Option<String>,
        reason: &'static str,
        stale_for_ms: Option<i64>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    #[serde(rename = "claim:expiring")]
    Expiring {
        task_id: String,
        session_id: Option<String>,
        expires_at: Option<i64>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    /// Its state cannot be judged.
    #[serde(rename = "claim:unclear")]
    Unclear {
        task_id: String,
        session_id: Option<String>,
        reason: &'static str,
        #[serde(flatten)]
        about: ClaimContext,
    },
    /// `session_id` holds it now.
    #[serde(rename = "claim:changed_hands")]
    ChangedHands {
        task_id: String,
        session_id: Option<String>,
        from_session_id: Option<String>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    /// The same holder claimed it again: another attempt.
    #[serde(rename = "claim:retried")]
    Retried {
        task_id: String,
        session_id: Option<String>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    /// It is in no set any more, and the reason is unknown.
    #[serde(rename = "claim:left")]
    Left {
        task_id: String,
        session_id: Option<String>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    /// An operator freed it from the dashboard.
    #[serde(rename = "claim:recovered")]
    Recovered {
        task_id: String,
        session_id: Option<String>,
        #[serde(flatten)]
        about: ClaimContext,
    },
    /// It was swept so often that it is left to a person.
    #[serde(rename = "claim:poison")]
    Poison {
        task_id: String,
        session_id: Option<String>,
        times: usize,
        #[serde(flatten)]
        about: ClaimContext,
    },
    /// A holder of claims is no longer registered, has been silent for too long, or is proven dead.
    #[serde(rename = "session:lost")]
    SessionLost {
        session_id: String,
        /// `session_missing`, `session_stale` or `process_dead`.
        reason: &'static str,
        stale_for_ms: Option<i64>,
        /// How many of its claims this poll showed.
        count: usize,
        #[serde(flatten)]
        of: SourceContext,
    },
    /// All claims that a session was seen to hold ended at once.
    #[serde(rename = "claims:session_cleanup")]
    SessionCleanup {
        session_id: String,
        reason: &'static str,
        count: usize,
        #[serde(flatten)]
        of: SourceContext,
    },
    /// The summary of what a sweep did for one reason.
    #[serde(rename = "claims:cleanup")]
    Cleanup {
        /// `expired` or `orphaned`.
        #[serde(rename = "type")]
        kind: &'static str,
        count: usize,
        timestamp: i64,
        source: String,
        #[serde(skip_serializing_if = "is_false")]
        dry_run: bool,
    },
    /// Replaces all events of one kind when there are too many.
    #[serde(rename = "claims:batch")]
    Batch {
        /// The name of the events that it replaces.
        #[serde(rename = "type", serialize_with = "serialize_name")]
        what: EventKind,
        count: usize,
        /// The addresses of the first ones.
        first: Vec<String>,
        by: Origin,
        #[serde(flatten)]
        of: SourceContext,
    },
    /// A cause was found: what claims in trouble have in common, such as a host, a kind or a source.
    #[serde(rename = "cause:began")]
    CauseBegan {
        by: &'static str,
        name: String,
        claims: u64,
        of: u64,
        sessions: usize,
        since: Option<i64>,
        spread_ms: Option<i64>,
        sentence: String,
        source: String,
        timestamp: i64,
    },
    /// The claims in trouble no longer have this in common.
    #[serde(rename = "cause:ended")]
    CauseEnded { by: &'static str, name: String, source: String, timestamp: i64 },
    #[serde(rename = "source:lost")]
    SourceLost { why: String, source: String, timestamp: i64 },
    #[serde(rename = "source:back")]
    SourceBack { source: String, timestamp: i64 },
    /// A board appeared or disappeared, or another database replaced this one.
    #[serde(rename = "source:changed")]
    SourceChanged {
        why: String,
        source: String,
        profile: Option<String>,
        board: Option<String>,
        timestamp: i64,
    },
}

/// The claim that an event is about, its source, and the act if there was one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimContext {
    pub source: String,
    pub profile: String,
    pub board: String,
    pub address: String,
    pub why: String,
    pub by: Origin,
    pub action_id: Option<String>,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "is_false")]
    pub dry_run: bool,
    /// The claim's id, made safe for display.
    #[serde(skip)]
    pub shown: String,
}

/// The source of an event that is not about a single claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceContext {
    pub source: String,
    pub profile: String,
    pub timestamp: i64,
}

/// How an event came to be known: two polls differ, or this program acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Look,
    Sweep,
    Operator,
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

fn serialize_name<S: serde::Serializer>(what: &EventKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(what.name())
}

/// An instant in milliseconds, as coordination writes it.
pub fn millis(at: Moment) -> i64 {
    at.micros().div_euclid(1_000)
}

impl Event {
    /// The kind of the event; a batch has the kind of the events that it replaces.
    pub fn kind(&self) -> EventKind {
        match self {
            Event::Acquired { .. } => EventKind::Acquired,
            Event::Extended { .. } => EventKind::Renewed,
            Event::Released { .. } => EventKind::Finished,
            Event::Expired { .. } => EventKind::Entered(Set::Stale),
            Event::Orphaned { .. } => EventKind::Entered(Set::Orphaned),
            Event::Expiring { .. } => EventKind::Entered(Set::Expiring),
            Event::Unclear { .. } => EventKind::Entered(Set::Unknown),
            Event::ChangedHands { .. } => EventKind::ChangedHands,
            Event::Retried { .. } => EventKind::Retried,
            Event::Left { .. } => EventKind::Left,
            Event::Recovered { .. } => EventKind::Recovered,
            Event::Poison { .. } => EventKind::Poison,
            Event::SessionLost { .. } => EventKind::SessionLost,
            Event::SessionCleanup { .. } => EventKind::SessionCleanup,
            Event::Cleanup { .. } => EventKind::Cleanup,
            Event::Batch { what, .. } => *what,
            Event::CauseBegan { .. } => EventKind::CauseBegan,
            Event::CauseEnded { .. } => EventKind::CauseEnded,
            Event::SourceLost { .. } => EventKind::SourceLost,
            Event::SourceBack { .. } => EventKind::SourceBack,
            Event::SourceChanged { .. } => EventKind::SourceChanged,
        }
    }

    /// The claim's id, holder and context, if the event is about a single claim.
    pub fn claim(&self) -> Option<(&str, Option<&str>, &ClaimContext)> {
        match self {
            Event::Acquired { task_id, session_id, about, .. }
            | Event::Extended { task_id, session_id, about, .. }
            | Event::Released { task_id, session_id, about, .. }
            | Event::Expired { task_id, session_id, about, .. }
            | Event::Orphaned { task_id, session_id, about, .. }
            | Event::Expiring { task_id, session_id, about, .. }
            | Event::Unclear { task_id, session_id, about, .. }
            | Event::ChangedHands { task_id, session_id, about, .. }
            | Event::Retried { task_id, session_id, about, .. }
            | Event::Left { task_id, session_id, about, .. }
            | Event::Recovered { task_id, session_id, about, .. }
            | Event::Poison { task_id, session_id, about, .. } => {
                Some((task_id, session_id.as_deref(), about))
            }
            Event::SessionLost { .. }
            | Event::SessionCleanup { .. }
            | Event::Cleanup { .. }
            | Event::Batch { .. }
            | Event::CauseBegan { .. }
            | Event::CauseEnded { .. }
            | Event::SourceLost { .. }
            | Event::SourceBack { .. }
            | Event::SourceChanged { .. } => None,
        }
    }

    pub fn about(&self) -> Option<&ClaimContext> {
        self.claim().map(|(_, _, about)| about)
    }

    /// The address of the claim; empty if the event is not about a single claim.
    pub fn address(&self) -> &str {
        self.about().map_or("", |about| &about.address)
    }

    /// The same claim, freed by an act from this dashboard.
    pub fn recovered(&self, why: String) -> Event {
        let Some((task_id, session_id, about)) = self.claim() else { return self.clone() };
        let about = ClaimContext { why, by: Origin::Operator, ..about.clone() };
        Event::Recovered { task_id: task_id.into(), session_id: session_id.map(Into::into), about }
    }
}
