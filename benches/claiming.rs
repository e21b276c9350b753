//! What a claim costs, and who gets one: worker processes on one task queue of task-queue, with their
//! turn, beside the same statement through plain rusqlite with a busy timeout in the same run, and beside the
//! same claims over HTTP (`claimtop api`).
//!
//! `cargo bench --bench claiming` runs everything; `-- 32` only that number of workers.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use chrono::Utc;
use claimtop::reference::{System, install};
use claimtop::worker::task_queue::{ClaimOrder, TaskClaim, TaskFilter, TaskQueue, WorkerId};
use claimtop::worker::{Database, Durability};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params, params};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TASKS: i64 = 120_000;
const RUN: Duration = Duration::from_secs(3);
const CHILD: &str = "CLAIMTOP_CLAIMING_CHILD";

fn main() {
    if let Ok(orders) = std::env::var(CHILD) {
        return child(&orders);
    }
    let wanted: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    println!(
        "{:>7}  {:>6}  {:>6}  {:>5}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}  {:>8}",
        "workers", "pause", "sync", "how", "p50", "p95", "p99", "worst", "claims/s", "fairness"
    );
    for workers in [1, 10, 32] {
        if !wanted.is_empty() && !wanted.contains(&workers) {
            continue;
        }
        for pause in ["10ms", "none"] {
            for sync in ["NORMAL", "FULL"] {
                for how in ["raw", "turn"] {
                    run(workers, pause, sync, how);
                }
                // The server's own durability is NORMAL.
                if sync == "NORMAL" {
                    run(workers, pause, sync, "http");
                }
            }
        }
    }
}

fn run(workers: usize, pause: &str, sync: &str, how: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("tasks.db");
    build(&path);
    let server = (how == "http").then(|| Server::start(folder.path(), &path));
    let place = server.as_ref().map_or_else(|| path.display().to_string(), |server| server.place.clone());
    // All begin together, when the last of them is surely there.
    let begin = Utc::now().timestamp_millis() + 500 + 20 * workers as i64;
    let children: Vec<_> = (0..workers)
        .map(|worker| {
            let orders = format!("{worker} {pause} {sync} {how} {begin} {place}");
            let mut command = Command::new(std::env::current_exe().expect("this binary"));
            command.env(CHILD, orders).stdout(Stdio::piped()).spawn().expect("a worker")
        })
        .collect();
    let each: Vec<Vec<u64>> = children
        .into_iter()
        .map(|child| child.wait_with_output().expect("its figures"))
        .map(|output| {
            assert!(output.status.success());
            let text = String::from_utf8(output.stdout).expect("text");
            text.split_whitespace().map(|figure| figure.parse().expect("a figure")).collect()
        })
        .collect();
    check(&path, each.iter().map(Vec::len).sum());
    let name = format!("{workers:>7}  {pause:>6}  {sync:>6}  {how:>5}");
    print(&name, &each);
}

fn print(name: &str, each: &[Vec<u64>]) {
    let mut all: Vec<u64> = each.iter().flatten().copied().collect();
    all.sort_unstable();
    let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize] as f64 / 1e3;
    let fewest = each.iter().map(Vec::len).min().unwrap_or(0) as f64;
    let most = each.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64;
    println!(
        "{name}  {:>5.2} ms  {:>5.2} ms  {:>5.1} ms  {:>5.0} ms  {:>8.0}  {:>8.2}",
        at(0.50),
        at(0.95),
        at(0.99),
        at(1.0),
        all.len() as f64 / RUN.as_secs_f64(),
        fewest / most
    );
}

fn build(path: &Path) {
    let mut connection = Connection::open(path).expect("a database");
    connection.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
    install(&mut connection, &[System::TaskQueue]).expect("the tables");
    let transaction = connection.transaction().expect("a transaction");
    for kind in ["youtube_video_scrape", "reddit_post_fetch"] {
        let sql = "INSERT INTO task_types (name, created_at, updated_at) VALUES (?1, ?2, ?2)";
        transaction.execute(sql, params![kind, now()]).expect("a type");
    }
    for task in 0..TASKS {
        let sql =
            "INSERT INTO tasks (task_type_id, priority, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)";
        transaction.execute(sql, params![task % 2 + 1, task * 7_919 % 10, now()]).expect("a task");
    }
    transaction.commit().expect("commit");
}

/// Nobody was given a task that another has.
fn check(path: &Path, claims: usize) {
    let connection = Connection::open(path).expect("the database");
    let sql = "SELECT count(*) FROM tasks WHERE status = 'claimed'";
    let claimed: i64 = connection.query_row(sql, [], |row| row.get(0)).expect("a count");
    assert_eq!(claimed, claims as i64, "every claim is of a task of its own");
    assert!(claimed < TASKS, "the queue never ran dry");
}

/// One worker: claims until the time is over, and prints how many microseconds each claim took.
fn child(orders: &str) {
    let orders: Vec<&str> = orders.splitn(6, ' ').collect();
    let [worker, pause, sync, how, begin, path] = orders[..] else { return };
    let number: u64 = worker.parse().expect("a number");
    let name = WorkerId::new(&format!("worker-{worker}")).expect("a name");
    let mut claim: Box<dyn FnMut()> = match how {
        "raw" => raw(Path::new(path), sync, name),
        "http" => over_http(path, &name),
        _ => ours(Path::new(path), sync, name),
    };
    let begin: i64 = begin.parse().expect("a time");
    let wait = begin - Utc::now().timestamp_millis();
    thread::sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(0)));
    let started = Instant::now();
    let mut dice = number * 7_919 + 1;
    let mut figures = String::new();
    while started.elapsed() < RUN {
        let before = Instant::now();
        claim();
        let _ = write!(figures, "{} ", before.elapsed().as_micros());
        if pause != "none" {
            // 5 to 15 ms, differently for each worker.
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            thread::sleep(Duration::from_micros(5_000 + (dice >> 33) % 10_000));
        }
    }
    println!("{figures}");
}

fn ours(path: &Path, sync: &str, worker: WorkerId) -> Box<dyn FnMut()> {
    let durability = if sync == "FULL" { Durability::Full } else { Durability::Normal };
    let database = Database::open(path).expect("the database");
    let mut queue = TaskQueue::new(database.with_durability(durability).expect("a pragma"));
    Box::new(move || {
        let claim = queue.claim(&worker, &TaskFilter::default()).expect("a claim");
        assert!(matches!(claim, TaskClaim::Task(_)));
    })
}

/// The same statements, as the specification's authors would send them: SQLite's own waiting, no turn.
fn raw(path: &Path, sync: &str, worker: WorkerId) -> Box<dyn FnMut()> {
    let mut connection = Connection::open(path).expect("the database");
    connection.busy_timeout(Duration::from_secs(30)).expect("a timeout");
    connection.pragma_update(None, "synchronous", sync).expect("a pragma");
    let sql = ClaimOrder::Priority.statement();
    Box::new(move || {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).expect("a transaction");
        let none: Option<i64> = None;
        let values =
            named_params! {":worker": worker.as_str(), ":now": now(), ":types": none, ":spare": none};
        let task: Option<i64> = transaction
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row(values, |row| row.get(0)).optional())
            .expect("a claim");
        let log = "INSERT INTO task_logs (task_id, event, worker_id, message, created_at)
                   VALUES (?1, 'claimed', ?2, 'Task claimed by worker', ?3)";
        let values = params![task.expect("a task"), worker.as_str(), now()];
        transaction.prepare_cached(log).and_then(|mut log| log.execute(values)).expect("a log");
        transaction.commit().expect("commit");
    })
}

/// `claimtop api` on the file, ended with the run.
struct Server {
    child: Child,
    /// Its address and a key.
    place: String,
}

impl Server {
    fn start(folder: &Path, path: &Path) -> Server {
        let program = env!("CARGO_BIN_EXE_claimtop");
        let keys = folder.join("keys");
        let made =
            Command::new(program).args(["api", "key", "new", "--keys"]).arg(&keys).output().expect("a key");
        let key = String::from_utf8(made.stdout).expect("a key");
        let mut command = Command::new(program);
        command.arg("api").arg(path).arg("--keys").arg(keys);
        command.args(["--listen", "127.0.0.1:0", "--rate", "0"]).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a server");
        let mut first = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut first).expect("its address");
        let address = first.trim().trim_start_matches("serving http://").trim_end_matches("/api");
        Server { place: format!("{address} {}", key.trim()), child }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A worker keeps its connection.
fn over_http(place: &str, worker: &WorkerId) -> Box<dyn FnMut()> {
    let (address, key) = place.split_once(' ').expect("an address and a key");
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    let mut stream = BufReader::new(stream);
    let body = format!("{{\"worker_id\": \"{worker}\"}}");
    let request = format!(
        "POST /api/tasks/claim HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    Box::new(move || {
        stream.get_mut().write_all(request.as_bytes()).expect("sent");
        let (mut line, mut length) = (String::new(), 0);
        stream.read_line(&mut line).expect("a status");
        assert!(line.contains(" 200 "), "{line}");
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).expect("a header");
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = text.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).expect("a body");
    })
}

fn now() -> String {
    Utc::now().format("%Y-%m-%d %H:%M:%S").to_string()
}
