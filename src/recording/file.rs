//! A recording as a whole: its sources, boards and frames.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::RecordingError;
use super::board_text::read_nature;
use super::schema::{self, Header};
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Nature;
use crate::domain::time::{Moment, Span};
use crate::domain::visible::safe;

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
