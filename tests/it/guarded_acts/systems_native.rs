//! The executor's jobs as a server has them, with types that a file does not know.

use super::systems::Touches::{Claim as TheClaim, Others};
use super::systems::{RunsOn, System, claim, step};

pub const EXECUTOR_JOB: System = System {
    name: "executor job in types of its own",
    runs_on: RunsOn::PostgresAlone,
    schema: include_str!("../../../assets/schema/postgres/executor-jobs.sql"),
    id: "00000000-0000-0000-0000-000000000001",
    tables: &["executor_jobs"],
    bystanders: "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by)
        VALUES ('00000000-0000-0000-0000-000000000002', 'run_tsa', 'running',
        to_timestamp($S) - interval '2 hours', 'other')",
    held: "SELECT count(*) FROM executor_jobs WHERE status IN ('running', 'processing')
        AND id = '00000000-0000-0000-0000-000000000001'",
    claims: &[
        claim(
            "TTL over, never beaten",
            false,
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts)
             VALUES ('00000000-0000-0000-0000-000000000001', 'run_tsa', 'running',
             to_timestamp($S) - interval '31 minutes' - interval '$D s', 'holder', 1)",
        ),
        claim(
            "TTL over, beaten before",
            false,
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts, heartbeat_at)
             VALUES ('00000000-0000-0000-0000-000000000001', 'build_artifact', 'processing',
             to_timestamp($S) - interval '9 hours', 'holder', 10, to_timestamp($S) - interval '16 minutes')",
        ),
    ],
    steps: &[
        step("nothing", Others, ""),
        step(
            "renewed",
            TheClaim,
            "UPDATE executor_jobs SET heartbeat_at = to_timestamp($S) - interval '$K s'
             WHERE id = '00000000-0000-0000-0000-000000000001'",
        ),
        step(
            "finished",
            TheClaim,
            "UPDATE executor_jobs SET status = 'succeeded'
             WHERE id = '00000000-0000-0000-0000-000000000001'",
        ),
        step(
            "taken by another",
            TheClaim,
            "UPDATE executor_jobs SET locked_by = 'other', locked_at = to_timestamp($S)
             WHERE id = '00000000-0000-0000-0000-000000000001'",
        ),
        step(
            "an unmapped column changed",
            TheClaim,
            "UPDATE executor_jobs SET payload = '{\"k\": $K}'
             WHERE id = '00000000-0000-0000-0000-000000000001'",
        ),
        step(
            "written as it was",
            TheClaim,
            "UPDATE executor_jobs SET payload = payload WHERE id = '00000000-0000-0000-0000-000000000001'",
        ),
        step(
            "deleted",
            TheClaim,
            "DELETE FROM executor_jobs WHERE id = '00000000-0000-0000-0000-000000000001'",
        ),
        step(
            "somebody else's job",
            Others,
            "UPDATE executor_jobs SET heartbeat_at = to_timestamp($S)
             WHERE id = '00000000-0000-0000-0000-000000000002'",
        ),
    ],
};
