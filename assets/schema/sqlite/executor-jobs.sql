-- Executor-jobs: jobs with a time to live by type.
-- Times are RFC 3339 text in UTC with milliseconds ("2026-11-15T12:00:00.000Z"). Only the order of
-- run_at is asked of the database, which compares text: no other form of it is let in.
CREATE TABLE IF NOT EXISTS executor_jobs (
  id             TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(16)))),
  type           TEXT NOT NULL,
  entity_type    TEXT,
  entity_id      TEXT,
  payload        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(payload)),
  -- `processing` is the older word for `running`: the specification knows both.
  status         TEXT NOT NULL DEFAULT 'queued' CHECK (status IN
                   ('queued', 'running', 'processing', 'succeeded', 'failed', 'retry_scheduled', 'dead')),
  attempts       INTEGER NOT NULL DEFAULT 0,
  max_attempts   INTEGER NOT NULL DEFAULT 10,
  run_at         TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
                   CHECK (run_at IS strftime('%Y-%m-%dT%H:%M:%fZ', run_at)),
  dedupe_key     TEXT,
  locked_at      TEXT,
  locked_by      TEXT,
  last_error     TEXT,
  created_at     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  updated_at     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  heartbeat_at   TEXT,
  correlation_id TEXT,
  trace_id       TEXT,
  enqueue_source TEXT NOT NULL DEFAULT 'unknown'
                   CHECK (enqueue_source IN ('canonical', 'compat_direct', 'manual', 'unknown'))
);
CREATE UNIQUE INDEX IF NOT EXISTS executor_jobs_dedupe_idx ON executor_jobs (dedupe_key)
  WHERE dedupe_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS executor_jobs_claim_idx ON executor_jobs (status, run_at, created_at, id);
CREATE INDEX IF NOT EXISTS executor_jobs_reclaim_idx ON executor_jobs (status, type, locked_at, heartbeat_at)
  WHERE status IN ('running', 'processing');
-- How many jobs were reclaimed within the last hour.
CREATE INDEX IF NOT EXISTS executor_jobs_reclaimed_idx ON executor_jobs (updated_at)
  WHERE last_error LIKE 'RECLAIMED_TTL:%';
CREATE INDEX IF NOT EXISTS executor_jobs_entity_idx ON executor_jobs (entity_type, entity_id);

-- Whoever changes a job and does not say when is stamped: the history is ordered by updated_at.
CREATE TRIGGER IF NOT EXISTS executor_jobs_stamp AFTER UPDATE ON executor_jobs
  WHEN new.updated_at IS old.updated_at
BEGIN
  UPDATE executor_jobs SET updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = new.id;
END;

-- Append-only: a run is two rows, `started` and how it ended. A crashed run leaves only the first.
CREATE TABLE IF NOT EXISTS executor_job_runs (
  id          TEXT PRIMARY KEY NOT NULL,
  job_id      TEXT NOT NULL REFERENCES executor_jobs (id) ON DELETE CASCADE,
  status      TEXT NOT NULL,
  attempt     INTEGER NOT NULL,
  worker_id   TEXT,
  started_at  TEXT NOT NULL,
  finished_at TEXT,
  duration_ms INTEGER,
  error       TEXT,
  created_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);
CREATE INDEX IF NOT EXISTS executor_job_runs_job_idx ON executor_job_runs (job_id, attempt);

-- A type without a TTL is UNKNOWN here. The specification's view calls it OK and puts it on top.
CREATE VIEW IF NOT EXISTS executor_jobs_stale_monitor AS
  WITH ttl (type, minutes) AS (VALUES
    ('protect_document_v2', 5), ('document.protected', 5), ('run_tsa', 30),
    ('submit_anchor_polygon', 60), ('submit_anchor_bitcoin', 60), ('build_artifact', 15)),
  seen AS (
    SELECT j.*, ttl.minutes AS ttl_minutes,
           max(j.locked_at, coalesce(j.heartbeat_at, j.locked_at)) AS last_seen_at
    FROM executor_jobs j LEFT JOIN ttl ON ttl.type = j.type
    WHERE j.status IN ('running', 'processing')),
  aged AS (
    SELECT *, (julianday('now') - julianday(last_seen_at)) * 1440 AS minutes FROM seen)
  SELECT id, dedupe_key, type, status, attempts, locked_at, locked_by, heartbeat_at, last_seen_at,
         created_at, updated_at, ttl_minutes, round(minutes, 2) AS age_minutes,
         round(minutes / ttl_minutes, 2) AS ttl_ratio,
         CASE WHEN minutes / ttl_minutes IS NULL THEN 'UNKNOWN'
              WHEN minutes / ttl_minutes >= 1.0 THEN 'STALE'
              WHEN minutes / ttl_minutes >= 0.8 THEN 'WARNING'
              ELSE 'OK' END AS health_status,
         last_error
  FROM aged ORDER BY minutes / ttl_minutes DESC NULLS LAST;

CREATE VIEW IF NOT EXISTS executor_jobs_stale_validation AS
  SELECT *, 'CRITICAL: Running > 2x TTL' AS issue
  FROM executor_jobs_stale_monitor WHERE age_minutes > 2 * ttl_minutes;

CREATE VIEW IF NOT EXISTS executor_jobs_reclaim_history AS
  SELECT id, dedupe_key, type, status, attempts, last_error, updated_at
  FROM executor_jobs WHERE last_error LIKE 'RECLAIMED_TTL:%' ORDER BY updated_at DESC;
