//! The sessions that hold the claims of a board.

use super::watch::Watch;
use crate::domain::claim::{Session, Worker};
use crate::domain::snapshot::Sessions;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::bound::BoundRegistry;
use crate::store::driver::{Connection, Failed, QueryRows};
use crate::store::holders;
use crate::store::named_params::NamedParams;

const DOING: &str = "reading the sessions";

/// Every session of a board's registry, with what it says of its process.
pub(super) fn read(
    connection: &mut dyn Connection,
    watch: &Watch,
    registry: &BoundRegistry,
) -> Result<Vec<(Value, Session, Worker)>, Failed> {
    let columns = holders::columns(&watch.board, registry, connection.dialect());
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
    let board = &watch.board;
    let all = read(connection, watch, registry)?;
    let (total, table) = (all.len() as u64, registry.table.clone());
    let Some((_, after)) = registry.given_up(board.rules.thresholds.orphan_after) else {
        // Nobody is ever given up.
        return Ok(Sessions { registry: table, total, alive: total, stale: 0 });
    };
    // Where no time can be trusted, nobody knows who lives.
    if board.rules.doubt.is_some() {
        return Ok(Sessions { registry: table, total, alive: 0, stale: 0 });
    }
    let cut = board.rules.session_now(now).minus(after);
    let at = |session: &Session| match &session.stale_at {
        Some(reading) => reading.at(),
        None => session.beat_at.at(),
    };
    let readable: Vec<Moment> = all.iter().filter_map(|(_, session, _)| at(session)).collect();
    let stale = readable.iter().filter(|at| **at < cut).count() as u64;
    Ok(Sessions { registry: table, total, alive: readable.len() as u64 - stale, stale })
}
