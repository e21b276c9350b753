//! How often the system itself recovered jobs lately, by the traces that it keeps in its tables.

use std::collections::BTreeMap;

use super::driver::Failed;
use super::history::{HistoryAt, traces_of};
use super::look::Look;
use super::named_params::NamedParams;
use super::{Reader, StoreError, Trace};
use crate::domain::detail::{KindTally, Kinds};
use crate::domain::time::Span;
use crate::store::driver::QueryRows;

/// The period in which too many recoveries are a sign of trouble.
pub const RECENT: Span = Span::minutes(60);

/// Traces that are read; beyond them a count is a lower bound.
const MOST: usize = 1_000;

/// Recoveries within [`RECENT`] by the traces in one table, whoever did them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recoveries {
    pub profile: String,
    /// The table of the traces, as SQL.
    pub table: String,
    pub kinds: Vec<KindRecoveries>,
    /// There may be more.
    pub at_least: bool,
}

/// Recoveries of one kind, by the state in which they left their jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindRecoveries {
    pub kind: Option<String>,
    pub state: Option<String>,
    pub count: u64,
}

impl Recoveries {
    pub fn total(&self) -> u64 {
        self.kinds.iter().map(|one| one.count).sum()
    }
}

impl Reader {
    /// Recent recoveries in every table with traces that can be read cheaply.
    pub fn recoveries(&mut self) -> Result<Vec<Recoveries>, StoreError> {
        let kept: Vec<HistoryAt> =
            self.histories()?.into_iter().filter(|at| at.history.state.is_some()).collect();
        self.look("counting recoveries", |look| {
            let mut found = Vec::new();
            for at in &kept {
                if is_cheap(look, at)? {
                    let traces = traces_of(&mut *look.connection, at, MOST)?;
                    found.push(counted(look, at, traces));
                }
            }
            Ok(found)
        })
    }

    /// Adds recent recoveries to the kinds of the boards whose tables contain the traces.
    pub(super) fn add_recoveries(&mut self, boards: &mut [(Kinds, String)]) {
        // The other figures are valid without them.
        for found in self.recoveries().unwrap_or_default() {
            let is_its = |(kinds, table): &&mut (Kinds, String)| {
                kinds.profile == found.profile && *table == found.table
            };
            let Some((board, _)) = boards.iter_mut().find(is_its) else { continue };
            for one in &found.kinds {
                if board.kinds.iter().all(|tally| tally.kind != one.kind) {
                    board.kinds.push(KindTally { kind: one.kind.clone(), ..KindTally::default() });
                }
            }
            for tally in &mut board.kinds {
                let own = found.kinds.iter().filter(|one| one.kind == tally.kind);
                tally.reclaimed = Some(own.map(|one| one.count).sum());
            }
        }
    }
}

/// Whether the traces can be found without reading a large table.
fn is_cheap(look: &mut Look<'_>, at: &HistoryAt) -> Result<bool, Failed> {
    let doing = "counting recoveries";
    let none = NamedParams::default();
    if let Some(column) = at.table.column(&at.history.at) {
        let sql = look.connection.dialect().partial_indexes(&at.table, column);
        if look.connection.count(doing, &sql, &none)? > 0 {
            return Ok(true);
        }
    }
    let sql = look.connection.dialect().small_tables(&at.table);
    Ok(look.connection.count(doing, &sql, &none)? > 0)
}

fn counted(look: &Look<'_>, at: &HistoryAt, traces: Vec<Trace>) -> Recoveries {
    let (since, at_least) = (look.now.minus(RECENT), traces.len() == MOST);
    let mut counts: BTreeMap<(Option<String>, Option<String>), u64> = BTreeMap::new();
    for trace in traces.into_iter().filter(|trace| trace.moment().is_some_and(|at| at > since)) {
        *counts.entry((trace.kind, trace.state)).or_default() += 1;
    }
    let kinds = counts.into_iter().map(|((kind, state), count)| KindRecoveries { kind, state, count });
    Recoveries { profile: at.profile.clone(), table: at.table.sql.clone(), kinds: kinds.collect(), at_least }
}
