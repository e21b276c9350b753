//! The claims whose processes decide: those of dead ones, and of ones that live although they are silent.

use rusqlite::Connection;

use super::dialect::SqliteDialect;
use super::keys::RowSql;
use super::run::select;
use crate::domain::claim::{Process, Session, Worker};
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::Prober;
use crate::store::bound::{BoundBoard, BoundRegistry};
use crate::store::holders;

/// Every session of a board's registry, with its process.
fn sessions(
    connection: &Connection,
    board: &BoundBoard,
    registry: &BoundRegistry,
    prober: &Prober,
) -> rusqlite::Result<Vec<(Value, Session, Worker)>> {
    let columns = holders::columns(board, registry, &SqliteDialect);
    let mut statement = connection.prepare_cached(&format!("SELECT {columns} FROM {}", registry.from))?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, session, mut worker) = holders::read(row, 0, registry);
        prober.probe(&mut worker, session.started_at.at(), session.beat_at.at());
        all.push((id, session, worker));
    }
    Ok(all)
}

/// The claims whose verdict the kernel can change: those of dead processes, and of processes that
/// live although their session is silent.
pub(super) fn claims_in_question(
    connection: &Connection,
    board: &BoundBoard,
    prober: &Prober,
    now: Moment,
) -> rusqlite::Result<Vec<i64>> {
    let mut claims = Vec::new();
    let clock = board.clock(&SqliteDialect, now);
    let Some(pid) = &board.pid else { return Ok(claims) };
    let row = RowSql::claims(board).number();
    let (Some(registry), Some(holder)) = (&board.registry, &board.holder) else {
        let sql = format!("SELECT {row} FROM {} WHERE {} AND {pid} IS NOT NULL", board.from, board.is_held());
        select(connection, &sql, &clock, |rowid| claims.push(rowid))?;
        return Ok(claims);
    };
    let sql = format!(
        "SELECT {row} FROM {} CROSS JOIN {} WHERE {id} = {} AND {id} = :holder AND {}",
        registry.from,
        board.from,
        holder.text,
        board.is_held(),
        id = registry.id.text
    );
    for (id, session, worker) in sessions(connection, board, registry, prober)? {
        let matters = match worker.process {
            Process::Dead => true,
            // Kinds may be given up at other times than the board's; each row is judged anyway.
            Process::Alive => !board.rules.kinds.is_empty() || board.gives_up_on(&session, now),
            Process::Unknown => false,
        };
        if matters {
            let mut params = clock.clone();
            params.add_value("holder", "", id);
            select(connection, &sql, &params, |rowid| claims.push(rowid))?;
        }
    }
    Ok(claims)
}
