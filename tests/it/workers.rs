//! The worker's side of the five systems, on real files and on a real server.

mod coordination;
mod executor_jobs;
mod finalization;
mod fleet_on_postgres;
mod ground;
mod killed;
mod merge_queue;
mod processes;
mod server;
mod task_queue;
