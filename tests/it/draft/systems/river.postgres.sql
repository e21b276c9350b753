-- table: river_job, holder: attempted_by, claimed_at: attempted_at, beat_at: -, deadline: -
CREATE TYPE river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
CREATE TABLE river_job (id bigserial PRIMARY KEY, state river_job_state DEFAULT 'available', attempt smallint DEFAULT 0, max_attempts smallint, attempted_at timestamptz, created_at timestamptz DEFAULT now(), finalized_at timestamptz, scheduled_at timestamptz DEFAULT now(), priority smallint DEFAULT 1, args jsonb, attempted_by text[], errors jsonb[], kind text, metadata jsonb DEFAULT '{}', queue text DEFAULT 'default', tags varchar(255)[], unique_key bytea);
CREATE TABLE river_leader (elected_at timestamptz, expires_at timestamptz, leader_id text, name text PRIMARY KEY DEFAULT 'default');
CREATE TABLE river_queue (name text PRIMARY KEY, created_at timestamptz, metadata jsonb, paused_at timestamptz, updated_at timestamptz);
CREATE TABLE river_migration (line text, version bigint, created_at timestamptz, PRIMARY KEY (line, version));
INSERT INTO river_leader VALUES (now(), now() + interval '15 s', 'host_2026');
INSERT INTO river_job (state, kind, max_attempts, attempt, attempted_at, attempted_by, finalized_at) SELECT (CASE WHEN i < 4 THEN 'running' WHEN i < 20 THEN 'completed' ELSE 'available' END)::river_job_state, 'mail', 25, 1,
  CASE WHEN i < 20 THEN now() - interval '1 min' END, CASE WHEN i < 20 THEN ARRAY['host_2026'] END, CASE WHEN i BETWEEN 4 AND 19 THEN now() END FROM generate_series(1, 40) AS i;
