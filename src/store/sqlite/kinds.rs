//! The claims and the backlog of a board, kind by kind.

use rusqlite::Connection;
use std::collections::BTreeMap;

use super::cell::cell;
use super::reader::Reader;
use super::run::{bind_known, is_larger, now_value};
use super::stream::stream;
use super::watch::Watch;
use crate::domain::close_up::{KindTally, Kinds};
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::store::StoreError;

/// Claims looked at on one board, and rows of a backlog that is grouped.
const MOST: usize = 20_000;

impl Reader {
    /// Every board that has kinds or a backlog.
    pub fn kinds(&mut self) -> Result<Vec<Kinds>, StoreError> {
        self.follow_the_path()?;
        self.in_one_transaction("counting kinds", |reader, now, _| {
            let mut all = Vec::new();
            for watched in &reader.watched {
                for watch in &watched.boards {
                    let (kinds, at_least) = kinds_of(&reader.connection, watch, now)?;
                    let board = watch.board.name.clone();
                    all.push(Kinds { profile: watched.name.clone(), board, kinds, at_least });
                }
            }
            Ok(all)
        })
    }
}

fn kinds_of(connection: &Connection, watch: &Watch, now: Moment) -> rusqlite::Result<(Vec<KindTally>, bool)> {
    let mut kinds: BTreeMap<Option<String>, KindTally> = BTreeMap::new();
    let mut looked_at = 0;
    stream(connection, &watch.board, &watch.reader, now, false, |judged| {
        looked_at += 1;
        let tally = entry(&mut kinds, judged.claim.kind.clone(), watch);
        tally.running += 1;
        tally.stale += u64::from(judged.verdict.is_in(Set::Stale));
        tally.orphaned += u64::from(judged.verdict.is_in(Set::Orphaned));
        tally.exhausted += u64::from(judged.verdict.exhausted);
        if let Some(overrun) = judged.verdict.overrun {
            tally.overrun = Some(tally.overrun.map_or(overrun, |longest| longest.max(overrun)));
        }
        looked_at < MOST
    })?;
    let backlog_cut = add_backlog(connection, watch, now, &mut kinds)?;
    Ok((kinds.into_values().collect(), looked_at == MOST || backlog_cut))
}

fn entry<'a>(
    kinds: &'a mut BTreeMap<Option<String>, KindTally>,
    kind: Option<String>,
    watch: &Watch,
) -> &'a mut KindTally {
    kinds.entry(kind.clone()).or_insert_with(|| KindTally {
        ttl: watch.board.rules.for_kind(kind.as_deref()).ttl,
        kind,
        ..KindTally::default()
    })
}

/// Groups what waits and what is dead by kind, in tables that are small enough for it.
fn add_backlog(
    connection: &Connection,
    watch: &Watch,
    now: Moment,
    kinds: &mut BTreeMap<Option<String>, KindTally>,
) -> rusqlite::Result<bool> {
    let board = &watch.board;
    let Some(backlog) = &board.backlog else { return Ok(false) };
    if is_larger(connection, &backlog.from, MOST)? {
        return Ok(true);
    }
    // A backlog in a table of its own may lack the column; then nobody knows the kinds.
    let kind = board.kind.as_deref().filter(|_| backlog.from == board.from).unwrap_or("NULL");
    let oldest = backlog.oldest.as_ref().map_or("NULL", |oldest| oldest.comparable.as_str());
    for (state, predicate) in &backlog.states {
        if !matches!(state.as_str(), "queued" | "dead") {
            continue;
        }
        let sql = format!(
            "SELECT {kind}, count(*), min({oldest}) FROM {} WHERE {predicate} GROUP BY 1",
            backlog.from
        );
        let mut statement = connection.prepare_cached(&sql)?;
        bind_known(&mut statement, &[(":now".into(), now_value(board, now))])?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let tally = entry(kinds, cell(row, 0).text(), watch);
            let count = cell(row, 1).int().unwrap_or(0).max(0) as u64;
            if state == "dead" {
                tally.dead += count;
            } else {
                tally.queued += count;
                let unit = backlog.oldest.as_ref().map(|oldest| oldest.compared_in());
                tally.oldest_queued = unit.and_then(|unit| unit.read(&cell(row, 2)).at());
            }
        }
    }
    Ok(false)
}
