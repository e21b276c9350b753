//! The worker's side of the five systems, on real files and on a real server.

pub mod both_engines;
mod coordination;
mod executor_jobs;
mod finalization;
mod killed_workers;
mod merge_queue;
mod postgres_faults;
mod postgres_fleet;
mod processes;
mod task_queue;
