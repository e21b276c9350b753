//! The workers: processes of their own, half on the task queue, half on coordinated claims.

use claimtop::domain::time::Span;
use claimtop::worker::coordination::{ClaimOptions, Coordination, Registration};
use claimtop::worker::task_queue::{HeartbeatInfo, TaskFilter, TaskQueue, WorkerId};
use claimtop::worker::{Database, WorkerError};
use rusqlite::{Connection, OptionalExtension, params};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Dice, connect};

const DATABASE: &str = "CLAIMTOP_LOAD_DATABASE";
const ROLE: &str = "CLAIMTOP_LOAD_ROLE";

/// What a worker is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Tasks,
    Claims,
}

/// Does nothing unless another test starts it: a worker that works until it is killed.
#[test]
#[ignore = "a part of another test"]
fn child() {
    let (Some(path), Ok(role)) = (std::env::var_os(DATABASE), std::env::var(ROLE)) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let path = PathBuf::from(path);
    let database = Database::open(&path).unwrap();
    let mut dice = Dice(u64::from(std::process::id()) | 1 << 40);
    if role == "Tasks" {
        let mut queue = TaskQueue::new(database);
        forever(|| work_on_a_task(&mut queue, &mut dice));
    } else {
        let (mut coordination, connection) = (Coordination::new(database), connect(&path));
        forever(|| work_on_a_claim(&mut coordination, &connection, &mut dice));
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

/// The name of the worker that is this process.
pub fn name(pid: u32) -> String {
    format!("agent-{pid}")
}

fn work_on_a_task(queue: &mut TaskQueue, dice: &mut Dice) -> Result<(), WorkerError> {
    let worker = WorkerId::new(&name(std::process::id()))?;
    queue.heartbeat(&worker, &HeartbeatInfo::here("1", 0))?;
    let Some(task) = queue.claim(&worker, &TaskFilter::default())?.task() else {
        dice.pause(200);
        return Ok(());
    };
    dice.pause(400);
    queue.complete(&worker, task.id, &json!("done")).map(drop)
}

fn work_on_a_claim(
    coordination: &mut Coordination,
    connection: &Connection,
    dice: &mut Dice,
) -> Result<(), WorkerError> {
    let session = name(std::process::id());
    if !coordination.heartbeat(&session)? {
        coordination.register(&Registration::new(session.as_str(), "/project"))?;
    }
    let free = "SELECT id FROM work WHERE done = 0
                  AND NOT EXISTS (SELECT 1 FROM task_claims WHERE task_id = work.id) ORDER BY random() LIMIT 1";
    let found: Option<String> =
        connection.prepare_cached(free).unwrap().query_row([], |row| row.get(0)).optional().unwrap();
    let Some(task) = found else {
        dice.pause(200);
        return Ok(());
    };
    let options = ClaimOptions { ttl: Some(Span::seconds(5)), ..ClaimOptions::default() };
    if !coordination.claim_task(&task, &session, &options)?.is_held() {
        return Ok(());
    }
    // Somebody else may have done it before the claim was ours; from here on nobody can.
    let is_done = "SELECT done FROM work WHERE id = ?1";
    let is_done: i64 =
        connection.prepare_cached(is_done).unwrap().query_row([&task], |row| row.get(0)).unwrap();
    if is_done == 0 {
        dice.pause(400);
        // A claim that was swept is nobody's right to finish.
        let done = "UPDATE work SET done = done + 1 WHERE id = ?1
                      AND EXISTS (SELECT 1 FROM task_claims WHERE task_id = ?1 AND session_id = ?2)";
        connection.prepare_cached(done).unwrap().execute(params![task, session]).unwrap();
    }
    coordination.release_claim(&task, &session, "completed").map(drop)
}

pub fn start(path: &Path, role: Role) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "load::worker::child", "--ignored", "--nocapture"]);
    command.env(DATABASE, path).env(ROLE, format!("{role:?}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a worker")
}
