-- table: pgboss.job, holder: -, claimed_at: started_on, beat_at: heartbeat_on, deadline: started_on + expire_seconds
CREATE SCHEMA pgboss;
CREATE TYPE pgboss.job_state AS ENUM ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');
CREATE TABLE pgboss.version (version int PRIMARY KEY, cron_on timestamptz, bam_on timestamptz);
CREATE TABLE pgboss.queue (name text PRIMARY KEY, policy text, retry_limit int, expire_seconds int, created_on timestamptz, updated_on timestamptz, maintain_on timestamptz);
CREATE TABLE pgboss.job (id uuid, name text, priority int, data jsonb, state pgboss.job_state, retry_limit int, retry_count int, retry_delay int, expire_seconds int, singleton_key text, start_after timestamptz, created_on timestamptz, started_on timestamptz, completed_on timestamptz, keep_until timestamptz, heartbeat_on timestamptz, heartbeat_seconds int, output jsonb, policy text, PRIMARY KEY (name, id)) PARTITION BY LIST (name);
CREATE TABLE pgboss.job_common PARTITION OF pgboss.job DEFAULT;
INSERT INTO pgboss.queue VALUES ('mail', 'standard', 2, 900, now(), now(), now());
INSERT INTO pgboss.job (id, name, priority, state, retry_limit, retry_count, expire_seconds, start_after, created_on, started_on, completed_on, keep_until, heartbeat_on)
SELECT gen_random_uuid(), 'mail', 0, (CASE WHEN i < 20 THEN 'completed' WHEN i < 23 THEN 'active' ELSE 'created' END)::pgboss.job_state, 2, 0, 900, now() - interval '1 h', now() - interval '1 h',
  CASE WHEN i < 23 THEN now() - interval '5 min' END, CASE WHEN i < 20 THEN now() END, now() + interval '14 d', CASE WHEN i < 23 THEN now() - interval '5 min' END FROM generate_series(1, 40) AS i;
