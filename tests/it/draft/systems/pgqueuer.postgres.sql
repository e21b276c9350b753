-- table: pgqueuer, holder: queue_manager_id, claimed_at: updated, beat_at: heartbeat, deadline: -
CREATE TYPE pgqueuer_status AS ENUM ('queued', 'picked', 'successful', 'exception', 'canceled', 'deleted');
CREATE TABLE pgqueuer (id bigserial PRIMARY KEY, priority int, queue_manager_id uuid, created timestamptz DEFAULT now(), updated timestamptz DEFAULT now(), heartbeat timestamptz DEFAULT now(), execute_after timestamptz DEFAULT now(), status pgqueuer_status, entrypoint text, dedupe_key text, payload bytea, headers jsonb);
CREATE TABLE pgqueuer_log (id bigserial PRIMARY KEY, created timestamptz DEFAULT now(), job_id bigint, status pgqueuer_status, priority int, entrypoint text, traceback jsonb, aggregated bool DEFAULT false);
CREATE TABLE pgqueuer_schedules (id bigserial PRIMARY KEY, expression text, entrypoint text, heartbeat timestamptz, created timestamptz, updated timestamptz, next_run timestamptz, last_run timestamptz, status pgqueuer_status);
INSERT INTO pgqueuer (priority, queue_manager_id, status, entrypoint) SELECT 0, CASE WHEN i < 4 THEN gen_random_uuid() END, (CASE WHEN i < 4 THEN 'picked' ELSE 'queued' END)::pgqueuer_status, 'mail' FROM generate_series(1, 30) AS i;
INSERT INTO pgqueuer_log (job_id, status, entrypoint) SELECT i, (CASE WHEN i < 4 THEN 'picked' ELSE 'successful' END)::pgqueuer_status, 'mail' FROM generate_series(1, 30) AS i;
