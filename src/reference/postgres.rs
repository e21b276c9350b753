//! Creates the reference tables in a PostgreSQL database: one transaction, all or nothing.
//!
//! The definitions to compare with are not parsed from the text but read from the server: the file is run in a
//! temporary schema, and both are compared as the catalog shows them.

mod catalog;

use thiserror::Error;

use super::server_columns::differs;
use super::upgrade::AddedColumn;
use super::{InstallError, InstallOutcome, InstalledObject, System};
use crate::postgres::{Begin, ConnectError, Link, PgError, home};
use catalog::SchemaCatalog;

/// Why the tables were not created on a server.
#[derive(Debug, Error)]
pub enum PostgresError {
    #[error("{} {} on SQLite only; on PostgreSQL there are {}", .0.join(" and "), are(.0), on_postgres())]
    OnlyOnSqlite(Vec<&'static str>),
    #[error("the server is a standby, which nothing can be written to; name its primary")]
    Standby,
    #[error("its sessions are read-only (default_transaction_read_only is on)")]
    ReadOnly,
    #[error("no schema of its search_path is there; make one, or name one with options=-csearch_path=NAME")]
    NoSchema,
    #[error(
        "the schema {0} holds {1}, which could be taken for a built-in one; drop it, or name another schema with \
         options=-csearch_path=NAME"
    )]
    Lookalike(String, String),
    #[error(
        "this user may not make a schema in this database, which is needed for a moment to compare what is \
         there with the reference; GRANT CREATE ON DATABASE, or run assets/schema/postgres/*.sql with psql"
    )]
    MayNotCompare,
    #[error(transparent)]
    Differs(#[from] InstallError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Server(#[from] PgError),
}

fn are(names: &[&str]) -> &'static str {
    if names.len() == 1 { "is" } else { "are" }
}

fn on_postgres() -> String {
    System::ALL
        .into_iter()
        .filter(|system| system.postgres().is_some())
        .map(System::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The function of executor jobs that reclaims before it claims.
const WRAPPER: &str = include_str!("../../assets/schema/postgres/executor-jobs-wrapper.sql");
const ROLLBACK: &str = include_str!("../../assets/schema/postgres/executor-jobs-rollback.sql");

/// What [`ROLLBACK`] drops.
const DROPPED: [&str; 6] = [
    "fetch_executor_job",
    "reclaim_stale_jobs",
    "update_job_heartbeat",
    "executor_jobs_stale_validation",
    "executor_jobs_stale_monitor",
    "executor_jobs_reclaim_history",
];

/// Whether the wrapper of executor jobs is wanted as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapper {
    Without,
    With,
}

/// The script of a system on PostgreSQL.
fn script(system: System, wrapper: Wrapper) -> Option<String> {
    let own = system.postgres()?;
    Some(match (system, wrapper) {
        (System::ExecutorJobs, Wrapper::With) => format!("{own}\n{WRAPPER}"),
        _ => own.to_owned(),
    })
}

/// Only one process at a time creates tables in a database.
const ONE_AT_A_TIME: &str = "SELECT pg_advisory_xact_lock(hashtext('claimtop init'))::text";

/// Creates the missing tables, indexes, functions, views and triggers of `systems` in the first schema of the search
/// path. Existing ones must match the reference; a table may have more columns as long as a row can be written
/// without them. Only what earlier versions of ours made is brought up to date: columns are added, functions replaced.
/// If nothing is missing, nothing is written.
pub fn install(
    link: &mut Link,
    systems: &[System],
    wrapper: Wrapper,
) -> Result<Vec<InstalledObject>, PostgresError> {
    let foreign: Vec<&str> =
        systems.iter().filter(|system| system.postgres().is_none()).map(|system| system.as_str()).collect();
    if !foreign.is_empty() {
        return Err(PostgresError::OnlyOnSqlite(foreign));
    }
    change(link, |link, home| lay(link, systems, wrapper, home))
}

/// Takes back what executor jobs needs to reclaim, as its rollback plan says: the functions and views. Jobs stay. What
/// differs from the reference belongs to somebody else: then nothing is dropped.
pub fn rollback(link: &mut Link) -> Result<Vec<InstalledObject>, PostgresError> {
    change(link, |link, home| {
        prepare(link, home)?;
        let system = System::ExecutorJobs;
        let model = model(link, &script(system, Wrapper::With).unwrap_or_default())?;
        let there = SchemaCatalog::read(link)?;
        let mut dropped = Vec::new();
        for object in model.objects().iter().filter(|object| DROPPED.contains(&object.name.as_str())) {
            let Some(found) = there.find(object) else { continue };
            let differences = found.differences(object);
            if !differences.is_empty() {
                return Err(differs(system, &found.kind, &found.name, &differences).into());
            }
            let (kind, name) = (object.kind.clone(), object.name.clone());
            dropped.push(InstalledObject { system, kind, name, how: InstallOutcome::Dropped });
        }
        link.batch(ROLLBACK)?;
        Ok(dropped)
    })
}

/// One transaction on a server that may be written to.
fn change(
    link: &mut Link,
    work: impl FnOnce(&mut Link, &str) -> Result<Vec<InstalledObject>, PostgresError>,
) -> Result<Vec<InstalledObject>, PostgresError> {
    link.begin(Begin::Reading)?;
    let admitted = admit(link);
    link.rollback()?;
    let home = admitted?;
    link.begin(Begin::Acting)?;
    match work(link, &home) {
        Ok(laid) => {
            link.commit()?;
            Ok(laid)
        }
        Err(error) => {
            // Even if the rollback fails: without a commit nothing exists.
            let _ = link.rollback();
            Err(error)
        }
    }
}

/// The schema for the tables. Read-only settings of the server are respected, although a transaction could override
/// them.
fn admit(link: &mut Link) -> Result<String, PostgresError> {
    let sql = "SELECT pg_is_in_recovery()::text, current_setting('default_transaction_read_only')";
    let rows = link.query(sql, &[])?;
    let word = |at| rows.first().and_then(|row| row.get(at));
    match (word(0), word(1), home(link)?) {
        (Some("true"), _, _) => Err(PostgresError::Standby),
        (_, Some("on"), _) => Err(PostgresError::ReadOnly),
        (_, _, None) => Err(PostgresError::NoSchema),
        (_, _, Some(home)) => Ok(home),
    }
}

/// A function or an operator in the schema that could shadow a built-in one of the same name. Those of extensions are
/// excepted: their installer chose them.
const LOOKALIKE: &str = "
    SELECT f.oid::regprocedure::text FROM pg_proc AS f
    WHERE f.pronamespace = ($1::text)::regnamespace
      AND EXISTS (SELECT FROM pg_proc AS b WHERE b.proname = f.proname AND b.pronamespace = 'pg_catalog'::regnamespace)
      AND NOT EXISTS (SELECT FROM unnest(f.proargtypes::oid[]) AS a(type) JOIN pg_type AS t ON t.oid = a.type
                      WHERE t.typnamespace <> 'pg_catalog'::regnamespace)
      AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid AND d.deptype = 'e')
    UNION ALL
    SELECT o.oid::regoperator::text FROM pg_operator AS o
    WHERE o.oprnamespace = ($1::text)::regnamespace
      AND NOT EXISTS (SELECT FROM pg_type AS t WHERE t.oid IN (o.oprleft, o.oprright)
                      AND t.typnamespace <> 'pg_catalog'::regnamespace)
      AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e')
    LIMIT 1";

/// Waits for its turn, and resolves names in the schema of the tables.
fn prepare(link: &mut Link, home: &str) -> Result<(), PostgresError> {
    link.query(ONE_AT_A_TIME, &[])?;
    let lookalike = link.query(LOOKALIKE, &[Some(home)])?;
    if let Some(name) = lookalike.first().and_then(|row| row.get(0)) {
        return Err(PostgresError::Lookalike(home.into(), name.into()));
    }
    // From here on names are also resolved in that schema: nothing in it shadows a built-in.
    let own = format!("SET LOCAL search_path = {home}, pg_temp");
    link.batch(&own)?;
    // Only warnings: that a table exists already is not reported.
    link.batch("SET LOCAL client_min_messages = warning")?;
    Ok(())
}

fn lay(
    link: &mut Link,
    systems: &[System],
    wrapper: Wrapper,
    home: &str,
) -> Result<Vec<InstalledObject>, PostgresError> {
    prepare(link, home)?;
    let mut laid = Vec::new();
    for system in systems {
        let Some(sql) = script(*system, wrapper) else { continue };
        let model = model(link, &sql)?;
        let before = laid.len();
        laid.extend(add_columns(link, *system)?);
        let there = SchemaCatalog::read(link)?;
        for object in model.objects() {
            let how = match there.find(object) {
                None => InstallOutcome::Made,
                Some(found) if found.is_former(object) => InstallOutcome::Made,
                Some(found) => {
                    let differences = found.differences(object);
                    if !differences.is_empty() {
                        return Err(differs(*system, &found.kind, &found.name, &differences).into());
                    }
                    InstallOutcome::Found
                }
            };
            laid.push(InstalledObject {
                system: *system,
                kind: object.kind.clone(),
                name: object.name.clone(),
                how,
            });
        }
        // Running it again would replace the functions, whoever owns them.
        if laid[before..].iter().any(|it| it.how == InstallOutcome::Made) {
            link.batch(&sql)?;
        }
    }
    Ok(laid)
}

/// Adds the columns that earlier versions of the tables lack.
fn add_columns(link: &mut Link, system: System) -> Result<Vec<InstalledObject>, PostgresError> {
    let there = SchemaCatalog::read(link)?;
    let mut added = Vec::new();
    for AddedColumn { table, column, postgres, .. } in system.added_columns() {
        if there.lacks(table, column) {
            link.batch(postgres)?;
            added.push(InstalledObject::added(system, table, column));
        }
    }
    Ok(added)
}

/// What the file creates, as the catalog shows it.
fn model(link: &mut Link, sql: &str) -> Result<SchemaCatalog, PostgresError> {
    let name = format!("claimtop_model_{}", uuid::Uuid::now_v7().simple());
    link.batch("SAVEPOINT before_the_model")?;
    link.batch(&format!("CREATE SCHEMA {name}")).map_err(|error| match error.code() {
        Some("42501") => PostgresError::MayNotCompare,
        _ => error.into(),
    })?;
    link.batch(&format!("SET LOCAL search_path = {name}; {sql}"))?;
    let model = SchemaCatalog::read(link)?;
    link.batch("ROLLBACK TO SAVEPOINT before_the_model; RELEASE SAVEPOINT before_the_model")?;
    Ok(model)
}
