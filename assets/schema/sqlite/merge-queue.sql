-- Merge-queue: entries that one agent at a time merges under the one processing lock.
-- Times are whole seconds since 1970.
CREATE TABLE IF NOT EXISTS merge_queue (
  id                 INTEGER PRIMARY KEY AUTOINCREMENT,
  workspace          TEXT NOT NULL UNIQUE,
  bead_id            TEXT,
  -- The lower the more urgent.
  priority           INTEGER NOT NULL DEFAULT 5,
  -- The last three are the older words for claimed, merged and failed_terminal.
  status             TEXT NOT NULL DEFAULT 'pending' CHECK (status IN
                       ('pending', 'claimed', 'rebasing', 'testing', 'ready_to_merge', 'merging', 'merged',
                        'failed_retryable', 'failed_terminal', 'cancelled',
                        'processing', 'completed', 'failed')),
  added_at           INTEGER NOT NULL,
  started_at         INTEGER,
  completed_at       INTEGER,
  error_message      TEXT,
  agent_id           TEXT,
  dedupe_key         TEXT,
  workspace_state    TEXT DEFAULT 'created',
  previous_state     TEXT,
  state_changed_at   INTEGER,
  head_sha           TEXT,
  tested_against_sha TEXT,
  attempt_count      INTEGER DEFAULT 0,
  max_attempts       INTEGER DEFAULT 3,
  rebase_count       INTEGER DEFAULT 0,
  last_rebase_at     INTEGER,
  parent_workspace   TEXT,
  stack_depth        INTEGER NOT NULL DEFAULT 0,
  dependents         TEXT NOT NULL DEFAULT '[]',
  stack_root         TEXT,
  stack_merge_state  TEXT NOT NULL DEFAULT 'independent'
);
CREATE INDEX IF NOT EXISTS idx_merge_queue_next ON merge_queue (status, priority, added_at, id);
CREATE INDEX IF NOT EXISTS idx_merge_queue_claimed ON merge_queue (started_at) WHERE status = 'claimed';
CREATE UNIQUE INDEX IF NOT EXISTS idx_merge_queue_dedupe ON merge_queue (dedupe_key)
  WHERE dedupe_key IS NOT NULL
    AND status NOT IN ('merged', 'failed_terminal', 'cancelled', 'completed', 'failed');
CREATE INDEX IF NOT EXISTS idx_merge_queue_parent ON merge_queue (parent_workspace);

-- No row: nobody has it. There is never a second one.
CREATE TABLE IF NOT EXISTS queue_processing_lock (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  agent_id    TEXT NOT NULL,
  acquired_at INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS queue_events (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  queue_id     INTEGER NOT NULL REFERENCES merge_queue (id) ON DELETE CASCADE,
  event_type   TEXT NOT NULL,
  details_json TEXT,
  created_at   INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS idx_queue_events_queue_id ON queue_events (queue_id);
