//! An entry of the queue: a workspace to be merged.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::journal::{self, QueueEventKind};
use super::status::Status;
use crate::worker::WorkerError;

/// A workspace to enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    pub workspace: String,
    pub bead_id: Option<String>,
    /// Lower numbers are more urgent.
    pub priority: i64,
    /// Only one entry with this key is active at a time.
    pub dedupe_key: Option<String>,
    pub max_attempts: i64,
}

impl NewEntry {
    /// A workspace of normal priority that may be retried three times.
    pub fn of(workspace: &str) -> NewEntry {
        NewEntry {
            workspace: workspace.into(),
            bead_id: None,
            priority: 5,
            dedupe_key: None,
            max_attempts: 3,
        }
    }

    pub fn for_bead(self, bead: &str) -> NewEntry {
        NewEntry { bead_id: Some(bead.into()), ..self }
    }

    pub fn with_priority(self, priority: i64) -> NewEntry {
        NewEntry { priority, ..self }
    }

    pub fn deduped_by(self, key: &str) -> NewEntry {
        NewEntry { dedupe_key: Some(key.into()), ..self }
    }

    pub fn at_most(self, max_attempts: i64) -> NewEntry {
        NewEntry { max_attempts, ..self }
    }

    pub(super) fn validate(&self) -> Result<(), WorkerError> {
        if self.workspace.trim().is_empty() {
            return Err(WorkerError::Invalid("an entry needs a workspace".into()));
        }
        Ok(())
    }

    pub(super) fn insert(&self, transaction: &Transaction<'_>, now: i64) -> Result<Enqueued, WorkerError> {
        if let Some(id) = self.twin(transaction)? {
            return Ok(Enqueued::Duplicate(id));
        }
        let sql = "SELECT id FROM merge_queue WHERE workspace = ?1";
        let there =
            transaction.prepare_cached(sql)?.query_row([&self.workspace], |row| row.get(0)).optional()?;
        if let Some(id) = there {
            return Ok(Enqueued::WorkspaceTaken(id));
        }
        let sql = "INSERT INTO merge_queue (workspace, bead_id, priority, dedupe_key, max_attempts, status,
                     added_at, state_changed_at) VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?6, ?6)";
        transaction.prepare_cached(sql)?.execute(params![
            self.workspace,
            self.bead_id,
            self.priority,
            self.dedupe_key,
            self.max_attempts,
            now
        ])?;
        let id = transaction.last_insert_rowid();
        journal::note(
            transaction,
            now,
            id,
            QueueEventKind::Created,
            &serde_json::json!({"workspace": self.workspace}),
        )?;
        Ok(Enqueued::New(id))
    }

    /// The active entry with the same key.
    fn twin(&self, transaction: &Transaction<'_>) -> Result<Option<i64>, WorkerError> {
        let Some(key) = &self.dedupe_key else { return Ok(None) };
        let sql = "SELECT id FROM merge_queue WHERE dedupe_key = ?1
                   AND status NOT IN ('merged', 'failed_terminal', 'cancelled', 'completed', 'failed')";
        Ok(transaction.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?)
    }
}

/// The result of enqueuing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    New(i64),
    /// This entry has the same dedupe key and is active.
    Duplicate(i64),
    /// This entry has the same workspace; a workspace is enqueued only once, whatever its state.
    WorkspaceTaken(i64),
}

impl Enqueued {
    /// The entry that exists now.
    pub fn id(self) -> i64 {
        match self {
            Enqueued::New(id) | Enqueued::Duplicate(id) | Enqueued::WorkspaceTaken(id) => id,
        }
    }
}

/// An entry in its current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEntry {
    pub id: i64,
    pub workspace: String,
    pub bead_id: Option<String>,
    pub priority: i64,
    pub status: Status,
    pub added_at: i64,
    pub started_at: Option<i64>,
    pub completed_at: Option<i64>,
    pub error_message: Option<String>,
    pub agent_id: Option<String>,
    pub dedupe_key: Option<String>,
    pub previous_state: Option<String>,
    pub state_changed_at: Option<i64>,
    pub attempt_count: i64,
    pub max_attempts: i64,
}

const COLUMNS: &str = "id, workspace, bead_id, priority, status, added_at, started_at, completed_at,
    error_message, agent_id, dedupe_key, previous_state, state_changed_at,
    coalesce(attempt_count, 0), coalesce(max_attempts, 3)";

pub(super) fn read(connection: &Connection, id: i64) -> Result<Option<QueueEntry>, WorkerError> {
    let sql = format!("SELECT {COLUMNS} FROM merge_queue WHERE id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([id], from_row).optional()?)
}

pub(super) fn all(connection: &Connection) -> Result<Vec<QueueEntry>, WorkerError> {
    let sql = format!("SELECT {COLUMNS} FROM merge_queue ORDER BY priority, added_at, id");
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_map([], from_row)?.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<QueueEntry> {
    Ok(QueueEntry {
        id: row.get(0)?,
        workspace: row.get(1)?,
        bead_id: row.get(2)?,
        priority: row.get(3)?,
        status: row.get(4)?,
        added_at: row.get(5)?,
        started_at: row.get(6)?,
        completed_at: row.get(7)?,
        error_message: row.get(8)?,
        agent_id: row.get(9)?,
        dedupe_key: row.get(10)?,
        previous_state: row.get(11)?,
        state_changed_at: row.get(12)?,
        attempt_count: row.get(13)?,
        max_attempts: row.get(14)?,
    })
}
