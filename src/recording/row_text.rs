//! A claim and its session as columns and JSON.
//!
//! The two values of each that move from poll to poll are columns. The rest is a text that many rows share.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::encoding::Moving;
use crate::domain::claim::{Claim, Lease, Process, Registry, Session, Timeout, Worker};
use crate::domain::time::{Moment, Reading, Span};
use crate::domain::value::{Key, Value};

/// What a cell that should hold a time holds, without the time itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cell {
    /// A time, which is in its column.
    #[default]
    Time,
    Absent,
    Null,
    Bad(String),
}

impl Cell {
    fn of(reading: &Reading) -> (Cell, Option<i64>) {
        match reading {
            Reading::At(at) => (Cell::Time, Some(at.micros())),
            Reading::Absent => (Cell::Absent, None),
            Reading::Null => (Cell::Null, None),
            Reading::Bad(what) => (Cell::Bad(what.clone()), None),
        }
    }

    fn reading(&self, at: Option<i64>) -> Option<Reading> {
        Some(match self {
            Cell::Time => Reading::At(Moment::from_micros(at?)?),
            Cell::Absent => Reading::Absent,
            Cell::Null => Reading::Null,
            Cell::Bad(what) => Reading::Bad(what.clone()),
        })
    }

    fn is_time(&self) -> bool {
        *self == Cell::Time
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum LeaseText {
    #[default]
    Unwritten,
    Until(Cell),
    /// Microseconds; nothing if it cannot be read.
    Timeout(Option<i64>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
enum RegistryText {
    #[default]
    None,
    Unregistered,
    Missing,
    Listed,
}

/// Everything about a claim that has no column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimBody {
    #[serde(default, skip_serializing_if = "Cell::is_time")]
    claimed_at: Cell,
    #[serde(default, skip_serializing_if = "Cell::is_time")]
    beat_at: Cell,
    #[serde(default, skip_serializing_if = "is_default")]
    lease: LeaseText,
    #[serde(default, skip_serializing_if = "is_default")]
    registry: RegistryText,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pid: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    disowned: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    alive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempts: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_attempts: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A claim in parts: what stays, and what moves.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClaimParts {
    pub key: String,
    pub holder: Option<String>,
    pub kind: Option<String>,
    pub claimed_at: Option<i64>,
    pub body: String,
}

/// A session in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionParts {
    pub body: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct SessionBody {
    #[serde(default, skip_serializing_if = "Cell::is_time")]
    beat_at: Cell,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stale_at: Option<Cell>,
    #[serde(default, skip_serializing_if = "Cell::is_time")]
    started: Cell,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
}

pub(super) fn claim_parts(claim: &Claim) -> (ClaimParts, Moving) {
    let (claimed, claimed_at) = Cell::of(&claim.claimed_at);
    let (beat_at, beat) = Cell::of(&claim.beat_at);
    let (lease, end) = match &claim.lease {
        Lease::Unwritten => (LeaseText::Unwritten, None),
        Lease::Until(reading) => {
            let (cell, until) = Cell::of(reading);
            (LeaseText::Until(cell), until)
        }
        Lease::Timeout(timeout) => (LeaseText::Timeout(timeout.span().map(Span::as_micros)), None),
    };
    let worker = &claim.worker;
    let body = ClaimBody {
        claimed_at: claimed,
        beat_at,
        lease,
        registry: match claim.registry {
            Registry::None => RegistryText::None,
            Registry::Unregistered => RegistryText::Unregistered,
            Registry::Missing => RegistryText::Missing,
            Registry::Listed(_) => RegistryText::Listed,
        },
        pid: value_json(&worker.pid),
        host: worker.host.clone(),
        version: worker.version.clone(),
        process: (worker.process != Process::Unknown).then(|| worker.process.as_str().into()),
        evidence: worker.evidence.clone(),
        disowned: claim.disowned,
        alive: claim.alive,
        attempts: claim.attempts,
        max_attempts: claim.max_attempts,
        error: claim.error.clone(),
    };
    let parts = ClaimParts {
        key: key_text(&claim.key),
        holder: claim.holder.clone(),
        kind: claim.kind.clone(),
        claimed_at,
        body: text(&body),
    };
    (parts, Moving { beat, end, worst: false })
}

/// The claim of its parts, if they fit together.
pub(super) fn claim_of(parts: ClaimParts, moving: Moving, session: Option<Session>) -> Option<Claim> {
    let body: ClaimBody = serde_json::from_str(&parts.body).ok()?;
    Some(Claim {
        key: read_key(&parts.key)?,
        kind: parts.kind,
        holder: parts.holder,
        claimed_at: body.claimed_at.reading(parts.claimed_at)?,
        beat_at: body.beat_at.reading(moving.beat)?,
        lease: match body.lease {
            LeaseText::Unwritten => Lease::Unwritten,
            LeaseText::Until(cell) => Lease::Until(cell.reading(moving.end)?),
            LeaseText::Timeout(span) => Lease::Timeout(
                span.map_or(Timeout::Unreadable, |micros| Timeout::After(Span::micros(micros))),
            ),
        },
        registry: match body.registry {
            RegistryText::None => Registry::None,
            RegistryText::Unregistered => Registry::Unregistered,
            RegistryText::Missing => Registry::Missing,
            RegistryText::Listed => Registry::Listed(session?),
        },
        worker: Worker {
            pid: json_value(&body.pid)?,
            host: body.host,
            version: body.version,
            process: match body.process.as_deref() {
                Some("alive") => Process::Alive,
                Some("dead") => Process::Dead,
                _ => Process::Unknown,
            },
            evidence: body.evidence,
        },
        disowned: body.disowned,
        alive: body.alive,
        attempts: body.attempts,
        max_attempts: body.max_attempts,
        error: body.error,
    })
}

pub(super) fn session_parts(session: &Session) -> (SessionParts, Moving) {
    let (beat_at, beat) = Cell::of(&session.beat_at);
    let stale = session.stale_at.as_ref().map(Cell::of);
    let (started, started_at) = Cell::of(&session.started_at);
    let end = stale.as_ref().and_then(|(_, at)| *at);
    let body = SessionBody { beat_at, stale_at: stale.map(|(cell, _)| cell), started, started_at };
    (SessionParts { body: text(&body) }, Moving { beat, end, worst: false })
}

pub(super) fn session_of(body: &str, moving: Moving) -> Option<Session> {
    let body: SessionBody = serde_json::from_str(body).ok()?;
    Some(Session {
        beat_at: body.beat_at.reading(moving.beat)?,
        stale_at: match &body.stale_at {
            Some(cell) => Some(cell.reading(moving.end)?),
            None => None,
        },
        started_at: body.started.reading(body.started_at)?,
    })
}

pub(super) fn key_text(key: &Key) -> String {
    Json::Array(key.0.iter().map(value_json).collect()).to_string()
}

pub(super) fn read_key(text: &str) -> Option<Key> {
    let Json::Array(parts) = serde_json::from_str(text).ok()? else { return None };
    parts.iter().map(json_value).collect::<Option<Vec<_>>>().map(Key)
}

/// A cell as JSON that keeps its type.
pub(super) fn value_json(value: &Value) -> Json {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match value {
        Value::Null => Json::Null,
        Value::Int(number) => json!(number),
        Value::Real(number) => json!({ "real": number.to_string() }),
        Value::Text(text) => json!(text),
        Value::BadText(bytes) => json!({ "bad_text": hex(bytes) }),
        Value::Bytes(bytes) => json!({ "bytes": hex(bytes) }),
    }
}

pub(super) fn json_value(json: &Json) -> Option<Value> {
    let bytes = |text: &str| -> Option<Vec<u8>> {
        let digit = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
        (0..text.len()).step_by(2).map(digit).collect()
    };
    match json {
        Json::Null => Some(Value::Null),
        Json::Number(number) => number.as_i64().map(Value::Int),
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Object(object) => match object.iter().next()? {
            (name, Json::String(text)) if name == "real" => text.parse().ok().map(Value::Real),
            (name, Json::String(text)) if name == "bad_text" => bytes(text).map(Value::BadText),
            (name, Json::String(text)) if name == "bytes" => bytes(text).map(Value::Bytes),
            _ => None,
        },
        Json::Bool(_) | Json::Array(_) => None,
    }
}

pub(super) fn text(value: &impl Serialize) -> String {
    // These are plain structs with string keys, which cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: i64) -> Reading {
        Reading::At(Moment::from_micros(at).unwrap())
    }

    #[test]
    fn every_kind_of_claim_is_read_as_it_was_written() {
        let listed = Registry::Listed(Session {
            beat_at: reading(7),
            stale_at: Some(Reading::Null),
            started_at: Reading::Bad("the text \"x\"".into()),
        });
        for (lease, registry) in [
            (Lease::Unwritten, Registry::None),
            (Lease::Until(reading(9)), listed),
            (Lease::Until(Reading::Bad("a blob of 2 bytes".into())), Registry::Missing),
            (Lease::Timeout(Timeout::Unreadable), Registry::Unregistered),
            (Lease::Timeout(Timeout::After(Span::seconds(3))), Registry::None),
        ] {
            let claim = Claim {
                key: Key(vec![
                    Value::Int(-1),
                    Value::Text("a\u{202e}b".into()),
                    Value::Real(1.0),
                    Value::Bytes(vec![0, 255]),
                    Value::BadText(vec![0xff]),
                    Value::Null,
                ]),
                kind: Some("mail".into()),
                holder: Some("web-3".into()),
                claimed_at: reading(5),
                beat_at: Reading::Null,
                lease,
                registry,
                attempts: Some(1),
                error: Some("late".into()),
                worker: Worker {
                    version: Some("1.2".into()),
                    ..Worker::new(Value::Int(7), Some("h".into()))
                },
                ..Claim::blank()
            };
            let (parts, moving) = claim_parts(&claim);
            let session = match &claim.registry {
                Registry::Listed(session) => {
                    let (parts, moving) = session_parts(session);
                    session_of(&parts.body, moving)
                }
                _ => None,
            };
            assert_eq!(claim_of(parts, moving, session), Some(claim));
        }
    }
}
