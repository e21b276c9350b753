-- table: jobs, holder: acquired_by, claimed_at: -, beat_at: -, deadline: acquired_until
CREATE TABLE metadata (schema_version int);
CREATE TABLE tasks (id varchar(500) PRIMARY KEY, func varchar(500), job_executor varchar(500), max_running_jobs int, misfire_grace_time interval, running_jobs int);
CREATE TABLE schedules (id varchar(500) PRIMARY KEY, task_id varchar(500), trigger bytea, paused boolean, job_executor varchar(500), next_fire_time timestamptz, last_fire_time timestamptz, acquired_by varchar(500), acquired_until timestamptz);
CREATE TABLE jobs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), task_id varchar(500), args bytea, kwargs bytea, schedule_id varchar(500), scheduled_fire_time timestamptz, executor varchar(500), jitter interval, start_deadline timestamptz, result_expiration_time interval, metadata jsonb, created_at timestamptz, acquired_by varchar(500), acquired_until timestamptz);
CREATE TABLE job_results (job_id uuid PRIMARY KEY, outcome text, started_at timestamptz, finished_at timestamptz, expires_at timestamptz, exception bytea, return_value bytea);
INSERT INTO tasks VALUES ('app.mail', 'app:mail', 'async', 1, NULL, 3);
INSERT INTO schedules VALUES ('s1', 'app.mail', NULL, false, 'async', now() + interval '1 min', now(), NULL, NULL);
INSERT INTO jobs (task_id, args, kwargs, executor, metadata, created_at, acquired_by, acquired_until) SELECT 'app.mail', '', '', 'async', '{}', now(), CASE WHEN i < 4 THEN 'vm-31-0' END, CASE WHEN i < 4 THEN now() + interval '25 s' END FROM generate_series(1, 30) AS i;
