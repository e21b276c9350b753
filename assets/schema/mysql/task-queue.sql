-- Task-queue: typed tasks, claimed by workers that report in. May be run again. MySQL 8.0.16 or MariaDB 10.6 and later.
--
-- Times are TIMESTAMP(6) and not DATETIME(6): an instant, whatever time_zone the session of a worker has, so NOW(6) is
-- right for everybody. Its price is the year 2038, which no claim reaches. Text is compared by its bytes: workers named
-- `a` and `A` are two.

CREATE TABLE IF NOT EXISTS task_types (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    name varchar(255) NOT NULL,
    version varchar(50) NOT NULL DEFAULT '1',
    param_schema json,
    is_active boolean NOT NULL DEFAULT true,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    UNIQUE KEY task_types_name (name, version)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tasks (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    task_type_id bigint NOT NULL,
    status varchar(20) NOT NULL DEFAULT 'pending',
    params json NOT NULL DEFAULT ('{}'),
    result json,
    error_message text,
    dedupe_key varchar(64),
    priority int NOT NULL DEFAULT 0,
    attempts int NOT NULL DEFAULT 0,
    max_attempts int NOT NULL DEFAULT 3,
    worker_id varchar(255),
    claimed_at timestamp(6) NULL,
    completed_at timestamp(6) NULL,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    UNIQUE KEY tasks_dedupe_key (dedupe_key),
    -- The best pending task of a type is its first entry here.
    KEY idx_tasks_claim (status, task_type_id, priority DESC, created_at),
    -- The same for the oldest one.
    KEY idx_tasks_oldest (task_type_id, status, created_at),
    -- What is held, by its worker; there are no partial indexes.
    KEY idx_tasks_worker (status, worker_id),
    CONSTRAINT tasks_type FOREIGN KEY (task_type_id) REFERENCES task_types (id),
    CONSTRAINT tasks_status CHECK (status IN ('pending', 'claimed', 'completed', 'failed'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS task_logs (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    task_id bigint NOT NULL,
    event varchar(20) NOT NULL,
    worker_id varchar(255),
    message text,
    metadata json,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY idx_task_logs_task (task_id, id),
    CONSTRAINT task_logs_event
        CHECK (event IN ('created', 'claimed', 'completed', 'failed', 'retried', 'requeued'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS worker_heartbeats (
    id bigint AUTO_INCREMENT PRIMARY KEY,
    worker_id varchar(255) NOT NULL,
    status varchar(20) NOT NULL DEFAULT 'active',
    last_seen_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    metadata json,
    UNIQUE KEY worker_heartbeats_worker_id (worker_id),
    KEY idx_worker_heartbeats_seen (last_seen_at),
    CONSTRAINT worker_heartbeats_status CHECK (status IN ('active', 'stale', 'inactive'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
