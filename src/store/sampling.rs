//! Samples of a database for a draft of its profile: schema, a few rows, the values of states.
//!
//! Every statement has a LIMIT or a time limit, so that it works on millions of rows. Views and foreign tables are
//! read only if the user names them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::dialect::Dialect;
use super::opening;
use super::schema::{Column, Schema, Table, quoted};
use super::{Options, StoreError};
use crate::domain::similar::similar;
use crate::domain::time::Moment;
use crate::domain::value::Value;
use crate::profile::draft::{self, DatabaseSample, Reference, SampleColumn, TableSample};
use crate::profile::format::Engine;

/// What sampling asks of a database engine.
pub(super) trait SampleSource: std::fmt::Debug {
    fn dialect(&self) -> &'static dyn Dialect;
    fn schema(&self) -> &Schema;
    /// The database's clock.
    fn now(&mut self) -> Result<Moment, StoreError>;
    /// The foreign keys of all tables.
    fn references(&mut self) -> Result<Vec<(String, Reference)>, StoreError>;
    /// Tables that are a part of another.
    fn partitions(&mut self) -> Result<BTreeSet<String>, StoreError>;
    /// The values that columns are declared to have: of an enum or a CHECK, by table and column.
    fn declared_values(&mut self) -> Result<BTreeMap<(String, String), Vec<String>>, StoreError>;
    /// A column in a list of a SELECT, cut if it is long.
    fn cell(&self, column: &Column) -> String;
    /// What tells the oldest rows of a table from the newest.
    fn order(&self, table: &Table) -> Vec<String> {
        table.key.iter().map(|name| format!("t.{}", quoted(name))).collect()
    }
    /// The rows of a statement with these columns; nothing, if it took longer than [`LIMIT`].
    fn rows(&mut self, sql: &str, columns: &[&Column]) -> Result<Option<Vec<Vec<Value>>>, StoreError>;
}

/// How long one statement may take.
pub(super) const LIMIT: Duration = Duration::from_secs(4);
/// Longer texts are cut.
pub(super) const LONGEST: usize = 200;
/// Rows to read from each end of a table.
const ROWS: usize = 150;
/// Rows to read of each state.
const ROWS_OF_STATE: usize = 40;
/// Rows whose states are counted where counting all of them takes too long.
const SOME: usize = 50_000;
/// States of a column; one with more is no column of states.
const STATES: usize = 16;
/// Tables whose rows are looked at, the likeliest first.
const TABLES: usize = 40;
/// Tables whose states are counted.
const COUNTED: usize = 4;

/// Looks at one database, as often as it is asked.
#[derive(Debug)]
pub struct Sampling {
    source: Box<dyn SampleSource>,
    references: Vec<(String, Reference)>,
    declared: BTreeMap<(String, String), Vec<String>>,
    /// The tables to look at, the likeliest first.
    tables: Vec<String>,
}

impl Sampling {
    /// Opens a database to look at `wanted`, or at all tables that may hold claims.
    pub fn open(options: &Options, wanted: Option<&str>) -> Result<Sampling, StoreError> {
        let mut source = opening::sample(options)?;
        let references = source.references()?;
        let declared = source.declared_values()?;
        let parts = source.partitions()?;
        let wanted = wanted.map(|name| named(source.schema(), &options.name(), name)).transpose()?;
        let now = source.now()?;
        let mut sampling = Sampling { source, references, declared, tables: Vec::new() };
        let is_open = |table: &&Table| {
            Some(&table.name) == wanted.as_ref()
                || (table.standing.runs.is_none() && !parts.contains(&table.name))
        };
        let schema = sampling.source.schema();
        let tables = schema.tables().filter(is_open).map(|table| sampling.bare(table)).collect();
        let bare = DatabaseSample { engine: sampling.source.dialect().engine(), now, tables };
        let mut names: Vec<String> =
            draft::rank(&bare).into_iter().map(|candidate| candidate.table.name.clone()).collect();
        names.truncate(TABLES);
        names.retain(|name| Some(name) != wanted.as_ref());
        names.splice(..0, wanted);
        sampling.tables = names;
        Ok(sampling)
    }

    /// The name under which a table is known that the user calls `name`.
    pub fn table(&self, name: &str) -> Option<String> {
        self.source.schema().table(name).map(|table| table.name.clone())
    }

    /// Leaves all tables out but the likeliest ones, and those that they refer to: watching looks every second.
    pub fn narrow_to(&mut self, tables: &[String]) {
        let refers = |name: &String| {
            self.references.iter().any(|(from, reference)| tables.contains(from) && reference.table == *name)
        };
        self.tables.retain(|name| tables.contains(name) || refers(name));
        self.tables.sort_by_key(|name| !tables.contains(name));
    }

    /// Reads a sample.
    pub fn look(&mut self) -> Result<DatabaseSample, StoreError> {
        let (engine, now) = (self.source.dialect().engine(), self.source.now()?);
        let known: Vec<Table> =
            self.tables.iter().filter_map(|name| self.source.schema().table(name).cloned()).collect();
        let mut tables = Vec::new();
        for table in &known {
            let mut sample = self.bare(table);
            sample.rows = self.ends(table)?;
            tables.push(sample);
        }
        // Which tables are worth a closer look depends on their rows.
        let database = DatabaseSample { engine, now, tables };
        let first = self.tables.first();
        let likely = draft::rank(&database).into_iter().enumerate();
        let likely = likely.filter(|(at, one)| *at < COUNTED || Some(&one.table.name) == first);
        let likely: BTreeMap<String, Option<String>> =
            likely.map(|(_, one)| (one.table.name.clone(), one.sign().map(str::to_owned))).collect();
        let mut tables = database.tables;
        for (sample, table) in tables.iter_mut().zip(&known) {
            if let Some(sign) = likely.get(&sample.name) {
                self.count_states(table, sample)?;
                if let Some(sign) = sign {
                    self.add_rows(table, &format!("t.{} IS NOT NULL", quoted(sign)), sample)?;
                }
            }
        }
        Ok(DatabaseSample { engine, now, tables })
    }

    /// A table without its rows.
    fn bare(&self, table: &Table) -> TableSample {
        let own = |(from, reference): &(String, Reference)| (*from == table.name).then(|| reference.clone());
        TableSample {
            references: self.references.iter().filter_map(own).collect(),
            values: table.columns.iter().filter_map(|column| self.declared_of(table, column)).collect(),
            ..of_schema(table)
        }
    }

    fn declared_of(&self, table: &Table, column: &Column) -> Option<(String, Vec<(Value, u64)>)> {
        let values = self.declared.get(&(table.name.clone(), column.name.clone()))?;
        Some((column.name.clone(), values.iter().map(|value| (Value::Text(value.clone()), 0)).collect()))
    }

    /// The newest and the oldest rows of a table, as far as its key tells.
    fn ends(&mut self, table: &Table) -> Result<Vec<Vec<Value>>, StoreError> {
        let from = format!("SELECT {} FROM {} AS t", self.cells(table), table.sql);
        let columns: Vec<&Column> = table.columns.iter().collect();
        let key = self.source.order(table);
        let mut rows = Vec::new();
        let directions: &[&str] = if key.is_empty() { &[""] } else { &["DESC", "ASC"] };
        for direction in directions {
            let order: Vec<String> = key.iter().map(|column| format!("{column} {direction}")).collect();
            let order = if key.is_empty() { String::new() } else { format!("ORDER BY {}", order.join(", ")) };
            rows.extend(
                self.source.rows(&format!("{from} {order} LIMIT {ROWS}"), &columns)?.unwrap_or_default(),
            );
        }
        Ok(rows)
    }

    /// Counts the values of the columns that may hold states, and adds rows of each.
    fn count_states(&mut self, table: &Table, sample: &mut TableSample) -> Result<(), StoreError> {
        let states = table.columns.iter().filter(|column| draft::is_state(&column.name, &column.declared));
        for column in states.take(3) {
            let cell = self.source.cell(column);
            let counted = Column { name: "count".into(), declared: "bigint".into(), generated: false };
            let number = self.source.dialect().selected("count(*)");
            let count = |from: &str| {
                format!(
                    "SELECT {cell}, {number} FROM {from} AS t GROUP BY 1 ORDER BY count(*) DESC \
                     LIMIT {}",
                    STATES + 1
                )
            };
            let some = format!("(SELECT {} FROM {} LIMIT {SOME})", quoted(&column.name), table.sql);
            let all = self.source.rows(&count(&table.sql), &[column, &counted])?;
            let rows = match all {
                Some(rows) => Some(rows),
                None => self.source.rows(&count(&some), &[column, &counted])?,
            };
            let Some(rows) = rows else { continue };
            if rows.len() > STATES {
                continue;
            }
            let values = sample.values.entry(column.name.clone()).or_default();
            for row in rows {
                let [value, Value::Int(count)] = &row[..] else { continue };
                values.retain(|(known, _)| known != value);
                values.push((value.clone(), u64::try_from(*count).unwrap_or(0)));
            }
            values.retain(|(value, _)| *value != Value::Null);
            values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let wanted: Vec<Value> =
                values.iter().filter(|(_, count)| *count > 0).map(|(value, _)| value.clone()).collect();
            for value in wanted {
                self.rows_of_state(table, column, &value, sample)?;
            }
        }
        Ok(())
    }

    fn rows_of_state(
        &mut self,
        table: &Table,
        column: &Column,
        value: &Value,
        sample: &mut TableSample,
    ) -> Result<(), StoreError> {
        let literal = match value {
            Value::Int(number) => number.to_string(),
            Value::Text(text) => super::schema::literal(text),
            _ => return Ok(()),
        };
        self.add_rows(table, &format!("t.{} = {literal}", quoted(&column.name)), sample)
    }

    /// Adds some rows that meet a condition.
    fn add_rows(&mut self, table: &Table, only: &str, sample: &mut TableSample) -> Result<(), StoreError> {
        let columns: Vec<&Column> = table.columns.iter().collect();
        let sql = format!(
            "SELECT {} FROM {} AS t WHERE {only} LIMIT {ROWS_OF_STATE}",
            self.cells(table),
            table.sql
        );
        for row in self.source.rows(&sql, &columns)?.unwrap_or_default() {
            if !sample.rows.contains(&row) {
                sample.rows.push(row);
            }
        }
        Ok(())
    }

    fn cells(&self, table: &Table) -> String {
        let cells: Vec<String> = table.columns.iter().map(|column| self.source.cell(column)).collect();
        cells.join(", ")
    }
}

/// A table as the schema alone tells it.
pub(super) fn of_schema(table: &Table) -> TableSample {
    let column =
        |column: &Column| SampleColumn { name: column.name.clone(), declared: column.declared.clone() };
    TableSample {
        name: table.name.clone(),
        columns: table.columns.iter().map(column).collect(),
        key: table.key.iter().map(str::to_owned).collect(),
        has_rowid: table.has_rowid,
        ..TableSample::default()
    }
}

/// The tables of a schema that may hold claims, the likeliest first.
pub(super) fn likeliest(schema: &Schema, engine: Engine) -> Vec<String> {
    let readable = schema.tables().filter(|table| table.standing.runs.is_none());
    let tables: Vec<TableSample> = readable.map(of_schema).collect();
    let database = DatabaseSample { engine, now: Moment::EARLIEST, tables };
    draft::rank(&database).into_iter().map(|candidate| candidate.table.name.clone()).collect()
}

/// The table that a user means.
fn named(schema: &Schema, source: &str, name: &str) -> Result<String, StoreError> {
    if let Some(table) = schema.table(name) {
        return Ok(table.name.clone());
    }
    let mut why = match schema.unreadable().any(|known| known == name) {
        true => format!("the table {name} may not be read by us: GRANT SELECT"),
        false => format!("there is no table {name}"),
    };
    if let Some(near) = similar(name, schema.table_names()) {
        why = format!("{why}; did you mean {near}?");
    }
    Err(StoreError::BadTarget { source_name: source.into(), why })
}

/// The literals of a CHECK that lists the values of a column: `column IN ('a', 'b')`, or as PostgreSQL prints it.
pub(super) fn values_in_check(check: &str, column: &str) -> Vec<String> {
    let lower = check.to_ascii_lowercase();
    let column = column.to_ascii_lowercase();
    let is_part_of_a_name = |c: char| c.is_alphanumeric() || c == '_';
    for (at, _) in lower.match_indices(&column) {
        let before = lower[..at].chars().next_back();
        let rest = lower[at + column.len()..].trim_start_matches(['"', '`', ']', ')', ' ', '\n', '\t']);
        let list = rest.strip_prefix("::text").unwrap_or(rest).trim_start_matches([')', ' ']);
        let opens = ["in (", "in(", "= any (", "=any("].iter().any(|open| list.starts_with(open));
        if before.is_some_and(is_part_of_a_name) || !opens {
            continue;
        }
        // The same place in the text as it is written.
        let list = &check[check.len() - list.len()..];
        return literals(list);
    }
    Vec::new()
}

/// The quoted literals up to the parenthesis that closes the first one.
fn literals(list: &str) -> Vec<String> {
    let (mut depth, mut found) = (0, Vec::new());
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '(' => depth += 1,
            ')' if depth <= 1 => break,
            ')' => depth -= 1,
            '\'' => {
                let mut text = String::new();
                while let Some(c) = chars.next() {
                    if c != '\'' || chars.next_if_eq(&'\'').is_some() {
                        text.push(c);
                    } else {
                        break;
                    }
                }
                found.push(text);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::values_in_check;

    #[test]
    fn the_values_of_a_check_are_found_as_both_engines_write_them() {
        let sqlite = "CREATE TABLE j (sub_status TEXT, status TEXT NOT NULL CHECK (status IN ('queued', 'it''s')), n INT)";
        assert_eq!(values_in_check(sqlite, "status"), ["queued", "it's"]);
        let postgres = "CHECK ((state = ANY (ARRAY['ready'::text, 'running'::text])))";
        assert_eq!(values_in_check(postgres, "state"), ["ready", "running"]);
        let cast =
            "CHECK (((state)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[])))";
        assert_eq!(values_in_check(cast, "state"), ["a", "b"]);
        assert!(values_in_check(sqlite, "n").is_empty());
    }
}
