//! The holders themselves: what the registry says of each, and what the kernel says of their processes, if
//! somebody asks.

use std::collections::BTreeMap;

use super::bound::{BoundBoard, BoundRegistry};
use super::driver::{Dialect, Failed, Row};
use super::look::Look;
use super::named_params::NamedParams;
use super::rows::{read_session, session_columns};
use super::watched::WatchedBoard;
use super::{Reader, StoreError};
use crate::domain::claim::{Session, Worker};
use crate::domain::detail::{Holder, NamedHolders};
use crate::domain::value::Value;
use crate::store::driver::QueryRows;

impl Reader {
    /// Everybody in the registries, and, where there is none, everybody who holds a claim that
    /// names its process; or only the one that is named.
    pub fn holders(&mut self, only: Option<&str>) -> Result<Vec<Holder>, StoreError> {
        let prober = self.engine.options().prober.clone();
        let mut holders = self.look("reading the registry", holders)?;
        if let Some(only) = only {
            holders.retain(|holder| holder.id.text().as_deref() == Some(only));
        }
        if let Some(prober) = prober {
            for holder in &mut holders {
                prober.probe(&mut holder.worker, holder.started_at.at(), holder.beat_at.at());
            }
        }
        Ok(holders)
    }
}

/// The holders of every profile, each registry once.
fn holders(look: &mut Look<'_>) -> Result<Vec<Holder>, Failed> {
    let mut holders: Vec<Holder> = Vec::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for watch in look.watches() {
        let (board, profile) = (watch.bound(), watch.bound().board_id.profile());
        let found = match &board.registry {
            Some(registry) if seen.contains(&(profile, &registry.table)) => continue,
            Some(registry) => {
                seen.push((profile, &registry.table));
                registered(look, watch, registry)?
            }
            None if board.pid.is_some() => named_by_claims(look, watch)?,
            None => Vec::new(),
        };
        holders.extend(found.into_iter().map(|holder| Holder { profile: profile.into(), ..holder }));
    }
    Ok(holders)
}

/// Every session of every registry, without the number of its claims, which takes longer to find out.
pub(super) fn sessions(look: &mut Look<'_>) -> Result<Vec<Holder>, Failed> {
    let mut sessions: Vec<Holder> = Vec::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for watch in look.watches() {
        let (board, profile) = (watch.bound(), watch.bound().board_id.profile());
        let Some(registry) = &board.registry else { continue };
        if !seen.contains(&(profile, registry.table.as_str())) {
            seen.push((profile, &registry.table));
            let listed = listed(look, watch, registry, &BTreeMap::new())?;
            sessions.extend(listed.into_iter().map(|holder| Holder { profile: profile.into(), ..holder }));
        }
    }
    Ok(sessions)
}

/// The sessions of a registry, and how many claims each has.
fn registered(
    look: &mut Look<'_>,
    watch: &dyn WatchedBoard,
    registry: &BoundRegistry,
) -> Result<Vec<Holder>, Failed> {
    let board = watch.bound();
    let mut held: BTreeMap<String, u64> = BTreeMap::new();
    for other in look.watches() {
        let shares = other.bound().registry.as_ref().is_some_and(|it| it.table == registry.table);
        if shares && other.bound().board_id.profile() == board.board_id.profile() {
            for (holder, claims) in claims_by_holder(look, other)? {
                *held.entry(holder).or_default() += claims;
            }
        }
    }
    listed(look, watch, registry, &held)
}

/// The sessions of a registry; `held` says how many claims each has.
fn listed(
    look: &mut Look<'_>,
    watch: &dyn WatchedBoard,
    registry: &BoundRegistry,
    held: &BTreeMap<String, u64>,
) -> Result<Vec<Holder>, Failed> {
    let (board, now) = (watch.bound(), look.now);
    let columns = columns(board, registry, look.connection.dialect());
    let sql = format!("SELECT {columns} FROM {}", registry.from);
    look.connection.all("reading the registry", &sql, &NamedParams::default(), |row| {
        let (id, session, worker) = read(row, 0, registry);
        Holder {
            profile: String::new(),
            listed_in: registry.table.clone(),
            claims: id.text().and_then(|id| held.get(&id).copied()).unwrap_or(0),
            is_stale: board.gives_up_on(&session, now),
            beat_at: session.beat_at,
            started_at: session.started_at,
            id,
            worker,
            now,
        }
    })
}

/// The columns of a session with its id and process, in the order that [`read`] expects.
pub(super) fn columns(board: &BoundBoard, registry: &BoundRegistry, dialect: &dyn Dialect) -> String {
    let any = |sql: &Option<String>| sql.as_ref().map_or_else(|| "NULL".into(), |sql| dialect.selected(sql));
    let [beat_at, stale_at, started_at] = session_columns(registry, dialect);
    let id = dialect.selected(&registry.id.text);
    let process = [&board.pid, &board.host, &registry.version].map(any);
    [&[id, beat_at, stale_at, started_at][..], &process].concat().join(", ")
}

/// How many columns that are.
pub(super) const COLUMNS: usize = 7;

/// The session in the columns of a row that begin at `first`.
pub(super) fn read(row: &dyn Row, first: usize, registry: &BoundRegistry) -> (Value, Session, Worker) {
    let id = row.value(first, &registry.id.declared);
    let worker = Worker::new(row.number(first + 4), row.text(first + 5)).of_version(row.text(first + 6));
    (id, read_session(row, first + 1, registry), worker)
}

/// How many claims each holder has on a board.
fn claims_by_holder(look: &mut Look<'_>, watch: &dyn WatchedBoard) -> Result<Vec<(String, u64)>, Failed> {
    let board = watch.bound();
    let Some(holder) = &board.holder else { return Ok(Vec::new()) };
    let dialect = look.connection.dialect();
    let sql = format!(
        "SELECT {}, {} FROM {} WHERE ({}) AND {} IS NOT NULL GROUP BY 1",
        dialect.selected(&holder.text),
        dialect.selected("count(*)"),
        board.from,
        board.is_held(),
        holder.text
    );
    let clock = watch.rows().clock(board, look.now);
    let counted = look
        .connection
        .all("reading the registry", &sql, &clock, |row| Some((row.text(0)?, row.count(1))))?;
    Ok(counted.into_iter().flatten().collect())
}

fn named_by_claims(look: &mut Look<'_>, watch: &dyn WatchedBoard) -> Result<Vec<Holder>, Failed> {
    let (mut holders, now) = (NamedHolders::default(), look.now);
    look.each_claim("reading the holders", watch, "", &mut |judged| {
        holders.add(&watch.bound().table, &judged.claim, now);
    })?;
    Ok(holders.all())
}
