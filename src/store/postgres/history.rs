//! Traces of earlier recoveries that the system itself keeps in its tables.

use super::cell::{text, time};
use super::error::PgError;
use super::link::{Link, Row};
use super::reader::Reader;
use super::schema::{literal, quoted};
use super::zone;
use crate::domain::time::ZoneName;
use crate::profile::format::History;
use crate::store::StoreError;
use crate::store::listed::Trace;
use crate::store::schema::{Schema, is_identifier};

impl Reader {
    /// Up to `limit` traces of each kind that the profiles name and the database has.
    pub fn history(&mut self, limit: usize) -> Result<Vec<Trace>, StoreError> {
        let (schema, said) = (self.schema.clone(), self.options.operator.zone.clone());
        self.reading("reading the history", |link, watched, _| {
            let mut traces = Vec::new();
            for watched in watched.iter() {
                for history in &watched.profile.history {
                    let zone = said.clone().unwrap_or_else(|| watched.profile.zone_of_history(history));
                    let own = traces_of(link, &schema, &zone, history, limit)?;
                    traces.extend(
                        own.into_iter().map(|trace| Trace { profile: watched.name.clone(), ..trace }),
                    );
                }
            }
            Ok(traces)
        })
    }
}

fn traces_of(
    link: &mut Link,
    schema: &Schema,
    zone: &ZoneName,
    history: &History,
    limit: usize,
) -> Result<Vec<Trace>, PgError> {
    let Some(table) = schema.table(&history.table) else { return Ok(Vec::new()) };
    // A column that this version of the system lacks reads as NULL.
    let value = |sql: Option<&String>| match sql {
        Some(sql) if table.column(sql).is_some() => {
            format!("c.{}", quoted(table.column(sql).map_or(sql.as_str(), |column| &column.name)))
        }
        Some(sql) if !is_identifier(sql) => format!("({sql})"),
        _ => "NULL".into(),
    };
    let at = value(Some(&history.at));
    let naive = table.column(&history.at).is_some_and(|column| column.declared.contains("without time zone"));
    // Of a zone that nobody knows, no time is better than a wrong one.
    let zone = zone::bound(link, zone, &table.sql)?.ok().filter(|zone| zone.unknown.is_none());
    let shown = match &zone {
        Some(zone) if naive => format!("({at} AT TIME ZONE {})", literal(&zone.sql)),
        None if naive => "NULL".into(),
        _ => at.clone(),
    };
    let own = zone.and_then(|zone| zone.own).unwrap_or_default();
    let sql = format!(
        "SELECT ({})::text, ({})::text, ({})::text, ({shown})::text, ({})::text FROM {} AS c WHERE ({}) \
         ORDER BY {at} DESC NULLS LAST LIMIT {limit}",
        value(Some(&history.id)),
        value(history.kind.as_ref()),
        value(history.holder.as_ref()),
        value(Some(&history.what)),
        table.sql,
        history.only.as_deref().unwrap_or("TRUE"),
    );
    link.batch("SAVEPOINT claimtop_history")?;
    let rows = match link.query(&sql, &[]) {
        Ok(rows) => rows,
        // Another version of the table, without the columns that the condition names.
        Err(error) if is_not_understood(&error) => {
            link.batch("ROLLBACK TO claimtop_history")?;
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let declared = table.column(&history.at).map(|column| column.declared.as_str()).unwrap_or_default();
    let trace = |row: &Row| Trace {
        profile: String::new(),
        history: history.name.clone(),
        id: text(row, 0),
        kind: text(row, 1),
        holder: text(row, 2),
        at: history.time.read_in(&time(row, 3, declared), own),
        what: text(row, 4),
    };
    Ok(rows.iter().map(trace).collect())
}

/// Whether the server objects to the text of the statement, and neither its time nor who asks:
/// of those, no history would be a wrong answer.
fn is_not_understood(error: &PgError) -> bool {
    error.code().is_some_and(|code| code.starts_with("42") && code != "42501")
}
