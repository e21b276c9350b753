//! Silences: times without a sign of life, and how each ended. A backtest of thresholds needs nothing else.

use std::collections::HashMap;

use rusqlite::Row;

use super::RecordingError;
use super::file::{RecordedBoard, Recording};
use super::row_text::read_key;
use crate::domain::board_id::BoardId;
use crate::domain::claim::{Claim, Registry};
use crate::domain::time::{Moment, Span};
use crate::domain::value::Key;

/// How a silence, or the time in which a claim did not change, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Its own holder gave a sign of life.
    Renewed,
    /// Nobody holds it any more: finished, released or reclaimed.
    Gone,
    ChangedHands,
    /// It is no longer among the rows that are read, and the reason is unknown.
    Left,
    /// Something else in its row changed: the next version continues it. Never the end of a silence.
    Changed,
}

impl Ending {
    const ALL: [Ending; 5] =
        [Ending::Renewed, Ending::Gone, Ending::ChangedHands, Ending::Left, Ending::Changed];

    pub fn as_str(self) -> &'static str {
        match self {
            Ending::Renewed => "renewed",
            Ending::Gone => "gone",
            Ending::ChangedHands => "changed_hands",
            Ending::Left => "left",
            Ending::Changed => "changed",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Ending> {
        Ending::ALL.into_iter().find(|ending| ending.as_str() == word)
    }
}

/// A time without a sign of life that was longer than the silence floor of the recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Silence {
    pub board: BoardId,
    /// The number of its source in [`super::Recording::sources`], and of its board in `boards`.
    pub source: usize,
    pub board_number: usize,
    pub key: Key,
    pub holder: Option<String>,
    pub kind: Option<String>,
    pub claimed_at: Option<Moment>,
    /// The last sign of life: the silence began here.
    pub sign: Moment,
    /// The frames in which it was seen.
    pub first: i64,
    pub last: i64,
    /// The database's clock at these frames, and at the first one after.
    pub from: Moment,
    pub to: Moment,
    pub next: Option<Moment>,
    /// Nothing, if the recording ended first.
    pub ending: Option<Ending>,
    /// The last heartbeat of its session, if the system registers sessions.
    pub session_beat: Option<Moment>,
    /// Whether that session was silent too at the end; nothing, if there is no session to know of.
    pub session_silent: Option<bool>,
}

/// A silence that goes on.
#[derive(Debug, Clone)]
pub(super) struct OpenSilence {
    /// The number of its row, once it is longer than the floor.
    pub id: Option<i64>,
    holder: Option<String>,
    claimed_at: Option<Moment>,
    pub sign: Moment,
    pub first: i64,
    pub from: Moment,
    /// As of the last frame that showed it.
    pub last: i64,
    pub to: Moment,
    pub session: SessionSign,
}

/// What the registry says of the holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionSign {
    Unknown,
    Missing,
    BeatAt(Moment),
}

impl SessionSign {
    fn of(claim: &Claim) -> SessionSign {
        match &claim.registry {
            Registry::None | Registry::Unregistered => SessionSign::Unknown,
            Registry::Missing => SessionSign::Missing,
            Registry::Listed(session) => {
                session.beat_at.at().map_or(SessionSign::Unknown, SessionSign::BeatAt)
            }
        }
    }

    pub(super) fn beat(self) -> Option<Moment> {
        match self {
            SessionSign::BeatAt(at) => Some(at),
            SessionSign::Unknown | SessionSign::Missing => None,
        }
    }

    pub(super) fn is_silent(self, now: Moment, floor: Span) -> Option<bool> {
        match self {
            SessionSign::Unknown => None,
            SessionSign::Missing => Some(true),
            SessionSign::BeatAt(at) => Some(now.since(at) >= floor),
        }
    }
}

impl OpenSilence {
    /// Nothing, if the claim has never given a sign of life that can be read.
    pub(super) fn of(claim: &Claim, frame: i64, now: Moment) -> Option<OpenSilence> {
        Some(OpenSilence {
            id: None,
            holder: claim.holder.clone(),
            claimed_at: claim.claimed_at.at(),
            sign: claim.sign_of_life()?,
            first: frame,
            from: now,
            last: frame,
            to: now,
            session: SessionSign::of(claim),
        })
    }

    /// Takes in the claim at a later frame; tells how the silence ended, if it did.
    pub(super) fn observe(&mut self, claim: &Claim, frame: i64, now: Moment) -> Option<Ending> {
        if claim.holder != self.holder {
            return Some(Ending::ChangedHands);
        }
        if claim.claimed_at.at() != self.claimed_at || claim.sign_of_life() != Some(self.sign) {
            return Some(Ending::Renewed);
        }
        (self.last, self.to, self.session) = (frame, now, SessionSign::of(claim));
        None
    }

    pub(super) fn is_longer_than(&self, floor: Span) -> bool {
        self.to.since(self.sign) >= floor
    }
}

impl Recording {
    /// Hands on every silence, in the order in which they were kept: one pass over the file.
    pub fn each_silence(&self, mut each: impl FnMut(Silence)) -> Result<(), RecordingError> {
        let boards = self.boards()?;
        let mut ends: HashMap<usize, (i64, Moment)> = HashMap::new();
        for number in 0..self.sources().len() {
            if let Some(end) = self.last_good(number)? {
                ends.insert(number, end);
            }
        }
        let failed = |error: rusqlite::Error| RecordingError::of(&self.path, &error);
        let mut select = self
            .connection
            .prepare(
                "SELECT board, key, holder, kind, claimed_at, sign, first, last, from_at, to_at, next_at, ending, \
                 session_beat, session_silent FROM silence ORDER BY id",
            )
            .map_err(failed)?;
        let mut rows = select.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let board: i64 = row.get(0).map_err(failed)?;
            let Some(number) = boards.iter().position(|known| known.id == board) else { continue };
            let source = boards[number].source;
            let end = ends.get(&source).copied();
            if let Some(silence) = self.silence_of(row, &boards[number], number, end).map_err(failed)? {
                each(silence);
            }
        }
        Ok(())
    }

    fn silence_of(
        &self,
        row: &Row<'_>,
        board: &RecordedBoard,
        board_number: usize,
        end: Option<(i64, Moment)>,
    ) -> rusqlite::Result<Option<Silence>> {
        let moment = |at: usize| -> rusqlite::Result<Option<Moment>> {
            Ok(row.get::<_, Option<i64>>(at)?.and_then(Moment::from_micros))
        };
        let text = |at: usize| -> rusqlite::Result<Option<String>> {
            let id: Option<i64> = row.get(at)?;
            Ok(id.and_then(|id| self.string(id)).map(|text| text.to_string()))
        };
        let (Some(key), Some(sign), Some(from)) =
            (read_key(&row.get::<_, String>(1)?), moment(5)?, moment(8)?)
        else {
            return Ok(None);
        };
        // One that the writer did not close goes on until the end.
        let last = row.get::<_, Option<i64>>(7)?.or(end.map(|(frame, _)| frame));
        let to = moment(9)?.or(end.map(|(_, now)| now));
        let (Some(last), Some(to)) = (last, to) else { return Ok(None) };
        Ok(Some(Silence {
            board: board.board.clone(),
            source: board.source,
            board_number,
            key,
            holder: text(2)?,
            kind: text(3)?,
            claimed_at: moment(4)?,
            sign,
            first: row.get(6)?,
            last,
            from,
            to,
            next: moment(10)?,
            ending: row.get::<_, Option<String>>(11)?.and_then(|word| Ending::parse(&word)),
            session_beat: moment(12)?,
            session_silent: row.get(13)?,
        }))
    }

    /// The last frame in which a source could be read, and its clock then.
    fn last_good(&self, source: usize) -> Result<Option<(i64, Moment)>, RecordingError> {
        let id = self.sources().get(source).map_or(0, |source| source.id);
        let found: Option<(i64, i64)> = self.one(
            "SELECT f.id, (SELECT max(now) FROM snapshot WHERE frame = f.id) FROM frame f \
             WHERE f.source = ?1 AND f.failure IS NULL ORDER BY f.id DESC LIMIT 1",
            [id],
            |row| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?.unwrap_or(0))),
        )?;
        Ok(match found {
            Some((frame, now)) => Some((frame, self.moment(now)?)),
            None => None,
        })
    }
}
