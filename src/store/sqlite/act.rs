//! The statements of an act: what the profile says is done, inside a guard that the program adds.

use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;

use super::cell::bound;
use super::error::is_lacking;
use super::image::InFile;
use super::run::{bind_known, now_value, time_value};
use super::watch::Watch;
use crate::domain::claim::Claim;
use crate::domain::recovery::{Action, Refusal};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::Reason;
use crate::profile::format::{Act, Profile};
use crate::store::act::{Order, ordered};
use crate::store::schema::{Schema, Table, quoted};
use crate::store::seen::Seen;

/// What runs, in order, and the values it runs with.
#[derive(Debug)]
pub struct Statements {
    /// Selects something if the act is forbidden.
    pub blocked_by: Option<String>,
    pub before: Vec<String>,
    pub act: String,
    pub also: Vec<String>,
    /// The act gives the row another key.
    pub renames: bool,
    pub values: Vec<(String, SqlValue)>,
}

/// Compiles an act on exactly the row that was looked at, or says why there is none.
pub fn statements(
    profile: &Profile,
    schema: &Schema,
    watch: &Watch,
    fresh: &Seen,
    order: &Order<'_>,
) -> Result<Statements, Refusal> {
    let board = &watch.board;
    let act = ordered(profile, &board.name, order)?;
    let table = schema.table(&board.table).ok_or(Refusal::TableGone)?;

    let (guard, mut values) = fresh.row.guard("c.", ":seen");
    values.push((":rowid".into(), SqlValue::Integer(fresh.place.rowid)));
    values.extend(words(watch, &fresh.judged.claim, &fresh.why, order, fresh.now));
    let held = board.is_held();
    let is_it = watch.rows.is(":rowid");
    let mut conditions = vec![format!("{is_it} AND {guard}")];
    if let Some(stale) = still_stale(watch, fresh, order, &mut values) {
        conditions.push(format!(
            "EXISTS (SELECT 1 FROM {} WHERE {is_it} AND {held} AND ({stale}))",
            board.joined()
        ));
    }
    let sql = guarded(act, table, "c", &conditions.join(" AND "), order.action.as_str())?;
    Ok(Statements {
        blocked_by: act
            .blocked_by
            .as_ref()
            .map(|predicate| format!("SELECT 1 FROM {} WHERE {is_it} AND ({predicate})", board.joined())),
        before: act.before.clone(),
        act: sql,
        also: act.also.clone(),
        renames: renames(act, table),
        values,
    })
}

/// Whether an act writes a column of the key by which its table is addressed.
pub fn renames(act: &Act, table: &Table) -> bool {
    let key = table.key_instead_of_rowid();
    act.set.iter().any(|(column, _)| key.iter().any(|name| name.eq_ignore_ascii_case(column)))
}

/// The statement that does the act to the one row for which the conditions hold.
pub fn guarded(
    act: &Act,
    table: &Table,
    alias: &str,
    conditions: &str,
    verb: &'static str,
) -> Result<String, Refusal> {
    let target = format!("{} AS {alias}", table.sql);
    if act.delete {
        return Ok(format!("DELETE FROM {target} WHERE {conditions}"));
    }
    // Columns that this version of the system lacks are left out, as they are in reading. The line
    // break keeps a comment in a value from swallowing the guard.
    let set = act
        .set
        .iter()
        .filter_map(|(column, value)| Some(format!("{} = ({value}\n)", quoted(&table.column(column)?.name))));
    let set: Vec<String> = set.collect();
    if set.is_empty() {
        return Err(Refusal::NoColumns { act: verb });
    }
    Ok(format!("UPDATE {target} SET {} WHERE {conditions}", set.join(", ")))
}

/// The values that a profile's expressions may name.
pub fn words(
    watch: &Watch,
    claim: &Claim,
    why: &str,
    order: &Order<'_>,
    now: Moment,
) -> Vec<(String, SqlValue)> {
    let board = &watch.board;
    let limits = board.rules.for_kind(claim.kind.as_deref());
    let by = order.word.by.or(limits.ttl).unwrap_or(limits.lease);
    let text = |text: Option<&String>| text.map_or(SqlValue::Null, |text| SqlValue::Text(text.clone()));
    let number = |number: Option<i64>| number.map_or(SqlValue::Null, SqlValue::Integer);
    let minutes = limits.ttl.map(|ttl| ttl.as_micros() / Span::minutes(1).as_micros());
    let why = if order.action == Action::Requeue { "queued again by hand" } else { why };
    let why = match &order.word.reason {
        Some(reason) => format!("{why} ({reason})"),
        None => why.to_owned(),
    };
    let id = claim.key.0.first().map_or(SqlValue::Null, super::cell::to_sql);
    vec![
        (":now".into(), now_value(board, now)),
        (":until".into(), time_value(board, board.rules.claim_now(now).plus(by))),
        (":by".into(), bound(by.as_micros(), board.unit)),
        (":ttl_minutes".into(), number(minutes)),
        (":max_attempts".into(), number(claim.max_attempts)),
        (":why".into(), SqlValue::Text(why)),
        (":reason".into(), text(order.word.reason.as_ref())),
        (":id".into(), id),
        (":holder".into(), text(claim.holder.as_ref())),
        (":kind".into(), text(claim.kind.as_ref())),
    ]
}

/// For a reclaim that nobody forces: that the claim is stale or orphaned is asked of the database
/// once more, at this instant. A dead process is not its business.
fn still_stale(
    watch: &Watch,
    fresh: &Seen,
    order: &Order<'_>,
    values: &mut Vec<(String, SqlValue)>,
) -> Option<String> {
    let by_kernel = fresh.judged.verdict.reasons.contains(Reason::ProcessDead);
    if order.action != Action::Reclaim || order.word.force || by_kernel {
        return None;
    }
    let mut stale = Vec::new();
    for (at, probe) in watch.staleness.iter().enumerate() {
        let suffix = format!("_{at}");
        values.extend(probe.bindings(&suffix, &watch.board, fresh.now, None));
        stale.push(probe.predicate(&suffix));
    }
    (!stale.is_empty()).then(|| stale.join(" OR "))
}

impl Statements {
    /// Whether there is nothing but the act itself.
    pub fn is_alone(&self) -> bool {
        self.before.is_empty() && self.also.is_empty() && !self.renames
    }

    /// Runs the act; how many claims it changed.
    pub fn run_act(&self, connection: &Connection) -> rusqlite::Result<usize> {
        self.execute(connection, &self.act)
    }

    /// Runs everything; `false` unless the act changed exactly one claim.
    pub fn run_all(&self, connection: &Connection) -> rusqlite::Result<bool> {
        for sql in &self.before {
            self.execute(connection, sql)?;
        }
        if self.run_act(connection)? != 1 {
            return Ok(false);
        }
        for sql in &self.also {
            match self.execute(connection, sql) {
                // A log that this version of the system does not keep.
                Err(error) if is_lacking(&error) => {}
                other => {
                    other?;
                }
            }
        }
        Ok(true)
    }

    fn execute(&self, connection: &Connection, sql: &str) -> rusqlite::Result<usize> {
        let mut statement = connection.prepare_cached(sql)?;
        // What neither writes nor answers ends or divides the transaction: no act without its record.
        if statement.readonly() && statement.column_count() == 0 {
            let denied = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_AUTH);
            let why = "an act changes rows; it does not end transactions".to_owned();
            return Err(rusqlite::Error::SqliteFailure(denied, Some(why)));
        }
        bind_known(&mut statement, &self.values)?;
        statement.raw_execute()
    }

    /// Everything as it would run, and the values it names.
    pub fn preview(&self) -> Vec<String> {
        let all = self.before.iter().chain([&self.act]).chain(&self.also);
        let named = |sql: &String| {
            let used = self.values.iter().filter(|(name, _)| mentions(sql, name));
            let values: Vec<String> =
                used.map(|(name, value)| format!("{name} = {}", shown(value))).collect();
            [sql.replace('\n', ""), format!("  with {}", values.join(", "))]
        };
        all.flat_map(named).collect()
    }
}

/// Whether the statement names exactly this parameter.
fn mentions(sql: &str, name: &str) -> bool {
    sql.match_indices(name).any(|(at, _)| {
        let next = sql[at + name.len()..].chars().next();
        !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn shown(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => "NULL".into(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => number.to_string(),
        SqlValue::Text(text) => format!("'{}'", crate::domain::visible::visible(text)),
        SqlValue::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}
