-- table: messenger_messages, holder: -, claimed_at: delivered_at, beat_at: -, deadline: -
CREATE TABLE doctrine_migration_versions (version varchar(191) PRIMARY KEY, executed_at timestamp, execution_time int);
CREATE TABLE messenger_messages (id bigserial PRIMARY KEY, body text NOT NULL, headers text NOT NULL, queue_name varchar(190) NOT NULL, created_at timestamp NOT NULL, available_at timestamp NOT NULL, delivered_at timestamp);
INSERT INTO messenger_messages (body, headers, queue_name, created_at, available_at, delivered_at) SELECT '{}', '[]', 'default', timezone('UTC', now()), timezone('UTC', now()), CASE WHEN i < 4 THEN timezone('UTC', now()) - interval '20 s' END FROM generate_series(1, 30) AS i;
