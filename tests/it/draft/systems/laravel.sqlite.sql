-- table: jobs, holder: -, claimed_at: reserved_at, beat_at: -, deadline: -
CREATE TABLE migrations (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, migration varchar NOT NULL, batch integer NOT NULL);
CREATE TABLE users (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, name varchar NOT NULL, email varchar NOT NULL, password varchar, created_at datetime, updated_at datetime);
CREATE TABLE sessions (id varchar NOT NULL PRIMARY KEY, user_id integer, ip_address varchar, user_agent text, payload text NOT NULL, last_activity integer NOT NULL);
CREATE TABLE cache_locks (key varchar NOT NULL PRIMARY KEY, owner varchar NOT NULL, expiration integer NOT NULL);
CREATE TABLE jobs (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, queue varchar NOT NULL, payload text NOT NULL, attempts integer NOT NULL, reserved_at integer, available_at integer NOT NULL, created_at integer NOT NULL);
CREATE TABLE job_batches (id varchar NOT NULL PRIMARY KEY, name varchar NOT NULL, total_jobs integer NOT NULL, pending_jobs integer NOT NULL, failed_jobs integer NOT NULL, cancelled_at integer, created_at integer NOT NULL, finished_at integer);
CREATE TABLE failed_jobs (id integer PRIMARY KEY AUTOINCREMENT NOT NULL, uuid varchar NOT NULL, connection text NOT NULL, queue text NOT NULL, payload text NOT NULL, exception text NOT NULL, failed_at datetime NOT NULL);
INSERT INTO sessions VALUES ('a', 1, '127.0.0.1', 'curl', 'x', strftime('%s', 'now'));
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO jobs (queue, payload, attempts, reserved_at, available_at, created_at) SELECT 'default', '{}', i < 4, CASE WHEN i < 4 THEN strftime('%s', 'now') - 20 END, strftime('%s', 'now') - 60, strftime('%s', 'now') - 60 FROM n;
