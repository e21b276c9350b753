-- table: databasechangeloglock, holder: lockedby, claimed_at: lockgranted, beat_at: -, deadline: -
CREATE TABLE databasechangelog (id varchar(255), author varchar(255), filename varchar(255), dateexecuted timestamp, orderexecuted int, exectype varchar(10), md5sum varchar(35), deployment_id varchar(10));
CREATE TABLE databasechangeloglock (id int PRIMARY KEY, locked boolean NOT NULL, lockgranted timestamp, lockedby varchar(255));
CREATE TABLE orders (id bigserial PRIMARY KEY, state text, created_at timestamptz DEFAULT now());
INSERT INTO orders (state) SELECT 'paid' FROM generate_series(1, 20);
INSERT INTO databasechangelog VALUES ('1', 'ann', 'x.xml', now(), 1, 'EXECUTED', '9', '1');
INSERT INTO databasechangeloglock VALUES (1, true, timezone('UTC', now()), 'vm (10.0.0.7)');
