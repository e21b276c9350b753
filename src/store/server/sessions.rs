//! The sessions that hold the claims of a board.

use super::watch::Watch;
use crate::domain::claim::{Session, Worker};
use crate::domain::snapshot::Sessions;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::bound::BoundRegistry;
use crate::store::driver::{Connection, Failed, QueryRows, Row};
use crate::store::holders;
use crate::store::named_params::NamedParams;

const DOING: &str = "reading the sessions";

/// Every session of a board's registry, with what it says of its process.
pub(super) fn read(
    connection: &mut dyn Connection,
    watch: &Watch,
    registry: &BoundRegistry,
) -> Result<Vec<(Value, Session, Worker)>, Failed> {
    let columns = holders::columns(&watch.board, registry, watch.sql);
    let sql = format!("SELECT {columns} FROM {}", registry.from);
    connection.all(DOING, &sql, &NamedParams::default(), |row| holders::read(row, 0, registry))
}

/// How many there are, and how many of them were given up.
pub(super) fn count(
    connection: &mut dyn Connection,
    watch: &Watch,
    registry: &BoundRegistry,
    now: Moment,
) -> Result<Sessions, Failed> {
    let (rules, table) = (&watch.board.rules, registry.table.clone());
    // Where no time can be trusted, nobody knows who lives.
    let ends = registry.given_up(rules.thresholds.orphan_after).filter(|_| rules.doubt.is_none());
    let Some((ends, after)) = ends else {
        let sql = format!("SELECT {} FROM {}", watch.sql.selected("COUNT(*)"), registry.from);
        let total = connection.count(DOING, &sql, &NamedParams::default())?;
        let alive = if rules.doubt.is_none() { total } else { 0 };
        return Ok(Sessions { registry: table, total, alive, stale: 0 });
    };
    let cut = rules.session_now(now).minus(after);
    if let Some((sql, params)) = watch.sql.session_counts(registry, ends, cut) {
        let read = |row: &dyn Row| [0, 1, 2].map(|at| row.count(at));
        let [total, stale, readable] = connection.first(DOING, &sql, &params, read)?.unwrap_or_default();
        return Ok(Sessions { registry: table, total, alive: readable.saturating_sub(stale), stale });
    }
    let all = read(connection, watch, registry)?;
    let end =
        |session: &Session| session.stale_at.as_ref().map_or_else(|| session.beat_at.at(), |at| at.at());
    let readable: Vec<Moment> = all.iter().filter_map(|(_, session, _)| end(session)).collect();
    let stale = readable.iter().filter(|at| **at < cut).count() as u64;
    let (total, readable) = (all.len() as u64, readable.len() as u64);
    Ok(Sessions { registry: table, total, alive: readable - stale, stale })
}
