//! Conditions of a filter in SQLite: functions of ours decide, so that SQL and a look at one claim cannot disagree.
//! Plain equality beside them lets an index find the few rows that are asked about.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

use super::cell::owned;
use super::dialect::SqliteDialect;
use super::functions::code;
use crate::domain::filter::{contains, is_like};
use crate::domain::value::{Key, Value};
use crate::store::bound::{BoundBoard, TimeSql};
use crate::store::conditions::{ConditionSql, HeldSince, NEVER, TypedId};
use crate::store::driver::Dialect;
use crate::store::named_params::NamedParams;

/// Registers the functions on a connection.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let text = |context: &Context<'_>, at: usize| owned(context.get_raw(at)).text();
    connection.create_scalar_function("claimtop_reads", 2, flags, move |context| {
        Ok(text(context, 0).is_some_and(|shown| Some(shown) == text(context, 1)))
    })?;
    connection.create_scalar_function("claimtop_has", 2, flags, move |context| {
        let part = text(context, 1).unwrap_or_default();
        Ok(text(context, 0).is_some_and(|shown| contains(&shown, &part)))
    })?;
    connection.create_scalar_function("claimtop_like", 2, flags, move |context| {
        let glob = text(context, 1).unwrap_or_default();
        Ok(text(context, 0).is_some_and(|shown| is_like(&shown, &glob)))
    })?;
    // The text first, then the parts of the key.
    connection.create_scalar_function("claimtop_key_reads", -1, flags, move |context| {
        let (key, wanted) = (key(context), text(context, 0).unwrap_or_default());
        Ok(key.text() == wanted || wanted.rsplit('/').next() == Some(&*key.address()))
    })?;
    connection.create_scalar_function("claimtop_key_has", -1, flags, move |context| {
        Ok(contains(&key(context).text(), &text(context, 0).unwrap_or_default()))
    })
}

/// The key in the arguments after the first.
fn key(context: &Context<'_>) -> Key {
    Key((1..context.len()).map(|at| owned(context.get_raw(at))).collect())
}

impl ConditionSql for SqliteDialect {
    fn reads(&self, sql: &str, text: &str, name: &str, params: &mut NamedParams) -> String {
        params.add_value(name, "", Value::Text(text.into()));
        let is_it = format!("claimtop_reads({sql}, :{name})");
        // What begins with a backslash is no text; only the function knows how it reads.
        if text.contains('\\') {
            return is_it;
        }
        format!("({}) AND {is_it}", self.equals(sql, text, name, params))
    }

    fn contains(&self, sql: &str, part: &str, name: &str, params: &mut NamedParams) -> String {
        params.add_value(name, "", Value::Text(part.into()));
        format!("claimtop_has({sql}, :{name})")
    }

    fn is_like(&self, sql: &str, glob: &str, name: &str, params: &mut NamedParams) -> String {
        params.add_value(name, "", Value::Text(glob.into()));
        format!("claimtop_like({sql}, :{name})")
    }

    fn has_id(&self, board: &BoundBoard, id: &TypedId<'_>, name: &str, params: &mut NamedParams) -> String {
        params.add_value(name, "", Value::Text(id.text.into()));
        let mut all: Vec<String> = Vec::new();
        for (at, (sql, part)) in board.id.iter().zip(id.key).enumerate() {
            let name = format!("{name}_{at}");
            match part {
                Value::Null => all.push(format!("{sql} IS NULL")),
                Value::Text(text) if text.contains('\\') => {}
                Value::Text(text) => {
                    params.add_value(&name, "", part.clone());
                    all.push(format!("({})", self.equals(sql, text, &name, params)));
                }
                Value::Int(_) | Value::Real(_) | Value::BadText(_) | Value::Bytes(_) => {
                    params.add_value(&name, "", part.clone());
                    all.push(format!("{sql} = {}", self.place(&name, part)));
                }
            }
        }
        all.push(format!("claimtop_key_reads(:{name}, {})", board.id.join(", ")));
        all.join(" AND ")
    }

    fn id_contains(&self, board: &BoundBoard, part: &str, name: &str, params: &mut NamedParams) -> String {
        params.add_value(name, "", Value::Text(part.into()));
        format!("claimtop_key_has(:{name}, {})", board.id.join(", "))
    }

    fn is_held_since(
        &self,
        board: &BoundBoard,
        since: &HeldSince<'_>,
        params: &mut NamedParams,
    ) -> Option<String> {
        let HeldSince { operator, moment, name } = *since;
        let time = |time: &TimeSql| {
            format!(
                "claimtop_time({}, {})",
                time.cell.text,
                code(time.unit, time.zone.own.unwrap_or_default())
            )
        };
        let times: Vec<String> =
            [&board.claimed_at, &board.beat_at].into_iter().flatten().map(time).collect();
        params.add_value(name, "", Value::Int(moment.micros()));
        let since = match &times[..] {
            [] => return Some(NEVER.into()),
            [one] => one.clone(),
            _ => format!("coalesce({})", times.join(", ")),
        };
        Some(format!("{since} {operator} :{name}"))
    }
}

impl SqliteDialect {
    /// That an expression equals a text that is bound already, or the number with these digits: a column without
    /// a type may hold either.
    fn equals(&self, sql: &str, text: &str, name: &str, params: &mut NamedParams) -> String {
        let number = match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => Some(Value::Int(whole)),
            (_, Ok(real)) => Some(Value::Real(real)),
            _ => None,
        };
        let mut equal = format!("{sql} = :{name}");
        if let Some(number) = number {
            params.add_value(&format!("{name}_number"), "", number);
            equal += &format!(" OR {sql} = :{name}_number");
        }
        equal
    }
}
