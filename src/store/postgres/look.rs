//! Looking before an act: the claims that are meant, each as it is at that moment.

use std::collections::HashMap;

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
use crate::store::image::Image;
use crate::store::seen::{Place, Rows, Seen};
use crate::store::watched;

/// The claims that meet a condition, each with its rows.
pub fn look(
    link: &mut Link,
    watch: &Watch,
    condition: &str,
    mut params: NamedParams,
    now: Moment,
) -> Result<Vec<Seen>, PgError> {
    params.extend(watch.clock(now));
    let select = watch.reader.select_with_state(&rows_of(watch));
    let rows = query(link, &params, &format!("{select} AND {condition}"))?;
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

/// Where the claims of a board are: the key of each says which row it is.
fn place(watch: &Watch) -> Place {
    Place { board: watch.board.board_id.clone(), rowid: 0 }
}

/// The board of a claim, if its tables are still there.
pub fn at<'a>(watched: &'a [Watched], place: &Place) -> Option<&'a Watch> {
    Some(watched::find(watched, &place.board)?.1)
}
