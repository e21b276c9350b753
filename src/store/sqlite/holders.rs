//! The holders themselves: what the registry says of each, and what the kernel says of their
//! processes, if somebody asks.

use rusqlite::{Connection, Row};
use std::fmt;
use std::sync::Arc;

use super::bound::{BoundBoard, BoundRegistry, TimeSql};
use super::cell::{cell, to_sql};
use super::reader::Reader;
use super::run::count;
use crate::domain::claim::{Process, Session};
use crate::domain::time::{Moment, Reading};
use crate::domain::value::Value;
use crate::domain::verdict::gives_up;
use crate::store::StoreError;

/// Looks a process up: alive, dead or unknown, and why.
#[derive(Clone)]
pub struct Prober(Arc<Probe>);

type Probe = dyn Fn(&Session) -> (Process, String) + Send + Sync;

impl Prober {
    pub fn new(probe: impl Fn(&Session) -> (Process, String) + Send + Sync + 'static) -> Prober {
        Prober(Arc::new(probe))
    }

    /// Fills in what is known of the session's process.
    pub fn probe(&self, session: &mut Session) {
        let (process, evidence) = (self.0)(session);
        session.process = process;
        session.evidence = Some(evidence);
    }
}

impl fmt::Debug for Prober {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prober")
    }
}

/// One member of a registry.
#[derive(Debug, Clone)]
pub struct Holder {
    pub profile: String,
    pub registry: String,
    pub id: Value,
    pub session: Session,
    pub is_stale: bool,
    /// How many claims it holds, on all boards of its profile.
    pub claims: u64,
    pub now: Moment,
}

/// The columns of a registry row, in the order that [`read_session`] expects.
pub fn session_columns(registry: &BoundRegistry) -> [String; 5] {
    let time =
        |time: &Option<TimeSql>| time.as_ref().map_or_else(|| "NULL".into(), |time| time.cell.text.clone());
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "NULL".into());
    [
        registry.beat_at.cell.text.clone(),
        time(&registry.stale_at),
        time(&registry.started_at),
        text(&registry.pid),
        text(&registry.host),
    ]
}

/// The session in the columns of `row` that begin at `first`.
pub fn read_session(
    row: &Row<'_>,
    first: usize,
    registry: &BoundRegistry,
    prober: Option<&Prober>,
) -> Session {
    let time = |at: usize, sql: &Option<TimeSql>| match sql {
        Some(time) => time.unit.read(&cell(row, first + at)),
        None => Reading::Absent,
    };
    let mut session = Session {
        beat_at: registry.beat_at.unit.read(&cell(row, first)),
        stale_at: registry.stale_at.as_ref().map(|time| time.unit.read(&cell(row, first + 1))),
        started_at: time(2, &registry.started_at),
        pid: cell(row, first + 3),
        host: cell(row, first + 4).text(),
        process: Process::Unknown,
        evidence: None,
    };
    if let Some(prober) = prober {
        prober.probe(&mut session);
    }
    session
}

/// Every session of a registry.
fn sessions(
    connection: &Connection,
    registry: &BoundRegistry,
    prober: Option<&Prober>,
) -> rusqlite::Result<Vec<(Value, Session)>> {
    let columns = session_columns(registry).join(", ");
    let sql = format!("SELECT {}, {columns} FROM {}", registry.id.text, registry.from);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push((cell(row, 0), read_session(row, 1, registry, prober)));
    }
    Ok(all)
}

fn is_stale(board: &BoundBoard, session: &Session, now: Moment) -> bool {
    let limit = board.rules.thresholds.orphan_after;
    gives_up(session, limit).is_some_and(|at| at < board.rules.session_now(now))
}

/// The claims of sessions whose verdict the kernel can change: the dead, and those that live
/// although they are silent.
pub fn claims_in_question(
    connection: &Connection,
    board: &BoundBoard,
    prober: &Prober,
    now: Moment,
) -> rusqlite::Result<Vec<i64>> {
    let (Some(registry), Some(holder)) = (&board.registry, &board.holder) else { return Ok(Vec::new()) };
    let held = board.held.as_deref().unwrap_or("1");
    let sql = format!(
        "SELECT c.rowid FROM {} CROSS JOIN {} WHERE {id} = {} AND {id} = :holder AND {held}",
        registry.from,
        board.from,
        holder.text,
        id = registry.id.text
    );
    let mut claims = Vec::new();
    for (id, session) in sessions(connection, registry, Some(prober))? {
        let matters = match session.process {
            Process::Dead => true,
            Process::Alive => {
                // Kinds may be given up at other times than the board's; each row is judged anyway.
                !board.rules.kinds.is_empty() || is_stale(board, &session, now)
            }
            Process::Unknown => false,
        };
        if matters {
            super::run::select(connection, &sql, &[(":holder".into(), to_sql(&id))], |rowid| {
                claims.push(rowid);
            })?;
        }
    }
    Ok(claims)
}

impl Reader {
    /// The members of every registry, or the one that is named.
    pub fn holders(&mut self, only: Option<&str>) -> Result<Vec<Holder>, StoreError> {
        self.follow_the_path()?;
        let prober = self.options.prober.clone();
        self.in_one_transaction("reading the registry", |reader, now, _| {
            let mut holders: Vec<Holder> = Vec::new();
            for watched in &reader.watched {
                let boards: Vec<&BoundBoard> = watched.boards.iter().map(|watch| &watch.board).collect();
                let mut seen: Vec<&str> = Vec::new();
                for (board, registry) in
                    boards.iter().filter_map(|board| Some((*board, board.registry.as_ref()?)))
                {
                    if seen.contains(&registry.table.as_str()) {
                        continue;
                    }
                    seen.push(&registry.table);
                    for (id, session) in sessions(&reader.connection, registry, prober.as_ref())? {
                        if only.is_some_and(|only| id.text().as_deref() != Some(only)) {
                            continue;
                        }
                        holders.push(Holder {
                            profile: watched.name.clone(),
                            registry: registry.table.clone(),
                            claims: held_by(&reader.connection, &boards, registry, &id)?,
                            is_stale: is_stale(board, &session, now),
                            id,
                            session,
                            now,
                        });
                    }
                }
            }
            Ok(holders)
        })
    }
}

/// How many claims a session holds on the boards that share its registry.
fn held_by(
    connection: &Connection,
    boards: &[&BoundBoard],
    registry: &BoundRegistry,
    id: &Value,
) -> rusqlite::Result<u64> {
    let mut claims = 0;
    for board in boards {
        let shares = board.registry.as_ref().is_some_and(|other| other.table == registry.table);
        if let (true, Some(holder)) = (shares, &board.holder) {
            let held = board.held.as_deref().unwrap_or("1");
            let sql =
                format!("SELECT count(*) FROM {} WHERE {} = :holder AND {held}", board.from, holder.text);
            claims += count(connection, &sql, &[(":holder".into(), to_sql(id))])?;
        }
    }
    Ok(claims)
}
