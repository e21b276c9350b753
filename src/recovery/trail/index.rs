//! Where the lines of an act stand, and which acts are open, up to some line: so that nobody has to read the past.
//!
//! An SQLite file beside the journal, derived from it alone: it is made again if it is missing, damaged, or tells
//! of another journal. It lags behind; what it does not cover yet is read from the journal.

use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::fs::{self, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::anchor::Anchor;
use super::chain_line::ChainLine;
use super::error::TrailError;
use super::journal::Journal;
use super::open_set::OpenSet;
use super::outline::{Outline, base};
use super::ownership;
use super::segment::{LinePlace, Segments};

pub(super) const NAME: &str = "journal.index";
const VERSION: i64 = 1;
/// How much of the journal is covered in one transaction.
const STRIDE: usize = 64 << 20;
const TABLES: &str = "
    CREATE TABLE line (key BLOB NOT NULL, seq INTEGER NOT NULL, segment INTEGER NOT NULL, offset INTEGER NOT NULL,
      PRIMARY KEY (key, seq)) WITHOUT ROWID;
    CREATE TABLE open (seq INTEGER PRIMARY KEY, key TEXT NOT NULL, segment INTEGER NOT NULL, offset INTEGER NOT NULL);
    CREATE TABLE covered (segment INTEGER NOT NULL, offset INTEGER NOT NULL, end INTEGER NOT NULL,
      seq INTEGER NOT NULL, hash TEXT NOT NULL);
    PRAGMA user_version = 1;";

/// The last line that the index tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CoveredLine {
    pub(super) place: LinePlace,
    /// Where the line after it begins.
    pub(super) next: LinePlace,
    pub(super) anchor: Anchor,
}

#[derive(Debug)]
pub(super) struct JournalIndex {
    connection: Connection,
}

/// What came of opening an index.
enum OpenedIndex {
    Ready(JournalIndex),
    /// It is missing or damaged, or written by another version.
    Unusable,
    /// Somebody else writes to it.
    Busy,
}

impl JournalIndex {
    pub(super) fn path(folder: &Path) -> PathBuf {
        folder.join(NAME)
    }

    /// Opens the index to read it; nothing if there is none that can be used.
    pub(super) fn read(folder: &Path) -> Result<Option<JournalIndex>, TrailError> {
        Ok(match JournalIndex::open(folder, OpenFlags::SQLITE_OPEN_READ_ONLY)? {
            OpenedIndex::Ready(index) => Some(index),
            OpenedIndex::Unusable | OpenedIndex::Busy => None,
        })
    }

    /// Opens the index to add to it. One that is missing or damaged is made anew.
    pub(super) fn write(folder: &Path) -> Result<Option<JournalIndex>, TrailError> {
        match JournalIndex::open(folder, OpenFlags::SQLITE_OPEN_READ_WRITE)? {
            OpenedIndex::Ready(index) => return Ok(Some(index)),
            OpenedIndex::Busy => return Ok(None),
            OpenedIndex::Unusable => {}
        }
        // Without an index everything is found by reading the journal.
        Ok(JournalIndex::make(folder).ok())
    }

    fn make(folder: &Path) -> rusqlite::Result<JournalIndex> {
        let path = JournalIndex::path(folder);
        JournalIndex::remove(folder).map_err(failed)?;
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
        let mut connection = Connection::open_with_flags(&path, flags(OpenFlags::SQLITE_OPEN_READ_WRITE))?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(TABLES)?;
        transaction.commit()?;
        Ok(JournalIndex { connection })
    }

    fn open(folder: &Path, access: OpenFlags) -> Result<OpenedIndex, TrailError> {
        let path = JournalIndex::path(folder);
        let Ok(metadata) = fs::metadata(&path) else { return Ok(OpenedIndex::Unusable) };
        ownership::check(&path, &metadata)?;
        let open = || -> rusqlite::Result<Option<JournalIndex>> {
            let connection = Connection::open_with_flags(&path, flags(access))?;
            connection.busy_timeout(Duration::from_secs(2))?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            covered(&connection)?;
            Ok((version == VERSION).then_some(JournalIndex { connection }))
        };
        Ok(match open() {
            Ok(Some(index)) => OpenedIndex::Ready(index),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => OpenedIndex::Busy,
            Ok(None) | Err(_) => OpenedIndex::Unusable,
        })
    }

    /// Removes the files of the index.
    fn remove(folder: &Path) -> io::Result<()> {
        for name in [NAME.to_owned(), format!("{NAME}-journal")] {
            match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// From now on until it is dropped, it shows the same: what others add to it waits. Whoever looks at the journal
    /// after that finds at least what the index knows.
    pub(super) fn hold(self) -> Option<JournalIndex> {
        self.connection.execute_batch("BEGIN").ok()?;
        self.covered()?;
        Some(self)
    }

    pub(super) fn covered(&self) -> Option<CoveredLine> {
        covered(&self.connection).ok().flatten()
    }

    /// The last line it tells of and the lines that are open then.
    pub(super) fn state(&self) -> Option<(CoveredLine, OpenSet)> {
        self.connection.execute_batch("BEGIN").ok()?;
        let state = self.covered().and_then(|covered| Some((covered, self.open_set().ok()?)));
        self.connection.execute_batch("COMMIT").ok()?;
        state
    }

    /// How far the index can be used with this journal: the place after the last line that both know.
    pub(super) fn fits(&self, segments: &Segments) -> Option<LinePlace> {
        let covered = self.covered()?;
        is_there(&covered, segments).then_some(covered.next)
    }

    /// The open lines among those that are covered.
    pub(super) fn open_set(&self) -> rusqlite::Result<OpenSet> {
        open_set(&self.connection)
    }

    /// Where the lines of an act, a transaction or a bulk stand, among those that are covered.
    pub(super) fn places(&self, id: &str) -> rusqlite::Result<Vec<LinePlace>> {
        let sql = "SELECT segment, offset FROM line WHERE key = ?1 ORDER BY seq";
        let mut statement = self.connection.prepare_cached(sql)?;
        let places = statement.query_map([key(base(id))], |row| place(row, 0))?;
        places.collect()
    }

    /// Whether the index tells where this line stands, under each of its names.
    pub(super) fn tells(&self, outline: &Outline, place: LinePlace) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM line WHERE key = ?1 AND seq = ?2 AND segment = ?3 AND offset = ?4";
        let mut statement = self.connection.prepare_cached(sql)?;
        for name in outline.keys() {
            let (seq, offset) = (number(outline.seq), number(place.offset));
            if !statement.exists(params![key(name), seq, place.segment, offset])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many lines it tells of up to this number, each under each of its names.
    pub(super) fn count(&self, up_to: u64) -> rusqlite::Result<u64> {
        let sql = "SELECT count(*) FROM line WHERE seq <= ?1";
        self.connection.query_row(sql, [number(up_to)], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
    }

    /// Covers the journal up to its end.
    pub(super) fn advance(&mut self, journal: &Journal) -> rusqlite::Result<()> {
        loop {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Looked at after the index, or it could be shorter than the index knows it.
            let segments = &journal.segments().map_err(io::Error::other).map_err(failed)?;
            let reached_end = stride(&transaction, segments)?;
            // The index must not know what the disk could still lose.
            if let Some(last) = segments.0.last() {
                last.open().and_then(|file| file.sync_data()).map_err(failed)?;
            }
            transaction.commit()?;
            if reached_end {
                return Ok(());
            }
        }
    }
}

/// Covers the next piece of the journal; whether that was the last.
fn stride(transaction: &Transaction<'_>, segments: &Segments) -> rusqlite::Result<bool> {
    let mut last = covered(transaction)?.filter(|covered| is_there(covered, segments));
    if last.is_none() {
        transaction.execute_batch("DELETE FROM line; DELETE FROM open; DELETE FROM covered")?;
    }
    let mut open = open_set(transaction)?;
    let (mut read, mut problem) = (0, Ok(()));
    let mut insert = transaction
        .prepare("INSERT OR REPLACE INTO line (key, seq, segment, offset) VALUES (?1, ?2, ?3, ?4)")?;
    let from = last.as_ref().map_or_else(LinePlace::default, |covered| covered.next);
    let lines = segments.each_line(from, |place, line| {
        read += line.len();
        let Some(outline) = line.strip_suffix(b"\n").and_then(Outline::read) else {
            return ControlFlow::Continue(());
        };
        for name in outline.keys() {
            let row = params![key(name), number(outline.seq), place.segment, number(place.offset)];
            if let Err(error) = insert.execute(row) {
                problem = Err(error);
                return ControlFlow::Break(());
            }
        }
        open.apply(&outline, place);
        let next = LinePlace { offset: place.offset + line.len() as u64, ..place };
        last = Some(CoveredLine { place, next, anchor: outline.anchor() });
        if read < STRIDE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    lines.map_err(failed)?;
    problem?;
    drop(insert);
    close_settled(transaction, segments, &mut open)?;
    transaction.execute_batch("DELETE FROM open; DELETE FROM covered")?;
    for (seq, name, place) in open.iter() {
        transaction.execute(
            "INSERT INTO open (seq, key, segment, offset) VALUES (?1, ?2, ?3, ?4)",
            params![number(seq), name, place.segment, number(place.offset)],
        )?;
    }
    if let Some(CoveredLine { place, next, anchor }) = last {
        let (offset, end) = (number(place.offset), number(next.offset));
        transaction.execute(
            "INSERT INTO covered (segment, offset, end, seq, hash) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![place.segment, offset, end, number(anchor.count), anchor.head],
        )?;
    }
    Ok(read < STRIDE)
}

/// Takes out the transactions whose acts were all settled one by one.
fn close_settled(
    transaction: &Transaction<'_>,
    segments: &Segments,
    open: &mut OpenSet,
) -> rusqlite::Result<()> {
    for name in std::mem::take(&mut open.partly) {
        let mut statement =
            transaction.prepare_cached("SELECT segment, offset FROM line WHERE key = ?1 ORDER BY seq")?;
        let places: Vec<LinePlace> =
            statement.query_map([key(&name)], |row| place(row, 0))?.collect::<rusqlite::Result<_>>()?;
        if super::journal_view::open_among(segments, &places).map_err(failed)?.is_empty() {
            open.remove(&name);
        }
    }
    Ok(())
}

fn flags(access: OpenFlags) -> OpenFlags {
    access | OpenFlags::SQLITE_OPEN_NO_MUTEX
}

fn covered(connection: &Connection) -> rusqlite::Result<Option<CoveredLine>> {
    let sql = "SELECT segment, offset, end, seq, hash FROM covered";
    let read = |row: &rusqlite::Row<'_>| {
        let place = place(row, 0)?;
        let next = LinePlace { offset: row.get::<_, i64>(2)?.cast_unsigned(), ..place };
        let anchor = Anchor { count: row.get::<_, i64>(3)?.cast_unsigned(), head: row.get(4)? };
        Ok(CoveredLine { place, next, anchor })
    };
    connection.query_row(sql, [], read).optional()
}

/// Whether the line stands in the journal as the index has it.
pub(super) fn is_there(covered: &CoveredLine, segments: &Segments) -> bool {
    let line = segments.line_at(covered.place).ok().flatten();
    line.is_some_and(|line| {
        covered.place.offset + line.len() as u64 + 1 == covered.next.offset
            && ChainLine::head(&line).as_ref() == Some(&covered.anchor)
    })
}

fn open_set(connection: &Connection) -> rusqlite::Result<OpenSet> {
    let mut open = OpenSet::default();
    let mut statement =
        connection.prepare_cached("SELECT seq, key, segment, offset FROM open ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        open.insert(row.get::<_, i64>(0)?.cast_unsigned(), &row.get::<_, String>(1)?, place(row, 2)?);
    }
    Ok(open)
}

fn place(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<LinePlace> {
    Ok(LinePlace { segment: row.get(at)?, offset: row.get::<_, i64>(at + 1)?.cast_unsigned() })
}

/// A name takes less room as the number that it is.
fn key(name: &str) -> Vec<u8> {
    match uuid::Uuid::try_parse(name) {
        Ok(uuid) if uuid.hyphenated().to_string() == name => uuid.as_bytes().to_vec(),
        _ => name.as_bytes().to_vec(),
    }
}

fn number(number: u64) -> i64 {
    number.cast_signed()
}

fn failed(error: io::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
