//! The rows of claims, sessions, silences and texts.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::super::row_text::key_text;
use super::super::silence::{Ending, OpenSilence};
use super::super::tracked::{NewClaim, NewSession, Rows, written};
use crate::domain::board_id::BoardId;
use crate::domain::claim::Claim;
use crate::domain::time::{Moment, Span};

/// So many texts are remembered; a text that is forgotten is written again, which does no harm.
const REMEMBERED: usize = 50_000;

/// The numbers of texts that were written.
#[derive(Debug, Default)]
pub(super) struct Strings(HashMap<String, i64>);

pub(super) struct RowWriter<'a> {
    pub connection: &'a Connection,
    pub strings: &'a mut Strings,
    pub floor: Span,
}

impl RowWriter<'_> {
    /// The number of a text.
    pub(super) fn string(&mut self, text: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.strings.0.get(text) {
            return Ok(*id);
        }
        if self.strings.0.len() >= REMEMBERED {
            self.strings.0.clear();
        }
        self.connection.prepare_cached("INSERT INTO string (text) VALUES (?1)")?.execute([text])?;
        let id = self.connection.last_insert_rowid();
        self.strings.0.insert(text.into(), id);
        Ok(id)
    }

    pub(super) fn optional(&mut self, text: Option<&str>) -> rusqlite::Result<Option<i64>> {
        text.map(|text| self.string(text)).transpose()
    }

    /// The number of a board, which is new if it was not seen before.
    pub(super) fn board(&mut self, source: i64, id: &BoardId) -> rusqlite::Result<i64> {
        let names = params![source, id.profile(), id.board()];
        let find = "SELECT id FROM board WHERE source = ?1 AND profile = ?2 AND board = ?3";
        if let Some(known) = self.connection.query_row(find, names, |row| row.get(0)).optional()? {
            return Ok(known);
        }
        self.connection.execute("INSERT INTO board (source, profile, board) VALUES (?1, ?2, ?3)", names)?;
        Ok(self.connection.last_insert_rowid())
    }

    /// A silence that goes on when the recording ends.
    pub(super) fn leave_open(&mut self, silence: Option<&OpenSilence>) -> rusqlite::Result<()> {
        match silence.and_then(|silence| silence.id.map(|id| (id, silence))) {
            Some((id, silence)) => self.close_silence(id, silence, None),
            None => Ok(()),
        }
    }
}

impl Rows for RowWriter<'_> {
    type Error = rusqlite::Error;

    fn insert_claim(&mut self, new: &NewClaim<'_>) -> rusqlite::Result<i64> {
        let parts = written(new.claim);
        let holder = self.optional(parts.holder.as_deref())?;
        let kind = self.optional(parts.kind.as_deref())?;
        let body = self.string(&parts.body)?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO claim (board, key, holder, kind, claimed_at, beat_at, until_at, session, body, worst, first) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?;
        insert.execute(params![
            new.board,
            parts.key,
            holder,
            kind,
            parts.claimed_at,
            new.moving.beat,
            new.moving.end,
            new.session,
            body,
            new.moving.worst,
            new.first
        ])?;
        Ok(self.connection.last_insert_rowid())
    }

    fn close_claim(&mut self, id: i64, last: i64, ending: Ending) -> rusqlite::Result<()> {
        let mut close =
            self.connection.prepare_cached("UPDATE claim SET last = ?2, ending = ?3 WHERE id = ?1")?;
        close.execute(params![id, last, ending.as_str()]).map(drop)
    }

    fn insert_session(&mut self, new: &NewSession<'_>) -> rusqlite::Result<i64> {
        let holder = self.string(new.holder)?;
        let body = self.string(&new.body)?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO session (board, holder, beat_at, stale_at, body, first) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        insert.execute(params![new.board, holder, new.moving.beat, new.moving.end, body, new.first])?;
        Ok(self.connection.last_insert_rowid())
    }

    fn close_session(&mut self, id: i64, last: i64) -> rusqlite::Result<()> {
        let mut close = self.connection.prepare_cached("UPDATE session SET last = ?2 WHERE id = ?1")?;
        close.execute(params![id, last]).map(drop)
    }

    fn insert_silence(&mut self, board: i64, claim: &Claim, silence: &OpenSilence) -> rusqlite::Result<i64> {
        let holder = self.optional(claim.holder.as_deref())?;
        let kind = self.optional(claim.kind.as_deref())?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO silence (board, key, holder, kind, claimed_at, sign, first, from_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        insert.execute(params![
            board,
            key_text(&claim.key),
            holder,
            kind,
            claim.claimed_at.at().map(Moment::micros),
            silence.sign.micros(),
            silence.first,
            silence.from.micros()
        ])?;
        Ok(self.connection.last_insert_rowid())
    }

    fn close_silence(
        &mut self,
        id: i64,
        silence: &OpenSilence,
        end: Option<(Ending, Moment)>,
    ) -> rusqlite::Result<()> {
        let mut close = self.connection.prepare_cached(
            "UPDATE silence SET last = ?2, to_at = ?3, next_at = ?4, ending = ?5, session_beat = ?6, \
             session_silent = ?7 WHERE id = ?1",
        )?;
        close
            .execute(params![
                id,
                silence.last,
                silence.to.micros(),
                end.map(|(_, next)| next.micros()),
                end.map(|(ending, _)| ending.as_str()),
                silence.session.beat().map(Moment::micros),
                silence.session.is_silent(silence.to, self.floor)
            ])
            .map(drop)
    }

    fn is_long(&self, silence: &OpenSilence) -> bool {
        silence.is_longer_than(self.floor)
    }
}
