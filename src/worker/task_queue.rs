//! Task-queue: typed tasks that workers claim one by one.
//!
//! A claim has no end of its own. It holds as long as its worker reports in; when the worker has been
//! silent for more than five minutes, [`TaskQueue::check_stale_workers`] gives its tasks back. A claim
//! is no sign of life, so a worker beats before it claims.
//!
//! Where the specification contradicts itself:
//!
//! - `sort_by = random` is among its parameters, and its code turns it into `priority`. Here it is
//!   random.
//! - Its `created_at` order is "FIFO" in the text and, by the default `sort_order`, newest first in the
//!   code. Here [`ClaimOrder::Creation`] is oldest first and [`ClaimOrder::Newest`] the opposite.
//! - `max_attempts_remaining` is said to mean `attempts < max_attempts` and coded as `attempts <
//!   max_attempts - N`; the code wins, as it alone uses the number. So it is a *least* remainder: a
//!   task is taken if more than N attempts are left.
//! - It looks a type up by name and takes the newest version only, so that tasks of an older version
//!   are never claimed by their name. Here a name means all its versions.
//! - Its pattern for worker ids ends in `$`, which in PHP lets a line feed through at the end. "Only
//!   letters, digits, dash and underscore" is what the text promises and what [`WorkerId`] keeps.
//! - It begins its transaction as a reader, so two may see the same task and the second must be told of
//!   a race. Here a claim is one statement under the write lock: [`TaskClaim::LostRace`] is only for those
//!   who name the task they want.
//! - Its targets call for an index and its claim without a type filter cannot use the one it names;
//!   here the claim asks the index once per type.

pub(super) mod add;
pub(super) mod claim;
pub(super) mod log;
mod operations;
pub(super) mod settle;
pub(super) mod task;
mod worker_id;
pub(super) mod workers;

use super::Database;

pub use add::{Enqueued, NewTask};
pub use claim::{ClaimOrder, TaskClaim, TaskFilter};
pub use operations::Operations;
pub use settle::{Completion, FailureOutcome, Retry, SettleRefusal};
pub use task::{Status, Task};
pub use worker_id::WorkerId;
pub use workers::{ACTIVE_WITHIN, HeartbeatInfo, RegisteredWorker, STALE_AFTER, StaleWorker, WorkerPresence};

/// The worker's side of task-queue on one connection.
#[derive(Debug)]
pub struct TaskQueue {
    database: Database,
}

impl TaskQueue {
    pub fn new(database: Database) -> TaskQueue {
        TaskQueue { database }
    }
}
