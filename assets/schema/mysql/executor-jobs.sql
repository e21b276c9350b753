-- Executor-jobs: jobs with a time to live by type. May be run again. MySQL 8.0.16 or MariaDB 10.6 and later.
--
-- There are no stored functions here: workers claim with the library `claimtop::worker`, and `claimtop sweep` reclaims.
--
-- Times are TIMESTAMP(6) and not DATETIME(6): an instant, whatever time_zone the session of a worker has, so NOW(6) is
-- right for everybody. Its price is the year 2038. Text is compared by its bytes: workers named `a` and `A` are two.

CREATE TABLE IF NOT EXISTS executor_jobs (
    id char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (uuid()) PRIMARY KEY,
    type varchar(255) NOT NULL,
    entity_type varchar(255),
    entity_id char(36) CHARACTER SET ascii COLLATE ascii_bin,
    payload json NOT NULL DEFAULT ('{}'),
    -- `processing` is the older word for `running`: the document knows both.
    status varchar(20) NOT NULL DEFAULT 'queued',
    attempts int NOT NULL DEFAULT 0,
    max_attempts int NOT NULL DEFAULT 10,
    run_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    dedupe_key varchar(255),
    locked_at timestamp(6) NULL,
    locked_by varchar(255),
    last_error text,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    -- Whoever changes a job and does not say when is stamped: the history is ordered by it.
    updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
    heartbeat_at timestamp(6) NULL,
    correlation_id char(36) CHARACTER SET ascii COLLATE ascii_bin,
    trace_id varchar(255),
    enqueue_source varchar(20) NOT NULL DEFAULT 'unknown',
    UNIQUE KEY executor_jobs_dedupe_idx (dedupe_key),
    -- In the order in which jobs are claimed, so that a claim reads one entry.
    KEY executor_jobs_claim_idx (status, run_at, created_at, id),
    -- Without heartbeat_at: a heartbeat then touches no index but that of the history.
    KEY executor_jobs_reclaim_idx (status, type, locked_at),
    KEY executor_jobs_reclaimed_idx (updated_at),
    KEY executor_jobs_entity_idx (entity_type, entity_id),
    CONSTRAINT executor_jobs_status CHECK (status IN
        ('queued', 'running', 'processing', 'succeeded', 'failed', 'retry_scheduled', 'dead')),
    CONSTRAINT executor_jobs_source
        CHECK (enqueue_source IN ('canonical', 'compat_direct', 'manual', 'unknown'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Append-only: a run is two rows, `started` and how it ended. A crashed run leaves only the first.
CREATE TABLE IF NOT EXISTS executor_job_runs (
    id char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT (uuid()) PRIMARY KEY,
    job_id char(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    status varchar(20) NOT NULL,
    attempt int NOT NULL,
    worker_id varchar(255),
    started_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    finished_at timestamp(6) NULL,
    duration_ms int,
    error text,
    created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    KEY executor_job_runs_job_idx (job_id, attempt),
    CONSTRAINT executor_job_runs_job FOREIGN KEY (job_id) REFERENCES executor_jobs (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
