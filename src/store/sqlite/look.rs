//! Looking before an act: the claims that are meant, each as it is at that moment.

use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;

use super::actor::Actor;
use super::image::InFile;
use super::keys::RowSql;
use super::run::{bind_known, now_value, select};
use super::watch::Watch;
use crate::domain::board_id::BoardId;
use crate::domain::time::Moment;
use crate::store::found::{FoundBoard, RowRef};
use crate::store::image::Image;
use crate::store::seen::{Place, Rows, Seen, prefix};
use crate::store::suspend::uninterrupted;
use crate::store::watched;
use crate::store::{Filter, StoreError};

impl Actor {
    /// The claims that an address, or a bare id, means.
    pub fn find(&mut self, wanted: &str, board: Option<&str>) -> Result<Vec<Seen>, StoreError> {
        self.reader.follow_the_path()?;
        self.read_schema()?;
        // The stopwatch of the last poll has nothing to say about this.
        let watchless = self.reader.connection.progress_handler(0, None::<fn() -> bool>);
        watchless.map_err(|error| self.reader.sentence(&error, "looking for the claim"))?;
        let now = self.now();
        let examined = self.reader.examine_zones_at(now);
        examined.map_err(|error| self.reader.sentence(&error, "looking at the times"))?;
        let mut found = Vec::new();
        for watch in self.reader.watched.iter().flat_map(|watched| &watched.boards) {
            if !watch.board.is_addressable() || board.is_some_and(|board| board != watch.board.name) {
                continue;
            }
            let id = &watch.board.board_id;
            let parts = match wanted.strip_prefix(&prefix(id.profile(), id.board())) {
                Some(encoded) => encoded.split(',').map(Part::decode).collect(),
                None if watch.board.id.len() == 1 => vec![Part::Text(wanted.into())],
                None => wanted.split(',').map(|part| Part::Text(part.into())).collect(),
            };
            for rowid in self.rows_with_id(watch, &parts, now)? {
                let place = Place { board: id.clone(), rowid };
                found.extend(self.look(&self.reader.connection, &place, now)?);
            }
        }
        // A bare id may be part of another's; the address of each tells.
        found.retain(|seen| seen.address() == wanted || seen.judged.claim.key.text() == wanted);
        Ok(found)
    }

    fn rows_with_id(&self, watch: &Watch, parts: &[Part], now: Moment) -> Result<Vec<i64>, StoreError> {
        if parts.len() != watch.board.id.len() {
            return Ok(Vec::new());
        }
        let held = watch.board.is_held();
        let mut values = vec![(":now".to_owned(), now_value(&watch.board, now))];
        let mut conditions = vec![held.to_owned()];
        for (at, (key, part)) in watch.board.id.iter().zip(parts).enumerate() {
            conditions.push(part.condition(key, at, &mut values));
        }
        let row = watch.rows.number();
        let sql = format!("SELECT {row} FROM {} WHERE {}", watch.board.from, conditions.join(" AND "));
        self.reader.sql("looking for the claim", |connection| {
            let mut rows = Vec::new();
            select(connection, &sql, &values, |rowid| rows.push(rowid))?;
            Ok(rows)
        })
    }

    /// The claims that a filter looks for, without their rows.
    pub fn places_of(&mut self, filter: &Filter) -> Result<Vec<FoundBoard>, StoreError> {
        self.reader.members(filter)
    }

    /// Those of the claims that are still there, as they are now.
    pub fn look_at(&mut self, found: &[(&BoardId, &[RowRef])]) -> Result<Vec<Seen>, StoreError> {
        self.reader.stop_the_stopwatch()?;
        let now = self.now();
        let mut all = Vec::new();
        for (board, rows) in found {
            for row in *rows {
                // What was found on another engine is not here.
                let RowRef::Number(rowid) = *row else { continue };
                let place = Place { board: (*board).clone(), rowid };
                all.extend(self.look(&self.reader.connection, &place, now)?);
            }
        }
        Ok(all)
    }

    /// The profile of a claim, and whether its tables could be anybody's.
    pub fn profile_of<'a>(&self, seen: &'a Seen) -> (&'a str, bool) {
        let watched = watched::find(&self.reader.watched, &seen.place.board);
        (seen.place.board.profile(), watched.is_none_or(|(watched, _)| watched.profile.generic))
    }

    /// A claim as it is now, if it is one.
    pub(super) fn look(
        &self,
        connection: &Connection,
        place: &Place,
        now: Moment,
    ) -> Result<Option<Seen>, StoreError> {
        let _uninterrupted = uninterrupted();
        let Some(watch) = self.watch(&place.board) else { return Ok(None) };
        let look = || -> rusqlite::Result<Option<Seen>> {
            let Some(judged) = watch.fetch(connection, place.rowid, now, true)? else { return Ok(None) };
            let Some(table) = self.schema.table(&watch.board.table) else { return Ok(None) };
            let Some(row) = Image::read(connection, table, place.rowid)? else { return Ok(None) };
            let session = self.session_row(connection, watch, place.rowid, now)?;
            let rows = Rows { row, version: None, spot: None, session };
            Ok(Some(Seen::new(place.clone(), judged, rows, &watch.board.rules, now)))
        };
        look().map_err(|error| self.reader.sentence(&error, "looking at the claim"))
    }

    fn session_row(
        &self,
        connection: &Connection,
        watch: &Watch,
        rowid: i64,
        now: Moment,
    ) -> rusqlite::Result<Option<Image>> {
        let (Some(registry), Some(holder)) = (&watch.board.registry, &watch.board.holder) else {
            return Ok(None);
        };
        let Some(table) = self.schema.table(&registry.table) else { return Ok(None) };
        let sql = format!(
            "SELECT {} FROM {} JOIN {} ON {} = {} WHERE {}",
            RowSql::sessions(registry).number(),
            watch.board.from,
            registry.from,
            registry.id.text,
            holder.text,
            watch.rows.is(":rowid"),
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let values =
            [(":rowid".into(), SqlValue::Integer(rowid)), (":now".into(), now_value(&watch.board, now))];
        bind_known(&mut statement, &values)?;
        let mut rows = statement.raw_query();
        match rows.next()? {
            Some(row) => Image::read(connection, table, row.get(0)?),
            None => Ok(None),
        }
    }
}

/// One part of a key that somebody named.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Null,
    /// Also a number: whoever types one types its digits.
    Text(String),
    /// A text that is not UTF-8.
    BadText(Vec<u8>),
    Bytes(Vec<u8>),
}

impl Part {
    /// A part of an address, where a tilde marks what is no text.
    fn decode(encoded: &str) -> Part {
        let bytes = |digits: &str| -> Option<Vec<u8>> {
            (0..digits.len() / 2)
                .map(|at| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok())
                .collect()
        };
        let marked = match encoded.split_at_checked(2) {
            Some(("~t", digits)) => bytes(digits).map(Part::BadText),
            Some(("~x", digits)) => bytes(digits).map(Part::Bytes),
            _ if encoded == "~null" => Some(Part::Null),
            _ => None,
        };
        let text = || percent_encoding::percent_decode_str(encoded).decode_utf8_lossy().into_owned();
        marked.unwrap_or_else(|| Part::Text(text()))
    }

    /// That `key` is this, with what is bound for it.
    fn condition(&self, key: &str, at: usize, values: &mut Vec<(String, SqlValue)>) -> String {
        let place = format!(":key{at}");
        match self {
            Part::Null => format!("{key} IS NULL"),
            Part::BadText(bytes) => {
                values.push((place.clone(), SqlValue::Blob(bytes.clone())));
                format!("{key} = CAST({place} AS TEXT)")
            }
            Part::Bytes(bytes) => {
                values.push((place.clone(), SqlValue::Blob(bytes.clone())));
                format!("{key} = {place}")
            }
            Part::Text(text) => {
                values.push((place.clone(), SqlValue::Text(text.clone())));
                match text.parse::<i64>() {
                    Ok(number) => {
                        values.push((format!(":number{at}"), SqlValue::Integer(number)));
                        format!("({key} = {place} OR {key} = :number{at})")
                    }
                    Err(_) => format!("{key} = {place}"),
                }
            }
        }
    }
}
