-- Executor-jobs: takes the reclaim and the heartbeat back, in the reverse order of their deployment. Jobs, their runs and
-- claim_executor_job stay, and so do the index and the column that the reclaim reads: neither does harm.
-- `claimtop init --system executor-jobs --rollback` runs it; `claimtop init` makes all of it again.
DROP FUNCTION IF EXISTS fetch_executor_job(text, text[]);
DROP FUNCTION IF EXISTS reclaim_stale_jobs();
DROP FUNCTION IF EXISTS update_job_heartbeat(uuid, text);
DROP VIEW IF EXISTS executor_jobs_stale_validation;
DROP VIEW IF EXISTS executor_jobs_stale_monitor;
DROP VIEW IF EXISTS executor_jobs_reclaim_history;
