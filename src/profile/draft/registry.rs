//! The table in which the holders of a claim are registered.

use super::column::{Class, DraftColumn};
use super::names::ColumnPart;
use super::rank::Candidate;
use super::roles::Roles;
use super::sample::{DatabaseSample, TableSample};
use super::sql::column_sql;
use super::words::{HOLDERS, Words};
use crate::domain::time::TimeUnit;
use crate::domain::value::Value;
use crate::profile::format::Engine;

/// A registry, and why it is one.
#[derive(Debug, Clone)]
pub struct RegistryGuess<'a> {
    pub table: &'a TableSample,
    pub id: String,
    pub beat_at: &'a str,
    pub time: TimeUnit,
    pub started_at: Option<&'a str>,
    pub pid: Option<&'a str>,
    pub host: Option<&'a str>,
    pub evidence: String,
    /// A foreign key makes every holder be there.
    pub required: bool,
}

/// The registry of a table's holders, if there is one that beats.
pub(super) fn find<'a>(candidate: &Candidate<'a>, database: &'a DatabaseSample) -> Option<RegistryGuess<'a>> {
    let holder = candidate.column(ColumnPart::Holder)?;
    if let Some((table, id)) = candidate.table.reference_of(holder.name) {
        let table = database.table(table)?;
        let evidence = format!("{} is a foreign key to {}.{id}", holder.name, table.name);
        return describe(table, id, holder, database, evidence)
            .map(|found| RegistryGuess { required: true, ..found });
    }
    let held: Vec<&Value> = holder.examples(50);
    if held.is_empty() {
        return by_name(holder, database);
    }
    database.tables.iter().filter(|table| table.name != candidate.table.name).find_map(|table| {
        let at = table.columns.iter().position(|column| {
            let is_key = table.key.contains(&column.name);
            let values =
                table.position(&column.name).map(|at| table.rows.iter().filter_map(move |row| row.get(at)));
            let shared = values.into_iter().flatten().filter(|value| held.contains(value)).count();
            // Small numbers meet by chance.
            shared > 0
                && (is_key || held.iter().all(|value| matches!(value, Value::Text(text) if text.len() > 5)))
        })?;
        let id = &table.columns[at].name;
        let evidence = format!("values of {} are in {}.{id}", holder.name, table.name);
        describe(table, id, holder, database, evidence)
    })
}

/// Without a row: `process_id` and a table of processes that beat.
fn by_name<'a>(holder: &DraftColumn<'_>, database: &'a DatabaseSample) -> Option<RegistryGuess<'a>> {
    database.tables.iter().find_map(|table| {
        let last = Words::of(&table.name).last().to_owned();
        let is_plural = |word: &&&str| {
            holder.words.has(&[word]) && [format!("{word}s"), format!("{word}es")].contains(&last)
        };
        let word = HOLDERS.iter().find(is_plural)?;
        let [id] = &table.key[..] else { return None };
        let evidence = format!("by its name: {} is a {word}", holder.name);
        describe(table, id, holder, database, evidence)
    })
}

fn describe<'a>(
    table: &'a TableSample,
    id: &str,
    holder: &DraftColumn<'_>,
    database: &'a DatabaseSample,
    evidence: String,
) -> Option<RegistryGuess<'a>> {
    let columns = DraftColumn::all(table, database.engine, database.now);
    let roles = Roles::by_name(&columns);
    let beat = roles.column(ColumnPart::Heartbeat, &columns).or_else(|| {
        let weak = |column: &&DraftColumn<'_>| {
            column.is_time() && column.words.is(&["updatedat", "notified", "updated"])
        };
        columns.iter().find(weak)
    })?;
    let own = columns.iter().find(|column| column.name == id)?;
    let name = |part: ColumnPart| roles.column(part, &columns).map(|column| column.name);
    Some(RegistryGuess {
        table,
        id: id_sql(own, holder, database.engine),
        beat_at: beat.name,
        time: beat.unit()?,
        started_at: columns
            .iter()
            .find(|column| column.unit() == beat.unit() && column.words.is(&["startedat", "started"]))
            .map(|column| column.name),
        pid: name(ColumnPart::Pid),
        host: name(ColumnPart::Host),
        evidence,
        required: false,
    })
}

/// The registry's id so that it can be compared with the holder.
fn id_sql(id: &DraftColumn<'_>, holder: &DraftColumn<'_>, engine: Engine) -> String {
    let is_text =
        |column: &DraftColumn<'_>| column.declared.starts_with("text") || column.declared.contains("char");
    let compares = id.declared == holder.declared || (is_text(id) && is_text(holder));
    match engine {
        // A list hands out its elements as text.
        Engine::Postgres if !compares && holder.class != Class::Number => {
            format!("{}::text", column_sql("s", id.name))
        }
        Engine::Postgres | Engine::Sqlite => id.name.to_owned(),
    }
}
