//! The systems that keep their claims in the rows of a queue.

use super::systems::Touches::{Claim as TheClaim, Others};
use super::systems::{RunsOn, System, claim, step};

pub const JOBS: &str = "
    CREATE TABLE executor_jobs (id uuid PRIMARY KEY NOT NULL, type text NOT NULL, entity_type text,
      entity_id uuid, payload jsonb NOT NULL DEFAULT '{}', status text NOT NULL DEFAULT 'queued',
      attempts int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 10, run_at timestamptz,
      locked_at timestamptz, locked_by text, last_error text, updated_at timestamptz,
      heartbeat_at timestamptz, trace_id text);
    CREATE INDEX executor_jobs_reclaim_idx ON executor_jobs (status, type, locked_at, heartbeat_at)
      WHERE status IN ('running', 'processing');";

pub const MERGE: &str = "
    CREATE TABLE merge_queue (id INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL UNIQUE,
      bead_id TEXT, priority INTEGER NOT NULL DEFAULT 5, status TEXT NOT NULL DEFAULT 'pending',
      added_at INTEGER NOT NULL, started_at INTEGER, completed_at INTEGER, error_message TEXT, agent_id TEXT,
      state_changed_at INTEGER, head_sha TEXT, attempt_count INTEGER DEFAULT 0,
      max_attempts INTEGER DEFAULT 3);
    CREATE TABLE queue_processing_lock (id INTEGER PRIMARY KEY CHECK (id = 1), agent_id TEXT NOT NULL,
      acquired_at INTEGER NOT NULL, expires_at INTEGER NOT NULL);
    CREATE INDEX idx_merge_queue_status ON merge_queue(status);";

pub const FINALIZED: &str = "
    CREATE TABLE tasker_tasks (task_uuid uuid PRIMARY KEY NOT NULL, complete boolean NOT NULL DEFAULT false,
      claimed_by character varying, claimed_at timestamp, claim_timeout_seconds integer,
      updated_at timestamp, context jsonb);";

pub const TASKS: &str = "
    CREATE TABLE task_types (id INTEGER PRIMARY KEY, name VARCHAR(255) NOT NULL, version VARCHAR(50));
    CREATE TABLE tasks (id INTEGER PRIMARY KEY AUTOINCREMENT, task_type_id INTEGER NOT NULL,
      status VARCHAR(20) NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'claimed', 'completed', 'failed')),
      params TEXT, result TEXT, error_message TEXT, priority INTEGER NOT NULL DEFAULT 0,
      attempts INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL DEFAULT 3, worker_id VARCHAR(255),
      claimed_at DATETIME, completed_at DATETIME, created_at DATETIME, updated_at DATETIME);
    CREATE TABLE task_logs (id INTEGER PRIMARY KEY, task_id INTEGER, event VARCHAR(20), worker_id VARCHAR(255),
      message TEXT, metadata TEXT, created_at DATETIME);";

pub const REGISTERED_TASKS: &str = "
    CREATE TABLE task_types (id INTEGER PRIMARY KEY, name VARCHAR(255) NOT NULL, version VARCHAR(50));
    CREATE TABLE tasks (id INTEGER PRIMARY KEY AUTOINCREMENT, task_type_id INTEGER NOT NULL,
      status VARCHAR(20) NOT NULL DEFAULT 'pending', params TEXT, attempts INTEGER NOT NULL DEFAULT 0,
      max_attempts INTEGER NOT NULL DEFAULT 3, worker_id VARCHAR(255), claimed_at DATETIME,
      completed_at DATETIME, updated_at DATETIME);
    CREATE TABLE task_logs (id INTEGER PRIMARY KEY, task_id INTEGER, event VARCHAR(20), worker_id VARCHAR(255),
      message TEXT, metadata TEXT, created_at DATETIME);
    CREATE TABLE worker_heartbeats (id INTEGER PRIMARY KEY, worker_id VARCHAR(255) NOT NULL UNIQUE,
      status VARCHAR(20) DEFAULT 'active', last_seen_at DATETIME NOT NULL, metadata TEXT);";

pub const LEASES: &str = "
    CREATE TABLE task_queue (id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL,
      payload TEXT NOT NULL DEFAULT '{}', compatibility TEXT NOT NULL DEFAULT '{}',
      status TEXT NOT NULL DEFAULT 'queued', attempts INTEGER NOT NULL DEFAULT 0,
      max_attempts INTEGER NOT NULL DEFAULT 5, lease_until_utc DATETIME, reserved_at_utc DATETIME,
      locked_by TEXT, error_message TEXT, updated_at_utc DATETIME,
      region TEXT GENERATED ALWAYS AS (json_extract(compatibility, '$.region')) VIRTUAL);
    CREATE TABLE workers (worker_id TEXT PRIMARY KEY, capabilities TEXT NOT NULL DEFAULT '{}',
      heartbeat_utc DATETIME NOT NULL);";

pub const EXECUTOR_JOB: System = System {
    name: "executor job",
    runs_on: RunsOn::Both,
    schema: JOBS,
    id: "job-1",
    tables: &["executor_jobs"],
    bystanders: "INSERT INTO executor_jobs (id, type, status, locked_by, locked_at)
        VALUES ('job-2', 'run_tsa', 'running', 'holder', datetime($S - 7200, 'unixepoch'))",
    held: "SELECT count(*) FROM executor_jobs WHERE id = 'job-1' AND locked_by IS NOT NULL",
    claims: &[
        claim(
            "TTL over, never beaten",
            false,
            "INSERT INTO executor_jobs (id, type, status, locked_by, locked_at, attempts) VALUES ('job-1',
             'run_tsa', 'running', 'holder', strftime('%Y-%m-%dT%H:%M:%SZ', $S - 1801 - $D, 'unixepoch'), 2)",
        ),
        claim(
            "TTL over, beaten before",
            false,
            "INSERT INTO executor_jobs (id, type, status, locked_by, locked_at, heartbeat_at, attempts) VALUES
             ('job-1', 'protect_document_v2', 'processing', 'holder', datetime($S - 9000, 'unixepoch'),
             datetime($S - 301 - $D, 'unixepoch'), 10)",
        ),
    ],
    steps: &[
        step("nothing", Others, ""),
        step(
            "renewed",
            TheClaim,
            "UPDATE executor_jobs SET heartbeat_at = datetime($S - $K, 'unixepoch') WHERE id = 'job-1'",
        ),
        step(
            "finished",
            TheClaim,
            "UPDATE executor_jobs SET status = 'succeeded', locked_by = NULL, locked_at = NULL
             WHERE id = 'job-1'",
        ),
        step(
            "taken by another",
            TheClaim,
            "UPDATE executor_jobs SET locked_by = 'other-' || $K, locked_at = datetime($S - $K, 'unixepoch'),
             attempts = attempts + 1 WHERE id = 'job-1'",
        ),
        step(
            "taken again by the same holder",
            TheClaim,
            "UPDATE executor_jobs SET locked_at = datetime($S - $K, 'unixepoch') WHERE id = 'job-1'",
        ),
        step("status changed", TheClaim, "UPDATE executor_jobs SET status = 'queued' WHERE id = 'job-1'"),
        step(
            "an unmapped column changed",
            TheClaim,
            "UPDATE executor_jobs SET trace_id = 'trace-' || $K WHERE id = 'job-1'",
        ),
        step(
            "there and back again",
            TheClaim,
            "UPDATE executor_jobs SET attempts = attempts + $K WHERE id = 'job-1';
             UPDATE executor_jobs SET attempts = attempts - $K WHERE id = 'job-1'",
        ),
        step("deleted", TheClaim, "DELETE FROM executor_jobs WHERE id = 'job-1'"),
        step(
            "somebody else's job",
            Others,
            "UPDATE executor_jobs SET heartbeat_at = datetime($S - $K, 'unixepoch') WHERE id = 'job-2'",
        ),
    ],
};

pub const MERGE_ENTRY: System = System {
    name: "merge-queue entry",
    runs_on: RunsOn::Both,
    schema: MERGE,
    id: "41",
    tables: &["merge_queue", "queue_processing_lock"],
    bystanders: "INSERT INTO merge_queue (id, workspace, status, added_at, started_at, agent_id)
        VALUES (42, 'b', 'claimed', $S - 900, $S - 900, 'other')",
    held: "SELECT count(*) FROM merge_queue WHERE id = 41 AND agent_id IS NOT NULL",
    claims: &[
        claim(
            "TTL over, no lock",
            false,
            "INSERT INTO merge_queue (id, workspace, status, added_at, started_at, agent_id)
             VALUES (41, 'a', 'claimed', $S - 9000, $S - 301 - $D, 'agent-x')",
        ),
        claim(
            "TTL over, lock over",
            false,
            "INSERT INTO merge_queue (id, workspace, status, added_at, started_at, agent_id)
             VALUES (41, 'a', 'claimed', $S - 9000, $S - 301 - $D, 'agent-x');
             INSERT INTO queue_processing_lock VALUES (1, 'agent-x', $S - 900, $S - 1 - $D)",
        ),
    ],
    steps: &[
        step("nothing", Others, ""),
        // Working agents renew the lock and never the entry.
        step(
            "renewed",
            TheClaim,
            "DELETE FROM queue_processing_lock;
             INSERT INTO queue_processing_lock VALUES (1, 'agent-x', $S - $K, $S + 300 - $K)",
        ),
        step(
            "finished",
            TheClaim,
            "UPDATE merge_queue SET status = 'merged', completed_at = $S WHERE id = 41",
        ),
        step(
            "taken by another",
            TheClaim,
            "UPDATE merge_queue SET agent_id = 'other-' || $K, started_at = $S - $K WHERE id = 41",
        ),
        step(
            "taken again by the same holder",
            TheClaim,
            "UPDATE merge_queue SET started_at = $S - $K WHERE id = 41",
        ),
        step("status changed", TheClaim, "UPDATE merge_queue SET status = 'testing' WHERE id = 41"),
        step(
            "an unmapped column changed",
            TheClaim,
            "UPDATE merge_queue SET head_sha = 'sha-' || $K WHERE id = 41",
        ),
        step(
            "there and back again",
            TheClaim,
            "UPDATE merge_queue SET attempt_count = attempt_count + $K WHERE id = 41;
             UPDATE merge_queue SET attempt_count = attempt_count - $K WHERE id = 41",
        ),
        step("deleted", TheClaim, "DELETE FROM merge_queue WHERE id = 41"),
        step("somebody else's entry", Others, "UPDATE merge_queue SET started_at = $S - $K WHERE id = 42"),
    ],
};

pub const MERGE_LOCK: System = System {
    name: "merge-queue lock",
    runs_on: RunsOn::Both,
    schema: MERGE,
    id: "1",
    tables: &["merge_queue", "queue_processing_lock"],
    bystanders: "INSERT INTO merge_queue (id, workspace, status, added_at, started_at, agent_id)
        VALUES (42, 'b', 'claimed', $S - 900, $S - 900, 'other')",
    held: "SELECT count(*) FROM queue_processing_lock",
    claims: &[claim(
        "lease over",
        false,
        "INSERT INTO queue_processing_lock VALUES (1, 'agent-x', $S - 9000, $S - 1 - $D)",
    )],
    steps: &[
        step("nothing", Others, ""),
        step("renewed", TheClaim, "UPDATE queue_processing_lock SET expires_at = $S + 300 - $K"),
        step("released", TheClaim, "DELETE FROM queue_processing_lock"),
        step(
            "taken by another",
            TheClaim,
            "DELETE FROM queue_processing_lock;
             INSERT INTO queue_processing_lock VALUES (1, 'other', $S - $K, $S + 300 - $K)",
        ),
        step(
            "taken again by the same holder",
            TheClaim,
            "DELETE FROM queue_processing_lock;
             INSERT INTO queue_processing_lock VALUES (1, 'agent-x', $S - $K, $S + 300 - $K)",
        ),
        step(
            "there and back again",
            TheClaim,
            "UPDATE queue_processing_lock SET expires_at = expires_at + $K WHERE id = 1;
             UPDATE queue_processing_lock SET expires_at = expires_at - $K WHERE id = 1",
        ),
        step("an entry", Others, "UPDATE merge_queue SET started_at = $S - $K WHERE id = 42"),
    ],
};
