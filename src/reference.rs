//! The reference tables of the five systems, as their specifications describe them.
//!
//! Knows the schemas in `assets/schema/` and how to create them in a database: all or nothing, and never over
//! existing tables that differ. Columns that a later version brought are added.

mod comparison;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "postgres")]
mod server_columns;
mod upgrade;

use rusqlite::{Connection, TransactionBehavior};
use std::collections::BTreeMap;
use thiserror::Error;

use upgrade::AddedColumn;

/// One of the five systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Coordination,
    ExecutorJobs,
    MergeQueue,
    Finalization,
    TaskQueue,
}

impl System {
    pub const ALL: [System; 5] = [
        System::Coordination,
        System::ExecutorJobs,
        System::MergeQueue,
        System::Finalization,
        System::TaskQueue,
    ];

    /// Its name, which is also the name of its profile.
    pub fn as_str(self) -> &'static str {
        match self {
            System::Coordination => "coordination",
            System::ExecutorJobs => "executor-jobs",
            System::MergeQueue => "merge-queue",
            System::Finalization => "finalization",
            System::TaskQueue => "task-queue",
        }
    }

    /// Its tables and indexes on SQLite.
    pub fn sqlite(self) -> &'static str {
        match self {
            System::Coordination => include_str!("../assets/schema/sqlite/coordination.sql"),
            System::ExecutorJobs => include_str!("../assets/schema/sqlite/executor-jobs.sql"),
            System::MergeQueue => include_str!("../assets/schema/sqlite/merge-queue.sql"),
            System::Finalization => include_str!("../assets/schema/sqlite/finalization.sql"),
            System::TaskQueue => include_str!("../assets/schema/sqlite/task-queue.sql"),
        }
    }

    /// Its tables, indexes, functions and views on PostgreSQL, if it exists there.
    pub fn postgres(self) -> Option<&'static str> {
        match self {
            System::ExecutorJobs => Some(include_str!("../assets/schema/postgres/executor-jobs.sql")),
            System::Finalization => Some(include_str!("../assets/schema/postgres/finalization.sql")),
            System::TaskQueue => Some(include_str!("../assets/schema/postgres/task-queue.sql")),
            System::Coordination | System::MergeQueue => None,
        }
    }

    /// Its tables and indexes on MySQL and MariaDB, if it exists there.
    pub fn mysql(self) -> Option<&'static str> {
        match self {
            System::ExecutorJobs => Some(include_str!("../assets/schema/mysql/executor-jobs.sql")),
            System::Finalization => Some(include_str!("../assets/schema/mysql/finalization.sql")),
            System::TaskQueue => Some(include_str!("../assets/schema/mysql/task-queue.sql")),
            System::Coordination | System::MergeQueue => None,
        }
    }
}

/// Why the tables were not created.
#[derive(Debug, Error)]
pub enum InstallError {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error(
        "the {kind} {name} is there already and differs from that of {system}: {how}; nothing was changed. \
         Move it away, or use another database"
    )]
    Differs { system: &'static str, kind: String, name: String, how: String },
}

/// The result for one table, index, view or trigger, or for a column that was added to a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledObject {
    pub system: System,
    pub kind: String,
    pub name: String,
    pub how: InstallOutcome,
}

impl InstalledObject {
    fn added(system: System, table: &str, column: &str) -> InstalledObject {
        let name = format!("{table}.{column}");
        InstalledObject { system, kind: "column".into(), name, how: InstallOutcome::Made }
    }
}

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallOutcome {
    Made,
    Found,
    /// A rollback took it back.
    Dropped,
}

/// Creates the missing tables of `systems`, in one transaction. Existing tables must have every column of the
/// reference with its type; they may have more columns as long as a row can be written without them. Only columns that
/// a later version brought are added to them.
pub fn install(
    connection: &mut Connection,
    systems: &[System],
) -> Result<Vec<InstalledObject>, InstallError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut laid = Vec::new();
    for system in systems {
        let model = Connection::open_in_memory()?;
        model.execute_batch(system.sqlite())?;
        laid.extend(add_columns(&transaction, *system)?);
        let there = objects(&transaction)?;
        for (key, object) in objects(&model)? {
            let how = match there.get(&key) {
                None => InstallOutcome::Made,
                Some(found) => {
                    let differences = comparison::differences(&transaction, found, &model, &object)?;
                    if !differences.is_empty() {
                        return Err(InstallError::Differs {
                            system: system.as_str(),
                            kind: found.kind.clone(),
                            name: found.name.clone(),
                            how: differences.join(", "),
                        });
                    }
                    InstallOutcome::Found
                }
            };
            laid.push(InstalledObject { system: *system, kind: object.kind, name: object.name, how });
        }
        transaction.execute_batch(system.sqlite())?;
    }
    transaction.commit()?;
    Ok(laid)
}

/// Adds the columns that earlier versions of the tables lack.
fn add_columns(connection: &Connection, system: System) -> rusqlite::Result<Vec<InstalledObject>> {
    let mut added = Vec::new();
    for AddedColumn { table, column, sqlite, .. } in system.added_columns() {
        let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND lower(name) = ?1)
                   AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(?1) WHERE lower(name) = ?2)";
        if connection.query_row(sql, [table, column], |row| row.get(0))? {
            connection.execute_batch(sqlite)?;
            added.push(InstalledObject::added(system, table, column));
        }
    }
    Ok(added)
}

/// A table, index, view or trigger.
#[derive(Debug, Clone)]
struct SchemaObject {
    kind: String,
    name: String,
    /// The table that it belongs to, in lower case.
    table: String,
    sql: String,
}

/// Every object by its name in lower case: to SQLite `Sessions` and `sessions` are the same.
fn objects(connection: &Connection) -> rusqlite::Result<BTreeMap<String, SchemaObject>> {
    let sql = "SELECT lower(name), type, name, lower(tbl_name), coalesce(sql, '') FROM sqlite_schema
               WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut statement = connection.prepare(sql)?;
    let objects = statement.query_map([], |row| {
        Ok((
            row.get(0)?,
            SchemaObject { kind: row.get(1)?, name: row.get(2)?, table: row.get(3)?, sql: row.get(4)? },
        ))
    })?;
    objects.collect()
}
