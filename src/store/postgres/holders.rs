//! The holders themselves: what the registry says of each.

use std::collections::BTreeMap;

use super::cell::{cell, number, text};
use super::error::PgError;
use super::link::Link;
use super::named_params::NamedParams;
use super::reader::Reader;
use super::rows::{read_session, session_columns};
use super::watch::{Watch, query};
use crate::domain::claim::{Session, Worker};
use crate::domain::close_up::{Holder, NamedHolders};
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::StoreError;
use crate::store::bound::{BoundBoard, BoundRegistry};

/// Every session of a board's registry, with what it says of its process.
pub fn sessions(
    link: &mut Link,
    watch: &Watch,
    registry: &BoundRegistry,
) -> Result<Vec<(Value, Session, Worker)>, PgError> {
    let sql = format!("SELECT {} FROM {}", columns(&watch.board, registry), registry.from);
    let rows = query(link, &NamedParams::default(), &sql)?;
    Ok(rows.iter().map(|row| read(row, registry)).collect())
}

/// The columns of a session with its id and process, in the order that [`read`] expects.
pub fn columns(board: &BoundBoard, registry: &BoundRegistry) -> String {
    let any =
        |sql: &Option<String>| sql.as_ref().map_or_else(|| "NULL".into(), |sql| format!("({sql})::text"));
    let id = format!("({})::text", registry.id.text);
    [&[id][..], &session_columns(registry)[..], &[any(&board.pid), any(&board.host)][..]].concat().join(", ")
}

pub fn read(row: &super::link::Row, registry: &BoundRegistry) -> (Value, Session, Worker) {
    let id = cell(row, 0, &registry.id.declared);
    (id, read_session(row, 1, registry), Worker::new(number(row, 4), text(row, 5)))
}

/// How many claims each holder has on a board.
fn claims_by_holder(link: &mut Link, watch: &Watch, now: Moment) -> Result<BTreeMap<String, u64>, PgError> {
    let Some(holder) = &watch.board.holder else { return Ok(BTreeMap::new()) };
    let sql = format!(
        "SELECT ({h})::text, count(*)::text FROM {} WHERE ({}) AND ({h}) IS NOT NULL GROUP BY 1",
        watch.board.from,
        watch.board.is_held(),
        h = holder.text
    );
    let rows = query(link, &watch.clock(now), &sql)?;
    let count = |at: &super::link::Row| number(at, 1).int().unwrap_or(0).max(0).unsigned_abs();
    Ok(rows.iter().filter_map(|row| Some((text(row, 0)?, count(row)))).collect())
}

impl Reader {
    /// Everybody in the registries, and, where there is none, everybody who holds a claim that
    /// names its process; or only the one that is named.
    pub fn holders(&mut self, only: Option<&str>) -> Result<Vec<Holder>, StoreError> {
        let prober = self.options.prober.clone();
        let mut holders = self.reading("reading the registry", |link, watched, now| {
            let mut holders: Vec<Holder> = Vec::new();
            for watched in watched.iter() {
                let mut seen: Vec<&str> = Vec::new();
                for watch in &watched.boards {
                    let found = match &watch.board.registry {
                        Some(registry) if seen.contains(&registry.table.as_str()) => continue,
                        Some(registry) => {
                            seen.push(&registry.table);
                            registered(link, watch, registry, &watched.boards, now)?
                        }
                        None if watch.board.pid.is_some() => named_by_claims(link, watch, now)?,
                        None => Vec::new(),
                    };
                    let own =
                        found.into_iter().map(|holder| Holder { profile: watched.name.clone(), ..holder });
                    holders.extend(own);
                }
            }
            Ok(holders)
        })?;
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

fn registered(
    link: &mut Link,
    watch: &Watch,
    registry: &BoundRegistry,
    boards: &[Watch],
    now: Moment,
) -> Result<Vec<Holder>, PgError> {
    let mut held: BTreeMap<String, u64> = BTreeMap::new();
    for other in boards {
        if other.board.registry.as_ref().is_some_and(|other| other.table == registry.table) {
            for (holder, claims) in claims_by_holder(link, other, now)? {
                *held.entry(holder).or_default() += claims;
            }
        }
    }
    let holder = |(id, session, worker): (Value, Session, Worker)| Holder {
        profile: String::new(),
        listed_in: registry.table.clone(),
        claims: id.text().and_then(|id| held.get(&id).copied()).unwrap_or(0),
        is_stale: watch.board.gives_up_on(&session, now),
        beat_at: session.beat_at,
        started_at: session.started_at,
        id,
        worker,
        now,
    };
    Ok(sessions(link, watch, registry)?.into_iter().map(holder).collect())
}

fn named_by_claims(link: &mut Link, watch: &Watch, now: Moment) -> Result<Vec<Holder>, PgError> {
    let mut holders = NamedHolders::default();
    // All of them, but never all at once.
    let put = watch.clock(now).put_into(&watch.reader.select(false));
    let first = link.patience();
    link.each_after(&first, &put.sql, &put.values(), |row| {
        holders.add(&watch.board.table, &watch.reader.read(row, &watch.board, now).claim, now);
    })?;
    Ok(holders.all())
}
