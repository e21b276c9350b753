//! A recording as a whole: its sources, boards, frames, gaps, events and silences.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::RecordingError;
use super::board_text::read_nature;
use super::event_text::read_event;
use super::row_text::read_key;
use super::schema::{self, Header};
use super::silence::{Ending, Silence};
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::{Counts, Nature};
use crate::domain::time::{Moment, Span};
use crate::domain::visible::safe;
use crate::events::Event;

/// A source that was recorded. Its number is its place in [`Recording::sources`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedSource {
    pub(super) id: i64,
    pub label: String,
    pub engine: String,
    pub shown: String,
    pub badge: Option<String>,
    pub fingerprint: Option<String>,
}

/// A board that was recorded. Its number is its place in [`Recording::boards`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedBoard {
    pub(super) id: i64,
    /// The number of its source.
    pub source: usize,
    pub board: BoardId,
}

/// One poll of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub id: i64,
    /// The number of its source.
    pub source: usize,
    /// The clock of the host that recorded.
    pub at: Moment,
    /// The clock of the database; nothing if the poll failed.
    pub now: Option<Moment>,
    pub failure: Option<String>,
    pub is_unreachable: bool,
}

/// A time in which a source could not be read, or in which nobody recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub source: usize,
    /// The last good frame before it and the first one after it, by our clock.
    pub from: Moment,
    pub to: Moment,
    /// Why the polls failed; nothing if nobody recorded.
    pub why: Option<String>,
}

/// The counts of a source at a frame, all boards together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedCounts {
    pub source: usize,
    pub frame: i64,
    pub at: Moment,
    pub counts: Counts,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    pub frame: i64,
    pub source: usize,
    pub at: Moment,
    pub event: Event,
}

/// An open recording. It may still be written by another process; what that adds is seen by later questions.
#[derive(Debug)]
pub struct Recording {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    sources: Vec<RecordedSource>,
    boards: RefCell<Vec<RecordedBoard>>,
    pub(super) natures: RefCell<HashMap<(i64, i64), Arc<Nature>>>,
    pub(super) strings: RefCell<HashMap<i64, Arc<str>>>,
}

/// Whether a file is a recording, whatever its version. No file and another file are none.
pub fn is_recording(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let opened = schema::open_to_read(path).ok();
    let header = opened.and_then(|connection| schema::header(&connection, path).ok());
    matches!(header, Some(Header::Recording | Header::Newer(_)))
}

impl Recording {
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        if !path.exists() {
            return Err(RecordingError::Missing { path: path.into() });
        }
        let connection = schema::open_to_read(path)?;
        match schema::header(&connection, path)? {
            Header::Recording => {}
            Header::Newer(version) => return Err(RecordingError::Newer { path: path.into(), version }),
            Header::Empty | Header::Other => return Err(RecordingError::NotARecording { path: path.into() }),
        }
        let mut recording = Recording {
            path: path.into(),
            connection,
            sources: Vec::new(),
            boards: RefCell::default(),
            natures: RefCell::default(),
            strings: RefCell::default(),
        };
        recording.sources = recording.read(
            "SELECT id, label, engine, shown, badge, fingerprint FROM source ORDER BY id",
            [],
            |row| {
                Ok(RecordedSource {
                    id: row.get(0)?,
                    label: safe(&row.get::<_, String>(1)?),
                    engine: safe(&row.get::<_, String>(2)?),
                    shown: safe(&row.get::<_, String>(3)?),
                    badge: row.get::<_, Option<String>>(4)?.map(|badge| safe(&badge)),
                    fingerprint: row.get(5)?,
                })
            },
        )?;
        if recording.first_frame()?.is_none() {
            return Err(RecordingError::Empty { path: path.into() });
        }
        Ok(recording)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn sources(&self) -> &[RecordedSource] {
        &self.sources
    }

    /// Silences of this length and longer were kept. Thresholds below cannot be judged.
    pub fn silence_floor(&self) -> Result<Span, RecordingError> {
        let micros: Option<i64> = self.property("silence_floor")?;
        Ok(Span::micros(micros.unwrap_or(0)))
    }

    /// Whether it was ended in order; if not, it is still written, or its writer was killed.
    pub fn is_finished(&self) -> Result<bool, RecordingError> {
        Ok(self.property::<i64>("finished_at")?.is_some())
    }

    /// Whether ids and holders are pseudonyms.
    pub fn has_hashed_ids(&self) -> Result<bool, RecordingError> {
        Ok(self.property::<i64>("hashed_ids")?.is_some())
    }

    fn property<T: rusqlite::types::FromSql>(&self, name: &str) -> Result<Option<T>, RecordingError> {
        self.one("SELECT value FROM property WHERE name = ?1", [name], |row| row.get(0))
    }

    /// All boards, in the order in which they were first seen.
    pub fn boards(&self) -> Result<Vec<RecordedBoard>, RecordingError> {
        let number = |id: i64| self.sources.iter().position(|source| source.id == id).unwrap_or(0);
        let boards = self.read("SELECT id, source, profile, board FROM board ORDER BY id", [], |row| {
            Ok(RecordedBoard {
                id: row.get(0)?,
                source: number(row.get(1)?),
                board: BoardId::new(row.get::<_, String>(2)?, row.get::<_, String>(3)?),
            })
        })?;
        self.boards.replace(boards.clone());
        Ok(boards)
    }

    /// What was true of a board at a frame: its rules and thresholds.
    pub fn nature(&self, board: &RecordedBoard, frame: i64) -> Result<Option<Arc<Nature>>, RecordingError> {
        let found: Option<(i64, String)> = self.one(
            "SELECT frame, body FROM nature WHERE board = ?1 AND frame <= ?2 ORDER BY frame DESC LIMIT 1",
            params![board.id, frame],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let Some((from, body)) = found else { return Ok(None) };
        let known = self.natures.borrow().get(&(board.id, from)).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let nature = read_nature(&body).ok_or_else(|| self.damaged("the rules of a board cannot be read"))?;
        let nature = Arc::new(nature);
        self.natures.borrow_mut().insert((board.id, from), Arc::clone(&nature));
        Ok(Some(nature))
    }

    /// All frames in the order in which they were recorded.
    pub fn frames(&self) -> Result<Vec<Frame>, RecordingError> {
        self.read(&format!("{FRAMES} ORDER BY id"), [], |row| self.frame_of(row))
    }

    pub fn first_frame(&self) -> Result<Option<Frame>, RecordingError> {
        self.one(&format!("{FRAMES} ORDER BY id LIMIT 1"), [], |row| self.frame_of(row))
    }

    pub fn last_frame(&self) -> Result<Option<Frame>, RecordingError> {
        self.one(&format!("{FRAMES} ORDER BY id DESC LIMIT 1"), [], |row| self.frame_of(row))
    }

    pub fn frame(&self, id: i64) -> Result<Option<Frame>, RecordingError> {
        self.one(&format!("{FRAMES} WHERE id = ?1"), [id], |row| self.frame_of(row))
    }

    /// The last frame at or before an instant of the recorder's clock: of one source, or of any.
    pub fn frame_at(&self, source: Option<usize>, at: Moment) -> Result<Option<Frame>, RecordingError> {
        let mut latest: Option<Frame> = None;
        for (number, known) in self.sources.iter().enumerate() {
            if source.is_some_and(|only| only != number) {
                continue;
            }
            let found = self.one(
                &format!("{FRAMES} WHERE source = ?1 AND at <= ?2 ORDER BY at DESC, id DESC LIMIT 1"),
                params![known.id, at.micros()],
                |row| self.frame_of(row),
            )?;
            if let Some(found) = found
                && latest.as_ref().is_none_or(|latest| latest.id < found.id)
            {
                latest = Some(found);
            }
        }
        Ok(latest)
    }

    /// The counts of every source over time: one entry whenever they changed.
    pub fn counts(&self) -> Result<Vec<RecordedCounts>, RecordingError> {
        let boards = self.boards()?;
        let mut now: HashMap<i64, Counts> = HashMap::new();
        let mut all: Vec<RecordedCounts> = Vec::new();
        let rows = self.read(
            "SELECT b.board, b.frame, f.at, b.total, b.healthy, b.expiring, b.stale, b.orphaned, b.unknown, b.runaway \
             FROM board_poll b JOIN frame f ON f.id = b.frame ORDER BY b.frame",
            [],
            |row| {
                let count = |at: usize| row.get::<_, i64>(at).map(i64::cast_unsigned);
                let counts = Counts {
                    total: count(3)?,
                    healthy: count(4)?,
                    expiring: count(5)?,
                    stale: count(6)?,
                    orphaned: count(7)?,
                    unknown: count(8)?,
                    runaway: count(9)?,
                };
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, counts))
            },
        )?;
        for (board, frame, at, counts) in rows {
            now.insert(board, counts);
            let Some(source) = boards.iter().find(|known| known.id == board).map(|known| known.source) else {
                continue;
            };
            let mut sum = Counts::default();
            for known in boards.iter().filter(|known| known.source == source) {
                sum += now.get(&known.id).copied().unwrap_or_default();
            }
            let entry = RecordedCounts { source, frame, at: self.moment(at)?, counts: sum };
            match all.last_mut() {
                Some(last) if last.frame == frame => *last = entry,
                _ => all.push(entry),
            }
        }
        Ok(all)
    }

    /// The times that nothing is known of: polls failed, or nobody recorded.
    pub fn gaps(&self) -> Result<Vec<Gap>, RecordingError> {
        let frames = self.frames()?;
        let mut gaps = Vec::new();
        for source in 0..self.sources.len() {
            let mine: Vec<&Frame> = frames.iter().filter(|frame| frame.source == source).collect();
            let usual = usual_step(&mine);
            let mut before: Option<&Frame> = None;
            let mut why: Option<&str> = None;
            for frame in mine {
                if let Some(failure) = &frame.failure {
                    why = Some(failure);
                    continue;
                }
                if let Some(last) = before
                    && (why.is_some() || frame.at.since(last.at) > usual.times(5).max(Span::seconds(5)))
                {
                    gaps.push(Gap { source, from: last.at, to: frame.at, why: why.map(str::to_owned) });
                }
                (before, why) = (Some(frame), None);
            }
            if let (Some(last), Some(why), Some(end)) = (before, why, frames.last()) {
                gaps.push(Gap { source, from: last.at, to: end.at, why: Some(why.into()) });
            }
        }
        gaps.sort_by_key(|gap| gap.from);
        Ok(gaps)
    }

    /// The events of some frames, in order. Events that this version does not know are left out.
    pub fn events(
        &self,
        frames: std::ops::RangeInclusive<i64>,
    ) -> Result<Vec<RecordedEvent>, RecordingError> {
        let rows = self.read(
            "SELECT frame, source, at, body, shown FROM event WHERE frame BETWEEN ?1 AND ?2 ORDER BY id",
            params![frames.start(), frames.end()],
            |row| {
                let texts: (String, Option<String>) = (row.get(3)?, row.get(4)?);
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, texts))
            },
        )?;
        let mut events = Vec::new();
        for (frame, source, at, (body, shown)) in rows {
            if let Some(event) = read_event(&body, shown.as_deref()) {
                events.push(RecordedEvent {
                    frame,
                    source: self.number(source),
                    at: self.moment(at)?,
                    event,
                });
            }
        }
        Ok(events)
    }

    /// The last events up to a frame, oldest first.
    pub fn last_events(&self, frame: i64, most: usize) -> Result<Vec<RecordedEvent>, RecordingError> {
        let first: Option<i64> = self.one(
            "SELECT frame FROM event WHERE frame <= ?1 ORDER BY frame DESC LIMIT 1 OFFSET ?2",
            params![frame, i64::try_from(most).unwrap_or(i64::MAX)],
            |row| row.get(0),
        )?;
        self.events(first.unwrap_or(0)..=frame)
    }

    /// When something happened, and the name of the cause if one began; in the order of time.
    pub fn event_marks(&self) -> Result<Vec<(Moment, Option<String>)>, RecordingError> {
        let rows = self.read(
            "SELECT at, CASE name WHEN 'cause:began' THEN json_extract(body, '$.name') END FROM event ORDER BY at, id",
            [],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?)),
        )?;
        rows.into_iter().map(|(at, cause)| Ok((self.moment(at)?, cause.map(|name| safe(&name))))).collect()
    }

    /// Hands on every silence, in the order in which they were kept: one pass over the file.
    pub fn each_silence(&self, mut each: impl FnMut(Silence)) -> Result<(), RecordingError> {
        let boards = self.boards()?;
        let mut ends: HashMap<usize, (i64, Moment)> = HashMap::new();
        for number in 0..self.sources.len() {
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
        let id = self.sources.get(source).map_or(0, |source| source.id);
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

    fn frame_of(&self, row: &Row<'_>) -> rusqlite::Result<Frame> {
        let bad = |at: usize| rusqlite::Error::IntegralValueOutOfRange(at, 0);
        let now: Option<i64> = row.get(5)?;
        Ok(Frame {
            id: row.get(0)?,
            source: self.number(row.get(1)?),
            at: Moment::from_micros(row.get(2)?).ok_or_else(|| bad(2))?,
            failure: row.get::<_, Option<String>>(3)?.map(|why| safe(&why)),
            is_unreachable: row.get::<_, Option<bool>>(4)?.unwrap_or(false),
            now: now.and_then(Moment::from_micros),
        })
    }

    pub(super) fn number(&self, id: i64) -> usize {
        self.sources.iter().position(|source| source.id == id).unwrap_or(0)
    }

    /// The text with a number.
    pub(super) fn string(&self, id: i64) -> Option<Arc<str>> {
        if let Some(known) = self.strings.borrow().get(&id) {
            return Some(Arc::clone(known));
        }
        let mut select = self.connection.prepare_cached("SELECT text FROM string WHERE id = ?1").ok()?;
        let text: Arc<str> = select.query_row([id], |row| row.get::<_, String>(0)).ok()?.into();
        self.strings.borrow_mut().insert(id, Arc::clone(&text));
        Some(text)
    }

    pub(super) fn moment(&self, micros: i64) -> Result<Moment, RecordingError> {
        Moment::from_micros(micros).ok_or_else(|| self.damaged("a time is outside the years 1 to 9999"))
    }

    pub(super) fn damaged(&self, why: &str) -> RecordingError {
        RecordingError::damaged(&self.path, why)
    }

    pub(super) fn read<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, RecordingError> {
        let all = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare_cached(sql)?.query_map(params, row)?.collect()
        };
        all().map_err(|error| self.explain(&error))
    }

    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, RecordingError> {
        let one = || self.connection.prepare_cached(sql)?.query_row(params, row).optional();
        one().map_err(|error| self.explain(&error))
    }

    /// A table or column that is missing, or a value of the wrong type, is damage.
    fn explain(&self, error: &rusqlite::Error) -> RecordingError {
        match RecordingError::of(&self.path, error) {
            RecordingError::Failed { why, .. } => self.damaged(&why),
            other => other,
        }
    }
}

const FRAMES: &str = "SELECT id, source, at, failure, unreachable, \
     (SELECT max(now) FROM snapshot WHERE frame = frame.id) FROM frame";

/// The usual time between two frames: their median.
fn usual_step(frames: &[&Frame]) -> Span {
    let mut steps: Vec<Span> = frames.windows(2).map(|two| two[1].at.since(two[0].at)).collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(Span::ZERO)
}
