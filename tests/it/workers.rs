//! The worker's side of the five systems, on real files.

mod coordination;
mod executor_jobs;
mod finalization;
mod fleet_on_postgres;
mod ground;
mod killed;
mod merge_queue;
mod processes;
mod task_queue;
