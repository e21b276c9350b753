//! Traces of earlier recoveries that the system itself keeps in its tables.

use rusqlite::Connection;

use super::cell::cell;
use super::fit;
use super::functions::code;
use super::reader::Reader;
use super::watch::Watch;
use crate::domain::time::Zone;
use crate::profile::format::History;
use crate::store::StoreError;
use crate::store::Watched;
use crate::store::listed::Trace;
use crate::store::schema::{Schema, is_identifier, quoted};

impl Reader {
    /// Up to `limit` traces of each kind that the profiles name and the database has.
    pub fn history(&mut self, limit: usize) -> Result<Vec<Trace>, StoreError> {
        self.follow_the_path()?;
        self.in_one_transaction("reading the history", |reader, _, _| {
            let schema = super::schema::read(&reader.connection)?;
            let mut traces = Vec::new();
            for watched in &reader.watched {
                for history in &watched.profile.history {
                    traces.extend(
                        read(&reader.connection, &schema, history, reader.zone_of(watched, history), limit)?
                            .into_iter()
                            .map(|trace| Trace { profile: watched.name.clone(), ..trace }),
                    );
                }
            }
            Ok(traces)
        })
    }

    fn zone_of(&self, watched: &Watched<Watch>, history: &History) -> Zone {
        let said = self.options.operator.zone.clone();
        let name = said.unwrap_or_else(|| watched.profile.zone_of_history(history));
        fit::zone(&name).ok().and_then(|zone| zone.own).unwrap_or_default()
    }
}

fn read(
    connection: &Connection,
    schema: &Schema,
    history: &History,
    zone: Zone,
    limit: usize,
) -> rusqlite::Result<Vec<Trace>> {
    let Some(table) = schema.table(&history.table) else { return Ok(Vec::new()) };
    // A column that this version of the system lacks reads as NULL.
    let value = |sql: Option<&String>| match sql {
        Some(sql) if table.column(sql).is_some() => format!("c.{}", quoted(sql)),
        Some(sql) if !is_identifier(sql) => format!("({sql})"),
        _ => "NULL".into(),
    };
    let at = value(Some(&history.at));
    let sql = format!(
        "SELECT {}, {}, {}, {at}, {} FROM {} AS c WHERE {} ORDER BY claimtop_time({at}, {}) DESC LIMIT {limit}",
        value(Some(&history.id)),
        value(history.kind.as_ref()),
        value(history.holder.as_ref()),
        value(Some(&history.what)),
        quoted(&table.name),
        history.only.as_deref().unwrap_or("1"),
        code(history.time, zone),
    );
    let mut statement = match connection.prepare(&sql) {
        Ok(statement) => statement,
        // Another version of the table, without the columns that the condition names.
        Err(rusqlite::Error::SqlInputError { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut rows = statement.query([])?;
    let mut traces = Vec::new();
    while let Some(row) = rows.next()? {
        traces.push(Trace {
            profile: String::new(),
            history: history.name.clone(),
            id: cell(row, 0).text(),
            kind: cell(row, 1).text(),
            holder: cell(row, 2).text(),
            at: history.time.read_in(&cell(row, 3), zone),
            what: cell(row, 4).text(),
        });
    }
    Ok(traces)
}
