//! Many at once: threads, and processes of their own.

use super::*;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;

const DATABASE: &str = "CLAIMTOP_QUEUE_DATABASE";
const NAME: &str = "CLAIMTOP_QUEUE_WORKER";

fn come_to(place: &Place) -> Box<dyn Operations> {
    place.task_queue(&Clock::system(), &Heard::default())
}

/// Ten workers that claim once, all at the same moment.
fn ten_claims(place: &Place) -> Vec<(String, TaskClaim)> {
    let barrier = Barrier::new(10);
    thread::scope(|scope| {
        let workers: Vec<_> = (1..=10)
            .map(|number| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut queue = come_to(place);
                    let name = format!("worker-{number}");
                    barrier.wait();
                    let claim = queue.claim(&id(&name), &TaskFilter::default()).unwrap();
                    (name, claim)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

fn distinct(claims: &[(String, TaskClaim)]) -> BTreeSet<i64> {
    claims.iter().filter_map(|(_, claim)| claim.clone().task().map(|task| task.id)).collect()
}

#[test]
fn ten_workers_claim_ten_tasks_each_one_of_its_own() {
    on_both(|mut world| {
        let tasks: BTreeSet<i64> = (0..10).map(|_| world.task(0)).collect();
        let claims = ten_claims(&world.ground.place());
        assert_eq!(distinct(&claims), tasks);
        assert_eq!(
            world.one::<i64>("SELECT count(DISTINCT worker_id) FROM tasks WHERE status = 'claimed'"),
            10
        );
        for (name, claim) in claims {
            assert_eq!(claim.task().unwrap().worker_id, Some(name));
        }
    });
}

#[test]
fn of_ten_workers_on_five_tasks_five_hear_that_there_is_nothing() {
    for engine in [Engine::Sqlite, Engine::Postgres, Engine::Sqlite, Engine::Postgres] {
        let mut world = World::on(engine);
        let tasks: BTreeSet<i64> = (0..5).map(|_| world.task(0)).collect();
        let claims = ten_claims(&world.ground.place());
        assert_eq!(distinct(&claims), tasks);
        assert_eq!(claims.iter().filter(|(_, claim)| *claim == TaskClaim::Nothing).count(), 5);
        assert_eq!(world.one::<i64>("SELECT count(*) FROM task_logs WHERE event = 'claimed'"), 5);
    }
}

#[test]
fn of_ten_workers_that_name_one_task_nine_lose_the_race() {
    on_both(|mut world| {
        let task = world.task(0);
        let (place, barrier) = (world.ground.place(), Barrier::new(10));
        let claim = |number: i64| {
            let mut queue = come_to(&place);
            barrier.wait();
            queue.claim_by_id(&id(&format!("worker-{number}")), task).unwrap()
        };
        let claims: Vec<TaskClaim> = thread::scope(|scope| {
            let claim = &claim;
            let workers: Vec<_> = (0..10).map(|number| scope.spawn(move || claim(number))).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let holder: String = world.one("SELECT worker_id FROM tasks");
        let lost = claims
            .iter()
            .filter(|claim| matches!(claim, TaskClaim::LostRace { by: Some(by), .. } if *by == holder))
            .count();
        assert_eq!(lost, 9, "{claims:?}");
    });
}

/// Does nothing unless another test starts it: a process that claims until nothing is left, and says
/// which tasks it got.
#[test]
#[ignore = "a part of another test"]
fn child() {
    let Ok(place) = std::env::var(DATABASE) else { return };
    let worker = id(&std::env::var(NAME).unwrap());
    let mut queue = come_to(&Place(place));
    println!("\nREADY");
    io::stdin().lock().read_line(&mut String::new()).unwrap();
    let mut got = String::new();
    while let Some(task) = queue.claim(&worker, &TaskFilter::default()).unwrap().task() {
        got.push_str(&format!(" {}", task.id));
    }
    println!("\nGOT{got}");
}

fn start(place: &Place, number: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "workers::task_queue::many_workers::child", "--ignored", "--nocapture"]);
    command.env(DATABASE, &place.0).env(NAME, format!("worker-{number}"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a worker")
}

#[test]
fn thirty_two_processes_claim_every_task_exactly_once() {
    let tasks = if std::env::var_os("CLAIMTOP_ROUNDS").is_some() { 10_000 } else { 1_000 };
    on_both(|world| {
        world.run(&format!(
            "INSERT INTO tasks (task_type_id, priority, created_at, updated_at)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {tasks})
         SELECT i % 2 + 1, i % 7, '2026-11-15 12:00:00', '2026-11-15 12:00:00' FROM n"
        ));
        let mut children: Vec<_> = (0..32).map(|number| start(&world.ground.place(), number)).collect();
        let mut outputs: Vec<_> =
            children.iter_mut().map(|child| BufReader::new(child.stdout.take().unwrap())).collect();
        for output in &mut outputs {
            let ready = output.by_ref().lines().map_while(Result::ok).any(|line| line == "READY");
            assert!(ready, "a worker did not start");
        }
        // Letting go of their standard input is the word to begin.
        for child in &mut children {
            drop(child.stdin.take());
        }
        let mut claimed: Vec<i64> = Vec::new();
        for (mut child, output) in children.into_iter().zip(outputs) {
            let lines: Vec<String> = output.lines().map_while(Result::ok).collect();
            assert!(child.wait().unwrap().success(), "{lines:?}");
            let got = lines.iter().find_map(|line| line.strip_prefix("GOT")).expect("an answer");
            claimed.extend(got.split_whitespace().map(|task| task.parse::<i64>().unwrap()));
        }
        claimed.sort_unstable();
        assert_eq!(claimed, (1..=tasks).collect::<Vec<i64>>(), "each once, none lost");
        assert_eq!(world.one::<i64>("SELECT count(*) FROM tasks WHERE status <> 'claimed'"), 0);
        assert_eq!(world.one::<i64>("SELECT count(DISTINCT task_id) FROM task_logs"), tasks);
        assert_eq!(world.one::<i64>("SELECT count(*) FROM task_logs"), tasks);
    });
}
