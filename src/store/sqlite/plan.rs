//! How each probe is run: from which side, and by which index.
//!
//! SQLite's own planner is asked, once, when a profile is laid onto a database.

use rusqlite::Connection;
use std::collections::HashMap;

use super::keys::RowSql;
use super::probe::{Probe, Tag};
use crate::domain::verdict::Reason;
use crate::store::bound::BoundBoard;
use crate::store::schema::quoted;

/// Where a probe starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbePath {
    /// The claims, by an index.
    Claims,
    /// The sessions in question, then their claims by holder.
    Sessions,
    /// From holder to holder along the index, then the claims of the missing ones.
    Holders,
    /// No index helps: the census reads all rows, in slices.
    Census,
}

/// A probe with its way and its statement.
#[derive(Debug)]
pub(super) struct Planned {
    pub probe: Probe,
    pub driver: ProbePath,
    /// `FROM ... WHERE ...`; empty where there is more to it than one statement.
    from: String,
    /// The number of a claim's row.
    row: String,
}

impl Planned {
    fn new(board: &BoundBoard, probe: Probe, driver: ProbePath, from: String) -> Planned {
        Planned { probe, driver, from, row: RowSql::claims(board).number() }
    }

    /// Selects the whole answer, as one value.
    pub(super) fn whole(&self) -> String {
        format!("SELECT {} {}", self.answer(), self.from)
    }

    /// Selects rows, those first whose time came first; `None` where there is no such order.
    pub(super) fn worst_first(&self, rows: usize) -> Option<String> {
        let window = self.probe.window.as_ref().filter(|_| !self.from.is_empty())?;
        let limit = i64::try_from(rows).unwrap_or(i64::MAX);
        Some(format!("SELECT {} {} ORDER BY {} LIMIT {limit}", self.row, self.from, window.time))
    }

    /// What is selected: how many there are of the runaways, which are in other sets already, and
    /// the rows of everything else.
    fn answer(&self) -> String {
        match self.probe.tag {
            Tag::Runaway => "count(*)".into(),
            Tag::Reason(_) | Tag::OldBeat | Tag::BadDeadline => format!("claimtop_rows({})", self.row),
        }
    }
}

/// Chooses the way of each probe.
pub(super) fn plan(
    connection: &Connection,
    board: &BoundBoard,
    probes: Vec<Probe>,
) -> rusqlite::Result<Vec<Planned>> {
    let mut planner = Planner { connection, board, known: HashMap::new() };
    probes.into_iter().map(|probe| planner.plan(probe)).collect()
}

struct Planner<'a> {
    connection: &'a Connection,
    board: &'a BoundBoard,
    /// Several windows on one column are one statement, and asked about once.
    known: HashMap<String, bool>,
}

impl Planner<'_> {
    fn plan(&mut self, probe: Probe) -> rusqlite::Result<Planned> {
        let board = self.board;
        if probe.tag == Tag::Reason(Reason::SessionMissing) && can_hop(self.connection, board, &probe)? {
            return Ok(Planned::new(board, probe, ProbePath::Holders, String::new()));
        }
        if let Some(from) = from_sessions(board, &probe)
            && let Some(column) = board.holder.as_ref().and_then(|holder| holder.column.as_deref())
            && self.searches(&from, Some(column))?
        {
            return Ok(Planned::new(board, probe, ProbePath::Sessions, from));
        }
        let from = from_claims(board, &probe);
        let driver = if self.searches(&from, None)? { ProbePath::Claims } else { ProbePath::Census };
        Ok(Planned::new(board, probe, driver, from))
    }

    fn searches(&mut self, from: &str, column: Option<&str>) -> rusqlite::Result<bool> {
        if let Some(answer) = self.known.get(from) {
            return Ok(*answer);
        }
        let answer = searches(
            self.connection,
            &format!("SELECT {} {from}", RowSql::claims(self.board).number()),
            column,
        )?;
        self.known.insert(from.into(), answer);
        Ok(answer)
    }
}

fn from_claims(board: &BoundBoard, probe: &Probe) -> String {
    let from = board.joined_if(probe.needs_session);
    format!("FROM {from} WHERE {} AND {}", board.is_held(), probe.predicate(""))
}

/// `CROSS JOIN` keeps SQLite from turning the join round.
fn from_sessions(board: &BoundBoard, probe: &Probe) -> Option<String> {
    let registry = board.registry.as_ref().filter(|_| probe.needs_session)?;
    let holder = board.holder.as_ref()?;
    // Only a condition on the session itself narrows the sessions down.
    let about_session = probe.tag != Tag::Reason(Reason::SessionMissing) && !probe.without_session;
    about_session.then(|| {
        format!(
            "FROM {} CROSS JOIN {} WHERE {} = {} AND {} AND {}",
            registry.from,
            board.from,
            registry.id.text,
            holder.text,
            probe.predicate(""),
            board.is_held(),
        )
    })
}

/// Whether the holders can be visited along an index: every row a claim, one plain column.
fn can_hop(connection: &Connection, board: &BoundBoard, probe: &Probe) -> rusqlite::Result<bool> {
    let plain = board.held.is_none() && board.disowned.is_none() && probe.only.len() == 1;
    match board.holder.as_ref().and_then(|holder| holder.column.as_deref()) {
        Some(column) if plain => searches(connection, &holders_after(board, column), Some(column)),
        _ => Ok(false),
    }
}

/// The holder of every claim, in their order.
pub(super) fn first_holders(board: &BoundBoard, column: &str) -> String {
    holders(board, column, "IS NOT NULL")
}

/// The same from the holder after `?1` on.
pub(super) fn holders_after(board: &BoundBoard, column: &str) -> String {
    holders(board, column, "> ?1")
}

fn holders(board: &BoundBoard, column: &str, which: &str) -> String {
    let (table, column) = (quoted(&board.table), quoted(column));
    format!("SELECT c.{column} FROM {table} AS c WHERE c.{column} {which} ORDER BY c.{column}")
}

/// Whether the statement reaches `c` through an index rather than reading all of it, and, if
/// `column` is given, through an index on that column.
pub(super) fn searches(connection: &Connection, sql: &str, column: Option<&str>) -> rusqlite::Result<bool> {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    let mut rows = explain.raw_query();
    let mut found = false;
    while let Some(row) = rows.next()? {
        let detail: String = row.get(3)?;
        if detail == "SCAN c" || detail.starts_with("SCAN c ") {
            return Ok(false);
        }
        if let Some(how) = detail.strip_prefix("SEARCH c ") {
            let by_column = column.is_none_or(|column| {
                how.contains(&format!("({column}")) || how.contains(&format!(" {column}"))
            });
            // SQLite's automatic index is a scan in disguise.
            found = !how.contains("AUTOMATIC") && by_column;
        }
    }
    Ok(found)
}

/// Whether the statement reads the registry from end to end.
fn scans_registry(connection: &Connection, sql: &str) -> rusqlite::Result<bool> {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    let mut rows = explain.raw_query();
    while let Some(row) = rows.next()? {
        if row.get::<_, String>(3)?.starts_with("SCAN s") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The statements that would add the indexes a board lacks.
pub(super) fn advice(
    connection: &Connection,
    board: &BoundBoard,
    planned: &[Planned],
) -> rusqlite::Result<Vec<String>> {
    let mut wanted: Vec<(String, String)> = Vec::new();
    for planned in planned {
        if planned.driver == ProbePath::Census
            && let Some(column) = &planned.probe.index
        {
            wanted.push((board.table.clone(), column.clone()));
        }
        if planned.driver == ProbePath::Sessions
            && planned.probe.window.is_some()
            && let Some(registry) = &board.registry
            && let Some(beat) = &registry.beat_at
            && let Some(column) = &beat.cell.column
            && beat.unit.is_number()
            && scans_registry(connection, &planned.whole())?
        {
            wanted.push((registry.table.clone(), column.clone()));
        }
    }
    wanted.sort();
    wanted.dedup();
    Ok(wanted
        .into_iter()
        .map(|(table, column)| {
            let name = quoted(&format!("idx_{table}_{column}"));
            format!("CREATE INDEX {name} ON {}({})", quoted(&table), quoted(&column))
        })
        .collect())
}
