-- table: hangfire.jobqueue, holder: -, claimed_at: fetchedat, beat_at: -, deadline: -
CREATE SCHEMA hangfire;
CREATE TABLE hangfire.job (id bigserial PRIMARY KEY, stateid bigint, statename text, invocationdata jsonb, arguments jsonb, createdat timestamptz, expireat timestamptz, updatecount int);
CREATE TABLE hangfire.state (id bigserial PRIMARY KEY, jobid bigint REFERENCES hangfire.job (id), name text, reason text, createdat timestamptz, data jsonb, updatecount int);
CREATE TABLE hangfire.jobqueue (id bigserial PRIMARY KEY, jobid bigint, queue text, fetchedat timestamptz, updatecount int);
CREATE TABLE hangfire.server (id text PRIMARY KEY, data jsonb, lastheartbeat timestamptz, updatecount int);
CREATE TABLE hangfire.lock (resource text, updatecount int, acquired timestamptz);
CREATE TABLE hangfire.counter (id bigserial PRIMARY KEY, key text, value bigint, expireat timestamptz);
CREATE TABLE hangfire.hash (id bigserial PRIMARY KEY, key text, field text, value text, expireat timestamptz, updatecount int);
INSERT INTO hangfire.server VALUES ('vm:1:abc', '{}', now(), 0);
INSERT INTO hangfire.job (statename, invocationdata, arguments, createdat) SELECT CASE WHEN i < 4 THEN 'Processing' ELSE 'Enqueued' END, '{}', '[]', now() FROM generate_series(1, 30) AS i;
INSERT INTO hangfire.state (jobid, name, createdat, data) SELECT i, CASE WHEN i < 4 THEN 'Processing' ELSE 'Enqueued' END, now(), '{}' FROM generate_series(1, 30) AS i;
INSERT INTO hangfire.jobqueue (jobid, queue, fetchedat) SELECT i, 'default', CASE WHEN i < 4 THEN now() - interval '20 s' END FROM generate_series(1, 30) AS i;
