//! An executor of jobs.

use std::time::Duration;

use super::{Ending, Renewed, SystemWorker};
use crate::demo::dice::Dice;
use crate::demo::life::Character;
use crate::demo::thresholds::JOB;
use crate::worker::WorkerError;
use crate::worker::executor_jobs::{Job, Operations, Settled};

pub struct Executor {
    jobs: Box<dyn Operations>,
    name: String,
}

impl Executor {
    pub fn new(jobs: Box<dyn Operations>, character: &Character) -> Executor {
        let name = format!("executor-{}-{}", character.number, std::process::id());
        Executor { jobs, name }
    }
}

impl SystemWorker for Executor {
    type Task = Job;

    fn report(&mut self) -> Result<(), WorkerError> {
        Ok(())
    }

    fn take(&mut self, _: &mut Dice) -> Result<Option<Job>, WorkerError> {
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

    fn finish(&mut self, job: Job, ending: Ending) -> Result<(), WorkerError> {
        match ending {
            Ending::Done => self.jobs.succeed(&job.id, &self.name).map(drop),
            Ending::Failed => self.jobs.fail(&job.id, &self.name, "upstream answered 503").map(drop),
            Ending::Hopeless => {
                self.jobs.bury(&job.id, &self.name, "the document is no PDF; it never will be").map(drop)
            }
        }
    }
}
