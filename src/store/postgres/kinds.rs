//! The claims and the backlog of a board, kind by kind, and what the coming minutes will bring.

use std::collections::BTreeMap;

use super::cell::{number, text, time};
use super::error::PgError;
use super::link::Link;
use super::reader::Reader;
use super::watch::{MOST, Watch, query};
use crate::domain::close_up::{Horizon, KindTally, Kinds};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;
use crate::store::StoreError;

impl Reader {
    /// Every board that has kinds or a backlog.
    pub fn kinds(&mut self) -> Result<Vec<Kinds>, StoreError> {
        self.reading("counting kinds", |link, watched, now| {
            let mut all = Vec::new();
            for watched in watched.iter() {
                for watch in &watched.boards {
                    let (kinds, at_least) = kinds_of(link, watch, now)?;
                    let board = watch.board.name.clone();
                    all.push(Kinds { profile: watched.name.clone(), board, kinds, at_least });
                }
            }
            Ok(all)
        })
    }

    /// The coming `minutes` of all boards together.
    pub fn horizon(&mut self, minutes: usize) -> Result<Horizon, StoreError> {
        self.reading("looking ahead", |link, watched, now| {
            let mut horizon = Horizon::of(minutes);
            let end = now.plus(Span::minutes(minutes as i64));
            for watch in watched.iter().flat_map(|watched| &watched.boards) {
                let sql = format!("{} LIMIT {MOST}", watch.reader.select(false));
                let rows = query(link, &watch.clock(now), &sql)?;
                horizon.at_least |= rows.len() == MOST;
                for row in &rows {
                    let deadline = watch.reader.read(row, &watch.board, now).verdict.deadline;
                    if let Some(at) = deadline.filter(|at| *at >= now && *at < end) {
                        horizon.add(at.since(now));
                    }
                }
            }
            Ok(horizon)
        })
    }
}

fn kinds_of(link: &mut Link, watch: &Watch, now: Moment) -> Result<(Vec<KindTally>, bool), PgError> {
    let mut kinds: BTreeMap<Option<String>, KindTally> = BTreeMap::new();
    let entry = |kind: Option<String>| KindTally {
        ttl: watch.board.rules.for_kind(kind.as_deref()).ttl,
        kind,
        ..KindTally::default()
    };
    let sql = format!("{} LIMIT {MOST}", watch.reader.select(false));
    let rows = query(link, &watch.clock(now), &sql)?;
    for row in &rows {
        let judged = watch.reader.read(row, &watch.board, now);
        let kind = judged.claim.kind.clone();
        let tally = kinds.entry(kind.clone()).or_insert_with(|| entry(kind));
        tally.running += 1;
        tally.stale += u64::from(judged.verdict.is_in(Set::Stale));
        tally.orphaned += u64::from(judged.verdict.is_in(Set::Orphaned));
        tally.exhausted += u64::from(judged.verdict.exhausted);
        if let Some(overrun) = judged.verdict.overrun {
            tally.overrun = Some(tally.overrun.map_or(overrun, |longest| longest.max(overrun)));
        }
    }
    let mut at_least = rows.len() == MOST;
    let Some(backlog) = &watch.board.backlog else { return Ok((kinds.into_values().collect(), at_least)) };
    // A backlog in a table of its own may lack the column; then nobody knows the kinds.
    let kind = watch.board.kind.as_deref().filter(|_| backlog.from == watch.board.from).unwrap_or("NULL");
    let oldest = backlog.oldest.as_ref().filter(|oldest| oldest.bound_type.is_some());
    for (state, predicate) in
        backlog.states.iter().filter(|(state, _)| matches!(state.as_str(), "queued" | "dead"))
    {
        let sql = format!(
            "SELECT (kind)::text, count(*)::text, (min(oldest))::text FROM (SELECT {kind} AS kind, {} AS oldest \
             FROM {} WHERE ({predicate}) LIMIT {MOST}) AS waiting GROUP BY 1",
            oldest.map_or("NULL::text", |oldest| oldest.selected.as_str()),
            backlog.from
        );
        let mut looked_at = 0;
        for row in query(link, &watch.clock(now), &sql)? {
            let kind = text(&row, 0);
            let count = number(&row, 1).int().unwrap_or(0).max(0).unsigned_abs();
            looked_at += count;
            let tally = kinds.entry(kind.clone()).or_insert_with(|| entry(kind));
            if state == "dead" {
                tally.dead += count;
            } else {
                tally.queued += count;
                let read = |sql: &crate::store::bound::TimeSql| {
                    sql.unit.read(&time(&row, 2, &sql.cell.declared)).at()
                };
                tally.oldest_queued = oldest.and_then(read);
            }
        }
        at_least |= looked_at == MOST as u64;
    }
    Ok((kinds.into_values().collect(), at_least))
}
