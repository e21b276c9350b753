-- table: solid_queue_claimed_executions, holder: process_id, claimed_at: created_at, beat_at: -, deadline: holder
CREATE TABLE solid_queue_jobs (id bigserial PRIMARY KEY, queue_name varchar, class_name varchar, arguments text, priority int DEFAULT 0, active_job_id varchar, scheduled_at timestamp, finished_at timestamp, concurrency_key varchar, created_at timestamp, updated_at timestamp);
CREATE TABLE solid_queue_processes (id bigserial PRIMARY KEY, kind varchar, last_heartbeat_at timestamp, supervisor_id bigint, pid int, hostname varchar, metadata text, created_at timestamp, name varchar);
CREATE TABLE solid_queue_claimed_executions (id bigserial PRIMARY KEY, job_id bigint REFERENCES solid_queue_jobs (id) ON DELETE CASCADE, process_id bigint, created_at timestamp);
CREATE TABLE solid_queue_ready_executions (id bigserial PRIMARY KEY, job_id bigint REFERENCES solid_queue_jobs (id) ON DELETE CASCADE, queue_name varchar, priority int, created_at timestamp);
CREATE TABLE solid_queue_scheduled_executions (id bigserial PRIMARY KEY, job_id bigint, queue_name varchar, priority int, scheduled_at timestamp, created_at timestamp);
CREATE TABLE solid_queue_failed_executions (id bigserial PRIMARY KEY, job_id bigint, error text, created_at timestamp);
CREATE TABLE solid_queue_blocked_executions (id bigserial PRIMARY KEY, job_id bigint, queue_name varchar, priority int, concurrency_key varchar, expires_at timestamp, created_at timestamp);
CREATE TABLE solid_queue_semaphores (id bigserial PRIMARY KEY, key varchar, value int, expires_at timestamp, created_at timestamp, updated_at timestamp);
CREATE TABLE solid_queue_pauses (id bigserial PRIMARY KEY, queue_name varchar, created_at timestamp);
INSERT INTO solid_queue_processes (id, kind, last_heartbeat_at, pid, hostname, created_at, name) VALUES (71, 'Worker', timezone('UTC', now()), 4711, 'vm', timezone('UTC', now()), 'worker-1');
INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, created_at, updated_at, finished_at) SELECT 'default', 'MailJob', '{}', timezone('UTC', now()), timezone('UTC', now()), CASE WHEN i > 20 THEN timezone('UTC', now()) END FROM generate_series(1, 30) AS i;
INSERT INTO solid_queue_claimed_executions (job_id, process_id, created_at) SELECT i, 71, timezone('UTC', now()) - interval '1 min' FROM generate_series(1, 3) AS i;
INSERT INTO solid_queue_ready_executions (job_id, queue_name, priority, created_at) SELECT i, 'default', 0, timezone('UTC', now()) FROM generate_series(4, 20) AS i;
