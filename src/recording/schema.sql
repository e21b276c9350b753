-- What is true of the whole recording: claimtop (the version that began it), silence_floor (microseconds),
-- started_at, finished_at (missing while it is written and after a crash), whole (the largest board that is read
-- whole), hashed_ids (1 if ids and holders are pseudonyms).
CREATE TABLE property (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- The databases that were watched. The label is what the operator called it, without a password.
CREATE TABLE source (id INTEGER PRIMARY KEY, label TEXT NOT NULL, engine TEXT NOT NULL, shown TEXT NOT NULL,
  badge TEXT, fingerprint TEXT);

-- The boards of a source.
CREATE TABLE board (id INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES source, profile TEXT NOT NULL,
  board TEXT NOT NULL);

-- What is true of a board from a frame on, as JSON: rules, thresholds by kind, role, acts.
CREATE TABLE nature (board INTEGER NOT NULL REFERENCES board, frame INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (board, frame)) WITHOUT ROWID;

-- One poll of one source. `at` is the clock of the host that recorded. A poll that failed has `failure`, and
-- `unreachable` = 1 if the server could not be reached. `horizon`: the deadlines of the coming minutes, where they
-- were counted. `changes`: see docs/recording.md.
CREATE TABLE frame (id INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES source, at INTEGER NOT NULL,
  failure TEXT, unreachable INTEGER, horizon BLOB, changes BLOB);
CREATE INDEX frame_at ON frame (source, at);

-- A poll under one profile: the clock of the database, that clock minus ours, and what the poll cost.
-- `notes` is a string: JSON with notices, warnings, how far a replica is behind, why rows may be hidden.
CREATE TABLE snapshot (frame INTEGER NOT NULL, profile INTEGER NOT NULL REFERENCES string, now INTEGER NOT NULL,
  clock_offset INTEGER NOT NULL, cost INTEGER NOT NULL, notes INTEGER REFERENCES string,
  PRIMARY KEY (frame, profile)) WITHOUT ROWID;

-- The counts of a board from a frame on. `coverage`: which of its claims were read (whole, troubled, worst), or gone.
-- `reasons`: a string, a JSON array in the order of docs/recording.md. `backlog`: how many wait, by state, as JSON, and
-- since when the first of them. `details`: JSON with sessions and gaps.
CREATE TABLE board_poll (board INTEGER NOT NULL REFERENCES board, frame INTEGER NOT NULL, coverage TEXT NOT NULL,
  total INTEGER NOT NULL, healthy INTEGER NOT NULL, expiring INTEGER NOT NULL, stale INTEGER NOT NULL,
  orphaned INTEGER NOT NULL, unknown INTEGER NOT NULL, runaway INTEGER NOT NULL, reasons INTEGER NOT NULL REFERENCES string,
  backlog TEXT, oldest_queued INTEGER, details TEXT,
  PRIMARY KEY (board, frame)) WITHOUT ROWID;

-- One claim, from the first to the last frame in which it was read and, apart from beat_at, until_at and its session,
-- did not change. These two are as of the first frame; `changes` of later frames move them. `last` is NULL while the
-- recording goes on, and after a crash. `ending`: as in silence, or changed: the next
-- row of the same claim continues it. `key` is a JSON array of typed values, `body` a string:
-- JSON with everything else that the row told. `worst`: it was among the worst claims of the first frame.
CREATE TABLE claim (id INTEGER PRIMARY KEY, board INTEGER NOT NULL REFERENCES board, key TEXT NOT NULL,
  holder INTEGER REFERENCES string, kind INTEGER REFERENCES string, claimed_at INTEGER, beat_at INTEGER,
  until_at INTEGER, session INTEGER REFERENCES session, body INTEGER NOT NULL REFERENCES string,
  worst INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER, ending TEXT);

-- The registry's row of the holder of a claim, in the same way.
CREATE TABLE session (id INTEGER PRIMARY KEY, board INTEGER NOT NULL REFERENCES board,
  holder INTEGER REFERENCES string, beat_at INTEGER, stale_at INTEGER, body INTEGER NOT NULL REFERENCES string,
  first INTEGER NOT NULL, last INTEGER);

-- A time without a sign of life that was longer than the silence floor: one claim under one holder with one sign of
-- life (the later of claimed_at and its heartbeat), seen from the first to the last frame, `from_at` and `to_at` by
-- the clock of the database. `ending`: renewed (its holder gave a sign of life), gone (nobody holds it), changed_hands,
-- left (no longer among the rows that are read, reason unknown), NULL (the recording ended first; `last` and `to_at`
-- are NULL too while it goes on, and after a crash).
-- `next_at`: the clock of the first frame after it. `session_beat`: the last heartbeat of its session, if it has one;
-- `session_silent`: 1 if that was older than the silence floor at the end, or the session was missing.
CREATE TABLE silence (id INTEGER PRIMARY KEY, board INTEGER NOT NULL REFERENCES board, key TEXT NOT NULL,
  holder INTEGER REFERENCES string, kind INTEGER REFERENCES string, claimed_at INTEGER, sign INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER, from_at INTEGER NOT NULL, to_at INTEGER, next_at INTEGER,
  ending TEXT, session_beat INTEGER, session_silent INTEGER);

-- What changed between two polls, as it was told: the JSON of `claimtop check --watch --events`, without what other
-- columns say: `event` (`name`, a string), `source`, `profile` and `board`, `taskId` (`task`), `sessionId` (`holder`, a
-- string), `timestamp` (`frame.at` and so many milliseconds, `told`), the `address` if it is that of the task, `by` if it
-- is "look", and nulls. `id` is the frame * 65536 and the number of the event in it.
-- `shown`: the claim's id as a screen shows it, where that differs from its text.
CREATE TABLE event (id INTEGER PRIMARY KEY, frame INTEGER GENERATED ALWAYS AS (id >> 16) VIRTUAL,
  source INTEGER NOT NULL REFERENCES source, board INTEGER REFERENCES board, told INTEGER NOT NULL,
  name INTEGER NOT NULL REFERENCES string, task TEXT, holder INTEGER REFERENCES string, body TEXT NOT NULL, shown TEXT);

-- The causes from a frame on: a JSON array, worst first.
CREATE TABLE cause (source INTEGER NOT NULL, frame INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (source, frame)) WITHOUT ROWID;

-- Every 300 frames of a source: the claims and sessions that were being followed, and the values that `changes` move.
CREATE TABLE keyframe (source INTEGER NOT NULL, frame INTEGER NOT NULL, claims BLOB NOT NULL, sessions BLOB NOT NULL,
  last_claim INTEGER NOT NULL, last_session INTEGER NOT NULL, PRIMARY KEY (source, frame)) WITHOUT ROWID;

-- Texts that occur often.
CREATE TABLE string (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
