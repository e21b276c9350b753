//! A worker in forty lines: `cargo run --example worker -- queue.db` makes the tables and some tasks,
//! then claims, works and completes until nothing is left. Start as many as you like on one file.

#![allow(clippy::print_stdout)]

use claimtop::worker::task_queue::{
    HeartbeatInfo, NewTask, Retry, TaskClaim, TaskFilter, TaskQueue, WorkerId,
};
use claimtop::worker::{Database, System};
use serde_json::{Value, json};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let path: PathBuf = std::env::args_os().nth(1).ok_or("name the database")?.into();
    let mut database = Database::open(&path)?;
    database.create_tables(&[System::TaskQueue])?;
    let mut queue = TaskQueue::new(database);
    queue.register_type("greeting", "1", None)?;
    for name in ["Ada", "Grace", "Nobody"] {
        let task =
            NewTask { params: json!({"name": name}), dedupe_key: Some(name), ..NewTask::of("greeting") };
        queue.enqueue(&task)?;
    }

    let worker = WorkerId::new(&format!("worker-{}", std::process::id()))?;
    let mut processed = 0;
    loop {
        queue.heartbeat(&worker, &HeartbeatInfo::here("1.0", processed))?;
        let TaskClaim::Task(task) = queue.claim(&worker, &TaskFilter::default())? else { break };
        println!("{worker} claimed task {} (attempt {})", task.id, task.attempts + 1);
        let outcome = match greet(&task.params) {
            Ok(result) => format!("{:?}", queue.complete(&worker, task.id, &result)?),
            Err(error) => format!("{:?}", queue.fail(&worker, task.id, &error, Retry::Worthwhile)?),
        };
        println!("  {outcome}");
        processed += 1;
    }
    queue.sign_off(&worker)?;
    println!("{worker} found nothing left to claim after {processed} attempts");
    Ok(())
}

fn greet(params: &Value) -> Result<Value, String> {
    match params["name"].as_str() {
        Some("Nobody") | None => Err("there is nobody to greet".into()),
        Some(name) => Ok(json!(format!("Hello, {name}!"))),
    }
}
