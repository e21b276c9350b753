//! The holders themselves: what the registry says of each, and what the kernel says of their
//! processes, if somebody asks.

use rusqlite::{Connection, Row};

use super::cell::{cell, to_sql};
use super::keys::RowSql;
use super::reader::Reader;
use super::run::{count, now_value, select};
use super::stream::stream;
use super::watch::Watch;
use crate::domain::claim::{Process, Session, Worker};
use crate::domain::close_up::{Holder, NamedHolders};
use crate::domain::time::{Moment, Reading};
use crate::domain::value::Value;
use crate::store::bound::{BoundBoard, BoundRegistry, TimeSql};
use crate::store::{Prober, StoreError};

/// The columns of a registry row, in the order that [`read_session`] expects.
pub fn session_columns(registry: &BoundRegistry) -> [String; 3] {
    let time =
        |time: &Option<TimeSql>| time.as_ref().map_or_else(|| "NULL".into(), |time| time.cell.text.clone());
    [registry.beat_at.cell.text.clone(), time(&registry.stale_at), time(&registry.started_at)]
}

/// The session in the columns of `row` that begin at `first`.
pub fn read_session(row: &Row<'_>, first: usize, registry: &BoundRegistry) -> Session {
    Session {
        beat_at: registry.beat_at.read(&cell(row, first)),
        stale_at: registry.stale_at.as_ref().map(|time| time.read(&cell(row, first + 1))),
        started_at: match &registry.started_at {
            Some(time) => time.read(&cell(row, first + 2)),
            None => Reading::Absent,
        },
    }
}

/// Every session of a board's registry, with its process.
fn sessions(
    connection: &Connection,
    board: &BoundBoard,
    registry: &BoundRegistry,
    prober: Option<&Prober>,
) -> rusqlite::Result<Vec<(Value, Session, Worker)>> {
    let null = || "NULL".to_owned();
    let process = [board.pid.clone().unwrap_or_else(null), board.host.clone().unwrap_or_else(null)];
    let columns = [&session_columns(registry)[..], &process[..]].concat().join(", ");
    let sql = format!("SELECT {}, {columns} FROM {}", registry.id.text, registry.from);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let session = read_session(row, 1, registry);
        let mut worker = Worker::new(cell(row, 4), cell(row, 5).text());
        if let Some(prober) = prober {
            prober.probe(&mut worker, session.started_at.at(), session.beat_at.at());
        }
        all.push((cell(row, 0), session, worker));
    }
    Ok(all)
}

/// The claims whose verdict the kernel can change: those of dead processes, and of processes that
/// live although their session is silent.
pub fn claims_in_question(
    connection: &Connection,
    board: &BoundBoard,
    prober: &Prober,
    now: Moment,
) -> rusqlite::Result<Vec<i64>> {
    let mut claims = Vec::new();
    let clock = [(":now".to_owned(), now_value(board, now))];
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
    for (id, session, worker) in sessions(connection, board, registry, Some(prober))? {
        let matters = match worker.process {
            Process::Dead => true,
            // Kinds may be given up at other times than the board's; each row is judged anyway.
            Process::Alive => !board.rules.kinds.is_empty() || board.gives_up_on(&session, now),
            Process::Unknown => false,
        };
        if matters {
            let values = [clock[0].clone(), (":holder".to_owned(), to_sql(&id))];
            select(connection, &sql, &values, |rowid| claims.push(rowid))?;
        }
    }
    Ok(claims)
}

impl Reader {
    /// Everybody in the registries, and, where there is none, everybody who holds a claim that
    /// names its process; or only the one that is named.
    pub fn holders(&mut self, only: Option<&str>) -> Result<Vec<Holder>, StoreError> {
        self.follow_the_path()?;
        let prober = self.options.prober.clone();
        let mut holders = self.in_one_transaction("reading the registry", |reader, now, _| {
            let mut holders: Vec<Holder> = Vec::new();
            for watched in &reader.watched {
                let mut seen: Vec<&str> = Vec::new();
                for watch in &watched.boards {
                    let found = match &watch.board.registry {
                        Some(registry) if seen.contains(&registry.table.as_str()) => continue,
                        Some(registry) => {
                            seen.push(&registry.table);
                            let boards: Vec<&BoundBoard> =
                                watched.boards.iter().map(|watch| &watch.board).collect();
                            registered(
                                &reader.connection,
                                &watch.board,
                                registry,
                                &boards,
                                prober.as_ref(),
                                now,
                            )?
                        }
                        None if watch.board.pid.is_some() => named_by_claims(&reader.connection, watch, now)?,
                        None => Vec::new(),
                    };
                    holders.extend(
                        found.into_iter().map(|holder| Holder { profile: watched.name.clone(), ..holder }),
                    );
                }
            }
            Ok(holders)
        })?;
        if let Some(only) = only {
            holders.retain(|holder| holder.id.text().as_deref() == Some(only));
        }
        Ok(holders)
    }
}

fn registered(
    connection: &Connection,
    board: &BoundBoard,
    registry: &BoundRegistry,
    boards: &[&BoundBoard],
    prober: Option<&Prober>,
    now: Moment,
) -> rusqlite::Result<Vec<Holder>> {
    let mut holders = Vec::new();
    for (id, session, worker) in sessions(connection, board, registry, prober)? {
        holders.push(Holder {
            profile: String::new(),
            listed_in: registry.table.clone(),
            claims: held_by(connection, boards, registry, &id, now)?,
            is_stale: board.gives_up_on(&session, now),
            beat_at: session.beat_at,
            started_at: session.started_at,
            id,
            worker,
            now,
        });
    }
    Ok(holders)
}

/// How many claims a session holds on the boards that share its registry.
pub fn held_by(
    connection: &Connection,
    boards: &[&BoundBoard],
    registry: &BoundRegistry,
    id: &Value,
    now: Moment,
) -> rusqlite::Result<u64> {
    let mut claims = 0;
    for board in boards {
        let shares = board.registry.as_ref().is_some_and(|other| other.table == registry.table);
        if let (true, Some(holder)) = (shares, &board.holder) {
            let sql = format!(
                "SELECT count(*) FROM {} WHERE {} = :holder AND {}",
                board.from,
                holder.text,
                board.is_held()
            );
            let values = [(":now".to_owned(), now_value(board, now)), (":holder".to_owned(), to_sql(id))];
            claims += count(connection, &sql, &values)?;
        }
    }
    Ok(claims)
}

fn named_by_claims(connection: &Connection, watch: &Watch, now: Moment) -> rusqlite::Result<Vec<Holder>> {
    let mut holders = NamedHolders::default();
    stream(connection, &watch.board, &watch.reader, now, false, |judged| {
        holders.add(&watch.board.table, &judged.claim, now);
        true
    })?;
    Ok(holders.all())
}
