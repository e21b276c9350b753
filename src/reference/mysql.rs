//! Creates the reference tables in a MySQL or MariaDB database.
//!
//! These servers commit every table on its own, so everything is compared before the first one is created. The
//! definitions to compare with are not parsed from the text but read from the server: the file is run with other names,
//! and both are compared as the catalog shows them.

mod catalog;

use thiserror::Error;

use super::server_columns::differs;
use super::{InstallError, InstallOutcome, InstalledObject, System};
use crate::mysql::{Link, MyError};
use catalog::{CatalogTable, SchemaCatalog};

/// Why the tables were not created on a server.
#[derive(Debug, Error)]
pub enum MysqlError {
    #[error("{} not available on MySQL; there are executor-jobs, finalization, task-queue", are_not(.0))]
    OnlyOnSqlite(Vec<&'static str>),
    #[error("the server takes no writes (read_only is on); name its primary")]
    ReadOnly,
    #[error("another `claimtop init` is at work on this server; try again")]
    Busy,
    #[error(transparent)]
    Differs(#[from] InstallError),
    #[error(transparent)]
    Server(#[from] MyError),
}

fn are_not(names: &[&str]) -> String {
    format!("{} {}", names.join(" and "), if names.len() == 1 { "is" } else { "are" })
}

/// What the names of the tables to compare with begin with, and those of their constraints.
const MODEL: &str = "claimtop_model_";

/// Creates the missing tables and indexes of `systems`. Existing ones must match the reference; a table may have more
/// columns as long as a row can be written without them. If anything differs, nothing is created.
pub fn install(link: &mut Link, systems: &[System]) -> Result<Vec<InstalledObject>, MysqlError> {
    let foreign = systems.iter().filter(|system| system.mysql().is_none());
    let foreign: Vec<&str> = foreign.map(|system| system.as_str()).collect();
    if !foreign.is_empty() {
        return Err(MysqlError::OnlyOnSqlite(foreign));
    }
    if link.query("SELECT @@read_only", Vec::new())?.first().is_some_and(|row| row.is_true(0)) {
        return Err(MysqlError::ReadOnly);
    }
    let mine = link.query("SELECT GET_LOCK('claimtop init', 10)", Vec::new())?;
    if !mine.first().is_some_and(|row| row.is_true(0)) {
        return Err(MysqlError::Busy);
    }
    let laid = lay(link, systems);
    // Its end ends the lock as well.
    let _ = link.query("SELECT RELEASE_LOCK('claimtop init')", Vec::new());
    laid
}

fn lay(link: &mut Link, systems: &[System]) -> Result<Vec<InstalledObject>, MysqlError> {
    let mut laid = Vec::new();
    let mut missing = Vec::new();
    for system in systems {
        let statements = statements(system.mysql().unwrap_or_default());
        let model = model(link, &statements)?;
        let there = SchemaCatalog::read(link)?;
        for (wanted, statement) in model.tables().iter().zip(statements) {
            let plan = compare(*system, wanted, there.find(&wanted.name), statement)?;
            laid.extend(plan.objects);
            missing.extend(plan.statements);
        }
    }
    for statement in missing {
        link.run(&statement)?;
    }
    Ok(laid)
}

/// What there is of a table, and what creates the rest.
struct TablePlan {
    objects: Vec<InstalledObject>,
    statements: Vec<String>,
}

fn compare(
    system: System,
    wanted: &CatalogTable,
    found: Option<&CatalogTable>,
    statement: &str,
) -> Result<TablePlan, InstallError> {
    let object = |kind: &str, name: &str, how| InstalledObject {
        system,
        kind: kind.to_owned(),
        name: name.to_owned(),
        how,
    };
    let Some(found) = found else {
        let indexes = wanted.indexes.keys().map(|name| object("index", name, InstallOutcome::Made));
        let table = object("table", &wanted.name, InstallOutcome::Made);
        let objects = std::iter::once(table).chain(indexes).collect();
        return Ok(TablePlan { objects, statements: vec![statement.to_owned()] });
    };
    let differences = found.differences(wanted);
    if !differences.is_empty() {
        return Err(differs(system, "table", &found.name, &differences));
    }
    let mut objects = vec![object("table", &wanted.name, InstallOutcome::Found)];
    let mut statements = Vec::new();
    for (name, index) in &wanted.indexes {
        let how = match found.indexes.get(name) {
            Some(is) if is != index => {
                return Err(differs(system, "index", name, &[index.unlike(is)]));
            }
            Some(_) => InstallOutcome::Found,
            None => {
                statements.push(format!("ALTER TABLE {} ADD {}", found.name, index.sql(name)));
                InstallOutcome::Made
            }
        };
        objects.push(object("index", name, how));
    }
    Ok(TablePlan { objects, statements })
}

/// One for each table.
fn statements(script: &str) -> Vec<&str> {
    script.split(";\n").filter(|one| one.contains("CREATE TABLE")).collect()
}

/// What the statements create, as the catalog shows it. Tables that an interrupted run left behind are dropped first.
fn model(link: &mut Link, statements: &[&str]) -> Result<SchemaCatalog, MysqlError> {
    let names: Vec<&str> = statements.iter().filter_map(|one| table_of(one)).collect();
    drop_model(link, &names)?;
    let made = statements.iter().try_for_each(|one| {
        let copy = ["CREATE TABLE IF NOT EXISTS ", "REFERENCES ", "CONSTRAINT "];
        let copy = copy
            .iter()
            .fold((*one).to_owned(), |sql, before| sql.replace(before, &format!("{before}{MODEL}")));
        link.run(&copy)
    });
    let read = made.and_then(|()| SchemaCatalog::read(link));
    drop_model(link, &names)?;
    Ok(read?.model(&names))
}

fn table_of(statement: &str) -> Option<&str> {
    statement.split("CREATE TABLE IF NOT EXISTS ").nth(1)?.split_whitespace().next()
}

/// In the reverse order: the later ones refer to the earlier ones.
fn drop_model(link: &mut Link, names: &[&str]) -> Result<(), MyError> {
    names.iter().rev().try_for_each(|name| link.run(&format!("DROP TABLE IF EXISTS {MODEL}{name}")))
}
