-- Finalization: tasks that one processor at a time may finalize. Times are UTC text with microseconds.

CREATE TABLE IF NOT EXISTS tasker_tasks (
    task_uuid TEXT PRIMARY KEY NOT NULL,
    complete BOOLEAN NOT NULL DEFAULT 0,
    priority INTEGER NOT NULL DEFAULT 0,
    context TEXT,
    requested_at TEXT NOT NULL,
    completed_at TEXT,
    claimed_by TEXT,
    claimed_at TEXT,
    claim_timeout_seconds INTEGER NOT NULL DEFAULT 30,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS idx_tasker_tasks_finalization_claim
    ON tasker_tasks(task_uuid, complete, claimed_by, claimed_at) WHERE complete = 0;

-- The specification's function reads `state`; the running code has only `processed` and asks for that.
CREATE TABLE IF NOT EXISTS tasker_workflow_steps (
    workflow_step_uuid TEXT PRIMARY KEY NOT NULL,
    task_uuid TEXT NOT NULL REFERENCES tasker_tasks(task_uuid) ON DELETE CASCADE,
    state TEXT NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'in_progress', 'completed', 'failed')),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS idx_tasker_workflow_steps_task ON tasker_workflow_steps(task_uuid, state);

CREATE TABLE IF NOT EXISTS tasker_task_transitions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_uuid TEXT NOT NULL REFERENCES tasker_tasks(task_uuid) ON DELETE CASCADE,
    from_state TEXT,
    to_state TEXT NOT NULL,
    most_recent BOOLEAN NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL
);

CREATE UNIQUE INDEX IF NOT EXISTS idx_tasker_task_transitions_most_recent
    ON tasker_task_transitions(task_uuid) WHERE most_recent = 1;

-- Without a foreign key: an attempt on a task that is not there is recorded too.
CREATE TABLE IF NOT EXISTS tasker_finalization_attempts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_uuid TEXT NOT NULL,
    processor_id TEXT NOT NULL,
    claimed BOOLEAN NOT NULL,
    already_claimed_by TEXT,
    task_state TEXT,
    message TEXT,
    attempted_at TEXT NOT NULL,
    -- claim, extend or release; NULL in the rows of writers that do not say.
    operation TEXT,
    -- How long it took until this row was written; waiting for others included.
    duration_seconds REAL
);

CREATE INDEX IF NOT EXISTS idx_finalization_attempts_task_uuid
    ON tasker_finalization_attempts(task_uuid, attempted_at DESC);

CREATE INDEX IF NOT EXISTS idx_finalization_attempts_processor
    ON tasker_finalization_attempts(processor_id, attempted_at DESC);
