//! Looking before an act: the claims that are meant, each as it is at that moment.

use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;

use super::actor::Actor;
use super::image::Image;
use super::run::{bind_known, now_value, select};
use super::watch::Watch;
use crate::domain::evidence::{Conclusion, conclude, why};
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::store::{Filter, StoreError};

/// A claim as an operator saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub place: Place,
    pub judged: Judged,
    pub conclusion: Conclusion,
    pub why: String,
    /// Its whole row.
    pub row: Image,
    /// Its holder's whole row in the registry, if there is one.
    pub session: Option<Image>,
    pub now: Moment,
}

/// Where a claim is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub profile: usize,
    pub board: usize,
    pub rowid: i64,
}

impl Actor {
    /// The claims that an address, or a bare id, means.
    pub fn find(&mut self, wanted: &str, board: Option<&str>) -> Result<Vec<Seen>, StoreError> {
        self.read_schema()?;
        // The stopwatch of the last poll has nothing to say about this.
        let watchless = self.reader.connection.progress_handler(0, None::<fn() -> bool>);
        watchless.map_err(|error| self.reader.sentence(&error, "looking for the claim"))?;
        let now = self.now();
        let mut found = Vec::new();
        for profile in 0..self.reader.watched.len() {
            for number in 0..self.reader.watched[profile].boards.len() {
                let watch = &self.reader.watched[profile].boards[number];
                if !watch.board.has_rowid || board.is_some_and(|board| board != watch.board.name) {
                    continue;
                }
                let prefix = format!("{}/{}/", self.reader.watched[profile].name, watch.board.name);
                let id = wanted.strip_prefix(&prefix).map_or_else(|| wanted.to_owned(), decoded);
                for rowid in self.rows_with_id(watch, &id, now)? {
                    let place = Place { profile, board: number, rowid };
                    found.extend(self.look(&self.reader.connection, place, now)?);
                }
            }
        }
        // A bare id may be part of another's; the address of each tells.
        found.retain(|seen| self.address(seen) == wanted || seen.judged.claim.key.text() == wanted);
        Ok(found)
    }

    fn rows_with_id(&self, watch: &Watch, id: &str, now: Moment) -> Result<Vec<i64>, StoreError> {
        let parts: Vec<&str> = if watch.board.id.len() == 1 { vec![id] } else { id.split(',').collect() };
        if parts.len() != watch.board.id.len() {
            return Ok(Vec::new());
        }
        let held = watch.board.is_held();
        let keys = watch.board.id.iter().enumerate().map(|(at, key)| format!("{key} = :key{at}"));
        let keys = keys.collect::<Vec<_>>().join(" AND ");
        let sql = format!("SELECT c.rowid FROM {} WHERE {held} AND {keys}", watch.board.from);
        let mut values = vec![(":now".to_owned(), now_value(&watch.board, now))];
        for (at, part) in parts.iter().enumerate() {
            values.push((format!(":key{at}"), SqlValue::Text((*part).into())));
        }
        self.reader.sql("looking for the claim", |connection| {
            let mut rows = Vec::new();
            select(connection, &sql, &values, |rowid| rows.push(rowid))?;
            Ok(rows)
        })
    }

    /// The claims in the sets of a filter, worst first.
    pub fn select(&mut self, filter: &Filter) -> Result<Vec<Seen>, StoreError> {
        let mut all = Vec::new();
        let most = filter.limit.unwrap_or(usize::MAX);
        let rows = self.reader.members(filter)?;
        let now = self.now();
        for place in rows {
            let seen = self.look(&self.reader.connection, place, now)?;
            all.extend(seen.filter(|seen| filter.takes(&seen.judged)));
            if all.len() == most {
                break;
            }
        }
        Ok(all)
    }

    /// The profile of a claim, and whether its tables could be anybody's.
    pub fn profile_of(&self, seen: &Seen) -> (&str, bool) {
        let watched = &self.reader.watched[seen.place.profile];
        (&watched.name, watched.profile.generic)
    }

    /// The profile and the board of a claim.
    pub fn names(&self, seen: &Seen) -> (String, String) {
        let watched = &self.reader.watched[seen.place.profile];
        (watched.name.clone(), watched.boards[seen.place.board].board.name.clone())
    }

    pub fn address(&self, seen: &Seen) -> String {
        let watched = &self.reader.watched[seen.place.profile];
        let board = &watched.boards[seen.place.board].board.name;
        format!("{}/{board}/{}", watched.name, seen.judged.claim.key.address())
    }

    /// A claim as it is now, if it is one.
    pub(super) fn look(
        &self,
        connection: &Connection,
        place: Place,
        now: Moment,
    ) -> Result<Option<Seen>, StoreError> {
        let watch = self.watch(place);
        let look = || -> rusqlite::Result<Option<Seen>> {
            let Some(judged) = watch.fetch(connection, place.rowid, now, true)? else { return Ok(None) };
            let Some(table) = self.schema.table(&watch.board.table) else { return Ok(None) };
            let Some(row) = Image::read(connection, table, place.rowid)? else { return Ok(None) };
            let rules = &watch.board.rules;
            Ok(Some(Seen {
                place,
                conclusion: conclude(&judged.claim, &judged.verdict, rules, now),
                why: why(&judged.claim, &judged.verdict, rules, now),
                session: self.session_row(connection, watch, place.rowid, now)?,
                judged,
                row,
                now,
            }))
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
            "SELECT s.rowid FROM {} JOIN {} ON {} = {} WHERE c.rowid = :rowid",
            watch.board.from, registry.from, registry.id.text, holder.text
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

/// A percent-encoded id of an address.
fn decoded(id: &str) -> String {
    percent_encoding::percent_decode_str(id).decode_utf8_lossy().into_owned()
}
