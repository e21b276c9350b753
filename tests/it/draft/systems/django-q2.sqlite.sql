-- table: django_q_ormq, holder: -, claimed_at: -, beat_at: -, deadline: lock
CREATE TABLE django_migrations (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, app varchar(255) NOT NULL, name varchar(255) NOT NULL, applied datetime NOT NULL);
CREATE TABLE django_q_ormq (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, key varchar(100) NOT NULL, payload text NOT NULL, lock datetime);
CREATE TABLE django_q_schedule (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, func varchar(256) NOT NULL, schedule_type varchar(2) NOT NULL, repeats integer NOT NULL, next_run datetime, task varchar(100), name varchar(100));
CREATE TABLE django_q_task (name varchar(100) NOT NULL, func varchar(256) NOT NULL, started datetime NOT NULL, stopped datetime NOT NULL, success bool NOT NULL, id varchar(32) NOT NULL PRIMARY KEY, attempt_count integer NOT NULL);
INSERT INTO django_q_task VALUES ('t', 'app.mail', datetime('now', '-50 seconds'), datetime('now'), 1, 'abc', 1);
INSERT INTO django_q_ormq (key, payload, lock) VALUES ('default', 'x', datetime('now', '+600 seconds')), ('default', 'x', datetime('now', '-9 seconds')), ('default', 'x', datetime('now', '-8 seconds'));
