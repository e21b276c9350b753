//! A live fleet on SQLite or PostgreSQL: real processes that claim, send heartbeats, finish, hang and die.
//!
//! ```text
//! the program ──► fleet (a thread) ──► workers   one system and one behaviour each
//!      │               └─────────────► feeder    enqueues work, and runs the systems' own slow recovery
//!      └─────────────────────────────► janitor   outlives the program: ends what is left, removes the folder
//! ```
//!
//! All of them run this program with a hidden verb. However the program ends, they end with it: the kernel kills them
//! together with their parent, they see the end of the pipe from it, and the janitor kills what is left.
//!
//! It knows the worker library and its tables. Nothing is back-dated: every stale claim became stale on its own.

mod behaviour;
mod demo_database;
#[cfg(feature = "postgres")]
mod demo_schema;
mod error;
mod feeder;
mod fleet;
mod folder;
mod janitor;
mod parent_guard;
mod read_connection;
mod seeded_rng;
mod system_worker;
mod thresholds;
mod work_tally;
mod worker_loop;
mod worker_slot;

pub use behaviour::Behaviour;
pub use demo_database::DemoDatabase;
pub use error::DemoError;
pub use fleet::{Fleet, FleetStats};
pub use folder::{DemoFolder, DemoServer, FolderLifetime};
pub use parent_guard::ParentGuard;
pub use work_tally::WorkTally;
pub use worker_loop::WorkerSpec;
pub use worker_slot::WorkerSlot;

use std::path::Path;

/// The name of its source in its config; `demo` is a verb.
pub const SOURCE: &str = "fleet";

/// The hidden verb of the processes that a demo starts.
pub const CHILD: &str = "demo-child";

/// Runs a worker until its parent is gone.
pub fn work(folder: &Path, parent: u32, spec: WorkerSpec) -> Result<(), DemoError> {
    let guard = ParentGuard::hold(parent)?;
    system_worker::run_worker(&DemoDatabase::of(folder)?, guard, spec)
}

/// Runs the feeder until its parent is gone.
pub fn feed(folder: &Path, parent: u32, seed: u64) -> Result<(), DemoError> {
    let guard = ParentGuard::hold(parent)?;
    feeder::run(&DemoDatabase::of(folder)?, &guard, seed)
}

/// Waits for the end of the program and cleans up after it.
pub fn tidy(folder: &Path, place: FolderLifetime) -> Result<(), DemoError> {
    janitor::run(folder, place)
}
