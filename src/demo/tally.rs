//! What a fleet has done, as its database tells.

use std::fmt;

use super::error::DemoError;
use super::ground::Ground;

/// Work by what became of it, over all systems that keep what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub done: i64,
    pub dead: i64,
    pub held: i64,
    pub waiting: i64,
}

impl Tally {
    pub fn of(ground: &Ground) -> Result<Tally, DemoError> {
        let mut look = ground.look()?;
        let mut tally = Tally::default();
        for (table, kinds) in
            ON_BOTH.iter().chain(if matches!(ground, Ground::File(_)) { ON_FILES } else { &[] })
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

/// Per table what is done, given up, held and waiting.
type Kinds = (&'static str, [&'static str; 4]);

const NONE: &str = "1 = 0";

const ON_BOTH: &[Kinds] = &[
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

const ON_FILES: &[Kinds] = &[
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

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { done, dead, held, waiting } = self;
        write!(f, "{done} tasks done, {dead} given up, {held} held, {waiting} waiting")
    }
}
