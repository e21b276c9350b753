//! What a fleet has done, counted in its database.

use std::fmt;

use super::demo_database::DemoDatabase;
use super::error::DemoError;

/// Tasks by their state, over all systems that keep finished ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkTally {
    pub done: i64,
    pub dead: i64,
    pub held: i64,
    pub waiting: i64,
}

impl WorkTally {
    pub fn of(database: &DemoDatabase) -> Result<WorkTally, DemoError> {
        let mut look = database.look()?;
        let mut tally = WorkTally::default();
        for (table, kinds) in
            ON_BOTH.iter().chain(if matches!(database, DemoDatabase::File(_)) { ON_FILES } else { &[] })
        {
            let count = |sql: &str| format!("SELECT count(*) FROM {table} WHERE {sql}");
            let [done, dead, held, waiting] = kinds;
            tally.done += look.count(&count(done))?;
            tally.dead += look.count(&count(dead))?;
            tally.held += look.count(&count(held))?;
            tally.waiting += look.count(&count(waiting))?;
        }
        Ok(tally)
    }
}

/// A table, and the conditions for done, given up, held and waiting.
type TableStates = (&'static str, [&'static str; 4]);

const NONE: &str = "1 = 0";

const ON_BOTH: &[TableStates] = &[
    (
        "executor_jobs",
        [
            "status = 'succeeded'",
            "status = 'dead'",
            "status = 'running'",
            "status IN ('queued', 'retry_scheduled')",
        ],
    ),
    ("tasks", ["status = 'completed'", "status = 'failed'", "status = 'claimed'", "status = 'pending'"]),
    (
        "tasker_tasks",
        ["complete", NONE, "claimed_by IS NOT NULL AND NOT complete", "claimed_by IS NULL AND NOT complete"],
    ),
];

const ON_FILES: &[TableStates] = &[
    (
        "merge_queue",
        [
            "status = 'merged'",
            "status IN ('failed_terminal', 'cancelled')",
            "agent_id IS NOT NULL",
            "status IN ('pending', 'failed_retryable')",
        ],
    ),
    ("task_claims", [NONE, NONE, "1 = 1", NONE]),
    ("locks", [NONE, NONE, "1 = 1", NONE]),
];

impl fmt::Display for WorkTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkTally { done, dead, held, waiting } = self;
        write!(f, "{done} tasks done, {dead} given up, {held} held, {waiting} waiting")
    }
}
