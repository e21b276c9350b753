-- Executor-jobs: jobs with a time to live by type. May be run again; runs in one transaction.
--
-- Somebody has to call reclaim_stale_jobs(). Either the database itself, with the extension pg_cron:
--   SELECT cron.schedule('reclaim-stale-jobs', '30 seconds', 'SELECT public.reclaim_stale_jobs()');
--   SELECT cron.unschedule('reclaim-stale-jobs');
-- (before pg_cron 1.5 once a minute at most: '* * * * *'), or `claimtop sweep`, which does the same by
-- the profile executor-jobs, watches a job before it takes it, and keeps a trail. Both at once do no
-- harm: neither waits for the other, and no job is taken twice.
CREATE TABLE IF NOT EXISTS executor_jobs (
  id             uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  type           text NOT NULL,
  entity_type    text,
  entity_id      uuid,
  payload        jsonb NOT NULL DEFAULT '{}',
  -- `processing` is the older word for `running`: the specification knows both.
  status         text NOT NULL DEFAULT 'queued' CHECK (status IN
                   ('queued', 'running', 'processing', 'succeeded', 'failed', 'retry_scheduled', 'dead')),
  attempts       integer NOT NULL DEFAULT 0,
  max_attempts   integer NOT NULL DEFAULT 10,
  run_at         timestamptz NOT NULL DEFAULT now(),
  dedupe_key     text,
  locked_at      timestamptz,
  locked_by      text,
  last_error     text,
  created_at     timestamptz NOT NULL DEFAULT now(),
  updated_at     timestamptz NOT NULL DEFAULT now(),
  heartbeat_at   timestamptz,
  correlation_id uuid,
  trace_id       text,
  enqueue_source text NOT NULL DEFAULT 'unknown'
                   CHECK (enqueue_source IN ('canonical', 'compat_direct', 'manual', 'unknown'))
);
CREATE UNIQUE INDEX IF NOT EXISTS executor_jobs_dedupe_idx ON executor_jobs (dedupe_key)
  WHERE dedupe_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS executor_jobs_status_idx ON executor_jobs (status, run_at);
-- In the order in which jobs are claimed, so that a claim reads one entry.
CREATE INDEX IF NOT EXISTS executor_jobs_claim_idx ON executor_jobs (run_at, created_at, id)
  WHERE status IN ('queued', 'retry_scheduled');
-- Without heartbeat_at, unlike the specification's: a heartbeat then touches no index at all.
CREATE INDEX IF NOT EXISTS executor_jobs_reclaim_idx ON executor_jobs (type, locked_at)
  WHERE status IN ('running', 'processing');
-- How many jobs were reclaimed within the last hour.
CREATE INDEX IF NOT EXISTS executor_jobs_reclaimed_idx ON executor_jobs (updated_at DESC NULLS LAST)
  WHERE last_error LIKE 'RECLAIMED_TTL:%';
CREATE INDEX IF NOT EXISTS executor_jobs_entity_idx ON executor_jobs (entity_type, entity_id);

-- Whoever changes a job and does not say when is stamped: the history is ordered by updated_at.
CREATE OR REPLACE FUNCTION executor_jobs_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  new.updated_at := clock_timestamp();
  RETURN new;
END $$;
CREATE OR REPLACE TRIGGER executor_jobs_stamp BEFORE UPDATE ON executor_jobs FOR EACH ROW
  WHEN (new.updated_at IS NOT DISTINCT FROM old.updated_at) EXECUTE FUNCTION executor_jobs_stamp();

-- Append-only: a run is two rows, `started` and how it ended. A crashed run leaves only the first.
CREATE TABLE IF NOT EXISTS executor_job_runs (
  id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  job_id      uuid NOT NULL REFERENCES executor_jobs (id) ON DELETE CASCADE,
  status      text NOT NULL,
  attempt     integer NOT NULL,
  worker_id   text,
  started_at  timestamptz NOT NULL,
  finished_at timestamptz,
  duration_ms integer,
  error       text,
  created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS executor_job_runs_job_idx ON executor_job_runs (job_id, attempt);

-- The specification's TTLs, in one place. A type that is not here has none and is never reclaimed.
CREATE OR REPLACE FUNCTION executor_job_ttls() RETURNS TABLE (type text, minutes integer)
LANGUAGE sql IMMUTABLE AS $$
  VALUES ('protect_document_v2', 5), ('document.protected', 5), ('run_tsa', 30),
         ('submit_anchor_polygon', 60), ('submit_anchor_bitcoin', 60), ('build_artifact', 15)
$$;

-- Takes the job that has been due longest; no row if none is due. No types named means any type.
CREATE OR REPLACE FUNCTION claim_executor_job(p_worker_id text, p_types text[] DEFAULT NULL)
RETURNS SETOF executor_jobs LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  taken executor_jobs;
BEGIN
  -- A claim whose holder nobody can name could never be kept, nor taken away for a reason.
  IF coalesce(btrim(p_worker_id), '') = '' THEN
    RAISE EXCEPTION 'a worker needs a name' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  UPDATE executor_jobs j
  SET status = 'running', attempts = j.attempts + 1, locked_by = p_worker_id,
      locked_at = clock_timestamp(), heartbeat_at = clock_timestamp()
  WHERE j.id = (
    SELECT due.id FROM executor_jobs due
    WHERE due.status IN ('queued', 'retry_scheduled') AND due.run_at <= clock_timestamp()
      AND (coalesce(cardinality(p_types), 0) = 0 OR due.type = ANY (p_types))
    ORDER BY due.run_at, due.created_at, due.id
    LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING j.* INTO taken;
  IF FOUND THEN
    INSERT INTO executor_job_runs (job_id, status, attempt, worker_id, started_at)
    VALUES (taken.id, 'started', taken.attempts, p_worker_id, taken.locked_at);
    RETURN NEXT taken;
  END IF;
END $$;

-- Says that the worker still works on its job; whoever does not have it is not heard.
CREATE OR REPLACE FUNCTION update_job_heartbeat(p_job_id uuid, p_worker_id text) RETURNS boolean
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE executor_jobs SET heartbeat_at = clock_timestamp()
  WHERE id = p_job_id AND locked_by = p_worker_id AND status IN ('running', 'processing');
  IF NOT FOUND THEN
    RAISE WARNING 'the job % is not running under %', p_job_id, p_worker_id;
  END IF;
  RETURN FOUND;
END $$;

-- Takes every job from a worker that was silent for longer than the TTL of the job's type. Both times
-- must be old: a heartbeat of the attempt before must not make a fresh claim stale. now() is when the
-- transaction began, so a caller who waited takes too few rather than too many.
CREATE OR REPLACE FUNCTION reclaim_stale_jobs() RETURNS jsonb
LANGUAGE sql SET search_path FROM CURRENT AS $$
  WITH stale AS (
    SELECT j.id, j.locked_at, j.locked_by, ttl.minutes
    FROM executor_job_ttls() ttl JOIN executor_jobs j ON j.type = ttl.type
    WHERE j.status IN ('running', 'processing')
      AND j.locked_at < now() - make_interval(mins => ttl.minutes)
      AND (j.heartbeat_at IS NULL OR j.heartbeat_at < now() - make_interval(mins => ttl.minutes))
    FOR UPDATE OF j SKIP LOCKED),
  taken AS (
    UPDATE executor_jobs j
    SET status = CASE WHEN j.attempts >= j.max_attempts THEN 'dead' ELSE 'queued' END,
        attempts = CASE WHEN j.attempts >= j.max_attempts THEN j.attempts ELSE j.attempts + 1 END,
        locked_at = NULL, locked_by = NULL,
        last_error = format('RECLAIMED_TTL: Exceeded TTL (%s min) at attempt %s. ', stale.minutes, j.attempts)
          || CASE WHEN j.attempts >= j.max_attempts
             THEN format('Max attempts reached (%s). ', j.max_attempts) ELSE '' END
          || coalesce(j.last_error, '')
    FROM stale WHERE j.id = stale.id
    RETURNING j.status = 'dead' AS dead, stale.locked_at, j.id, jsonb_build_object(
      'id', j.id, 'type', j.type, 'attempts', j.attempts, 'max_attempts', j.max_attempts,
      'ttl_minutes', stale.minutes, 'locked_by', stale.locked_by) AS job)
  SELECT jsonb_build_object(
    'reclaimed_count', count(*) FILTER (WHERE NOT dead),
    'dead_count', count(*) FILTER (WHERE dead),
    'timestamp', now(),
    'reclaimed_jobs', coalesce(jsonb_agg(job ORDER BY locked_at, id) FILTER (WHERE NOT dead), '[]'),
    'dead_jobs', coalesce(jsonb_agg(job ORDER BY locked_at, id) FILTER (WHERE dead), '[]'))
  FROM taken
$$;

-- A type without a TTL is UNKNOWN here. The specification's view calls it OK and puts it on top.
-- Ages are taken from epochs: no time, not even infinity, then makes the whole view fail.
CREATE OR REPLACE VIEW executor_jobs_stale_monitor AS
  WITH seen AS (
    SELECT j.*, ttl.minutes AS ttl_minutes,
           CASE WHEN j.locked_at IS NOT NULL THEN greatest(j.locked_at, j.heartbeat_at) END AS last_seen_at
    FROM executor_jobs j LEFT JOIN executor_job_ttls() ttl ON ttl.type = j.type
    WHERE j.status IN ('running', 'processing')),
  aged AS (
    SELECT *, (extract(epoch FROM now()) - extract(epoch FROM last_seen_at)) / 60 AS minutes FROM seen)
  SELECT id, dedupe_key, type, status, attempts, locked_at, locked_by, heartbeat_at, last_seen_at,
         created_at, updated_at, ttl_minutes, round(minutes, 2) AS age_minutes,
         round(minutes / ttl_minutes, 2) AS ttl_ratio,
         CASE WHEN minutes / ttl_minutes IS NULL THEN 'UNKNOWN'
              WHEN minutes / ttl_minutes >= 1.0 THEN 'STALE'
              WHEN minutes / ttl_minutes >= 0.8 THEN 'WARNING'
              ELSE 'OK' END AS health_status,
         last_error
  FROM aged ORDER BY minutes / ttl_minutes DESC NULLS LAST;

CREATE OR REPLACE VIEW executor_jobs_stale_validation AS
  SELECT *, 'CRITICAL: Running > 2x TTL' AS issue
  FROM executor_jobs_stale_monitor WHERE age_minutes > 2 * ttl_minutes;

CREATE OR REPLACE VIEW executor_jobs_reclaim_history AS
  SELECT id, dedupe_key, type, status, attempts, last_error, updated_at
  FROM executor_jobs WHERE last_error LIKE 'RECLAIMED_TTL:%' ORDER BY updated_at DESC;
