-- table: shedlock, holder: locked_by, claimed_at: locked_at, beat_at: -, deadline: lock_until
CREATE TABLE shedlock (name varchar(64) PRIMARY KEY, lock_until timestamp NOT NULL, locked_at timestamp NOT NULL, locked_by varchar(255) NOT NULL);
CREATE TABLE customers (id bigserial PRIMARY KEY, name text, status text, created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now());
INSERT INTO customers (name, status) SELECT 'c' || i, 'active' FROM generate_series(1, 20) AS i;
INSERT INTO shedlock SELECT 'task' || i, timezone('UTC', now()) + interval '5 min', timezone('UTC', now()), 'vm' FROM generate_series(1, 3) AS i;
