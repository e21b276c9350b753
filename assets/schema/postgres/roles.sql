-- Least privilege for claimtop. May be run again, for example after another system's tables were
-- made; runs in one transaction, by whoever owns the tables and may make roles. What is absent is
-- skipped. Both roles cannot log in; give them to logins:
--   GRANT claimtop_watcher TO alice;     -- looks: check, list, the dashboard read-only
--   GRANT claimtop_operator TO bob;      -- also acts: reclaim, release, extend, requeue, sweep, undo
-- An undo by the operator leaves what was added to a log: nobody may take that away.
--
-- What every role of a database may do by PUBLIC's rights, these may do too: before PostgreSQL 15 that
-- is making tables in the schema public (REVOKE CREATE ON SCHEMA public FROM PUBLIC).
DO $$
DECLARE
  -- Per table: what the profiles' acts set, what they insert, and the column by which the operator may
  -- lock a row. SELECT ... FOR SHARE asks for the right to update at least one column. The registry row
  -- of a worker is locked but never changed, so that is a column that claimtop and the workers do not
  -- go by; in task-queue.sql it is one that nobody can set to a value of his choice.
  rights jsonb := '[
    {"table": "executor_jobs",
     "update": ["status", "attempts", "locked_at", "locked_by", "last_error", "heartbeat_at", "run_at"]},
    {"table": "tasker_tasks", "update": ["claimed_at", "claimed_by", "updated_at"]},
    {"table": "tasker_finalization_attempts"},
    {"table": "tasks",
     "update": ["status", "attempts", "worker_id", "claimed_at", "completed_at", "updated_at"]},
    {"table": "task_types"},
    {"table": "worker_heartbeats", "update": ["id"]},
    {"table": "task_logs", "insert": ["task_id", "event", "worker_id", "message", "created_at"]},
    {"table": "task_queue",
     "update": ["status", "attempts", "locked_by", "lease_until_utc", "finished_at_utc"]},
    {"table": "workers", "update": ["capabilities"]},
    {"table": "claimtop_audit", "operator": true, "insert": ["action_id", "at", "record"]}]';
  entry jsonb;
  subject regclass;
  home text;
  verb text;
  columns text;
  counter text;
BEGIN
  FOREACH verb IN ARRAY ARRAY['claimtop_watcher', 'claimtop_operator'] LOOP
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', verb);
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
  END LOOP;
  IF NOT pg_has_role('claimtop_operator', 'claimtop_watcher', 'USAGE') THEN
    BEGIN
      GRANT claimtop_watcher TO claimtop_operator;
    EXCEPTION WHEN unique_violation THEN NULL;
    END;
  END IF;

  FOR entry IN SELECT value FROM jsonb_array_elements(rights) LOOP
    subject := to_regclass(entry ->> 'table');
    CONTINUE WHEN subject IS NULL;
    SELECT quote_ident(n.nspname) INTO home
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = subject;
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO claimtop_watcher', home);
    -- First nothing: what an older version of this file gave is not kept by accident.
    EXECUTE format('REVOKE ALL ON %s FROM claimtop_watcher, claimtop_operator', subject);
    EXECUTE format('GRANT SELECT ON %s TO %s', subject,
      CASE WHEN entry ? 'operator' THEN 'claimtop_operator' ELSE 'claimtop_watcher' END);
    FOREACH verb IN ARRAY ARRAY['update', 'insert'] LOOP
      SELECT string_agg(quote_ident(a.attname), ', ') INTO columns
      FROM jsonb_array_elements_text(entry -> verb) wanted
      JOIN pg_attribute a ON a.attrelid = subject AND a.attname = wanted AND NOT a.attisdropped;
      IF columns IS NOT NULL THEN
        EXECUTE format('GRANT %s (%s) ON %s TO claimtop_operator', verb, columns, subject);
      END IF;
    END LOOP;
    -- A serial column takes its number from a sequence with rights of its own.
    IF entry ? 'insert' THEN
      FOR counter IN
        SELECT s.name FROM pg_attribute a,
          LATERAL pg_get_serial_sequence(subject::text, a.attname) AS s(name)
        WHERE a.attrelid = subject AND a.attnum > 0 AND NOT a.attisdropped AND s.name IS NOT NULL
      LOOP
        EXECUTE format('GRANT USAGE ON SEQUENCE %s TO claimtop_operator', counter);
      END LOOP;
    END IF;
  END LOOP;
END $$;
