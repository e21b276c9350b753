-- table: graphile_worker._private_jobs, holder: locked_by, claimed_at: locked_at, beat_at: -, deadline: -
CREATE SCHEMA graphile_worker;
CREATE TABLE graphile_worker.migrations (id int PRIMARY KEY, ts timestamptz DEFAULT now(), breaking bool);
CREATE TABLE graphile_worker._private_tasks (id int PRIMARY KEY, identifier text);
CREATE TABLE graphile_worker._private_job_queues (id int PRIMARY KEY, queue_name text, locked_at timestamptz, locked_by text, is_available bool GENERATED ALWAYS AS (locked_at IS NULL) STORED);
CREATE TABLE graphile_worker._private_jobs (id bigint PRIMARY KEY, job_queue_id int, task_id int, payload json, priority int, run_at timestamptz, attempts int, max_attempts int, last_error text, created_at timestamptz, updated_at timestamptz, key text, locked_at timestamptz, locked_by text, revision int, flags jsonb, is_available bool GENERATED ALWAYS AS (locked_at IS NULL AND attempts < max_attempts) STORED);
INSERT INTO graphile_worker._private_job_queues (id, queue_name, locked_at, locked_by) VALUES (1, 'serial', now(), 'worker-8a7c0011');
INSERT INTO graphile_worker._private_jobs (id, task_id, payload, priority, run_at, attempts, max_attempts, created_at, updated_at, locked_at, locked_by)
SELECT i, 1, '{}', 0, now(), 1, 25, now(), now(), CASE WHEN i < 4 THEN now() - interval '3 min' END, CASE WHEN i < 4 THEN 'worker-8a7c0011' END FROM generate_series(1, 30) AS i;
