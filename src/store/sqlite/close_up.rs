//! What a screen asks beyond a poll: a page of a board, one claim with all its columns.

use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;

use super::image::read_row;
use super::keys::RowSql;
use super::reader::Reader;
use super::run::{bind_known, now_value};
use super::stream::stream;
use super::watch::Watch;
use crate::domain::board_id::BoardId;
use crate::domain::close_up::{Cursor, Examined, Page, PageRequest, Whole};
use crate::domain::snapshot::{Judged, Mark};
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::schema::Schema;
use crate::store::watched;

impl Reader {
    /// One page of a board.
    pub fn page(&mut self, request: &PageRequest) -> Result<Page, StoreError> {
        self.follow_the_path()?;
        self.in_one_transaction("reading a page", |reader, now, _| {
            let Some(watch) = reader.board_named(&request.profile, &request.board) else {
                return Ok(Page { claims: Vec::new(), now, is_first: true, is_last: true });
            };
            if watch.board.is_addressable() {
                page(&reader.connection, watch, request, now)
            } else {
                first_page(&reader.connection, watch, request, now)
            }
        })
    }

    /// Every board of at most `most` claims, read whole.
    pub fn whole(&mut self, most: usize) -> Result<Vec<Whole>, StoreError> {
        self.in_one_transaction("reading small boards", |reader, now, _| {
            let mut all = Vec::new();
            for watched in &reader.watched {
                for watch in &watched.boards {
                    if watch.snapshot_total() > most as u64 {
                        continue;
                    }
                    let mut claims = Vec::new();
                    stream(&reader.connection, &watch.board, &watch.reader, now, true, |judged| {
                        claims.push(judged);
                        claims.len() <= most
                    })?;
                    if claims.len() <= most {
                        let board = watch.board.name.clone();
                        all.push(Whole { profile: watched.name.clone(), board, claims });
                    }
                }
            }
            Ok(all)
        })
    }

    /// The claim in a row, with every column, if it is still the one with this id.
    pub fn examine(
        &mut self,
        profile: &str,
        board: &str,
        mark: &Mark,
        address: &str,
    ) -> Result<Option<Examined>, StoreError> {
        self.follow_the_path()?;
        self.in_one_transaction("looking at a claim", |reader, now, _| {
            let Some(watch) = reader.board_named(profile, board) else { return Ok(None) };
            let Some(rowid) = watch.number(mark) else { return Ok(None) };
            let claim = watch.fetch(&reader.connection, rowid, now, true)?;
            let Some(judged) = claim.filter(|judged| judged.claim.key.address() == address) else {
                return Ok(None);
            };
            let schema = super::schema::read(&reader.connection)?;
            let columns = match schema.table(&watch.board.table) {
                Some(table) => read_row(&reader.connection, table, rowid)?.map(|image| image.columns()),
                None => None,
            };
            let session = session_columns(&reader.connection, &schema, watch, &judged)?;
            Ok(Some(Examined { judged, columns: columns.unwrap_or_default(), session, now }))
        })
    }

    pub(super) fn board_named(&self, profile: &str, board: &str) -> Option<&Watch> {
        self.board(&BoardId::new(profile, board))
    }

    pub(super) fn board(&self, id: &BoardId) -> Option<&Watch> {
        Some(watched::find(&self.watched, id)?.1)
    }
}

/// Reads one row more than asked for, to know whether there are more.
fn page(
    connection: &Connection,
    watch: &Watch,
    request: &PageRequest,
    now: Moment,
) -> rusqlite::Result<Page> {
    let board = &watch.board;
    let mut values = vec![(":now".to_owned(), now_value(board, now))];
    let mut sql = watch.reader.select.clone();
    for (wanted, column, place) in [
        (&request.holder, board.holder.as_ref().map(|holder| &holder.text), ":holder"),
        (&request.kind, board.kind.as_ref(), ":kind"),
    ] {
        if let Some(wanted) = wanted {
            sql += &format!(" AND {} = {place}", column.map_or("NULL", String::as_str));
            values.push((place.into(), SqlValue::Text(wanted.clone())));
        }
    }
    let (from, order) = match &request.from {
        Cursor::First => (None, "ASC"),
        Cursor::From(mark) => (Some((">=", mark)), "ASC"),
        Cursor::After(mark) => (Some((">", mark)), "ASC"),
        Cursor::Before(mark) => (Some(("<", mark)), "DESC"),
        Cursor::Last => (None, "DESC"),
    };
    if let Some((how, mark)) = from {
        sql += &format!(" AND {}", watch.rows.lies(how, ":from"));
        values.extend(watch.number(mark).map(|row| (":from".into(), SqlValue::Integer(row))));
    }
    sql += &format!(" ORDER BY {} LIMIT {}", watch.rows.order(order), request.rows.saturating_add(1));
    let mut statement = connection.prepare_cached(&sql)?;
    bind_known(&mut statement, &values)?;
    let mut found = statement.raw_query();
    let mut claims = Vec::new();
    while let Some(row) = found.next()? {
        claims.push(watch.reader.read(row, board, now, true));
    }
    Ok(Page::of(request, claims, now))
}

/// A view has no order to page by: its beginning is all there is to see.
fn first_page(
    connection: &Connection,
    watch: &Watch,
    request: &PageRequest,
    now: Moment,
) -> rusqlite::Result<Page> {
    let mut claims = Vec::new();
    stream(connection, &watch.board, &watch.reader, now, true, |judged| {
        let claim = &judged.claim;
        let is = |wanted: &Option<String>, value: &Option<String>| wanted.is_none() || wanted == value;
        if is(&request.holder, &claim.holder) && is(&request.kind, &claim.kind) {
            claims.push(judged);
        }
        claims.len() < request.rows
    })?;
    Ok(Page { claims, now, is_first: true, is_last: true })
}

/// The columns of the holder's registry row.
fn session_columns(
    connection: &Connection,
    schema: &Schema,
    watch: &Watch,
    judged: &Judged,
) -> rusqlite::Result<Vec<(String, Value)>> {
    let (Some(registry), Some(holder)) = (&watch.board.registry, &judged.claim.holder) else {
        return Ok(Vec::new());
    };
    let Some(table) = schema.table(&registry.table) else { return Ok(Vec::new()) };
    let row = RowSql::sessions(registry).number();
    let sql = format!("SELECT {row} FROM {} WHERE {} = ?1", registry.from, registry.id.text);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([holder])?;
    match rows.next()? {
        Some(row) => {
            Ok(read_row(connection, table, row.get(0)?)?.map(|image| image.columns()).unwrap_or_default())
        }
        None => Ok(Vec::new()),
    }
}
