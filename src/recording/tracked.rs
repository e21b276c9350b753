//! The claims and sessions that are being followed, and what one poll changes about them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::encoding::{Field, Moved, Moving};
use super::row_text::{claim_parts, session_parts};
use super::silence::{Ending, OpenSilence};
use crate::domain::claim::{Claim, Lease, Registry, Session};
use crate::domain::snapshot::Nature;
use crate::domain::time::{Moment, Reading};
use crate::domain::value::{Key, Value};

/// One board of one source.
#[derive(Debug)]
pub(super) struct TrackedBoard {
    pub id: i64,
    pub nature: Option<Arc<Nature>>,
    /// What was last written about its counts.
    pub poll: Option<String>,
    /// By the bytes of their keys.
    pub claims: HashMap<Box<[u8]>, TrackedClaim>,
    pub sessions: HashMap<String, TrackedSession>,
    /// The key that is looked for: ten thousand are in every frame.
    key: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct TrackedClaim {
    pub id: i64,
    pub claim: Claim,
    pub moving: Moving,
    /// The last frame that showed it.
    pub seen: i64,
    pub silence: Option<OpenSilence>,
}

#[derive(Debug)]
pub(super) struct TrackedSession {
    pub id: i64,
    session: Session,
    pub moving: Moving,
    pub seen: i64,
}

/// Where rows of a recording are written.
pub(super) trait Rows {
    type Error;

    fn insert_claim(&mut self, claim: &NewClaim<'_>) -> Result<i64, Self::Error>;
    fn close_claim(&mut self, id: i64, last: i64, ending: Ending) -> Result<(), Self::Error>;
    fn insert_session(&mut self, session: &NewSession<'_>) -> Result<i64, Self::Error>;
    fn close_session(&mut self, id: i64, last: i64) -> Result<(), Self::Error>;
    fn insert_silence(
        &mut self,
        board: i64,
        claim: &Claim,
        silence: &OpenSilence,
    ) -> Result<i64, Self::Error>;
    fn close_silence(
        &mut self,
        id: i64,
        silence: &OpenSilence,
        end: Option<(Ending, Moment)>,
    ) -> Result<(), Self::Error>;
    /// From this age on a silence is kept.
    fn is_long(&self, silence: &OpenSilence) -> bool;
}

pub(super) struct NewClaim<'a> {
    pub board: i64,
    pub claim: &'a Claim,
    pub moving: Moving,
    pub session: Option<i64>,
    pub first: i64,
}

pub(super) struct NewSession<'a> {
    pub board: i64,
    pub holder: &'a str,
    pub body: String,
    pub moving: Moving,
    pub first: i64,
}

/// One frame of a board.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameOf {
    pub frame: i64,
    /// The last frame before it in which the source could be read.
    pub before: i64,
    pub now: Moment,
}

impl TrackedBoard {
    pub(super) fn new(id: i64) -> TrackedBoard {
        TrackedBoard {
            id,
            nature: None,
            poll: None,
            claims: HashMap::new(),
            sessions: HashMap::new(),
            key: Vec::new(),
        }
    }

    /// Takes in a claim that this frame shows. Of a claim that it shows twice, the first time counts.
    pub(super) fn observe<R: Rows>(
        &mut self,
        claim: &Claim,
        worst: bool,
        at: FrameOf,
        rows: &mut R,
        moved: &mut Vec<Moved>,
    ) -> Result<(), R::Error> {
        key_bytes(&claim.key, &mut self.key);
        if self.claims.get(&self.key[..]).is_some_and(|known| known.seen == at.frame) {
            return Ok(());
        }
        let session = self.observe_session(claim, at, rows, moved)?;
        if let Some(known) = self.claims.get_mut(&self.key[..]) {
            let ended = known
                .silence
                .as_mut()
                .map_or(Some(Ending::Renewed), |open| open.observe(claim, at.frame, at.now));
            if let Some(ending) = ended {
                end_silence(known.silence.take(), ending, at.now, rows)?;
                known.silence = OpenSilence::of(claim, at.frame, at.now);
            }
            keep_long(self.id, claim, known.silence.as_mut(), rows)?;
            known.seen = at.frame;
            if is_same_but_moved(&known.claim, claim) {
                let moving = Moving { worst, ..moving_of(claim) };
                note_claim(known.id, known.moving, moving, moved);
                known.moving = moving;
                move_to(&mut known.claim, claim);
                return Ok(());
            }
            let ending = match claim.holder == known.claim.holder {
                false => Ending::ChangedHands,
                true => ended.unwrap_or(Ending::Changed),
            };
            rows.close_claim(known.id, at.before, ending)?;
            let moving = Moving { worst, ..moving_of(claim) };
            let new = NewClaim { board: self.id, claim, moving, session, first: at.frame };
            known.id = rows.insert_claim(&new)?;
            (known.moving, known.claim) = (moving, claim.clone());
            return Ok(());
        }
        let moving = Moving { worst, ..moving_of(claim) };
        let new = NewClaim { board: self.id, claim, moving, session, first: at.frame };
        let id = rows.insert_claim(&new)?;
        let mut silence = OpenSilence::of(claim, at.frame, at.now);
        keep_long(self.id, claim, silence.as_mut(), rows)?;
        let tracked = TrackedClaim { id, claim: claim.clone(), moving, seen: at.frame, silence };
        self.claims.insert(self.key.as_slice().into(), tracked);
        Ok(())
    }

    fn observe_session<R: Rows>(
        &mut self,
        claim: &Claim,
        at: FrameOf,
        rows: &mut R,
        moved: &mut Vec<Moved>,
    ) -> Result<Option<i64>, R::Error> {
        let (Registry::Listed(session), Some(holder)) = (&claim.registry, &claim.holder) else {
            return Ok(None);
        };
        if let Some(known) = self.sessions.get_mut(holder) {
            if known.seen == at.frame && known.session == *session {
                return Ok(Some(known.id));
            }
            let moving = moving_of_session(session);
            known.seen = at.frame;
            if is_same_session(&known.session, session) {
                let old = std::mem::replace(&mut known.moving, moving);
                note(known.id, old, moving, Field::SessionBeat, Field::SessionStale, moved);
                known.session = session.clone();
                return Ok(Some(known.id));
            }
            rows.close_session(known.id, at.before)?;
            let body = session_parts(session).0.body;
            known.id =
                rows.insert_session(&NewSession { board: self.id, holder, body, moving, first: at.frame })?;
            (known.moving, known.session) = (moving, session.clone());
            return Ok(Some(known.id));
        }
        let (parts, moving) = session_parts(session);
        let new = NewSession { board: self.id, holder, body: parts.body, moving, first: at.frame };
        let id = rows.insert_session(&new)?;
        let tracked = TrackedSession { id, session: session.clone(), moving, seen: at.frame };
        self.sessions.insert(holder.clone(), tracked);
        Ok(Some(id))
    }

    /// Closes what this frame did not show. `ending` tells what became of a claim.
    pub(super) fn close_unseen<R: Rows>(
        &mut self,
        at: FrameOf,
        rows: &mut R,
        ending: &mut dyn FnMut(&Claim) -> Ending,
    ) -> Result<(), R::Error> {
        let unseen: Vec<Box<[u8]>> = self
            .claims
            .iter()
            .filter(|(_, known)| known.seen != at.frame)
            .map(|(key, _)| key.clone())
            .collect();
        for key in unseen {
            let Some(known) = self.claims.remove(&key) else { continue };
            let ending = ending(&known.claim);
            rows.close_claim(known.id, known.seen, ending)?;
            end_silence(known.silence, ending, at.now, rows)?;
        }
        let unseen: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, known)| known.seen != at.frame)
            .map(|(holder, _)| holder.clone())
            .collect();
        for holder in unseen {
            let Some(known) = self.sessions.remove(&holder) else { continue };
            rows.close_session(known.id, known.seen)?;
        }
        Ok(())
    }

    /// The values that move, for a keyframe.
    pub(super) fn moving(&self, claims: &mut BTreeMap<i64, Moving>, sessions: &mut BTreeMap<i64, Moving>) {
        claims.extend(self.claims.values().map(|known| (known.id, known.moving)));
        sessions.extend(self.sessions.values().map(|known| (known.id, known.moving)));
    }
}

fn keep_long<R: Rows>(
    board: i64,
    claim: &Claim,
    silence: Option<&mut OpenSilence>,
    rows: &mut R,
) -> Result<(), R::Error> {
    if let Some(silence) = silence
        && silence.id.is_none()
        && rows.is_long(silence)
    {
        silence.id = Some(rows.insert_silence(board, claim, silence)?);
    }
    Ok(())
}

fn end_silence<R: Rows>(
    silence: Option<OpenSilence>,
    ending: Ending,
    next: Moment,
    rows: &mut R,
) -> Result<(), R::Error> {
    match silence {
        Some(silence) if silence.id.is_some() => {
            let id = silence.id.unwrap_or_default();
            rows.close_silence(id, &silence, Some((ending, next)))
        }
        _ => Ok(()),
    }
}

fn moving_of(claim: &Claim) -> Moving {
    let end = match &claim.lease {
        Lease::Until(reading) => reading.at(),
        Lease::Unwritten | Lease::Timeout(_) => None,
    };
    let beat = claim.beat_at.at();
    Moving { beat: beat.map(Moment::micros), end: end.map(Moment::micros), worst: false }
}

fn moving_of_session(session: &Session) -> Moving {
    let end = session.stale_at.as_ref().and_then(Reading::at);
    let beat = session.beat_at.at();
    Moving { beat: beat.map(Moment::micros), end: end.map(Moment::micros), worst: false }
}

/// What a key is looked for by: its values with their types, one after the other.
fn key_bytes(key: &Key, bytes: &mut Vec<u8>) {
    bytes.clear();
    for value in &key.0 {
        let (kind, number, text): (u8, i64, &[u8]) = match value {
            Value::Null => (0, 0, &[]),
            Value::Int(number) => (1, *number, &[]),
            Value::Real(number) => (2, number.to_bits().cast_signed(), &[]),
            Value::Text(text) => (3, text.len().cast_signed() as i64, text.as_bytes()),
            Value::BadText(text) => (4, text.len().cast_signed() as i64, text),
            Value::Bytes(text) => (5, text.len().cast_signed() as i64, text),
        };
        bytes.push(kind);
        bytes.extend(number.to_le_bytes());
        bytes.extend(text);
    }
}

/// Whether two readings differ at most in their time.
fn is_like(one: &Reading, other: &Reading) -> bool {
    one == other || matches!((one, other), (Reading::At(_), Reading::At(_)))
}

fn is_same_session(one: &Session, other: &Session) -> bool {
    let is_like_end = match (&one.stale_at, &other.stale_at) {
        (Some(one), Some(other)) => is_like(one, other),
        (one, other) => one == other,
    };
    one.started_at == other.started_at && is_like(&one.beat_at, &other.beat_at) && is_like_end
}

/// Whether nothing has changed but the values that move.
fn is_same_but_moved(one: &Claim, other: &Claim) -> bool {
    let is_like_lease = match (&one.lease, &other.lease) {
        (Lease::Until(one), Lease::Until(other)) => is_like(one, other),
        (one, other) => one == other,
    };
    let is_like_registry = match (&one.registry, &other.registry) {
        (Registry::Listed(one), Registry::Listed(other)) => is_same_session(one, other),
        (one, other) => one == other,
    };
    is_like_lease
        && is_like_registry
        && is_like(&one.beat_at, &other.beat_at)
        && one.claimed_at == other.claimed_at
        && one.holder == other.holder
        && one.kind == other.kind
        && one.worker == other.worker
        && (one.disowned, one.alive) == (other.disowned, other.alive)
        && (one.attempts, one.max_attempts) == (other.attempts, other.max_attempts)
        && one.error == other.error
}

/// Takes over the values that move.
fn move_to(known: &mut Claim, claim: &Claim) {
    known.beat_at.clone_from(&claim.beat_at);
    known.lease.clone_from(&claim.lease);
    known.registry.clone_from(&claim.registry);
}

fn note_claim(id: i64, old: Moving, new: Moving, moved: &mut Vec<Moved>) {
    note(id, old, new, Field::ClaimBeat, Field::ClaimUntil, moved);
    if old.worst != new.worst {
        moved.push(Moved { id, field: Field::ClaimWorst, by: if new.worst { 1 } else { -1 } });
    }
}

fn note(id: i64, old: Moving, new: Moving, beat: Field, end: Field, moved: &mut Vec<Moved>) {
    for (field, old, new) in [(beat, old.beat, new.beat), (end, old.end, new.end)] {
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            moved.push(Moved { id, field, by: new - old });
        }
    }
}

/// The parts of a claim as they are written.
pub(super) fn written(claim: &Claim) -> super::row_text::ClaimParts {
    claim_parts(claim).0
}
