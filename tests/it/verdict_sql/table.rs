//! Random databases of either engine.

use rusqlite::types::Value;

use super::random::{Column, Random, cell};
use crate::support::Database;
use crate::support::engine::{Engine, Layout, layout};
use crate::support::postgres::PgDatabase;

/// A table, its columns as SQLite declares them, and the indexes it may have.
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [(&'static str, &'static str, Column)],
    pub indexes: &'static [&'static str],
}

impl Table {
    /// Which column is its primary key.
    fn key(&self) -> Option<usize> {
        self.columns.iter().position(|(_, declared, _)| declared.ends_with("PRIMARY KEY"))
    }
}

/// Where the random tables are.
pub enum Place {
    Sqlite(Box<Database>),
    Postgres(Box<PgDatabase>),
}

impl Place {
    pub fn new(engine: Engine) -> Place {
        match engine {
            Engine::Sqlite => Place::Sqlite(Box::new(Database::new(""))),
            Engine::Postgres => Place::Postgres(Box::new(PgDatabase::new(""))),
        }
    }

    pub fn engine(&self) -> Engine {
        match self {
            Place::Sqlite(_) => Engine::Sqlite,
            Place::Postgres(_) => Engine::Postgres,
        }
    }

    pub fn run(&self, sql: &str) {
        match self {
            Place::Sqlite(database) => database.connection.execute_batch(sql).expect(sql),
            Place::Postgres(database) => database.run(sql),
        }
    }

    /// Makes the tables anew, with some of their indexes, and fills them.
    pub fn create(&self, tables: &[Table], random: &mut Random) {
        if self.engine() == Engine::Postgres {
            self.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public; SET client_min_messages = error");
            let words =
                tables.iter().flat_map(|table| table.columns).find_map(|(_, _, column)| match column {
                    Column::Enumerated(words) => Some(literals(words)),
                    _ => None,
                });
            if let Some(words) = words {
                self.run(&format!("CREATE TYPE word AS ENUM ({words})"));
            }
        }
        for table in tables {
            let columns: Vec<String> = table.columns.iter().map(|column| self.declared(column)).collect();
            let by_key = layout() == Layout::Keys && table.key().is_some();
            let how = if by_key { " WITHOUT ROWID" } else { "" };
            self.run(&format!("CREATE TABLE {} ({}){how}", table.name, columns.join(", ")));
            for (number, index) in table.indexes.iter().enumerate() {
                if random.chance(2) {
                    let name = table.name.replace('"', "").replace(' ', "_");
                    self.run(&format!("CREATE INDEX {name}_{number} ON {}({index})", table.name));
                }
            }
            self.fill(table, random);
        }
    }

    fn declared(&self, (name, declared, column): &(&str, &str, Column)) -> String {
        match self.engine() {
            Engine::Sqlite => format!("\"{name}\" {declared}"),
            Engine::Postgres => {
                let key = if declared.ends_with("PRIMARY KEY") { " PRIMARY KEY" } else { "" };
                format!("\"{name}\" {}{key}", column.declared())
            }
        }
    }

    /// Writes some rows, new ones and over others.
    pub fn fill(&self, table: &Table, random: &mut Random) {
        let rows = if random.chance(8) { 0 } else { random.below(40) };
        for row in 0..rows {
            let values = table.columns.iter().map(|(_, _, column)| cell(random, self.engine(), *column, row));
            self.insert(table, values.collect());
        }
    }

    fn insert(&self, table: &Table, values: Vec<Value>) {
        match self {
            Place::Sqlite(database) => {
                let by_key = layout() == Layout::Keys;
                if by_key && table.key().is_some_and(|key| values[key] == Value::Null) {
                    return;
                }
                let places: Vec<String> = (1..=values.len()).map(|place| format!("?{place}")).collect();
                let sql = format!("INSERT OR REPLACE INTO {} VALUES ({})", table.name, places.join(", "));
                database.run(&sql, rusqlite::params_from_iter(values));
            }
            Place::Postgres(database) => {
                let key = table.key();
                if key.is_some_and(|key| values[key] == Value::Null) {
                    return;
                }
                let literals: Vec<String> = values.iter().map(literal).collect();
                let over = key.map(|key| {
                    let (name, literal) = (table.columns[key].0, &literals[key]);
                    format!("DELETE FROM {} WHERE \"{name}\" = {literal};", table.name)
                });
                let over = over.unwrap_or_default();
                database.run(&format!("{over} INSERT INTO {} VALUES ({})", table.name, literals.join(", ")));
            }
        }
    }
}

/// The different ones among these words, as literals.
fn literals(words: &[&str]) -> String {
    let mut words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    words.sort();
    words.dedup();
    words.join(", ")
}

/// A value as PostgreSQL's SQL, of whatever type its place wants.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Integer(number) => format!("'{number}'"),
        Value::Real(number) => format!("'{number:?}'"),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("'\\x{digits}'")
        }
    }
}
