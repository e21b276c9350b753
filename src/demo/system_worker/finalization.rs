//! A processor that finalizes orders whose steps have ended.

use std::time::Duration;

use super::{LEFT_ALONE, Renewed, SystemWorker, TaskOutcome, span};
use crate::demo::read_connection::ReadConnection;
use crate::demo::seeded_rng::SeededRng;
use crate::demo::thresholds::CLAIM;
use crate::demo::worker_loop::WorkerSpec;
use crate::worker::WorkerError;
use crate::worker::finalization::Operations;

pub(super) struct Processor {
    finalization: Box<dyn Operations>,
    look: ReadConnection,
    name: String,
}

impl Processor {
    pub(super) fn new(
        finalization: Box<dyn Operations>,
        look: ReadConnection,
        spec: &WorkerSpec,
    ) -> Processor {
        let name = format!("processor-{}-{}", spec.number, std::process::id());
        Processor { finalization, look, name }
    }

    /// The oldest task that nobody holds, or whose claim expired long ago.
    fn waiting(&mut self) -> Result<Option<String>, WorkerError> {
        let patience = LEFT_ALONE.as_millis() / 1_000;
        let oldest = |uuid: &str, over: &str| {
            format!(
                "SELECT {uuid} FROM tasker_tasks WHERE NOT complete AND (claimed_by IS NULL OR {over})
                 ORDER BY created_at LIMIT 1"
            )
        };
        let on_sqlite =
            format!("unixepoch(claimed_at) + claim_timeout_seconds + {patience} < unixepoch('now')");
        let on_postgres = format!(
            "claimed_at AT TIME ZONE (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone')
             + make_interval(secs => claim_timeout_seconds + {patience}) < now()"
        );
        self.look.first(&oldest("task_uuid", &on_sqlite), &oldest("task_uuid::text", &on_postgres))
    }
}

impl SystemWorker for Processor {
    type Task = String;

    fn report(&mut self) -> Result<(), WorkerError> {
        Ok(())
    }

    fn take(&mut self, _: &mut SeededRng) -> Result<Option<String>, WorkerError> {
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

    fn finish(&mut self, task: String, ending: TaskOutcome) -> Result<(), WorkerError> {
        match ending {
            TaskOutcome::Done | TaskOutcome::FailedForGood => {
                self.finalization.complete(&task, &self.name).map(drop)
            }
            TaskOutcome::Failed => self.finalization.release(&task, &self.name).map(drop),
        }
    }
}
