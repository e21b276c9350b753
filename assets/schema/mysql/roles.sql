-- Least privilege for claimtop. May be run again, for example after another system's tables were made; in the database
-- of the tables, by an account that may create roles and grant rights on them. What is absent is skipped. What was
-- granted before stays. Give the roles to accounts, and have them active from the start:
--   GRANT claimtop_watcher TO alice;     -- looks: check, list, the dashboard read-only
--   GRANT claimtop_operator TO bob;      -- also acts: reclaim, release, extend, requeue, sweep, undo
--   SET DEFAULT ROLE claimtop_watcher FOR alice;    -- MariaDB; on MySQL: SET DEFAULT ROLE claimtop_watcher TO alice
-- An undo by the operator leaves what was added to a log: nobody may take that away.
--
-- A row can be locked by whoever may update a column of it. The registry of workers is locked with a shared lock, for
-- which reading is enough. On MariaDB reading is enough for every lock: a watcher could hold up workers there.
CREATE ROLE IF NOT EXISTS claimtop_watcher;
CREATE ROLE IF NOT EXISTS claimtop_operator;
GRANT claimtop_watcher TO claimtop_operator;

-- executor_jobs
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON executor_jobs TO claimtop_watcher'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'executor_jobs'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;
SET @claimtop_grant = coalesce((
    SELECT CONCAT('GRANT UPDATE (', GROUP_CONCAT(column_name), ') ON executor_jobs TO claimtop_operator')
    FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'executor_jobs'
      AND column_name IN ('status', 'attempts', 'locked_at', 'locked_by', 'last_error', 'heartbeat_at', 'run_at')
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

-- tasker_tasks
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON tasker_tasks TO claimtop_watcher'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'tasker_tasks'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;
SET @claimtop_grant = coalesce((
    SELECT CONCAT('GRANT UPDATE (', GROUP_CONCAT(column_name), ') ON tasker_tasks TO claimtop_operator')
    FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'tasker_tasks'
      AND column_name IN ('claimed_at', 'claimed_by', 'updated_at')
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

-- tasker_finalization_attempts
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON tasker_finalization_attempts TO claimtop_watcher'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'tasker_finalization_attempts'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

-- tasks
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON tasks TO claimtop_watcher'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'tasks'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;
SET @claimtop_grant = coalesce((
    SELECT CONCAT('GRANT UPDATE (', GROUP_CONCAT(column_name), ') ON tasks TO claimtop_operator')
    FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'tasks'
      AND column_name IN ('status', 'attempts', 'worker_id', 'claimed_at', 'completed_at', 'updated_at')
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

-- task_types
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON task_types TO claimtop_watcher'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'task_types'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

-- worker_heartbeats
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON worker_heartbeats TO claimtop_watcher'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'worker_heartbeats'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

-- task_logs
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON task_logs TO claimtop_watcher'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'task_logs'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;
SET @claimtop_grant = coalesce((
    SELECT CONCAT('GRANT INSERT (', GROUP_CONCAT(column_name), ') ON task_logs TO claimtop_operator')
    FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'task_logs'
      AND column_name IN ('task_id', 'event', 'worker_id', 'message', 'created_at')
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

-- task_queue
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON task_queue TO claimtop_watcher'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'task_queue'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;
SET @claimtop_grant = coalesce((
    SELECT CONCAT('GRANT UPDATE (', GROUP_CONCAT(column_name), ') ON task_queue TO claimtop_operator')
    FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'task_queue'
      AND column_name IN ('status', 'attempts', 'locked_by', 'lease_until_utc', 'finished_at_utc')
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

-- workers
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON workers TO claimtop_watcher'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'workers'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

-- claimtop_audit
SET @claimtop_grant = coalesce((
    SELECT 'GRANT SELECT ON claimtop_audit TO claimtop_operator'
    FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'claimtop_audit'
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;
SET @claimtop_grant = coalesce((
    SELECT CONCAT('GRANT INSERT (', GROUP_CONCAT(column_name), ') ON claimtop_audit TO claimtop_operator')
    FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'claimtop_audit'
      AND column_name IN ('action_id', 'at', 'record')
), 'DO 0');
PREPARE claimtop_grant FROM @claimtop_grant;
EXECUTE claimtop_grant;

DEALLOCATE PREPARE claimtop_grant;
