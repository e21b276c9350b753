//! Reading a PostgreSQL server: its types, names and roles, its failures, and its standbys.

mod failures;
mod indexes;
mod kinds;
mod row_level_security;
mod schemas;
mod standby;
mod table_shapes;
mod time_zones;
mod verdict_table;

use serde_json::Value as Json;
use std::process::Output;

use crate::support::postgres::PgDatabase;
use crate::support::{json, stderr};

/// The table of executor-jobs, with every column that its profile names.
const JOBS: &str = "CREATE TABLE executor_jobs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), type text NOT NULL,
    status text NOT NULL DEFAULT 'queued', attempts int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 10,
    run_at timestamptz, locked_at timestamptz, locked_by text, heartbeat_at timestamptz, last_error text,
    updated_at timestamptz);";

/// A running job of executor-jobs, locked this many minutes before the frozen clock.
fn job(database: &PgDatabase, kind: &str, minutes: i64) {
    database.run(&format!(
        "INSERT INTO executor_jobs (type, status, locked_at, locked_by)
         VALUES ('{kind}', 'running', timestamptz '2026-11-15 12:00:00+00' - interval '{minutes} minutes', 'w1')"
    ));
}

/// The sentence of a look that ended with exit code 3.
#[track_caller]
fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(3), "{}", stderr(output));
    stderr(output)
}

fn first_source(output: &Output) -> Json {
    json(output)["sources"][0].clone()
}
