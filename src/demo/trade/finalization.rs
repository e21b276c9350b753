//! A processor that finalizes orders whose steps have ended.

use rusqlite::{Connection, OptionalExtension, params};
use std::time::Duration;

use super::{Ending, LEFT_ALONE, Renewed, Trade, span};
use crate::demo::dice::Dice;
use crate::demo::life::Character;
use crate::demo::thresholds::CLAIM;
use crate::worker::finalization::Finalization;
use crate::worker::{Database, WorkerError};

pub struct Processor {
    finalization: Finalization,
    look: Connection,
    name: String,
}

impl Processor {
    pub fn new(database: Database, look: Connection, character: &Character) -> Processor {
        let name = format!("processor-{}-{}", character.number, std::process::id());
        Processor { finalization: Finalization::new(database), look, name }
    }

    /// The oldest that nobody holds, or somebody who let it expire long ago.
    fn waiting(&self) -> Result<Option<String>, WorkerError> {
        let sql = "SELECT task_uuid FROM tasker_tasks WHERE NOT complete AND (claimed_by IS NULL
                     OR unixepoch(claimed_at) + claim_timeout_seconds + ?1 < unixepoch('now'))
                   ORDER BY created_at LIMIT 1";
        let patience = LEFT_ALONE.as_millis() / 1_000;
        let mut statement = self.look.prepare_cached(sql)?;
        Ok(statement.query_row(params![patience], |row| row.get(0)).optional()?)
    }
}

impl Trade for Processor {
    type Task = String;

    fn report(&mut self) -> Result<(), WorkerError> {
        Ok(())
    }

    fn take(&mut self, _: &mut Dice) -> Result<Option<String>, WorkerError> {
        let Some(task) = self.waiting()? else { return Ok(None) };
        let outcome = self.finalization.claim_task_for_finalization(&task, &self.name, span(CLAIM))?;
        Ok(outcome.is_claimed().then_some(task))
    }

    fn lease(&self, _: &String) -> Duration {
        CLAIM
    }

    fn renew(&mut self, task: &mut String) -> Result<Renewed, WorkerError> {
        Ok(if self.finalization.extend(task, &self.name)? { Renewed::Held } else { Renewed::Lost })
    }

    fn finish(&mut self, task: String, ending: Ending) -> Result<(), WorkerError> {
        match ending {
            Ending::Done | Ending::Hopeless => self.finalization.complete(&task, &self.name).map(drop),
            Ending::Failed => self.finalization.release(&task, &self.name).map(drop),
        }
    }
}
