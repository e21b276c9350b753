//! Looking before a bulk act: many claims locked and read at once.

use std::collections::HashMap;

use super::connection::query;
use super::dialect::PostgresDialect;
use super::many::with_keys;
use crate::domain::claim::Registry;
use crate::domain::time::Moment;
use crate::postgres::error::PgError;
use crate::postgres::link::Link;
use crate::store::driver::Row;
use crate::store::image_sql;
use crate::store::seen::{Place, RowsBehind, Seen, Spot};
use crate::store::server::{Watch, WatchedProfile};
use crate::store::watched;

/// Locks those of the claims that can be locked without waiting, and looks at them: each with what was seen
/// of its row, which is still true where its version is the same.
///
/// What came between the beginning of the statement and the lock on a row is seen, for the lock goes to the
/// newest version of the row. The sessions must be locked before, by a statement of its own.
pub(super) fn lock_and_look(
    link: &mut Link,
    watch: &Watch,
    all: &[&Seen],
    now: Moment,
) -> Result<HashMap<String, Seen>, PgError> {
    let (condition, mut params) = with_keys(watch, all);
    params.extend(watch.clock(now));
    let session = watch.registry.iter().map(|registry| image_sql::columns(&PostgresDialect, registry, "s"));
    let select = watch.reader.select_with_version(&session.collect::<Vec<_>>());
    let rows = query(link, &params, &format!("{select}{condition} FOR UPDATE OF c SKIP LOCKED"))?;
    let known: HashMap<String, &Seen> =
        all.iter().map(|seen| (seen.judged.claim.key.address(), *seen)).collect();
    let again = rows.iter().filter_map(|row| {
        let judged = watch.reader.read(row, &watch.board, now);
        let address = judged.claim.key.address();
        let is_listed = matches!(judged.claim.registry, Registry::Listed(_));
        let registry = watch.registry.as_ref().filter(|_| is_listed);
        let rows = RowsBehind {
            row: known.get(&address)?.row.clone(),
            version: watch.reader.version(row),
            spot: row.text(0).and_then(|place| Spot::of_row(&place)),
            session: registry.map(|registry| image_sql::read(registry, row, watch.reader.width())),
        };
        let place = Place { board: watch.board.board_id.clone(), rowid: 0 };
        Some((address, Seen::new(place, judged, rows, &watch.board, now)))
    });
    Ok(again.collect())
}

/// The board of a claim, if its tables are still there.
pub(super) fn at<'a>(watched: &'a [WatchedProfile], place: &Place) -> Option<&'a Watch> {
    Some(watched::find(watched, &place.board)?.1)
}
