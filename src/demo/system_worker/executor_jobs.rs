//! An executor of jobs.

use std::time::Duration;

use super::{Renewed, SystemWorker, TaskOutcome};
use crate::demo::seeded_rng::SeededRng;
use crate::demo::thresholds::JOB;
use crate::demo::worker_loop::WorkerSpec;
use crate::worker::WorkerError;
use crate::worker::executor_jobs::{Job, Operations, Settled};

pub(super) struct Executor {
    jobs: Box<dyn Operations>,
    name: String,
}

impl Executor {
    pub(super) fn new(jobs: Box<dyn Operations>, spec: &WorkerSpec) -> Executor {
        let name = format!("executor-{}-{}", spec.number, std::process::id());
        Executor { jobs, name }
    }
}

impl SystemWorker for Executor {
    type Task = Job;

    fn report(&mut self) -> Result<(), WorkerError> {
        Ok(())
    }

    fn take(&mut self, _: &mut SeededRng) -> Result<Option<Job>, WorkerError> {
        self.jobs.claim(&self.name, &[])
    }

    fn lease(&self, _: &Job) -> Duration {
        JOB
    }

    fn renew(&mut self, job: &mut Job) -> Result<Renewed, WorkerError> {
        Ok(match self.jobs.heartbeat(&job.id, &self.name)? {
            Settled::Done => Renewed::Held,
            Settled::NotOwner => Renewed::Lost,
        })
    }

    fn finish(&mut self, job: Job, ending: TaskOutcome) -> Result<(), WorkerError> {
        match ending {
            TaskOutcome::Done => self.jobs.succeed(&job.id, &self.name).map(drop),
            TaskOutcome::Failed => self.jobs.fail(&job.id, &self.name, "upstream answered 503").map(drop),
            TaskOutcome::FailedForGood => {
                self.jobs.bury(&job.id, &self.name, "the document is no PDF; it never will be").map(drop)
            }
        }
    }
}
