//! Looking before an act: the claims that are meant, each as it is at that moment.

use std::collections::HashMap;

use super::actor::Actor;
use super::error::PgError;
use super::image;
use super::link::{Link, Row};
use super::many::with_keys;
use super::named_params::NamedParams;
use super::reader::Watched;
use super::rows;
use super::watch::{Watch, query};
use crate::domain::claim::Registry;
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::image::Image;
use crate::store::seen::{Place, Rows, Seen, prefix};
use crate::store::watched;

impl Actor {
    /// The claims that an address, or a bare id, means.
    pub fn find(&mut self, wanted: &str, board: Option<&str>) -> Result<Vec<Seen>, StoreError> {
        let mut found = self.reader.reading("looking for the claim", |link, watched, now| {
            let mut found = Vec::new();
            for watch in watched.iter().flat_map(|watched| &watched.boards) {
                if !watch.board.has_rowid || board.is_some_and(|board| board != watch.board.name) {
                    continue;
                }
                let id = &watch.board.board_id;
                let key: Vec<Value> = match wanted.strip_prefix(&prefix(id.profile(), id.board())) {
                    Some(encoded) => encoded.split(',').map(decode).collect(),
                    None if watch.board.id.len() == 1 => vec![Value::Text(wanted.into())],
                    None => wanted.split(',').map(|part| Value::Text(part.into())).collect(),
                };
                if key.len() == watch.board.id.len() {
                    found.extend(with_key(link, watch, &key, now)?);
                }
            }
            Ok(found)
        })?;
        // A bare id may be part of another's; the address of each tells.
        found.retain(|seen| seen.address() == wanted || seen.judged.claim.key.text() == wanted);
        Ok(found)
    }

    /// The profile of a claim, and whether its tables could be anybody's.
    pub fn profile_of<'a>(&self, seen: &'a Seen) -> (&'a str, bool) {
        let watched = watched::find(&self.reader.watched, &seen.place.board);
        (seen.place.board.profile(), watched.is_none_or(|(watched, _)| watched.profile.generic))
    }
}

/// The claims with a key that somebody typed; none, if it cannot even be one.
fn with_key(link: &mut Link, watch: &Watch, key: &[Value], now: Moment) -> Result<Vec<Seen>, PgError> {
    let mut params = NamedParams::default();
    let condition = format!(" AND {}", watch.has_key(key, &mut params));
    link.batch("SAVEPOINT claimtop_key")?;
    let found = look(link, watch, &condition, params, now);
    match found {
        Err(PgError::Server { code, .. }) if code.starts_with("22") => {
            link.batch("ROLLBACK TO claimtop_key")?;
            Ok(Vec::new())
        }
        other => other,
    }
}

/// The claims that meet a condition, each with its rows.
pub fn look(
    link: &mut Link,
    watch: &Watch,
    condition: &str,
    mut params: NamedParams,
    now: Moment,
) -> Result<Vec<Seen>, PgError> {
    params.extend(watch.clock(now));
    let rows =
        query(link, &params, &format!("{}{condition}", watch.reader.select_with_state(&rows_of(watch))))?;
    Ok(rows.iter().map(|row| seen(watch, row, now)).collect())
}

/// The columns of the claim's row, and of its holder's.
pub(super) fn rows_of(watch: &Watch) -> Vec<String> {
    let mut columns = image::columns(&watch.table, "c");
    columns.extend(session_of(watch));
    columns
}

/// The columns of the holder's row.
fn session_of(watch: &Watch) -> Vec<String> {
    watch.registry.iter().flat_map(|registry| image::columns(registry, "s")).collect()
}

pub fn seen(watch: &Watch, row: &Row, now: Moment) -> Seen {
    let judged = watch.reader.read_with_state(row, &watch.board, now);
    let first = watch.reader.width();
    let rows = Rows {
        row: image::read(&watch.table, row, first),
        version: watch.reader.version(row),
        spot: rows::spot(row),
        session: session_in(watch, &judged, row, first + watch.table.written().count()),
    };
    Seen::new(place(watch), judged, rows, &watch.board.rules, now)
}

/// The holder's row, if there is one, in the columns that begin at `first`.
fn session_in(watch: &Watch, judged: &Judged, row: &Row, first: usize) -> Option<Image> {
    let is_listed = matches!(judged.claim.registry, Registry::Listed(_));
    watch.registry.as_ref().filter(|_| is_listed).map(|registry| image::read(registry, row, first))
}

/// Locks those of the claims that can be locked without waiting, and looks at them: each with what was seen
/// of its row, which is still true where its version is the same.
///
/// What came between the beginning of the statement and the lock on a row is seen, for the lock goes to the
/// newest version of the row. The sessions must be locked before, by a statement of its own.
pub fn lock_and_look(
    link: &mut Link,
    watch: &Watch,
    all: &[&Seen],
    now: Moment,
) -> Result<HashMap<String, Seen>, PgError> {
    let (condition, mut params) = with_keys(watch, all);
    params.extend(watch.clock(now));
    let select = watch.reader.select_with_version(&session_of(watch));
    let rows = query(link, &params, &format!("{select}{condition} FOR UPDATE OF c SKIP LOCKED"))?;
    let known: HashMap<String, &Seen> =
        all.iter().map(|seen| (seen.judged.claim.key.address(), *seen)).collect();
    let again = rows.iter().filter_map(|row| {
        let judged = watch.reader.read(row, &watch.board, now);
        let address = judged.claim.key.address();
        let rows = Rows {
            row: known.get(&address)?.row.clone(),
            version: watch.reader.version(row),
            spot: rows::spot(row),
            session: session_in(watch, &judged, row, watch.reader.width()),
        };
        Some((address, Seen::new(place(watch), judged, rows, &watch.board.rules, now)))
    });
    Ok(again.collect())
}

/// A part of an address, where a tilde marks what is no text.
fn decode(encoded: &str) -> Value {
    if encoded == "~null" {
        return Value::Null;
    }
    let bytes = |digits: &str| -> Option<Vec<u8>> {
        (0..digits.len() / 2).map(|at| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()).collect()
    };
    match encoded.strip_prefix("~x").and_then(bytes) {
        Some(bytes) => Value::Bytes(bytes),
        None => Value::Text(percent_encoding::percent_decode_str(encoded).decode_utf8_lossy().into_owned()),
    }
}

/// Where the claims of a board are: the key of each says which row it is.
fn place(watch: &Watch) -> Place {
    Place { board: watch.board.board_id.clone(), rowid: 0 }
}

/// The board of a claim, if its tables are still there.
pub fn at<'a>(watched: &'a [Watched], place: &Place) -> Option<&'a Watch> {
    Some(watched::find(watched, &place.board)?.1)
}
