//! What a fleet has done, as its database tells.

use std::fmt;
use std::path::Path;

use super::error::DemoError;
use super::trade::look;

/// Work by what became of it, over all systems that keep what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub done: i64,
    pub dead: i64,
    pub held: i64,
    pub waiting: i64,
}

impl Tally {
    pub fn of(database: &Path) -> Result<Tally, DemoError> {
        let sql = "
          SELECT sum(status = 'succeeded'), sum(status = 'dead'), sum(status = 'running'),
                 sum(status IN ('queued', 'retry_scheduled')) FROM executor_jobs
          UNION ALL SELECT sum(status = 'completed'), sum(status = 'failed'), sum(status = 'claimed'),
                 sum(status = 'pending') FROM tasks
          UNION ALL SELECT sum(complete), 0, sum(claimed_by IS NOT NULL AND NOT complete),
                 sum(claimed_by IS NULL AND NOT complete) FROM tasker_tasks
          UNION ALL SELECT sum(status = 'merged'), sum(status IN ('failed_terminal', 'cancelled')),
                 sum(agent_id IS NOT NULL), sum(status IN ('pending', 'failed_retryable')) FROM merge_queue
          UNION ALL SELECT 0, 0, count(*), 0 FROM task_claims
          UNION ALL SELECT 0, 0, count(*), 0 FROM locks";
        let sql = format!(
            "WITH work (done, dead, held, waiting) AS ({sql})
          SELECT sum(done), sum(dead), sum(held), sum(waiting) FROM work"
        );
        let number =
            |row: &rusqlite::Row<'_>, at| row.get::<_, Option<i64>>(at).map(Option::unwrap_or_default);
        Ok(look(database)?.query_row(&sql, [], |row| {
            Ok(Tally {
                done: number(row, 0)?,
                dead: number(row, 1)?,
                held: number(row, 2)?,
                waiting: number(row, 3)?,
            })
        })?)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { done, dead, held, waiting } = self;
        write!(f, "{done} tasks done, {dead} given up, {held} held, {waiting} waiting")
    }
}
