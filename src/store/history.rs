//! Traces of earlier recoveries that the system itself keeps in its tables.

use std::collections::BTreeMap;

use super::bound::BoundZone;
use super::driver::{Connection, Failed, TimeForm};
use super::named_params::NamedParams;
use super::schema::{Table, is_identifier, quoted};
use super::{Reader, StoreError, Trace};
use crate::domain::detail::HolderActivity;
use crate::domain::time::ZoneName;
use crate::profile::format::History;
use crate::store::driver::QueryRows;

/// A history of a profile, and the table that has it here.
#[derive(Debug)]
pub(super) struct HistoryAt {
    pub profile: String,
    pub history: History,
    pub table: Table,
    zone: Option<BoundZone>,
}

impl Reader {
    /// Up to `limit` traces of each kind that the profiles name and the database has.
    pub fn history(&mut self, limit: usize) -> Result<Vec<Trace>, StoreError> {
        let kept = self.histories()?;
        self.traces(&kept, limit)
    }

    fn traces(&mut self, kept: &[HistoryAt], limit: usize) -> Result<Vec<Trace>, StoreError> {
        self.look("reading the history", |look| {
            let mut traces = Vec::new();
            for at in kept {
                traces.extend(traces_of(&mut *look.connection, at, limit)?);
            }
            Ok(traces)
        })
    }

    /// What each holder did, by the newest `limit` traces of each history that names holders; the most active first.
    pub fn activity(&mut self, limit: usize) -> Result<Vec<HolderActivity>, StoreError> {
        let traces = self.history(limit)?;
        self.by_holder(traces)
    }

    /// The same by the newest `limit` rows of tables that only grow: quick, however long they are.
    pub fn recent_activity(&mut self, limit: usize) -> Result<Vec<HolderActivity>, StoreError> {
        let mut grown = self.histories()?;
        grown.retain(|at| at.history.holder.is_some() && at.history.only.is_none());
        for table in grown.iter_mut().map(|at| &mut at.table).filter(|table| table.has_rowid) {
            table.sql = format!("(SELECT * FROM {} ORDER BY rowid DESC LIMIT {limit})", table.sql);
        }
        let traces = self.traces(&grown, limit)?;
        let mut all = self.by_holder(traces)?;
        all.retain(|one| one.recent > 0);
        Ok(all)
    }

    fn by_holder(&mut self, traces: Vec<Trace>) -> Result<Vec<HolderActivity>, StoreError> {
        let now = self.look("reading the history", |look| Ok(look.now))?;
        let mut all: BTreeMap<(String, String, Option<String>), HolderActivity> = BTreeMap::new();
        for trace in traces {
            let Trace { profile, history, holder, .. } = &trace;
            let key = (profile.clone(), history.clone(), holder.clone());
            let activity = all.entry(key).or_insert_with(|| HolderActivity {
                profile: profile.clone(),
                history: history.clone(),
                holder: holder.clone(),
                count: 0,
                recent: 0,
                last: None,
                what: BTreeMap::new(),
                now,
            });
            activity.add(trace.moment(), trace.what.as_deref());
        }
        let mut all: Vec<HolderActivity> = all.into_values().collect();
        all.sort_by_key(|one| std::cmp::Reverse((one.recent, one.last, one.count)));
        Ok(all)
    }

    /// The histories of every profile whose tables are there.
    pub(super) fn histories(&mut self) -> Result<Vec<HistoryAt>, StoreError> {
        let set = self.engine.options().operator.zone.clone();
        let named = self.look("reading the history", |look| {
            let all = look.profiles().into_iter().flat_map(|profile| {
                profile.history.iter().filter_map(|history| {
                    let table = look.schema.table(&history.table)?.clone();
                    let zone = set.clone().unwrap_or_else(|| profile.zone_of_history(history));
                    Some((profile.name.clone(), history.clone(), table, zone))
                })
            });
            Ok(all.collect::<Vec<_>>())
        })?;
        let bind = |(profile, history, table, zone): (String, History, Table, ZoneName)| {
            let zone = self.engine.zone(&zone, &table)?;
            Ok(HistoryAt { profile, history, table, zone })
        };
        named.into_iter().map(bind).collect()
    }
}

pub(super) fn traces_of(
    connection: &mut dyn Connection,
    at: &HistoryAt,
    limit: usize,
) -> Result<Vec<Trace>, Failed> {
    let HistoryAt { profile, history, table, zone } = at;
    let zone = zone.as_ref();
    let dialect = connection.dialect();
    // A column that this version of the system lacks reads as NULL.
    let value = |sql: Option<&String>| match sql {
        Some(sql) => match table.column(sql) {
            Some(column) => format!("c.{}", quoted(&column.name)),
            None if !is_identifier(sql) => format!("({sql})"),
            None => "NULL".into(),
        },
        None => "NULL".into(),
    };
    let selected = |sql: Option<&String>| dialect.selected(&value(sql));
    let column = table.column(&history.at);
    let form = TimeForm { unit: history.time, zone };
    let time = dialect.trace_time(&value(Some(&history.at)), column, form);
    let only = history.only.as_ref().map_or_else(String::new, |only| format!(" WHERE ({only}\n)"));
    let sql = format!(
        "SELECT {}, {}, {}, {}, {}, {} FROM {} AS c{only} ORDER BY {} LIMIT {limit}",
        selected(Some(&history.id)),
        selected(history.kind.as_ref()),
        selected(history.holder.as_ref()),
        time.selected,
        selected(Some(&history.what)),
        selected(history.state.as_ref()),
        table.sql,
        time.order
    );
    let declared = column.map(|column| column.declared.as_str()).unwrap_or_default();
    connection.run("reading the history", "SAVEPOINT claimtop_history")?;
    let read = connection.all("reading the history", &sql, &NamedParams::default(), |row| Trace {
        profile: profile.clone(),
        history: history.name.clone(),
        id: row.text(0),
        kind: row.text(1),
        holder: row.text(2),
        at: history.time.read_in(&row.time(3, declared), form.own_zone()),
        what: row.text(4),
        state: row.text(5),
    });
    match read {
        // Another version of the table, without the columns that the condition names.
        Err(Failed::NotUnderstood(_)) => {
            connection.run("reading the history", "ROLLBACK TO claimtop_history")?;
            Ok(Vec::new())
        }
        other => other,
    }
}
