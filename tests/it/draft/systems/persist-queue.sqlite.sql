-- table: ack_queue_default, holder: -, claimed_at: -, beat_at: -, deadline: -
CREATE TABLE ack_queue_default (_id INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB, timestamp FLOAT, status INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO ack_queue_default (data, timestamp, status) SELECT x'80', strftime('%s', 'now') + 0.25, CASE WHEN i < 4 THEN 2 WHEN i < 12 THEN 5 ELSE 1 END FROM n;
