-- table: delayed_jobs, holder: locked_by, claimed_at: locked_at, beat_at: -, deadline: -
CREATE TABLE delayed_jobs (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, priority integer DEFAULT 0 NOT NULL, attempts integer DEFAULT 0 NOT NULL, handler text NOT NULL, last_error text, run_at datetime, locked_at datetime, failed_at datetime, locked_by varchar, queue varchar, created_at datetime(6), updated_at datetime(6));
CREATE TABLE schema_migrations (version varchar NOT NULL PRIMARY KEY);
CREATE TABLE ar_internal_metadata (key varchar NOT NULL PRIMARY KEY, value varchar, created_at datetime, updated_at datetime);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO delayed_jobs (handler, run_at, locked_at, locked_by, failed_at, created_at, updated_at) SELECT '--- !ruby', datetime('now'), CASE WHEN i < 4 THEN datetime('now', '-60 seconds') END, CASE WHEN i < 4 THEN 'host:vm pid:32723' END, CASE WHEN i > 28 THEN datetime('now') END, datetime('now'), datetime('now') FROM n;
