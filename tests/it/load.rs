//! Everything at once on one file: 32 workers that are killed and replaced, two sweepers, a dashboard.
//!
//! Triggers write down every finish and every change of hands in the very transaction that makes it.
//! `CLAIMTOP_LOAD_MINUTES` says how long work is brought; without it a fixed amount is.

#![cfg(target_os = "linux")]

mod worker;

use claimtop::reference::{System, install};
use claimtop::worker::Database;
use claimtop::worker::task_queue::{NewTask, TaskQueue};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use crate::dashboard::pty::{Pty, Start};
use crate::support::command;
use worker::{Role, name, start};

const WORKERS: usize = 32;
/// Without a time: so much of each kind of work, and so many workers that die with a claim in hand.
const AMOUNT: i64 = 120;
const DEATHS: usize = 8;

/// Nothing takes this long unless it never happens.
const PATIENCE: Duration = Duration::from_secs(300);

const SCHEMA: &str = "
    CREATE TABLE work (id TEXT PRIMARY KEY, done INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE ledger (what TEXT NOT NULL, id TEXT NOT NULL);
    CREATE TRIGGER task_done AFTER UPDATE OF status ON tasks
      WHEN new.status = 'completed' AND old.status <> 'completed'
      BEGIN INSERT INTO ledger VALUES ('task', new.id); END;
    CREATE TRIGGER work_done AFTER UPDATE OF done ON work
      BEGIN INSERT INTO ledger VALUES ('work', new.id); END;
    CREATE TABLE hands (what TEXT NOT NULL, was TEXT, becomes TEXT);
    CREATE TRIGGER claim_made AFTER INSERT ON task_claims
      BEGIN INSERT INTO hands VALUES (new.task_id, NULL, new.session_id); END;
    CREATE TRIGGER claim_gone AFTER DELETE ON task_claims
      BEGIN INSERT INTO hands VALUES (old.task_id, old.session_id, NULL); END;
    CREATE TRIGGER claim_taken AFTER UPDATE ON task_claims WHEN new.session_id IS NOT old.session_id
      BEGIN INSERT INTO hands VALUES (new.task_id, old.session_id, new.session_id); END;";

/// Numbers that look random; which moments they meet is up to the machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn pause(&mut self, most: u64) {
        park_timeout(Duration::from_millis(self.below(most + 1)));
    }
}

fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("a connection");
    connection.busy_timeout(Duration::from_secs(60)).expect("patience");
    connection
}

fn number(connection: &Connection, sql: &str) -> i64 {
    connection.prepare_cached(sql).expect(sql).query_row([], |row| row.get(0)).expect(sql)
}

/// What is held or waits.
const UNSETTLED: &str = "
    SELECT (SELECT count(*) FROM tasks WHERE status NOT IN ('completed', 'failed'))
         + (SELECT count(*) FROM work WHERE done = 0) + (SELECT count(*) FROM task_claims)";

/// Each finds what is not done exactly once, nor given up with a reason.
const WRONG: [&str; 3] = [
    "SELECT id FROM tasks t WHERE (SELECT count(*) FROM ledger l WHERE l.what = 'task' AND l.id = CAST(t.id AS TEXT))
       <> (t.status = 'completed')",
    "SELECT id FROM tasks WHERE status = 'failed' AND coalesce(error_message, '') = ''",
    "SELECT id FROM work w WHERE (SELECT count(*) FROM ledger l WHERE l.what = 'work' AND l.id = CAST(w.id AS TEXT)) <> 1",
];

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let scene = Scene { folder: tempfile::tempdir().expect("a folder") };
        let mut connection = Connection::open(scene.path()).expect("a database");
        connection.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
        install(&mut connection, &[System::TaskQueue, System::Coordination]).expect("tables");
        connection.execute_batch(SCHEMA).expect("triggers");
        let config = format!(
            "[sweep]\nunfenced = true\nsighted_for = '3s'\nper_day = 1000000\n[source.queue]\nat = {:?}\n\
             profiles = ['task-queue', 'coordination']\n[source.queue.limits]\norphan_after = '5s'\n",
            scene.path()
        );
        std::fs::write(scene.beside("config.toml"), config).expect("a config");
        scene
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn path(&self) -> PathBuf {
        self.beside("queue.db")
    }

    fn sweeper(&self, number: usize) -> Child {
        let mut sweep = command(&["sweep", "queue", "--every", "500ms", "--max-share", "100%"]);
        sweep.args(["--profile", "task-queue", "--profile", "coordination", "--config"]);
        sweep.arg(self.beside("config.toml")).arg("--events").arg(self.beside(&format!("events-{number}")));
        sweep.env("XDG_STATE_HOME", self.beside("state"));
        let said = File::create(self.beside(&format!("sweeper-{number}"))).expect("a file");
        sweep.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn().expect("a sweeper")
    }

    fn dashboard(&self) -> Pty {
        let start = Start::claimtop(&self.beside("state")).folder(self.folder.path());
        let pty = start.with("--config").with(self.beside("config.toml")).with("queue").run();
        pty.wait("LIVE 1");
        pty
    }

    /// The lines that a sweeper wrote on standard error and its events, for when something is wrong.
    fn said(&self, number: usize) -> String {
        std::fs::read_to_string(self.beside(&format!("sweeper-{number}"))).unwrap_or_default()
    }
}

/// Resident memory of a process, in kilobytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a living process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("a number")
}

/// The workers, who die and are replaced.
struct Crew {
    path: PathBuf,
    workers: Vec<(Role, Child)>,
    /// How many died with a claim in hand.
    deaths: usize,
}

impl Crew {
    fn hire(path: &Path) -> Crew {
        let roles = [Role::Tasks, Role::Claims].into_iter().cycle().take(WORKERS);
        Crew { path: path.into(), workers: roles.map(|role| (role, start(path, role))).collect(), deaths: 0 }
    }

    /// Kills one that has a claim, if there is any, and hires another.
    fn replace_one(&mut self, connection: &Connection, dice: &mut Dice) {
        let at = dice.below(WORKERS as u64) as usize;
        let (role, child) = &mut self.workers[at];
        let held = match role {
            Role::Tasks => "SELECT count(*) FROM tasks WHERE status = 'claimed' AND worker_id = ?1",
            Role::Claims => "SELECT count(*) FROM task_claims WHERE session_id = ?1",
        };
        let name = name(child.id());
        let holds = || -> i64 { connection.query_row(held, [&name], |row| row.get(0)).expect(held) };
        if holds() == 0 {
            return;
        }
        child.kill().expect("killed");
        child.wait().expect("its end");
        // It may have finished just before.
        self.deaths += usize::from(holds() > 0);
        *child = start(&self.path, *role);
    }

    fn assert_all_at_work(&mut self) {
        for (role, child) in &mut self.workers {
            assert_eq!(
                child.try_wait().expect("our own child"),
                None,
                "a worker gave up by itself: {role:?}"
            );
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for (_, child) in &mut self.workers {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Brings work, a little at a time; how much was brought of each kind.
struct Feeder {
    queue: TaskQueue,
    brought: i64,
}

impl Feeder {
    fn feed(&mut self, connection: &Connection) {
        let waiting = "SELECT (SELECT count(*) FROM tasks WHERE status = 'pending')
                            + (SELECT count(*) FROM work WHERE done = 0)";
        if number(connection, waiting) > 2 * WORKERS as i64 {
            return;
        }
        for _ in 0..WORKERS / 2 {
            self.queue.enqueue(&NewTask::of("render")).expect("enqueued");
            self.brought += 1;
            let id = format!("work-{}", self.brought);
            connection.execute("INSERT INTO work (id) VALUES (?1)", [id]).expect("more work");
        }
    }
}

/// From nobody to one, from one to nobody or to another: who leaves is who had it.
fn assert_hands_fit(connection: &Connection) {
    let sql = "SELECT what, was, becomes FROM hands ORDER BY rowid";
    let mut statement = connection.prepare(sql).expect(sql);
    let mut rows = statement.query([]).expect(sql);
    let mut holders: BTreeMap<String, Option<String>> = BTreeMap::new();
    while let Some(row) = rows.next().expect(sql) {
        let what: String = row.get(0).expect("a name");
        let (was, becomes): (Option<String>, Option<String>) =
            (row.get(1).expect("a name"), row.get(2).expect("a name"));
        let holder = holders.entry(what.clone()).or_default();
        assert_eq!(*holder, was, "{what} was in other hands");
        *holder = becomes;
    }
    assert!(holders.values().all(Option::is_none), "something is still held");
}

#[test]
fn under_load_nothing_is_lost_or_done_twice_and_memory_stays_flat() {
    let minutes: Option<u64> =
        std::env::var("CLAIMTOP_LOAD_MINUTES").ok().map(|text| text.parse().expect("minutes"));
    let scene = Scene::new();
    let connection = connect(&scene.path());
    let mut queue = TaskQueue::new(Database::open(&scene.path()).expect("a database"));
    queue.register_type("render", "1", None).expect("a type");
    let mut feeder = Feeder { queue, brought: 0 };
    let mut crew = Crew::hire(&scene.path());
    let mut sweepers = [scene.sweeper(0), scene.sweeper(1)];
    let pty = scene.dashboard();
    let dashboard = pty.pid().as_raw_nonzero().get().cast_unsigned();
    let watched = [sweepers[0].id(), sweepers[1].id(), dashboard];
    let (begun, mut dice) = (Instant::now(), Dice(0x10ad));
    let end = minutes.map(|minutes| begun + Duration::from_secs(60 * minutes));
    let is_enough = |feeder: &Feeder, crew: &Crew| match end {
        Some(end) => Instant::now() >= end,
        None => feeder.brought >= AMOUNT && crew.deaths >= DEATHS,
    };
    let mut warm: Option<[u64; 3]> = None;
    while !is_enough(&feeder, &crew) {
        feeder.feed(&connection);
        // For as long as the test may take, a worker dies every second or so.
        let dies = if minutes.is_some() { dice.below(16) == 0 } else { crew.deaths < DEATHS };
        if dies {
            crew.replace_one(&connection, &mut dice);
        }
        let done = number(&connection, "SELECT count(*) FROM ledger");
        if warm.is_none() && done >= AMOUNT / 2 {
            warm = Some(watched.map(resident));
        }
        assert!(minutes.is_some() || begun.elapsed() < PATIENCE, "{done} done, {} deaths", crew.deaths);
        dice.pause(100);
    }
    let drained = Instant::now();
    while number(&connection, UNSETTLED) > 0 {
        assert!(drained.elapsed() < PATIENCE, "left: {} {}", scene.said(0), scene.said(1));
        park_timeout(Duration::from_millis(50));
    }
    crew.assert_all_at_work();
    let last = watched.map(resident);
    let warm = warm.expect("work that was done");
    for (who, (warm, last)) in ["one sweeper", "the other", "the dashboard"].iter().zip(warm.iter().zip(last))
    {
        assert!(last <= warm + warm / 2 + 32 * 1_024, "{who} grew from {warm} to {last} kB");
    }
    for (number, sweeper) in sweepers.iter_mut().enumerate() {
        let pid = Pid::from_raw(sweeper.id().cast_signed()).expect("no process is 0");
        kill_process(pid, Signal::TERM).expect("our own child");
        assert_eq!(sweeper.wait().expect("its end").code(), Some(0), "{}", scene.said(number));
    }
    pty.quit();
    let (deaths, brought) = (crew.deaths, feeder.brought);
    drop(crew);
    assert_eq!(number(&connection, "SELECT count(*) FROM tasks"), brought, "no task is lost");
    assert_eq!(number(&connection, "SELECT count(*) FROM work"), brought, "no work is lost");
    // Ten minutes of work are too much to look for each piece in all of it.
    connection.execute_batch("CREATE INDEX ledger_of ON ledger (what, id)").expect("an index");
    for sql in WRONG {
        let mut statement = connection.prepare(sql).expect(sql);
        let wrong = statement.query_map([], |row| row.get::<_, rusqlite::types::Value>(0)).expect(sql);
        let wrong: Vec<_> = wrong.map(|id| id.expect("an id")).collect();
        assert!(wrong.is_empty(), "{sql}: {wrong:?}");
    }
    assert_hands_fit(&connection);
    assert_trail_and_events(&scene, deaths);
    println!("{brought} of each kind, {deaths} deaths with a claim, memory {warm:?} → {last:?} kB");
}

/// The trail is whole, the sweepers took what the dead held, and every event is a line of JSON.
fn assert_trail_and_events(scene: &Scene, deaths: usize) {
    let audit = |arguments: &[&str]| {
        let output = command(arguments).env("XDG_STATE_HOME", scene.beside("state")).output().expect("runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    audit(&["audit", "verify"]);
    let exported = audit(&["audit", "export"]);
    let swept = exported.lines().filter(|line| line.contains("\"outcome\":\"applied\"")).count();
    assert!(deaths > 0 && swept > 0, "{deaths} died with a claim, {swept} claims were swept");
    for number in 0..2 {
        let events = std::fs::read_to_string(scene.beside(&format!("events-{number}"))).expect("events");
        assert!(!events.is_empty());
        for line in events.lines() {
            let event: serde_json::Value = serde_json::from_str(line).expect(line);
            assert!(event["event"].is_string(), "{line}");
        }
    }
}
