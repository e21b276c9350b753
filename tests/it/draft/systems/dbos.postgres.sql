-- table: dbos.workflow_status, holder: executor_id, claimed_at: started_at_epoch_ms, beat_at: -, deadline: workflow_deadline_epoch_ms
CREATE SCHEMA dbos;
CREATE TABLE dbos.notifications (message_uuid text PRIMARY KEY, destination_uuid text, topic text, message text, created_at_epoch_ms bigint, consumed bool);
CREATE TABLE dbos.operation_outputs (workflow_uuid text, function_id int, function_name text, output text, error text, started_at_epoch_ms bigint, completed_at_epoch_ms bigint, PRIMARY KEY (workflow_uuid, function_id));
CREATE TABLE dbos.workflow_schedules (schedule_id text PRIMARY KEY, schedule_name text, workflow_name text, schedule text, status text, last_fired_at text, queue_name text);
CREATE TABLE dbos.workflow_status (workflow_uuid text PRIMARY KEY, status text, name text, authenticated_user text, output text, error text, executor_id text, created_at bigint, updated_at bigint, application_version text, class_name varchar(255), recovery_attempts bigint, queue_name text, workflow_timeout_ms bigint, workflow_deadline_epoch_ms bigint, started_at_epoch_ms bigint, deduplication_id text, priority int, completed_at bigint);
INSERT INTO dbos.workflow_status (workflow_uuid, status, name, executor_id, created_at, updated_at, recovery_attempts, queue_name, started_at_epoch_ms, workflow_timeout_ms, workflow_deadline_epoch_ms)
SELECT 'wf' || i, CASE WHEN i < 4 THEN 'PENDING' WHEN i < 20 THEN 'SUCCESS' ELSE 'ENQUEUED' END, 'mail', CASE WHEN i < 20 THEN 'vm-local' END, t, t, 1, 'q', CASE WHEN i < 20 THEN t - 5000 END, 600000, CASE WHEN i < 20 THEN t + 595000 END
FROM generate_series(1, 40) AS i, (SELECT (extract(epoch FROM now()) * 1000)::bigint AS t) AS n;
