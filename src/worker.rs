//! The worker's side of the five systems: claim tasks, keep them, finish them and release them.
//!
//! One module per system, all on SQLite; three of them also on PostgreSQL, in [`postgres`], with the same results:
//! each `Operations` trait lists what both engines can do. On SQLite every operation is one `BEGIN IMMEDIATE`
//! transaction that reads its clock once it has the write lock; an [`EventSink`] receives its events after the
//! commit, never before. [`Database::create_tables`] creates the tables.
//!
//! This module knows the domain's time, its own tables, and how to connect to a server. It knows nothing about
//! profiles, verdicts or screens: a worker must not depend on who watches it.

mod clock;
pub mod coordination;
mod database;
mod error;
mod events;
pub mod executor_jobs;
mod fair_queue;
pub mod finalization;
pub mod merge_queue;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod task_queue;

pub use clock::Clock;
pub use database::{Database, Durability};
pub use error::WorkerError;
pub use events::{Event, EventSink, NoEvents, SummaryEvents};

pub use crate::domain::time::{Moment, Span};
pub use crate::liveness::HoldersOn;
pub use crate::reference::{InstallError, System};
/// The SQLite library whose errors are in [`WorkerError`] and [`InstallError`].
pub use rusqlite;
