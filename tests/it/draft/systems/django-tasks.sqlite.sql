-- table: django_tasks_database_dbtaskresult, holder: worker_ids, claimed_at: started_at, beat_at: -, deadline: -
CREATE TABLE django_migrations (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, app varchar(255) NOT NULL, name varchar(255) NOT NULL, applied datetime NOT NULL);
CREATE TABLE auth_user (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, password varchar(128), last_login datetime, username varchar(150), is_active bool NOT NULL, date_joined datetime);
CREATE TABLE django_session (session_key varchar(40) NOT NULL PRIMARY KEY, session_data text NOT NULL, expire_date datetime NOT NULL);
CREATE TABLE django_tasks_database_dbtaskresult (priority integer NOT NULL, task_path text NOT NULL, queue_name varchar(32) NOT NULL, run_after datetime, enqueued_at datetime NOT NULL, finished_at datetime, args_kwargs text NOT NULL, backend_name text NOT NULL, status varchar(10) NOT NULL, started_at datetime, id char(32) NOT NULL PRIMARY KEY, exception_class_path text NOT NULL, return_value text, traceback text NOT NULL, worker_ids text NOT NULL);
INSERT INTO auth_user (username, is_active, date_joined) VALUES ('ann', 1, datetime('now'));
INSERT INTO django_session VALUES ('x', 'y', datetime('now', '+10 days'));
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
INSERT INTO django_tasks_database_dbtaskresult SELECT 0, 'app.mail', 'default', '9999-01-01 00:00:00', datetime('now'), CASE WHEN i BETWEEN 4 AND 15 THEN datetime('now') END, '{}', 'default', CASE WHEN i < 4 THEN 'RUNNING' WHEN i < 16 THEN 'SUCCESSFUL' ELSE 'READY' END, CASE WHEN i < 16 THEN datetime('now', '-60 seconds') END, 'a' || i, '', NULL, '', CASE WHEN i < 16 THEN '["ScIsx81kd"]' ELSE '[]' END FROM n;
