-- table: procrastinate_jobs, holder: worker_id, claimed_at: -, beat_at: -, deadline: holder
CREATE TYPE procrastinate_job_status AS ENUM ('todo', 'doing', 'succeeded', 'failed', 'cancelled', 'aborting', 'aborted');
CREATE TABLE procrastinate_workers (id bigserial PRIMARY KEY, last_heartbeat timestamptz DEFAULT now());
CREATE TABLE procrastinate_jobs (id bigserial PRIMARY KEY, queue_name varchar(128), task_name varchar(128), priority int DEFAULT 0, lock text, queueing_lock text, args jsonb, status procrastinate_job_status DEFAULT 'todo', scheduled_at timestamptz, attempts int DEFAULT 0, abort_requested bool DEFAULT false, worker_id bigint REFERENCES procrastinate_workers (id) ON DELETE SET NULL);
CREATE TABLE procrastinate_periodic_defers (id bigserial PRIMARY KEY, task_name varchar(128), defer_timestamp bigint, job_id bigint REFERENCES procrastinate_jobs (id));
CREATE TABLE procrastinate_events (id bigserial PRIMARY KEY, job_id bigint REFERENCES procrastinate_jobs (id), type text, at timestamptz DEFAULT now());
INSERT INTO procrastinate_workers DEFAULT VALUES;
INSERT INTO procrastinate_jobs (queue_name, task_name, args, status, worker_id) SELECT 'default', 'app.mail', '{}', (CASE WHEN i < 4 THEN 'doing' WHEN i < 20 THEN 'succeeded' ELSE 'todo' END)::procrastinate_job_status, CASE WHEN i < 4 THEN 1 END FROM generate_series(1, 30) AS i;
INSERT INTO procrastinate_events (job_id, type) SELECT id, 'deferred' FROM procrastinate_jobs;
