//! SIGKILL at every call that touches the database or the journal, for every kind of act: what the trail says
//! afterwards is what an independent look at the rows shows, and nothing that was finished comes back.
//!
//! A preloaded library counts the calls of all threads and ends the process at one of them (`support/preload/kill_at.c`).

use super::*;
use crate::support::engine::is_fast;
use crate::support::engine::{Engine, engine, on, on_both_engines};
use crate::support::figures;
use crate::support::preload::Preload;
use crate::support::server::until;
use std::collections::BTreeMap;
use std::process::Stdio;

const JOBS: &str = "
    CREATE TABLE executor_jobs (id TEXT PRIMARY KEY NOT NULL, type TEXT NOT NULL,
      status TEXT NOT NULL DEFAULT 'queued', attempts INTEGER NOT NULL DEFAULT 0,
      max_attempts INTEGER NOT NULL DEFAULT 10, run_at timestamptz, locked_at timestamptz, locked_by TEXT,
      heartbeat_at timestamptz, last_error TEXT, updated_at timestamptz);
    INSERT INTO executor_jobs (id, type, status, attempts, last_error) VALUES ('dead-1', 'run_tsa', 'dead', 10, 'boom');";

/// A kind of act: its arguments, after what has to be done before.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Delete,
    Update,
    Bulk,
    Session,
    Undo,
    Requeue,
    Sweep,
}

const KINDS: [Kind; 7] =
    [Kind::Delete, Kind::Update, Kind::Bulk, Kind::Session, Kind::Undo, Kind::Requeue, Kind::Sweep];

impl Kind {
    fn arguments(self, scene: &Scene) -> Vec<String> {
        let words: &[&str] = match self {
            Kind::Delete => &["reclaim", "DB", "task-0001"],
            Kind::Update => &["extend", "DB", "task-0001"],
            Kind::Bulk => &["reclaim", "DB", "--set", "stale", "--yes"],
            Kind::Session => &["release", "DB", "--session", "gone", "--yes"],
            Kind::Undo => {
                let done = scene.run(&["reclaim", "DB", "task-0001", "--json"]).came_to(0, "applied");
                let action = done["action_id"].as_str().expect("an id").to_owned();
                return vec!["undo".into(), "DB".into(), action];
            }
            Kind::Requeue => &["requeue", "DB", "dead-1"],
            Kind::Sweep => &["sweep", "DB", "--once"],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}

/// What else is not the same from kill to kill.
#[derive(Debug, Clone, Copy)]
struct Case {
    kind: Kind,
    with_table: bool,
    /// How a file keeps transactions apart.
    has_log: bool,
    /// Between the kill and the next act the worker finishes what it still holds.
    worker_finishes: bool,
}

/// Everything there is to lose, by table and id.
type Rows = BTreeMap<(String, String), String>;

impl Case {
    fn scene(self) -> Scene {
        let scene = Scene::of(&format!("{COORDINATION}{JOBS}"));
        if !self.has_log && scene.database.server().is_none() {
            scene.database.connection.pragma_update(None, "journal_mode", "DELETE").expect("no log");
        }
        scene.session("worker-1", SECOND);
        scene.session("gone", 60 * MINUTE);
        scene.tasks(3);
        scene.task("of-gone", "gone", -60 * MINUTE);
        scene.lock("lock-of-gone", "gone", -60 * MINUTE);
        scene.task("next", "worker-1", 60 * MINUTE);
        if self.with_table {
            assert_eq!(scene.run(&["audit", "init", "DB"]).code, 0);
        }
        scene
    }

    /// Whether the database can tell what became of any transaction.
    fn is_traceable(self) -> bool {
        self.with_table || engine() == Engine::Postgres
    }
}

fn rows(scene: &Scene) -> Rows {
    let mut all = Rows::new();
    for (table, id) in
        [("task_claims", "task_id"), ("locks", "resource"), ("sessions", "id"), ("executor_jobs", "id")]
    {
        for row in scene.database.rows(&format!("SELECT {id}, t.* FROM {table} AS t WHERE {id} <> 'next'")) {
            let id = row[0].clone().expect("an id");
            all.insert((table.into(), id), format!("{row:?}"));
        }
    }
    all
}

static KILL_AT: Preload = Preload::new("kill_at");

/// Runs the program up to one of its calls (0: to its end); which call that was, or how many there are.
fn run_to(scene: &Scene, arguments: &[String], call: u64) -> (u64, String) {
    let told = scene.database.beside("told");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = scene.command(&arguments);
    command.env("LD_PRELOAD", KILL_AT.path()).env("KILL_IN", scene.database.folder()).env("KILL_TOLD", &told);
    command.env("KILL_AT", call.to_string()).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).status().expect("claimtop runs");
    let told = fs::read_to_string(told).expect("which call it was");
    let (number, name) = told.split_once(' ').expect("a number and a name");
    (number.parse().expect("a number"), name.to_owned())
}

/// A server goes on until it hears that nobody listens any more.
fn wait_for_its_end(scene: &Scene) {
    let Some(server) = scene.database.server() else { return };
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                  AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    until("the end of the killed one's session", || server.value(others).as_deref() == Some("0"));
}

/// An act of the trail.
#[derive(Debug, Default)]
struct Act {
    /// The rows it changes.
    keys: Vec<(String, String)>,
    outcome: Option<String>,
    is_inferred: bool,
}

/// The acts of the trail that are not known yet.
fn acts(scene: &Scene, known: &BTreeMap<String, Act>) -> BTreeMap<String, Act> {
    let mut acts: BTreeMap<String, Act> = BTreeMap::new();
    for record in scene.export() {
        let id = record["action_id"].as_str().expect("an id").to_owned();
        if known.contains_key(&id) {
            continue;
        }
        let act = acts.entry(id).or_default();
        if record["stage"] == "intent" {
            for (before, after) in record["before"]
                .as_array()
                .into_iter()
                .flatten()
                .zip(record["after"].as_array().into_iter().flatten())
            {
                let row = if before["row"].is_null() { &after["row"] } else { &before["row"] };
                let id = ["task_id", "resource", "id"].into_iter().find_map(|name| row[name].as_str());
                let table = before["table"].as_str().expect("a table").to_owned();
                act.keys.push((table, id.expect("an id").to_owned()));
            }
        } else if record["outcome"] != "unknown" {
            act.outcome = record["outcome"].as_str().map(str::to_owned);
            act.is_inferred = record["inferred"] == true;
        }
    }
    acts
}

/// The worker finishes what the trail names and the act did not get.
fn finish(scene: &Scene, key: &(String, String)) {
    let (table, id) = key;
    let sql = match table.as_str() {
        "task_claims" => "DELETE FROM task_claims WHERE task_id = ?1",
        "locks" => "DELETE FROM locks WHERE resource = ?1",
        "sessions" => "DELETE FROM sessions WHERE id = ?1",
        _ => "UPDATE executor_jobs SET status = 'succeeded' WHERE id = ?1",
    };
    scene.execute(sql, [id]);
}

#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    acts: u64,
    committed: u64,
    applied: u64,
    inferred: u64,
    refused: u64,
    open: u64,
    undone: u64,
    by_call: BTreeMap<String, u64>,
}

fn kill(case: Case, call: u64, tally: &mut Tally) {
    let scene = case.scene();
    let arguments = case.kind.arguments(&scene);
    let known = acts(&scene, &BTreeMap::new());
    let before = rows(&scene);
    let (_, name) = run_to(&scene, &arguments, call);
    let story = format!("{:?}, {case:?}, killed at call {call} ({name})", engine());
    *tally.by_call.entry(name).or_default() += 1;
    tally.kills += 1;
    wait_for_its_end(&scene);

    let at_kill = rows(&scene);
    let is_committed = |key: &(String, String)| before.get(key) != at_kill.get(key);
    let intended = acts(&scene, &known);
    for key in before.keys().chain(at_kill.keys()).filter(|key| is_committed(key)) {
        assert!(intended.values().any(|act| act.keys.contains(key)), "{story}: {key:?} went unrecorded");
    }
    tally.acts += intended.len() as u64;
    let committed = |act: &Act| act.keys.iter().any(is_committed);
    for (id, act) in &intended {
        let is_all = act.keys.iter().all(is_committed);
        assert_eq!(committed(act), is_all, "{story}: {id} is half done");
        tally.committed += u64::from(is_all);
        if case.worker_finishes && !is_all {
            act.keys.iter().for_each(|key| finish(&scene, key));
        }
    }

    scene.run(&["extend", "DB", "next", "--json"]).came_to(0, "applied");
    let verified = scene.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{story}: {verified:#?}");
    let listed = scene.run(&["audit", "list", "--open", "--json"]).lines();
    let settled = acts(&scene, &known);
    for (id, was) in &intended {
        let (now, is_listed) = (&settled[id], listed.iter().any(|one| one["record"]["action_id"] == **id));
        let said = now.outcome.as_deref();
        match said {
            Some("applied") => assert!(committed(was), "{story}: {id} is called applied, and was not"),
            Some("refused") => assert!(!committed(was), "{story}: {id} was applied, and is called refused"),
            other => assert_eq!(other, None, "{story}"),
        }
        assert_eq!(is_listed, said.is_none(), "{story}: {id} came to {now:?}");
        assert!(!case.is_traceable() || (said.is_some() && !now.is_inferred), "{story}: {id} is {now:?}");
        tally.open += u64::from(said.is_none());
        tally.inferred += u64::from(now.is_inferred);
        tally.applied += u64::from(said == Some("applied"));
        tally.refused += u64::from(said == Some("refused"));
    }
    for (id, was) in intended.iter().rev().take(3) {
        take_back(&scene, id, was, &settled[id], &before, &story, tally);
    }
}

/// An undo afterwards is exact, or nothing.
fn take_back(scene: &Scene, id: &str, was: &Act, now: &Act, before: &Rows, story: &str, tally: &mut Tally) {
    let left = rows(scene);
    let undone = scene.run(&["undo", "DB", id, "--json"]);
    let after = rows(scene);
    let may = now.outcome.as_deref() == Some("applied") && !now.is_inferred;
    if undone.code == 0 {
        tally.undone += 1;
        assert!(may, "{story}: {id} was undone as {now:?}");
        for key in &was.keys {
            assert_eq!(after.get(key), before.get(key), "{story}: {id} is not back");
        }
    } else {
        assert_eq!(after, left, "{story}: an undo that failed has changed rows: {undone:#?}");
        // An act that the trail calls applied for certain had nobody after it here.
        assert!(!may, "{story}: {id} cannot be undone: {undone:#?}");
        assert!([3, 5].contains(&undone.code), "{story}: {undone:#?}");
    }
}

/// Whether every call of every case is met, as in a soak run, or some of them.
fn is_every_step_wanted() -> bool {
    std::env::var_os("CLAIMTOP_EVERY_STEP").is_some()
}

fn calls(case: Case) -> Vec<u64> {
    let scene = case.scene();
    let arguments = case.kind.arguments(&scene);
    let (all, _) = run_to(&scene, &arguments, 0);
    assert!(all > 10, "only {all} calls of {case:?}");
    if is_every_step_wanted() {
        return (1..=all).collect();
    }
    // The first half of them only looks.
    let some = match engine() {
        Engine::Sqlite if is_fast() => 2,
        Engine::Sqlite => 5,
        Engine::Postgres => 2,
    };
    (0..some).map(|number| all - 2 - number * all / (2 * some)).collect()
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (at, kind) in KINDS.into_iter().enumerate() {
        for [with_table, has_log, worker_finishes] in (0..8).map(|n| [1, 2, 4].map(|bit| n & bit != 0)) {
            let is_wanted = if is_every_step_wanted() {
                has_log || engine() == Engine::Sqlite
            } else {
                with_table != worker_finishes && has_log == (with_table != at.is_multiple_of(2))
            };
            if is_wanted {
                cases.push(Case { kind, with_table, has_log, worker_finishes });
            }
        }
    }
    cases
}

fn kill_at_every_step() {
    let mut tally = Tally::default();
    for case in cases() {
        for call in calls(case) {
            kill(case, call, &mut tally);
        }
    }
    figures::tell(&format!("killed at every step on {:?}: {tally:?}", engine()));
    figures::promise(
        "An act killed at any call leaves no false outcome, and nothing finished comes back.",
        tally.kills,
        0,
    );
    assert!(tally.committed > 0 && tally.refused > 0 && tally.undone > 0, "{tally:?}");
}

fn a_kill_at_any_step_leaves_no_false_outcome_and_nothing_finished_comes_back(engine: Engine) {
    on(engine, kill_at_every_step);
}

on_both_engines!(a_kill_at_any_step_leaves_no_false_outcome_and_nothing_finished_comes_back);
