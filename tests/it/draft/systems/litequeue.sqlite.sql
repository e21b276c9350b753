-- table: Queue, holder: -, claimed_at: lock_time, beat_at: -, deadline: -
CREATE TABLE Queue (data TEXT NOT NULL, message_id TEXT NOT NULL, status INTEGER NOT NULL, in_time INTEGER NOT NULL, lock_time INTEGER, done_time INTEGER) STRICT;
CREATE UNIQUE INDEX TIdx ON Queue (message_id);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO Queue SELECT 'x', 'm' || i, CASE WHEN i < 4 THEN 1 WHEN i < 12 THEN 2 ELSE 0 END, strftime('%s', 'now') * 1000000000, CASE WHEN i < 12 THEN strftime('%s', 'now') * 1000000000 END, CASE WHEN i BETWEEN 4 AND 11 THEN strftime('%s', 'now') * 1000000000 END FROM n;
