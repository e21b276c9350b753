//! Three of the systems on PostgreSQL, with the operations and answers that they have on SQLite.
//!
//! Every operation is one `READ COMMITTED` transaction. A claim takes a row that nobody else has locked
//! (`FOR UPDATE SKIP LOCKED`), so that workers never wait for each other; whoever settles a task locks
//! its row first. The database's clock decides, read after the lock that an operation may wait for, so
//! that what ran out meanwhile has run out.
//!
//! An operation whose commit got no answer is [`WorkerError::Unknown`](super::WorkerError::Unknown).

mod cells;
mod database;
pub mod executor_jobs;
pub mod finalization;
pub mod task_queue;

pub use database::Database;

pub use crate::postgres::error::Fault;
pub use crate::postgres::{ConnectError, ConnectFailure, ConnectFailures, PgError, Target};
pub use crate::reference::postgres::PostgresError;
