//! Writes a recording: one transaction for every poll, so that a crash loses at most one frame.

mod poll;
mod rows;
mod tracked_source;
mod trim;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::schema::{self, Header, TABLES};
use super::{APPLICATION_ID, Pseudonyms, RecordingError, VERSION};
use crate::domain::cause::Cause;
use crate::domain::detail::{Horizon, Whole};
use crate::domain::snapshot::Snapshot;
use crate::domain::time::{Moment, Span};
use crate::events::Event;
use poll::{insert_events, masked};
use rows::{RowWriter, Strings};
use tracked_source::TrackedSource;

/// So many frames of a source are between two keyframes.
pub(super) const KEYFRAME: u32 = 300;

/// How a recording is made.
#[derive(Debug, Clone)]
pub struct RecordingOptions {
    /// Silences of this length and longer are kept.
    pub silence_floor: Span,
    /// Older frames are deleted.
    pub keep: Option<Span>,
    /// Ids and holders are replaced by pseudonyms.
    pub pseudonyms: Option<Pseudonyms>,
}

impl Default for RecordingOptions {
    fn default() -> RecordingOptions {
        RecordingOptions { silence_floor: Span::seconds(60), keep: None, pseudonyms: None }
    }
}

/// A source as it is known when a recording begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceIdentity {
    /// What events and the trail call it.
    pub label: String,
    pub engine: String,
    /// What the screen calls it.
    pub shown: String,
    pub badge: Option<String>,
}

/// One poll that came back, with everything that was read beside it.
#[derive(Debug, Clone, Copy)]
pub struct PollSeen<'a> {
    pub snapshots: &'a [Snapshot],
    /// The boards that were read whole, as they are now.
    pub whole: &'a [Whole],
    pub horizon: Option<&'a Horizon>,
    pub warnings: &'a [String],
    pub causes: &'a [Cause],
    pub events: &'a [Event],
    /// Names the database as the trail does.
    pub fingerprint: &'a str,
}

/// The file and what was last written about every source.
#[derive(Debug)]
pub struct RecordingWriter {
    path: PathBuf,
    connection: Connection,
    options: RecordingOptions,
    strings: Strings,
    sources: Vec<TrackedSource>,
    next_frame: i64,
    trimmed_at: Option<Moment>,
    trims: u32,
}

impl RecordingWriter {
    /// Begins a recording, or continues one.
    pub fn create(
        path: &Path,
        sources: &[SourceIdentity],
        options: RecordingOptions,
        at: Moment,
    ) -> Result<RecordingWriter, RecordingError> {
        let failed = |error: rusqlite::Error| RecordingError::of(path, &error);
        let connection = schema::open_to_write(path)?;
        match schema::header(&connection, path)? {
            Header::Empty => {
                let start = format!(
                    "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; {TABLES} \
                     PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
                );
                connection.execute_batch(&start).map_err(failed)?;
            }
            Header::Recording => connection.execute_batch("PRAGMA journal_mode = WAL").map_err(failed)?,
            Header::Newer(version) => return Err(RecordingError::Newer { path: path.into(), version }),
            Header::Other => return Err(RecordingError::NotARecording { path: path.into() }),
        }
        connection
            .execute_batch(
                "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -2048",
            )
            .map_err(failed)?;
        let mut writer = RecordingWriter {
            path: path.into(),
            connection,
            options,
            strings: Strings::default(),
            sources: Vec::new(),
            next_frame: 1,
            trimmed_at: None,
            trims: 0,
        };
        writer.start(sources, at).map_err(failed)?;
        Ok(writer)
    }

    /// Writes what is known before the first poll, and closes what an earlier run left open.
    fn start(&mut self, sources: &[SourceIdentity], at: Moment) -> rusqlite::Result<()> {
        let floor = self.options.silence_floor.as_micros();
        let transaction = self.connection.transaction()?;
        let last: Option<i64> = transaction.query_row("SELECT max(id) FROM frame", [], |row| row.get(0))?;
        self.next_frame = last.unwrap_or(0) + 1;
        let good = "(SELECT max(f.id) FROM frame f WHERE f.failure IS NULL AND f.source = \
                    (SELECT source FROM board WHERE board.id = board))";
        for table in ["claim", "session", "silence"] {
            transaction.execute(&format!("UPDATE {table} SET last = {good} WHERE last IS NULL"), [])?;
        }
        transaction.execute(
            "UPDATE silence SET to_at = (SELECT max(now) FROM snapshot WHERE frame = last) WHERE to_at IS NULL",
            [],
        )?;
        let mut property = transaction.prepare(
            "INSERT INTO property VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value",
        )?;
        property.execute(params!["claimtop", env!("CARGO_PKG_VERSION")])?;
        property.execute(params!["silence_floor", floor])?;
        if last.is_none() {
            property.execute(params!["started_at", at.micros()])?;
        }
        if self.options.pseudonyms.is_some() {
            property.execute(params!["hashed_ids", 1])?;
        }
        drop(property);
        transaction.execute("DELETE FROM property WHERE name = 'finished_at'", [])?;
        for source in sources {
            let SourceIdentity { label, engine, shown, badge } = source;
            let known = transaction
                .query_row(
                    "SELECT id FROM source WHERE label = ?1 AND engine = ?2",
                    params![label, engine],
                    |row| row.get(0),
                )
                .optional()?;
            let id = match known {
                Some(id) => id,
                None => {
                    transaction.execute(
                        "INSERT INTO source (label, engine, shown, badge) VALUES (?1, ?2, ?3, ?4)",
                        params![label, engine, shown, badge],
                    )?;
                    transaction.last_insert_rowid()
                }
            };
            self.sources.push(TrackedSource::new(id, label));
        }
        transaction.commit()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records a poll of a source, whose number is that in `create`.
    pub fn record_poll(
        &mut self,
        source: usize,
        at: Moment,
        poll: &PollSeen<'_>,
    ) -> Result<(), RecordingError> {
        let path = self.path.clone();
        let recorded = self.try_poll(source, at, poll);
        self.after(at, recorded).map_err(|error| RecordingError::of(&path, &error))
    }

    /// Records that a poll failed: a gap is a frame too.
    pub fn record_failure(
        &mut self,
        source: usize,
        at: Moment,
        why: &str,
        is_unreachable: bool,
        events: &[Event],
    ) -> Result<(), RecordingError> {
        let path = self.path.clone();
        let recorded = self.try_failure(source, at, why, is_unreachable, events);
        self.after(at, recorded).map_err(|error| RecordingError::of(&path, &error))
    }

    fn after(&mut self, at: Moment, recorded: rusqlite::Result<()>) -> rusqlite::Result<()> {
        recorded?;
        self.trim_if_due(at)
    }

    fn try_failure(
        &mut self,
        source: usize,
        at: Moment,
        why: &str,
        is_unreachable: bool,
        events: &[Event],
    ) -> rusqlite::Result<()> {
        let RecordingWriter { connection, sources, next_frame, options, strings, .. } = self;
        let Some(tracked) = sources.get(source) else { return Ok(()) };
        let transaction = connection.transaction()?;
        transaction.execute(
            "INSERT INTO frame (id, source, at, failure, unreachable) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![*next_frame, tracked.id, at.micros(), why, is_unreachable],
        )?;
        let events = masked(options.pseudonyms.as_ref(), events);
        let mut rows = RowWriter { connection: &transaction, strings, floor: options.silence_floor };
        insert_events(&mut rows, *next_frame, tracked, at, &events)?;
        transaction.commit()?;
        *next_frame += 1;
        Ok(())
    }

    /// Ends the recording: what was being followed is closed, and the file is a single one again.
    pub fn finish(mut self, at: Moment) -> Result<(), RecordingError> {
        let path = self.path.clone();
        self.try_finish(at).map_err(|error| RecordingError::of(&path, &error))
    }

    fn try_finish(&mut self, at: Moment) -> rusqlite::Result<()> {
        let RecordingWriter { connection, sources, options, strings, .. } = self;
        let transaction = connection.transaction()?;
        let mut rows = RowWriter { connection: &transaction, strings, floor: options.silence_floor };
        for board in sources.iter().flat_map(|source| source.boards.values()) {
            for claim in board.claims.values() {
                transaction
                    .prepare_cached("UPDATE claim SET last = ?2 WHERE id = ?1")?
                    .execute(params![claim.id, claim.seen])?;
                rows.leave_open(claim.silence.as_ref())?;
            }
            for session in board.sessions.values() {
                transaction
                    .prepare_cached("UPDATE session SET last = ?2 WHERE id = ?1")?
                    .execute(params![session.id, session.seen])?;
            }
        }
        transaction.execute(
            "INSERT INTO property VALUES ('finished_at', ?1) ON CONFLICT DO UPDATE SET value = excluded.value",
            [at.micros()],
        )?;
        transaction.commit()?;
        connection.flush_prepared_statement_cache();
        // A reader may have the log open: then the next writer, or SQLite itself, removes it.
        connection
            .execute_batch("PRAGMA journal_mode = DELETE")
            .or_else(|_| connection.execute_batch("PRAGMA wal_checkpoint"))
    }
}
