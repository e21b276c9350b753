-- Executor-jobs: fetches work and reclaims first, so that workers that call it need no scheduled reclaim.
-- May be run again. `claimtop init --system executor-jobs --wrapper` runs it; `--rollback` takes it back.
--
-- A reclaim that fails is a warning and does not keep the worker from its job: the next fetch tries it again.
CREATE OR REPLACE FUNCTION fetch_executor_job(p_worker_id text, p_types text[] DEFAULT NULL)
RETURNS SETOF executor_jobs LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  BEGIN
    PERFORM reclaim_stale_jobs();
  EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'reclaim_stale_jobs failed and is tried again at the next fetch: % (%)', SQLERRM, SQLSTATE;
  END;
  RETURN QUERY SELECT * FROM claim_executor_job(p_worker_id, p_types);
END $$;
