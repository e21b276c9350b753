//! What polls ask of MySQL's SQL, and MariaDB's.

use super::conditions::bytes;
use super::dialect::{MysqlDialect, scaled};
use super::keys;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::bound::{BoundBoard, TimeSql};
use crate::store::named_params::NamedParams;
use crate::store::rows::{MarkLayout, RowLayout};
use crate::store::schema::{Table, quoted};
use crate::store::server::{HoldersAsked, ServerSql};

/// The first year that the server can compare; what lies before it are the dates that are none.
const FIRST: &str = "CAST('0001-01-01' AS DATETIME)";

impl ServerSql for MysqlDialect {
    fn row_layout(&self, board: &BoundBoard, table: &Table, registry: Option<&Table>) -> RowLayout {
        let key: Vec<String> = board.key.iter().map(|name| format!("c.{}", quoted(name))).collect();
        RowLayout {
            place: keys::place(table, "c"),
            mark: if key.is_empty() { MarkLayout::Id } else { MarkLayout::Key(key) },
            claim_state: state("c", Some(table)),
            session_state: state("s", registry),
            version: None,
        }
    }

    fn add_bound(&self, params: &mut NamedParams, name: &str, time: &TimeSql, at: Moment) -> Option<()> {
        match time.bound_type? {
            "datetime" if at == Moment::EARLIEST => params.add_sql(name, FIRST),
            "datetime" => {
                let shown = time.zone.own?.shown(at).format("%Y-%m-%d %H:%M:%S%.6f").to_string();
                params.add_as(name, "CAST({} AS DATETIME(6))", Some(shown));
            }
            _ => params.add_value(name, "bigint", scaled(time.unit, at.micros())),
        }
        Some(())
    }

    fn is_timed_out(&self, _: &BoundBoard, since: &TimeSql, timeout: &str, due: &str) -> Option<String> {
        let s = &since.comparable;
        Some(match since.bound_type? {
            "datetime" => format!("TIMESTAMPDIFF(MICROSECOND, {s}, {due}) >= ({timeout}) * 1000000"),
            _ => format!("{s} + ({timeout}) * {} <= {due}", since.unit.per_second()),
        })
    }

    fn timeout_seconds(&self, timeout: &str, _: &str) -> String {
        format!("({timeout})")
    }

    fn exact(&self, sql: &str) -> String {
        bytes(sql)
    }

    fn is_one_of(&self, sql: &str, declared: &str, values: &[Value], params: &mut NamedParams) -> String {
        let names = values.iter().enumerate().map(|(at, value)| {
            params.add_value(&format!("claimtop_value{at}"), declared, value.clone());
            format!(":claimtop_value{at}")
        });
        format!("{sql} IN ({})", names.collect::<Vec<_>>().join(", "))
    }

    fn values_at_once(&self) -> usize {
        1_000
    }

    /// The server goes from one holder to the next through the index: a correlated comparison could not.
    fn holders(&self, board: &BoundBoard, of: &HoldersAsked<'_>) -> Option<String> {
        let HoldersAsked { holder, registry, condition, most } = of;
        let column = quoted(holder.column.as_ref()?);
        let (from, held, h) = (&board.from, board.is_held(), &holder.text);
        Some(format!(
            "WITH held AS (SELECT DISTINCT {h} FROM {from} WHERE ({held}) AND {h} IS NOT NULL LIMIT {})
             SELECT held.{column}, FALSE FROM held LEFT JOIN {} ON {} {} held.{column} WHERE {condition}
             UNION ALL SELECT NULL, TRUE FROM held HAVING COUNT(*) > {most}",
            most + 1,
            registry.from,
            registry.id.text,
            registry.equality,
        ))
    }

    fn newest(&self, time: &TimeSql) -> String {
        format!("MAX({})", time.selected)
    }
}

/// Every column of a row: the client compares them byte by byte.
fn state(alias: &str, table: Option<&Table>) -> Vec<String> {
    let columns = table.into_iter().flat_map(|table| &table.columns);
    columns.map(|column| format!("{alias}.{}", quoted(&column.name))).collect()
}
