//! The workers that are killed: processes of their own.

use claimtop::worker::executor_jobs::ExecutorJobs;
use claimtop::worker::merge_queue::{MergeQueue, Status};
use claimtop::worker::task_queue::{HeartbeatInfo, TaskFilter, TaskQueue, WorkerId};
use claimtop::worker::{Database, WorkerError};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::Dice;

const DATABASE: &str = "CLAIMTOP_KILLED_DATABASE";
const ROLE: &str = "CLAIMTOP_KILLED_ROLE";

/// Does nothing unless another test starts it: a worker that works until it is killed.
#[test]
#[ignore = "a part of another test"]
fn child() {
    let (Some(path), Ok(role)) = (std::env::var_os(DATABASE), std::env::var(ROLE)) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let database = Database::open(&PathBuf::from(path)).unwrap();
    let mut dice = Dice(u64::from(std::process::id()) | 1 << 40);
    match role.as_str() {
        "jobs" => {
            let mut jobs = ExecutorJobs::new(database);
            forever(|| work_on_a_job(&mut jobs, &mut dice));
        }
        "tasks" => {
            let mut queue = TaskQueue::new(database);
            forever(|| work_on_a_task(&mut queue, &mut dice));
        }
        _ => {
            let mut queue = MergeQueue::new(database).with_lock_timeout(1).unwrap();
            forever(|| work_on_a_merge(&mut queue, &mut dice));
        }
    }
}

fn forever(mut work: impl FnMut() -> Result<(), WorkerError>) {
    loop {
        match work() {
            Ok(()) | Err(WorkerError::Busy { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn name() -> String {
    format!("agent-{}", std::process::id())
}

fn work_on_a_job(jobs: &mut ExecutorJobs, dice: &mut Dice) -> Result<(), WorkerError> {
    let Some(job) = jobs.claim(&name(), &[])? else {
        dice.pause(10);
        return Ok(());
    };
    dice.pause(10);
    jobs.heartbeat(&job.id, &name())?;
    dice.pause(10);
    match dice.below(30) {
        0 => jobs.bury(&job.id, &name(), "hopeless").map(drop),
        _ => jobs.succeed(&job.id, &name()).map(drop),
    }
}

fn work_on_a_task(queue: &mut TaskQueue, dice: &mut Dice) -> Result<(), WorkerError> {
    let worker = WorkerId::new(&name())?;
    queue.heartbeat(&worker, &HeartbeatInfo::here("1", 0))?;
    let Some(task) = queue.claim(&worker, &TaskFilter::default())?.task() else {
        dice.pause(10);
        return Ok(());
    };
    dice.pause(20);
    queue.complete(&worker, task.id, &json!("done")).map(drop)
}

fn work_on_a_merge(queue: &mut MergeQueue, dice: &mut Dice) -> Result<(), WorkerError> {
    let Some(entry) = queue.next_with_lock(&name())?.entry() else {
        dice.pause(10);
        return Ok(());
    };
    for status in [Status::Rebasing, Status::Testing, Status::ReadyToMerge, Status::Merging, Status::Merged] {
        dice.pause(4);
        queue.extend_lock(&name(), 1)?;
        queue.transition(entry.id, &name(), status)?;
    }
    queue.release_processing_lock(&name()).map(drop)
}

pub fn start(path: &Path, role: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "workers::killed_workers::worker::child", "--ignored", "--nocapture"]);
    command.env(DATABASE, path).env(ROLE, role);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a worker")
}
