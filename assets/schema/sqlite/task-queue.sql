-- Task-queue: typed tasks, claimed by workers that report in. Times are UTC text in whole seconds.

CREATE TABLE IF NOT EXISTS task_types (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name VARCHAR(255) NOT NULL,
    version VARCHAR(50) NOT NULL DEFAULT '1',
    param_schema TEXT,
    is_active BOOLEAN NOT NULL DEFAULT 1,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    UNIQUE (name, version)
);

CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_type_id INTEGER NOT NULL REFERENCES task_types(id),
    status VARCHAR(20) NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'claimed', 'completed', 'failed')),
    params TEXT NOT NULL DEFAULT '{}',
    result TEXT,
    error_message TEXT,
    dedupe_key VARCHAR(64) UNIQUE,
    priority INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL DEFAULT 3,
    worker_id VARCHAR(255),
    claimed_at DATETIME,
    completed_at DATETIME,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);

-- The best pending task of a type is its first entry here.
CREATE INDEX IF NOT EXISTS idx_tasks_claim ON tasks(status, task_type_id, priority DESC, created_at);

-- The same for the oldest one.
CREATE INDEX IF NOT EXISTS idx_tasks_oldest ON tasks(task_type_id, created_at) WHERE status = 'pending';

CREATE INDEX IF NOT EXISTS idx_tasks_worker ON tasks(worker_id) WHERE status = 'claimed';

CREATE TABLE IF NOT EXISTS task_logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id INTEGER NOT NULL,
    event VARCHAR(20) NOT NULL
        CHECK (event IN ('created', 'claimed', 'completed', 'failed', 'retried', 'requeued')),
    worker_id VARCHAR(255),
    message TEXT,
    metadata TEXT,
    created_at DATETIME NOT NULL
);

CREATE INDEX IF NOT EXISTS idx_task_logs_task ON task_logs(task_id, id);

CREATE TABLE IF NOT EXISTS worker_heartbeats (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    worker_id VARCHAR(255) NOT NULL UNIQUE,
    status VARCHAR(20) NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'stale', 'inactive')),
    last_seen_at DATETIME NOT NULL,
    metadata TEXT
);

CREATE INDEX IF NOT EXISTS idx_worker_heartbeats_seen ON worker_heartbeats(last_seen_at);
