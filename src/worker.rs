//! The worker's side of the five systems: who may take a task, how it is kept, finished, given up.
//!
//! One module per system, all on SQLite; three of them on PostgreSQL too, in [`postgres`], with the same
//! answers: their `Operations` are what both engines can do. On SQLite every operation is one `BEGIN
//! IMMEDIATE` transaction that reads its clock once it has the write lock; what it did is told to an
//! [`EventSink`] after the commit, never before. The tables are those of [`crate::reference`].
//!
//! Knows the domain's time, its own tables, and a store's way to a server. Knows nothing of profiles, verdicts or screens: a
//! worker must not depend on who watches it.

mod clock;
pub mod coordination;
mod database;
mod error;
mod events;
pub mod executor_jobs;
pub mod finalization;
pub mod merge_queue;
pub mod postgres;
pub mod task_queue;
mod turn;

pub use clock::Clock;
pub use database::{Database, Durability};
pub use error::WorkerError;
pub use events::{Event, EventSink, Silence};
