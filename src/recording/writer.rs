//! Writes a recording: one transaction for every poll, so that a crash loses at most one frame.

mod rows;
mod trim;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::board_text::{Notes, details_text, nature_text, reasons_text};
use super::cause_text::causes_text;
use super::encoding::{counts, keyframe, push_change};
use super::event_text::event_text;
use super::schema::{self, Header, TABLES};
use super::silence::Ending;
use super::tracked::{FrameOf, TrackedBoard};
use super::{APPLICATION_ID, Pseudonyms, RecordingError, VERSION};
use crate::domain::board_id::BoardId;
use crate::domain::cause::Cause;
use crate::domain::claim::Claim;
use crate::domain::detail::{Horizon, Whole};
use crate::domain::snapshot::{BoardSnapshot, Snapshot};
use crate::domain::time::{Moment, Span};
use crate::domain::value::percent;
use crate::events::{Batching, Coverage, Event, EventKind, batched};
use rows::{RowWriter, Strings};

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

#[derive(Debug)]
struct TrackedSource {
    id: i64,
    boards: BTreeMap<BoardId, TrackedBoard>,
    /// The last frame in which it could be read.
    last_good: i64,
    since_keyframe: Option<u32>,
    causes: String,
    horizon: Vec<u8>,
    fingerprint: Option<String>,
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
            self.sources.push(TrackedSource::new(id));
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
        let RecordingWriter { connection, sources, next_frame, options, .. } = self;
        let Some(tracked) = sources.get(source) else { return Ok(()) };
        let transaction = connection.transaction()?;
        transaction.execute(
            "INSERT INTO frame (id, source, at, failure, unreachable) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![*next_frame, tracked.id, at.micros(), why, is_unreachable],
        )?;
        let events = masked(options.pseudonyms.as_ref(), events);
        insert_events(&transaction, *next_frame, tracked.id, at, &events)?;
        transaction.commit()?;
        *next_frame += 1;
        Ok(())
    }

    fn try_poll(&mut self, source: usize, at: Moment, poll: &PollSeen<'_>) -> rusqlite::Result<()> {
        let RecordingWriter { connection, sources, next_frame, options, strings, .. } = self;
        let Some(tracked) = sources.get_mut(source) else { return Ok(()) };
        let frame = *next_frame;
        let transaction = connection.transaction()?;
        let mut moved = Vec::new();
        let mut rows = RowWriter { connection: &transaction, strings, floor: options.silence_floor };
        if tracked.fingerprint.as_deref() != Some(poll.fingerprint) {
            transaction.execute(
                "UPDATE source SET fingerprint = ?2 WHERE id = ?1",
                params![tracked.id, poll.fingerprint],
            )?;
            tracked.fingerprint = Some(poll.fingerprint.into());
        }
        let pseudonyms = options.pseudonyms.as_ref();
        let events = masked(pseudonyms, poll.events);
        let told = told_endings(&events);
        for snapshot in poll.snapshots {
            insert_snapshot(&mut rows, frame, snapshot, poll.warnings)?;
            for board in &snapshot.boards {
                let id = BoardId::new(&snapshot.profile, &board.board);
                let known = tracked.board(&mut rows, &id)?;
                let whole =
                    poll.whole.iter().find(|one| one.profile == snapshot.profile && one.board == board.board);
                let coverage = Coverage::of(board, whole);
                insert_board(&mut rows, known, frame, board, coverage)?;
                let place = format!("{}/{}/", percent(&snapshot.profile), percent(&board.board));
                let at = FrameOf { frame, before: tracked.last_good, now: snapshot.now };
                let mut ending = |claim: &Claim| {
                    let address = format!("{place}{}", claim.key.address());
                    match told.get(address.as_str()) {
                        Some(ending) => *ending,
                        None if coverage == Coverage::Whole => Ending::Gone,
                        None => Ending::Left,
                    }
                };
                let known = tracked.boards.get_mut(&id);
                let Some(known) = known else { continue };
                for claim in claims_of(board, whole) {
                    let masked = pseudonyms.map(|pseudonyms| pseudonyms.claim(claim.0));
                    let shown = masked.as_ref().unwrap_or(claim.0);
                    known.observe(shown, claim.1, at, &mut rows, &mut moved)?;
                }
                known.close_unseen(at, &mut rows, &mut ending)?;
            }
        }
        tracked.close_missing_boards(frame, poll.snapshots, &mut rows)?;
        let causes = match pseudonyms {
            Some(pseudonyms) => causes_text(&pseudonyms.causes(poll.causes)),
            None => causes_text(poll.causes),
        };
        if causes != tracked.causes {
            transaction
                .execute("INSERT INTO cause VALUES (?1, ?2, ?3)", params![tracked.id, frame, causes])?;
            tracked.causes = causes;
        }
        let mut changes = Vec::new();
        moved.into_iter().for_each(|moved| push_change(&mut changes, moved));
        let horizon = poll.horizon.map(horizon_blob).filter(|blob| *blob != tracked.horizon);
        transaction
            .prepare_cached(
                "INSERT INTO frame (id, source, at, horizon, changes) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                frame,
                tracked.id,
                at.micros(),
                horizon,
                (!changes.is_empty()).then_some(changes)
            ])?;
        if let Some(horizon) = horizon {
            tracked.horizon = horizon;
        }
        insert_events(&transaction, frame, tracked.id, at, &events)?;
        let is_key = tracked.since_keyframe.is_none_or(|since| since + 1 >= KEYFRAME);
        if is_key {
            tracked.insert_keyframe(&transaction, frame)?;
        }
        transaction.commit()?;
        tracked.since_keyframe = Some(if is_key { 0 } else { tracked.since_keyframe.unwrap_or(0) + 1 });
        tracked.last_good = frame;
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

impl TrackedSource {
    fn new(id: i64) -> TrackedSource {
        TrackedSource {
            id,
            boards: BTreeMap::new(),
            last_good: 0,
            since_keyframe: None,
            causes: "[]".into(),
            horizon: Vec::new(),
            fingerprint: None,
        }
    }

    fn board(&mut self, rows: &mut RowWriter<'_>, id: &BoardId) -> rusqlite::Result<&mut TrackedBoard> {
        let source = self.id;
        match self.boards.entry(id.clone()) {
            std::collections::btree_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::btree_map::Entry::Vacant(place) => {
                let number = rows.board(source, id)?;
                Ok(place.insert(TrackedBoard::new(number)))
            }
        }
    }

    /// A board whose table is gone has no counts any more.
    fn close_missing_boards(
        &mut self,
        frame: i64,
        snapshots: &[Snapshot],
        rows: &mut RowWriter<'_>,
    ) -> rusqlite::Result<()> {
        let is_here = |id: &BoardId| {
            snapshots.iter().any(|snapshot| {
                snapshot.profile == id.profile()
                    && snapshot.boards.iter().any(|board| board.board == id.board())
            })
        };
        let now = snapshots.iter().map(|snapshot| snapshot.now).max();
        let before = self.last_good;
        for (id, board) in &mut self.boards {
            let (false, true, Some(now)) = (is_here(id), board.poll.is_some(), now) else { continue };
            rows.connection.execute(
                "INSERT INTO board_poll VALUES (?1, ?2, 'gone', 0, 0, 0, 0, 0, 0, 0, '[]', NULL)",
                params![board.id, frame],
            )?;
            board.poll = None;
            board.close_unseen(FrameOf { frame, before, now }, rows, &mut |_| Ending::Left)?;
        }
        Ok(())
    }

    fn insert_keyframe(&self, connection: &Connection, frame: i64) -> rusqlite::Result<()> {
        let (mut claims, mut sessions) = (BTreeMap::new(), BTreeMap::new());
        self.boards.values().for_each(|board| board.moving(&mut claims, &mut sessions));
        connection.execute(
            "INSERT INTO keyframe VALUES (?1, ?2, ?3, ?4, (SELECT coalesce(max(id), 0) FROM claim), \
             (SELECT coalesce(max(id), 0) FROM session))",
            params![self.id, frame, keyframe(&claims), keyframe(&sessions)],
        )?;
        Ok(())
    }
}

/// The claims that a poll read of a board, and whether each is among the worst.
fn claims_of<'a>(
    board: &'a BoardSnapshot,
    whole: Option<&'a Whole>,
) -> impl Iterator<Item = (&'a Claim, bool)> {
    let worst: std::collections::HashSet<String> = match whole {
        Some(_) => board.worst.iter().map(|judged| judged.claim.key.address()).collect(),
        None => std::collections::HashSet::new(),
    };
    let others = whole.into_iter().flat_map(|whole| &whole.claims);
    let others = others.filter(move |judged| !worst.contains(&judged.claim.key.address()));
    board.worst.iter().map(|judged| (&judged.claim, true)).chain(others.map(|judged| (&judged.claim, false)))
}

/// What the events of a poll tell about claims that it no longer shows.
fn told_endings(events: &[Event]) -> HashMap<&str, Ending> {
    let ending = |event: &Event| match event.kind() {
        EventKind::Renewed | EventKind::Retried => Some(Ending::Renewed),
        EventKind::Finished | EventKind::Recovered => Some(Ending::Gone),
        EventKind::ChangedHands => Some(Ending::ChangedHands),
        EventKind::Left => Some(Ending::Left),
        _ => None,
    };
    let about = |event: &'_ Event| !event.address().is_empty();
    events
        .iter()
        .filter(|event| about(event))
        .filter_map(|event| ending(event).map(|ending| (event.address(), ending)))
        .collect()
}

fn insert_snapshot(
    rows: &mut RowWriter<'_>,
    frame: i64,
    snapshot: &Snapshot,
    warnings: &[String],
) -> rusqlite::Result<()> {
    let notes = Notes::of(snapshot, warnings);
    let notes = match notes == Notes::default() {
        true => None,
        false => Some(rows.string(&super::row_text::text(&notes))?),
    };
    let profile = rows.string(&snapshot.profile)?;
    rows.connection.prepare_cached("INSERT INTO snapshot VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(
        params![
            frame,
            profile,
            snapshot.now.micros(),
            snapshot.clock_offset.as_micros(),
            snapshot.poll_cost.as_micros(),
            notes
        ],
    )?;
    Ok(())
}

fn insert_board(
    rows: &mut RowWriter<'_>,
    known: &mut TrackedBoard,
    frame: i64,
    board: &BoardSnapshot,
    coverage: Coverage,
) -> rusqlite::Result<()> {
    let is_known = known
        .nature
        .as_ref()
        .is_some_and(|nature| Arc::ptr_eq(nature, &board.nature) || **nature == *board.nature);
    if !is_known {
        rows.connection.execute(
            "INSERT INTO nature VALUES (?1, ?2, ?3)",
            params![known.id, frame, nature_text(&board.nature)],
        )?;
    }
    known.nature = Some(Arc::clone(&board.nature));
    let (all, reasons, details) = (board.counts, reasons_text(&board.reasons), details_text(board));
    let written = format!("{} {all:?} {reasons} {details}", coverage.as_str());
    if known.poll.as_ref() == Some(&written) {
        return Ok(());
    }
    let mut insert = rows.connection.prepare_cached(
        "INSERT INTO board_poll VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    insert.execute(params![
        known.id,
        frame,
        coverage.as_str(),
        number(all.total),
        number(all.healthy),
        number(all.expiring),
        number(all.stale),
        number(all.orphaned),
        number(all.unknown),
        number(all.runaway),
        reasons,
        (details != "{}").then_some(details)
    ])?;
    known.poll = Some(written);
    Ok(())
}

/// The events as they are written.
fn masked<'a>(pseudonyms: Option<&Pseudonyms>, events: &'a [Event]) -> Cow<'a, [Event]> {
    match pseudonyms {
        Some(pseudonyms) => events.iter().map(|event| pseudonyms.event(event)).collect(),
        None => Cow::Borrowed(events),
    }
}

fn insert_events(
    connection: &Connection,
    frame: i64,
    source: i64,
    at: Moment,
    events: &[Event],
) -> rusqlite::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO event (frame, source, at, name, body, shown) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    // Of a thousand claims that a dead host leaves, the claims themselves are recorded; one event is enough.
    for event in batched(events.to_vec(), &Batching::default()) {
        let (body, shown) = event_text(&event);
        insert.execute(params![frame, source, at.micros(), event.kind().name(), body, shown])?;
    }
    Ok(())
}

fn horizon_blob(horizon: &Horizon) -> Vec<u8> {
    let sizes = [horizon.minutes.len() as u64, horizon.moments.len() as u64, u64::from(horizon.at_least)];
    counts(sizes.into_iter().chain(horizon.minutes.iter().copied()).chain(horizon.moments.iter().copied()))
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
