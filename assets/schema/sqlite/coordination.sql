-- Coordination: sessions that claim tasks and take locks. All times are milliseconds since 1970.
--
-- The specification's own table of claims has task_status; the running system has heartbeat_count,
-- agent_type, release_reason and metadata instead. Here are both, so that either can use it.

CREATE TABLE IF NOT EXISTS sessions (
  id             TEXT PRIMARY KEY NOT NULL,
  project_path   TEXT NOT NULL,
  agent_type     TEXT,
  started_at     INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000),
  last_heartbeat INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000),
  metadata       TEXT,
  pid            INTEGER
);
CREATE INDEX IF NOT EXISTS idx_sessions_project ON sessions(project_path);
CREATE INDEX IF NOT EXISTS idx_sessions_heartbeat ON sessions(last_heartbeat);

CREATE TABLE IF NOT EXISTS locks (
  resource      TEXT PRIMARY KEY NOT NULL,
  session_id    TEXT NOT NULL,
  acquired_at   INTEGER NOT NULL,
  expires_at    INTEGER NOT NULL,
  lock_type     TEXT NOT NULL DEFAULT 'exclusive',
  refresh_count INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS idx_locks_session ON locks(session_id);
CREATE INDEX IF NOT EXISTS idx_locks_expires ON locks(expires_at);

CREATE TABLE IF NOT EXISTS task_claims (
  task_id         TEXT PRIMARY KEY NOT NULL,
  session_id      TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  claimed_at      INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL,
  last_heartbeat  INTEGER NOT NULL,
  heartbeat_count INTEGER NOT NULL DEFAULT 0,
  agent_type      TEXT CHECK (agent_type IN ('cli', 'autonomous', 'unknown')),
  release_reason  TEXT CHECK (release_reason IN
                    ('completed', 'failed', 'manual', 'expired', 'session_dead', 'timeout')),
  metadata        TEXT,
  task_status     TEXT NOT NULL DEFAULT 'in-progress'
);
CREATE INDEX IF NOT EXISTS idx_task_claims_session ON task_claims(session_id);
CREATE INDEX IF NOT EXISTS idx_task_claims_expires ON task_claims(expires_at);
CREATE INDEX IF NOT EXISTS idx_task_claims_heartbeat ON task_claims(last_heartbeat);

CREATE TABLE IF NOT EXISTS change_journal (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id  TEXT NOT NULL,
  resource    TEXT NOT NULL,
  operation   TEXT NOT NULL,
  change_data TEXT,
  created_at  INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000),
  applied     INTEGER NOT NULL DEFAULT 0,
  checksum    TEXT
);
CREATE INDEX IF NOT EXISTS idx_journal_resource ON change_journal(resource, created_at DESC);
CREATE INDEX IF NOT EXISTS idx_journal_session ON change_journal(session_id);
CREATE INDEX IF NOT EXISTS idx_journal_unapplied ON change_journal(applied) WHERE applied = 0;
CREATE INDEX IF NOT EXISTS idx_journal_applied ON change_journal(created_at) WHERE applied = 1;

-- Claims that their own session has not ended: a session that returns after a crash gets these tasks back, unless
-- another session has claimed them since. No foreign key: a record outlives its session.
CREATE TABLE IF NOT EXISTS resumable_claims (
  task_id    TEXT PRIMARY KEY NOT NULL,
  session_id TEXT NOT NULL,
  claimed_at INTEGER NOT NULL,
  agent_type TEXT,
  metadata   TEXT
);
CREATE INDEX IF NOT EXISTS idx_resumable_claims_session ON resumable_claims(session_id);
