-- table: Jobs, holder: lock_by, claimed_at: lock_at, beat_at: -, deadline: holder
CREATE TABLE Workers (id TEXT NOT NULL PRIMARY KEY, worker_type TEXT NOT NULL, storage_name TEXT NOT NULL, layers TEXT, last_seen INTEGER NOT NULL DEFAULT (strftime('%s', 'now')), started_at INTEGER);
CREATE TABLE Jobs (job BLOB NOT NULL, id TEXT NOT NULL PRIMARY KEY, job_type TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'Pending', attempts INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL DEFAULT 25, run_at INTEGER NOT NULL, last_result TEXT, lock_at INTEGER, lock_by TEXT, done_at INTEGER, priority INTEGER NOT NULL DEFAULT 0, metadata TEXT, FOREIGN KEY (lock_by) REFERENCES Workers (id));
INSERT INTO Workers (id, worker_type, storage_name, started_at) VALUES ('accept-w1', 'mail', 'SqliteStorage', strftime('%s', 'now') - 500);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO Jobs (job, id, job_type, status, run_at, lock_at, lock_by, done_at) SELECT x'7b7d', '01J' || i, 'mail', CASE WHEN i < 4 THEN 'Running' WHEN i < 15 THEN 'Done' ELSE 'Pending' END, strftime('%s', 'now') - 100,
  CASE WHEN i < 15 THEN strftime('%s', 'now') - 90 END, CASE WHEN i < 15 THEN 'accept-w1' END, CASE WHEN i BETWEEN 4 AND 14 THEN strftime('%s', 'now') END FROM n;
