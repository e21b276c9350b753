//! Merge-queue from the worker's side.

mod agreement;
mod chaos;
mod claiming;
mod concurrency;
mod healing;
mod invariants;
mod locking;
mod properties;
mod retrying;
mod transitions;

use claimtop::domain::time::{Moment, Span};
use claimtop::reference::{System, install};
use claimtop::worker::merge_queue::{Claimed, MergeQueue, NewEntry, ProcessingLock, QueueEntry, Status};
use claimtop::worker::{Clock, Database, Event};
use rusqlite::{Connection, Params};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

use crate::support::NOW;
use invariants::assert_invariants;

/// The clock's first instant, in the queue's seconds.
const START: i64 = NOW / 1_000;

/// A database with the reference tables, and a clock that stands until it is moved.
struct Scene {
    folder: TempDir,
    clock: Clock,
    raw: Connection,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Scene {
    fn new() -> Scene {
        Scene::at(Clock::standing_at(Moment::from_micros(NOW * 1_000).expect("a moment")))
    }

    fn at(clock: Clock) -> Scene {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut raw = Connection::open(folder.path().join("queue.db")).expect("a database");
        raw.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
        install(&mut raw, &[System::MergeQueue]).expect("the tables");
        Scene { folder, clock, raw, events: Arc::default() }
    }

    /// A queue of this many workspaces.
    fn with_entries(count: i64) -> (Scene, MergeQueue) {
        let scene = Scene::new();
        let mut queue = scene.queue();
        for number in 1..=count {
            let new = NewEntry::of(&format!("w-{number}")).for_bead(&format!("bd-{number}"));
            assert_eq!(queue.enqueue(&new).expect("enqueued").id(), number);
        }
        (scene, queue)
    }

    /// The queue on a connection of its own.
    fn queue(&self) -> MergeQueue {
        let path = self.folder.path().join("queue.db");
        let database = Database::open(&path).expect("a database");
        MergeQueue::new(database.with_clock(self.clock.clone()).with_events(self.events.clone()))
    }

    /// An observer's connection, which knows nothing of the queue's code.
    fn observer(&self) -> Connection {
        Connection::open(self.folder.path().join("queue.db")).expect("a connection")
    }

    fn pass(&self, seconds: i64) {
        self.clock.advance(Span::seconds(seconds));
    }

    fn run(&self, sql: &str, values: impl Params) {
        self.raw.execute(sql, values).expect(sql);
    }

    fn number(&self, sql: &str) -> i64 {
        self.raw.query_row(sql, [], |row| row.get(0)).expect(sql)
    }

    /// Makes every update that puts an entry back fail.
    fn break_recovery(&self) {
        let sql = "CREATE TRIGGER broken BEFORE UPDATE ON merge_queue
                   WHEN old.status = 'claimed' AND new.status = 'pending'
                   BEGIN SELECT RAISE(ABORT, 'the disk of entries is broken'); END";
        self.raw.execute_batch(sql).expect("a trigger");
    }
}

fn take(queue: &mut MergeQueue, agent: &str) -> QueueEntry {
    queue.next_with_lock(agent).expect("an answer").entry().expect("an entry")
}

/// From claimed to merged, and the lock let go.
fn finish(queue: &mut MergeQueue, id: i64, agent: &str) {
    for to in [Status::Rebasing, Status::Testing, Status::ReadyToMerge, Status::Merging, Status::Merged] {
        walk(queue, id, agent, to);
    }
    assert!(queue.release_processing_lock(agent).expect("an answer"));
}

fn walk(queue: &mut MergeQueue, id: i64, agent: &str, to: Status) {
    use claimtop::worker::merge_queue::TransitionOutcome;
    let moved = queue.transition(id, agent, to).expect("an answer");
    assert!(matches!(&moved, TransitionOutcome::Done(entry) if entry.status == to), "{to}: {moved:?}");
}

fn status(queue: &MergeQueue, id: i64) -> Status {
    queue.entry(id).expect("a look").expect("the entry").status
}

fn lock(agent: &str, acquired_at: i64, expires_at: i64) -> ProcessingLock {
    ProcessingLock { agent_id: agent.into(), acquired_at, expires_at }
}
