-- The trail in the database: a record in the same transaction as the act. May be run again; runs in
-- one transaction. What is written stays, whoever asks, also under session_replication_role. Only the
-- table's owner can drop the trigger: let no operator's login own the table (see roles.sql).
-- The record is text and not jsonb, because its hash is taken over every byte.
CREATE TABLE IF NOT EXISTS claimtop_audit (
  action_id text COLLATE "C" PRIMARY KEY NOT NULL,
  at        text NOT NULL,
  record    text NOT NULL
);

CREATE OR REPLACE FUNCTION claimtop_audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'claimtop_audit is append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE OR REPLACE TRIGGER claimtop_audit_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON claimtop_audit
  FOR EACH STATEMENT EXECUTE FUNCTION claimtop_audit_stays();
ALTER TABLE claimtop_audit ENABLE ALWAYS TRIGGER claimtop_audit_stays;
