-- The trail in the database: a record in the same transaction as the act. May be run again. MySQL 8.0.29 or MariaDB
-- 10.6 and later. Rows cannot be changed or deleted, whoever asks. TRUNCATE and DROP ask no trigger: give no operator's
-- account the right to DROP (see roles.sql).
-- With the binary log on, MySQL lets only administrators create triggers (error 1419), unless
-- log_bin_trust_function_creators is on.
-- The record is text and not JSON, because its hash is taken over every byte.
CREATE TABLE IF NOT EXISTS claimtop_audit (
    action_id varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    at varchar(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    record longtext NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TRIGGER IF NOT EXISTS claimtop_audit_stays BEFORE UPDATE ON claimtop_audit FOR EACH ROW
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'claimtop_audit is append-only';

CREATE TRIGGER IF NOT EXISTS claimtop_audit_is_kept BEFORE DELETE ON claimtop_audit FOR EACH ROW
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'claimtop_audit is append-only';
