//! Many workers over HTTP while the server is killed: no task is done twice, and none is lost.

use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use super::{Client, Server};
use crate::concurrency::number;
use crate::support::engine::{Engine, engines};
use crate::support::figures::{promise, tell};

const WORKERS: usize = 32;

/// One worker until the queue is empty; nothing if the server was killed.
fn work(mut client: Client, name: &str, done: &Mutex<BTreeMap<i64, usize>>) -> Option<()> {
    let worker = json!({"worker_id": name}).to_string();
    client.try_send("/api/workers/heartbeat", &worker)?;
    loop {
        let claimed = client.try_send("/api/tasks/claim", &worker)?;
        if claimed.status == 404 {
            return Some(());
        }
        assert_eq!(claimed.status, 200, "{claimed:?}");
        let id = claimed.json()["task"]["id"].as_i64().expect("an id");
        let settled = client.try_send(&format!("/api/tasks/{id}/complete"), &worker)?;
        assert_eq!(settled.status, 200, "{settled:?}");
        *done.lock().expect("no panic").entry(id).or_default() += 1;
    }
}

/// How often the server is killed, and after how many more tasks each time.
#[derive(Clone, Copy)]
struct Kills {
    count: usize,
    after: usize,
}

impl Kills {
    /// Once for every five thousand tasks, and thrice at least; all of them before the work is done.
    fn during(tasks: usize) -> Kills {
        let count = (tasks / 5_000).max(3);
        Kills { count, after: tasks / (count + 1) * 3 / 4 }
    }
}

/// All workers at once, each on a connection of its own.
fn all_work(server: &Server, round: usize, kills: Kills, done: &Mutex<BTreeMap<i64, usize>>) {
    thread::scope(|scope| {
        for number in 0..WORKERS {
            let client = server.client();
            scope.spawn(move || work(client, &format!("worker-{round}-{number}"), done));
        }
        if round < kills.count {
            let done = || done.lock().expect("no panic").len();
            let before = done();
            crate::dashboard::pty::until("some tasks are done", || {
                (done() >= before + kills.after).then_some(())
            });
            server.signal("KILL");
        }
    });
}

fn try_on(engine: Engine) {
    let tasks = number("CLAIMTOP_JOBS", 400);
    let kills = Kills::during(usize::try_from(tasks).expect("few"));
    let mut server = Server::on(engine);
    let first = server.task(&json!({"task_type": "youtube_video_scrape"}));
    server.ground.run(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {tasks})
         INSERT INTO tasks (task_type_id, status, params, priority, attempts, max_attempts, created_at, updated_at)
         SELECT task_type_id, status, params, priority, attempts, max_attempts, created_at, updated_at
         FROM tasks, n WHERE tasks.id = {first}"
    ));
    let done = Mutex::new(BTreeMap::new());
    let started = Instant::now();
    for round in 0..=kills.count {
        all_work(&server, round, kills, &done);
        if round < kills.count {
            server = server.again();
            // The workers of the last round are gone; what they still have comes back.
            server.ground.run("UPDATE worker_heartbeats SET last_seen_at = '2020-01-01 00:00:00'");
            assert_eq!(server.post("/api/workers/requeue-stale", &json!({})).status, 200);
        }
    }
    tell(&format!(
        "{WORKERS} workers over HTTP on {engine:?}: {tasks} tasks and {} kills in {:.0} s",
        kills.count,
        started.elapsed().as_secs_f64()
    ));
    let done = done.into_inner().expect("no panic");
    let twice = done.values().filter(|times| **times > 1).count();
    let left: i64 = server.ground.one("SELECT count(*) FROM tasks WHERE status <> 'completed'");
    let again: i64 = server.ground.one(
        "SELECT count(*) FROM (SELECT task_id FROM task_logs WHERE event = 'completed' GROUP BY task_id
         HAVING count(*) > 1) often",
    );
    promise(
        "Over HTTP no task is done twice or lost while the server is killed.",
        tasks,
        u64::try_from(twice).expect("few") + left.unsigned_abs() + again.unsigned_abs(),
    );
    assert_eq!((twice, left, again), (0, 0, 0));
}

#[test]
fn no_task_is_done_twice_or_lost_while_the_server_is_killed() {
    for &engine in engines() {
        try_on(engine);
    }
}
