//! What polls ask of PostgreSQL's SQL.

use super::cell::sent;
use super::column_type::is_number;
use super::dialect::PostgresDialect;
use super::named_params::{NamedParams, array, stamp};
use super::schema::{literal, quoted};
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::store::bound::{BoundBoard, BoundRegistry, TimeSql};
use crate::store::driver::Row;
use crate::store::rows::{MarkLayout, RowLayout};
use crate::store::schema::Table;
use crate::store::server::{HoldersAsked, ServerSql};

impl ServerSql for PostgresDialect {
    fn row_layout(&self, board: &BoundBoard, table: &Table, registry: Option<&Table>) -> RowLayout {
        let is_ambiguous = board.has_rowid && !is_told_apart(board, table);
        RowLayout {
            place: if board.has_rowid { "c.tableoid::text || c.ctid::text".into() } else { "NULL".into() },
            mark: if is_ambiguous { MarkLayout::IdAndPlace } else { MarkLayout::Id },
            claim_state: state("c", Some(table)).into(),
            session_state: state("s", registry).into(),
            version: Some(1),
        }
    }

    fn add_bound(&self, params: &mut NamedParams, name: &str, time: &TimeSql, at: Moment) -> Option<()> {
        match time.bound_type? {
            "timestamp" => {
                let sql = format!("(({{}})::timestamptz AT TIME ZONE {})", literal(&time.zone.sql));
                params.add_as(name, &sql, Some(stamp(at)));
            }
            "timestamptz" => params.add(name, "timestamptz", Some(stamp(at))),
            kind => {
                let scaled = i128::from(at.micros()) * i128::from(time.unit.per_second()) / 1_000_000;
                // Nanoseconds of 64 bits end long before our calendar does.
                let held =
                    if kind == "bigint" { scaled.clamp(i64::MIN.into(), i64::MAX.into()) } else { scaled };
                params.add(name, kind, Some(held.to_string()));
            }
        }
        Some(())
    }

    /// A lease without end is one; other instants beyond the last cannot be read.
    fn ends_too_late(&self, time: &TimeSql, last: &str) -> String {
        let t = &time.comparable;
        let but = if time.unit.is_number() { String::new() } else { format!(" AND {t} <> 'infinity'") };
        format!("{t} > {last}{but}")
    }

    fn is_timed_out(&self, board: &BoundBoard, since: &TimeSql, timeout: &str, due: &str) -> Option<String> {
        let (s, seconds) = (&since.comparable, self.timeout_seconds(timeout, &board.timeout_type));
        match since.bound_type? {
            _ if board.timeout_type != "interval" && !is_number(&board.timeout_type) => None,
            "timestamptz" | "timestamp" => Some(format!(
                "extract(epoch FROM {s})::numeric + {seconds} <= extract(epoch FROM {due})::numeric"
            )),
            _ if board.timeout_type == "interval" => None,
            _ => {
                Some(format!("({s})::numeric + {seconds} * {} <= ({due})::numeric", since.unit.per_second()))
            }
        }
    }

    fn timeout_seconds(&self, timeout: &str, declared: &str) -> String {
        match declared {
            "interval" => format!("extract(epoch FROM {timeout})::numeric"),
            _ => format!("({timeout})::numeric"),
        }
    }

    fn exact(&self, sql: &str) -> String {
        format!("({sql})::text")
    }

    fn is_one_of(&self, sql: &str, declared: &str, values: &[Value], params: &mut NamedParams) -> String {
        let kind = if declared.is_empty() { "text" } else { declared };
        params.add("claimtop_values", "text[]", Some(array(values.iter().map(sent))));
        format!("{sql} = ANY ((:claimtop_values)::{kind}[])")
    }

    fn values_at_once(&self) -> usize {
        usize::MAX
    }

    /// By hopping through the index on the claims' holders.
    fn holders(&self, board: &BoundBoard, of: &HoldersAsked<'_>) -> Option<String> {
        let HoldersAsked { holder, registry, condition, most } = of;
        let (from, held, h) = (&board.from, board.is_held(), &holder.text);
        Some(format!(
            "WITH RECURSIVE hops AS (
               (SELECT {h} AS holder, 1 AS n FROM {from} WHERE ({held}) AND {h} IS NOT NULL ORDER BY {h} LIMIT 1)
               UNION ALL
               SELECT (SELECT {h} FROM {from} WHERE ({held}) AND {h} > hops.holder ORDER BY {h} LIMIT 1), hops.n + 1
               FROM hops WHERE hops.holder IS NOT NULL AND hops.n <= {most})
             SELECT hops.holder::text, (hops.n > {most})::text FROM hops
             LEFT JOIN {} ON {} = hops.holder WHERE hops.holder IS NOT NULL AND ({condition} OR hops.n > {most})",
            registry.from, registry.id.text
        ))
    }

    fn newest(&self, time: &TimeSql) -> String {
        format!("max({t}) FILTER (WHERE isfinite({t}))", t = time.selected)
    }

    fn newest_timeout(&self, board: &BoundBoard) -> Option<String> {
        let (since, timeout) = (board.claimed_at.as_ref()?, board.timeout.as_ref()?);
        let (t, seconds) = (&since.selected, self.timeout_seconds(timeout, &board.timeout_type));
        since.is_naive.then(|| {
            format!(
                "to_timestamp(max(extract(epoch FROM {t})::float8 + {seconds}::float8) \
                 FILTER (WHERE isfinite({t}) AND abs({seconds}::float8) < 1e9))"
            )
        })
    }

    /// What can be compared was selected in UTC.
    fn read_naive(&self, row: &dyn Row, at: usize, time: &TimeSql) -> Option<Moment> {
        match time.bound_type {
            Some(_) => Moment::parse(&row.text(at)?),
            None => time.unit.read_naive(&row.value(at, "text"), time.zone.own.unwrap_or_default()),
        }
    }

    fn session_counts(
        &self,
        registry: &BoundRegistry,
        ends: &TimeSql,
        cut: Moment,
    ) -> Option<(String, NamedParams)> {
        let is_instant = matches!(ends.bound_type?, "timestamp" | "timestamptz");
        let mut params = NamedParams::default();
        for (name, at) in [("cut", cut), ("first", Moment::EARLIEST), ("last", Moment::LATEST)] {
            if is_instant {
                params.add(name, "timestamptz", Some(stamp(at)));
            } else {
                let scaled = i128::from(at.micros()) * i128::from(ends.unit.per_second()) / 1_000_000;
                params.add(name, "numeric", Some(scaled.to_string()));
            }
        }
        let t = &ends.selected;
        // What lies outside the calendar is no time; both ends of PostgreSQL's are.
        let ends = if is_instant { format!(" OR {t} IN ('infinity', '-infinity')") } else { String::new() };
        let readable = format!("({t} BETWEEN :first AND :last{ends})");
        let sql = format!(
            "SELECT count(*)::text, (count(*) FILTER (WHERE {t} < :cut AND {readable}))::text, \
             (count(*) FILTER (WHERE {readable}))::text FROM {}",
            registry.from
        );
        Some((sql, params))
    }
}

/// Whether the key of the table is among the columns of a claim's id.
fn is_told_apart(board: &BoundBoard, table: &Table) -> bool {
    let is_named = |column: &str| board.id.contains(&format!("c.{}", quoted(column)));
    !table.key.is_empty() && table.key.iter().all(is_named)
}

/// A row's columns as one text, and its version.
fn state(alias: &str, table: Option<&Table>) -> [String; 2] {
    let Some(table) = table else { return ["NULL".into(), "NULL".into()] };
    let columns: Vec<String> =
        table.columns.iter().map(|column| format!("{alias}.{}", quoted(&column.name))).collect();
    let version = if table.has_rowid { format!("{alias}.xmin::text") } else { "NULL".into() };
    [format!("ROW({})::text", columns.join(", ")), version]
}
