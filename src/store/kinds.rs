//! The claims and the backlog of a board, kind by kind, and the deadlines of the coming minutes.

use std::collections::BTreeMap;

use super::driver::Failed;
use super::look::Look;
use super::watched::WatchedBoard;
use super::{Reader, StoreError};
use crate::domain::detail::{Horizon, KindTally, Kinds};
use crate::domain::snapshot::Judged;
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Set;
use crate::store::driver::QueryRows;

/// Claims looked at on one board, and jobs of a state that are grouped: beyond it a count is a lower bound.
const MOST: usize = 20_000;

impl Reader {
    /// The kinds of every board.
    pub fn kinds(&mut self) -> Result<Vec<Kinds>, StoreError> {
        let mut all: Vec<(Kinds, String)> = self.look("counting kinds", |look| {
            let boards = look.watches();
            let mut all = Vec::new();
            for watch in boards {
                let table = look.schema.table(&watch.bound().table).map(|table| table.sql.clone());
                all.push((kinds_of(look, watch)?, table.unwrap_or_default()));
            }
            Ok(all)
        })?;
        self.add_recoveries(&mut all);
        Ok(all.into_iter().map(|(kinds, _)| kinds).collect())
    }

    /// The coming `minutes` of all boards together.
    pub fn horizon(&mut self, minutes: usize) -> Result<Horizon, StoreError> {
        self.look("looking ahead", |look| {
            let mut horizon = Horizon::of(minutes);
            for watch in look.watches() {
                look_ahead(look, watch, &mut horizon)?;
            }
            Ok(horizon)
        })
    }
}

fn kinds_of(look: &mut Look<'_>, watch: &dyn WatchedBoard) -> Result<Kinds, Failed> {
    let mut kinds = BoardKinds { watch, kinds: BTreeMap::new(), at_least: false };
    let mut looked_at = 0;
    look.each_claim("counting kinds", watch, &format!(" LIMIT {MOST}"), &mut |judged| {
        looked_at += 1;
        kinds.add(&judged);
    })?;
    kinds.at_least = looked_at == MOST;
    kinds.add_backlog(look)?;
    let id = &watch.bound().board_id;
    let (kinds, at_least) = (kinds.kinds.into_values().collect(), kinds.at_least);
    Ok(Kinds { profile: id.profile().into(), board: id.board().into(), kinds, at_least })
}

/// The kinds of one board.
struct BoardKinds<'a> {
    watch: &'a dyn WatchedBoard,
    kinds: BTreeMap<Option<String>, KindTally>,
    at_least: bool,
}

impl BoardKinds<'_> {
    fn of(&mut self, kind: Option<String>) -> &mut KindTally {
        let rules = &self.watch.bound().rules;
        self.kinds.entry(kind.clone()).or_insert_with(|| KindTally {
            ttl: rules.for_kind(kind.as_deref()).ttl,
            kind,
            ..KindTally::default()
        })
    }

    fn add(&mut self, judged: &Judged) {
        let tally = self.of(judged.claim.kind.clone());
        tally.running += 1;
        tally.stale += u64::from(judged.verdict.is_in(Set::Stale));
        tally.orphaned += u64::from(judged.verdict.is_in(Set::Orphaned));
        tally.exhausted += u64::from(judged.verdict.exhausted);
        if let Some(overrun) = judged.verdict.overrun {
            tally.overrun = Some(tally.overrun.map_or(overrun, |longest| longest.max(overrun)));
        }
    }

    /// Groups what waits and what is dead by kind.
    fn add_backlog(&mut self, look: &mut Look<'_>) -> Result<(), Failed> {
        let (board, rows) = (self.watch.bound(), self.watch.rows());
        let Some(backlog) = &board.backlog else { return Ok(()) };
        if !self.watch.may_count_backlog(&mut *look.connection, MOST)? {
            self.at_least = true;
            return Ok(());
        }
        // A backlog in a table of its own may lack the column; then nobody knows the kinds.
        let kind = board.kind.as_deref().filter(|_| backlog.from == board.from).unwrap_or("NULL");
        let dialect = look.connection.dialect();
        let oldest = backlog.oldest.as_ref().and_then(|time| Some((time, dialect.earliest(time)?)));
        let none = dialect.selected("NULL");
        let earliest = oldest.as_ref().map_or(none.as_str(), |(_, sql)| sql.as_str());
        for state in ["queued", "dead"] {
            let Some(predicate) = backlog.states.get(state) else { continue };
            let sql = format!(
                "SELECT {}, {}, {} FROM (SELECT {} AS kind, {earliest} AS oldest FROM {} WHERE ({predicate}) \
                 LIMIT {MOST}) AS waiting GROUP BY 1",
                dialect.selected("kind"),
                dialect.selected("count(*)"),
                dialect.selected("min(oldest)"),
                dialect.selected(kind),
                backlog.from
            );
            let counted =
                look.connection.all("counting kinds", &sql, &rows.clock(board, look.now), |row| {
                    let waits_since =
                        oldest.as_ref().and_then(|(time, _)| dialect.read_earliest(time, row, 2).at());
                    (row.text(0), row.count(1), waits_since)
                })?;
            self.at_least |= counted.iter().map(|(_, count, _)| count).sum::<u64>() == MOST as u64;
            for (kind, count, waits_since) in counted {
                let tally = self.of(kind);
                if state == "dead" {
                    tally.dead += count;
                } else {
                    tally.queued += count;
                    tally.oldest_queued = waits_since;
                }
            }
        }
        Ok(())
    }
}

fn look_ahead(look: &mut Look<'_>, watch: &dyn WatchedBoard, horizon: &mut Horizon) -> Result<(), Failed> {
    let (now, within) = (look.now, Span::minutes(horizon.minutes.len() as i64));
    let mut looked_at = 0;
    let mut add = |deadline: Option<Moment>| {
        looked_at += 1;
        if let Some(at) = deadline.filter(|at| *at >= now && *at < now.plus(within)) {
            horizon.add(at.since(now));
        }
    };
    match watch.deadlines(&mut *look.connection, now, within, MOST)? {
        Some(deadlines) => deadlines.into_iter().for_each(|at| add(Some(at))),
        // Without an index the first rows stand for all; the chart says that it shows no more.
        None => look.each_claim("looking ahead", watch, &format!(" LIMIT {MOST}"), &mut |judged| {
            add(judged.verdict.deadline);
        })?,
    }
    horizon.at_least |= looked_at == MOST;
    Ok(())
}
