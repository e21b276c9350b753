//! Acts that need no second look: one prepared statement whose guard says all there is to say.
//!
//! Where nobody forces a reclaim, no process was asked about, and the verdict rests on the claim's
//! own row, "every column is as it was seen, and its time is still over" is the whole permission.
//! The statement tests exactly that, in the database, at that instant. Whatever it does not find is
//! looked at again by the whole protocol, which says what has moved.

use rusqlite::Statement;
use std::sync::Arc;

use super::actor::Actor;
use super::cell::cell;
use super::connection::OnConnection;
use super::dialect::{SqliteDialect, bind as bind_all};
use super::image::{number_of, row_at};
use super::probe::{Probe, Tag};
use super::watch::Watch;
use crate::domain::board_id::BoardId;
use crate::domain::evidence::why;
use crate::domain::recovery::{Action, Outcome};
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::domain::verdict::Reason;
use crate::store::StoreError;
use crate::store::act::{Acted, Intents, Note, Order, Pending, act_of, numbered};
use crate::store::audit_table;
use crate::store::driver::BatchPart;
use crate::store::image::{Change, Image};
use crate::store::named_params::NamedParams;
use crate::store::schema::{Column, Names, quoted};
use crate::store::seen::{Seen, prefix};
use crate::store::statements::{Guarded, RowEffect, guarded, own_values};
use crate::store::watched;

/// One statement for all claims of a board.
#[derive(Debug)]
pub(super) struct Direct<'a> {
    sql: String,
    order: Order<'a>,
    board: BoardId,
    table: String,
    /// Every column that is compared, in order.
    columns: Vec<GuardedColumn>,
    names: Arc<Names>,
    /// What is the same for all of them: the clock, and what follows from it.
    shared: NamedParams,
    change: DirectChange,
    now: Moment,
}

/// A column of the guard.
#[derive(Debug)]
struct GuardedColumn {
    name: String,
    /// It keeps 5 and 5.0 apart, which SQL takes for equal: then a number needs a second look.
    keeps_numbers_apart: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DirectChange {
    Delete,
    Update,
}

/// Where the values of one claim go.
struct Slots {
    rowid: Option<usize>,
    columns: Vec<Option<usize>>,
    /// The values of the profile's expressions that the statement names.
    values: Vec<(&'static str, usize)>,
}

impl Actor {
    /// The statement that can decide alone about the claims of a board, if there is one.
    pub(super) fn direct<'a>(&self, board: &BoardId, order: &Order<'a>, now: Moment) -> Option<Direct<'a>> {
        let plain = order.action == Action::Reclaim && !order.authorization.force && !order.dry_run;
        if !plain || self.reader.options.prober.is_some() {
            return None;
        }
        let (watched, watch) = watched::find(&self.reader.watched, board)?;
        let written = watched.profile.boards.iter().find(|written| written.name == watch.board.name)?;
        let act = act_of(written, order.action)?;
        if !act.is_alone() || self.schema.is_entangled(&watch.board.table) {
            return None;
        }
        let table = self.schema.table(&watch.board.table)?;
        if RowEffect::of(act).renames(table) {
            return None;
        }
        let columns: Vec<GuardedColumn> = table.written().map(GuardedColumn::new).collect();
        let mut shared = watch.board.clock(&SqliteDialect, now);
        let over = over(watch, now, &mut shared)?;
        let same = columns
            .iter()
            .enumerate()
            .map(|(at, column)| format!("c.{} COLLATE BINARY IS :seen{at}", quoted(&column.name)));
        let same = same.collect::<Vec<_>>().join(" AND ");
        let conditions = format!("{} AND {same} AND {over}", watch.rows.is(":rowid"));
        let rows = Guarded { table, alias: "c", from: "", conditions: &conditions };
        let mut sql = guarded(&SqliteDialect, act, &rows, order.action.as_str()).ok()?;
        let change = if act.delete { DirectChange::Delete } else { DirectChange::Update };
        if change == DirectChange::Update {
            let all: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
            sql.push_str(&format!(" RETURNING {}", all.join(", ")));
        }
        let (table, names) = (table.name.clone(), Arc::clone(&table.names));
        let board = board.clone();
        Some(Direct { sql, order: order.clone(), board, table, columns, names, shared, change, now })
    }

    /// Acts on the claims that have not been tried yet, until one of them takes a second look.
    pub(super) fn act_directly(
        &self,
        direct: &Direct<'_>,
        part: &BatchPart<'_, '_>,
        tried: &mut Vec<Acted>,
        intents: &mut dyn Intents,
    ) -> Result<(), StoreError> {
        let Some(watch) = self.watch(&direct.board) else { return Ok(()) };
        let Some(table) = self.schema.table(&direct.table) else { return Ok(()) };
        let mark = self.transaction_mark();
        let prepared = self.writer.prepare_cached(&direct.sql);
        let mut statement = prepared.map_err(|error| self.reader.sentence(&error, "acting"))?;
        let slots = self.write("acting", |_| direct.slots(&mut statement))?;
        let prefix = prefix(direct.board.profile(), &watch.board.name);
        let audit_table = self.schema.table(audit_table::NAME);
        let mut connection = OnConnection { connection: &self.writer, reader: &self.reader };
        while part.goes_on(tried.len()) {
            let Some(seen) = part.all.get(tried.len()).filter(|seen| direct.suits(seen)) else { break };
            let rowid = number_of(table, &seen.row, seen.place.rowid, &self.reader.keys);
            let mut run = || direct.run(&mut statement, &slots, watch, seen, rowid);
            let after = match self.write("acting", |_| run()) {
                Ok(Some(after)) => after,
                Ok(None) | Err(StoreError::RowRefused { .. }) => break,
                Err(error) => return Err(error),
            };
            let changes = vec![Change {
                table: direct.table.clone(),
                at: row_at(table, rowid, &self.reader.keys),
                before: Some(seen.row.clone()),
                after,
            }];
            let pending = Pending {
                seen,
                address: seen.address_after(&prefix),
                changes: &changes,
                db_at: direct.now,
                transaction: mark.as_deref(),
            };
            let number = part.number(tried.len());
            intents.add(number, &pending);
            if let Some(records) = audit_table {
                let id = numbered(direct.order.action_id, number);
                let (action, authorization) = (direct.order.action.as_str(), direct.order.authorization);
                let note = Note { action, address: &pending.address, authorization, changes: &changes };
                audit_table::insert(&mut connection, records, &id, direct.now, &note)?;
            }
            tried.push(Acted { changes, ..Acted::nothing(Outcome::Applied) });
        }
        Ok(())
    }
}

/// That the claim is one, and its time is over, as a condition on its row; and the values of that.
fn over(watch: &Watch, now: Moment, values: &mut NamedParams) -> Option<String> {
    let is_over = |probe: &&Probe| {
        matches!(probe.tag, Tag::Reason(Reason::LeaseExpired) | Tag::Reason(Reason::TtlExceeded))
    };
    let board = &watch.board;
    let mut ways = Vec::new();
    let mut needs_session = board.looks_at_session;
    for (at, probe) in watch.staleness.iter().filter(is_over).enumerate() {
        let suffix = format!("_{at}");
        values.extend(probe.bindings(&suffix, board, now, None));
        ways.push(probe.predicate(&suffix));
        needs_session |= probe.needs_session;
    }
    if ways.is_empty() {
        return None;
    }
    let condition = format!("{} AND ({})", board.is_held(), ways.join(" OR "));
    let bare = format!("{} AS c", quoted(&board.table));
    Some(if !needs_session && board.from == bare {
        format!("({condition})")
    } else {
        format!("EXISTS (SELECT 1 FROM {} WHERE {} AND {condition})", board.joined(), watch.rows.is(":rowid"))
    })
}

impl Direct<'_> {
    /// Whether its verdict rests on its own row alone, and that row can be compared as it is.
    fn suits(&self, seen: &Seen) -> bool {
        rests_on_its_row(seen)
            && seen.place.board == self.board
            && seen.row.len() == self.columns.len()
            && seen.row.iter().zip(&self.columns).all(|((name, value), column)| {
                name == column.name
                    && match value {
                        Value::BadText(_) => false,
                        Value::Int(_) | Value::Real(_) => !column.keeps_numbers_apart,
                        Value::Null | Value::Text(_) | Value::Bytes(_) => true,
                    }
            })
    }

    /// Binds what is the same for all claims, and finds where the rest goes.
    fn slots(&self, statement: &mut Statement<'_>) -> rusqlite::Result<Slots> {
        bind_all(statement, &self.shared)?;
        let mut values = Vec::new();
        for name in ["until", "by", "ttl_minutes", "max_attempts", "why", "reason", "id", "holder", "kind"] {
            values.extend(statement.parameter_index(&format!(":{name}"))?.map(|at| (name, at)));
        }
        let columns = (0..self.columns.len()).map(|at| statement.parameter_index(&format!(":seen{at}")));
        let columns = columns.collect::<rusqlite::Result<_>>()?;
        Ok(Slots { rowid: statement.parameter_index(":rowid")?, columns, values })
    }

    /// What is left of the row (of a deleted one nothing), if it was still what was seen.
    fn run(
        &self,
        statement: &mut Statement<'_>,
        slots: &Slots,
        watch: &Watch,
        seen: &Seen,
        rowid: i64,
    ) -> rusqlite::Result<Option<Option<Image>>> {
        if let Some(at) = slots.rowid {
            statement.raw_bind_parameter(at, rowid)?;
        }
        for ((_, value), at) in seen.row.iter().zip(&slots.columns) {
            if let Some(at) = *at {
                bind(statement, at, value)?;
            }
        }
        if !slots.values.is_empty() {
            let claim = &seen.judged.claim;
            let named = slots.values.iter().any(|(name, _)| *name == "why");
            let rules = &watch.board.rules;
            let why = if named { why(claim, &seen.judged.verdict, rules, self.now) } else { String::new() };
            let mut own = own_values(&SqliteDialect, &watch.board, claim, &why, &self.order, self.now);
            own.add("reason", "", self.order.authorization.reason.clone());
            for (name, at) in &slots.values {
                let value = own.sent().find(|(own, _)| own == name).map_or(&Value::Null, |(_, value)| value);
                bind(statement, *at, value)?;
            }
        }
        if self.change == DirectChange::Delete {
            return Ok((statement.raw_execute()? == 1).then_some(None));
        }
        let mut rows = statement.raw_query();
        let after =
            rows.next()?.map(|row| Image::new(&self.names, (0..self.names.len()).map(|at| cell(row, at))));
        // To the end: only then is the statement done.
        while rows.next()?.is_some() {}
        Ok(after.map(Some))
    }
}

/// Whether its time is over by its own row, whatever its session and its process say.
pub(super) fn rests_on_its_row(seen: &Seen) -> bool {
    let has = |reason: Reason| seen.judged.verdict.reasons.contains(reason);
    let is_over = has(Reason::LeaseExpired) || has(Reason::TtlExceeded);
    is_over && !seen.rests_on_session() && !has(Reason::ProcessDead)
}

impl GuardedColumn {
    fn new(column: &Column) -> GuardedColumn {
        let declared = column.declared.to_ascii_uppercase();
        let keeps_numbers_apart = declared.is_empty() || declared.contains("BLOB") || declared == "ANY";
        GuardedColumn { name: column.name.clone(), keeps_numbers_apart }
    }
}

fn bind(statement: &mut Statement<'_>, at: usize, value: &Value) -> rusqlite::Result<()> {
    match value {
        Value::Null => statement.raw_bind_parameter(at, rusqlite::types::Null),
        Value::Int(number) => statement.raw_bind_parameter(at, number),
        Value::Real(number) => statement.raw_bind_parameter(at, number),
        Value::Text(text) => statement.raw_bind_parameter(at, text),
        Value::BadText(bytes) | Value::Bytes(bytes) => statement.raw_bind_parameter(at, bytes),
    }
}
