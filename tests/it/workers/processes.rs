//! Real processes on one file, watched by an observer that knows only the tables.
//!
//! The observer sees an instant now and then. Triggers write down every change of hands in the very
//! transaction that makes it, so what happened between two of its looks is checked as well.

#![cfg(target_os = "linux")]

#[path = "merge_queue/invariants.rs"]
#[allow(clippy::duplicate_mod, reason = "the same invariants hold whoever the agents are")]
mod invariants;

use crate::support::Ending;
use claimtop::domain::time::Span;
use claimtop::reference::System;
use claimtop::worker::finalization::{Completion, Finalization, FinalizationClaim, StepEnd};
use claimtop::worker::merge_queue::{Claimed, MergeQueue, NewEntry, Status, TransitionOutcome};
use claimtop::worker::task_queue::{NewTask, TaskClaim, TaskFilter, TaskQueue, WorkerId};
use claimtop::worker::{Database, WorkerError};
use rusqlite::Connection;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, park_timeout};
use std::time::Duration;

use crate::support;
use invariants::{assert_invariants, assert_one_owner};

const DATABASE: &str = "CLAIMTOP_PROCESSES_DATABASE";
const ROLE: &str = "CLAIMTOP_PROCESSES_ROLE";
const NAME: &str = "CLAIMTOP_PROCESSES_NAME";

/// Long enough for the slowest machine: no claim of these tests ever runs out.
const TIMEOUT: Span = Span::seconds(3_600);

/// How much there is to do.
fn amount() -> i64 {
    if std::env::var_os("CLAIMTOP_ROUNDS").is_some() { 2_000 } else { 300 }
}

/// Does nothing unless another test starts it: a process that works until nothing is left, and says
/// what it got.
#[test]
#[ignore = "a part of another test"]
fn child() {
    let (Some(path), Ok(role)) = (std::env::var_os(DATABASE), std::env::var(ROLE)) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let name = std::env::var(NAME).unwrap();
    let database = Database::open(&PathBuf::from(path)).unwrap();
    println!("\nREADY");
    io::stdin().lock().read_line(&mut String::new()).unwrap();
    let got = match role.as_str() {
        "merge" => merge(&mut MergeQueue::new(database), &name),
        "finalize" => finalize(&mut Finalization::new(database), &name),
        _ => claim_once(&mut TaskQueue::new(database), &name),
    };
    println!("\nGOT {}", got.join(" "));
}

/// Once more after a busy database, which has changed nothing.
fn patiently<T>(mut work: impl FnMut() -> Result<T, WorkerError>) -> T {
    loop {
        match work() {
            Ok(done) => return done,
            Err(WorkerError::Busy { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn merge(queue: &mut MergeQueue, agent: &str) -> Vec<String> {
    let mut merged = Vec::new();
    loop {
        match patiently(|| queue.next_with_lock(agent)).claimed {
            Claimed::Entry(entry) => {
                use Status::{Merged, Merging, ReadyToMerge, Rebasing, Testing};
                for to in [Rebasing, Testing, ReadyToMerge, Merging, Merged] {
                    let moved = patiently(|| queue.transition(entry.id, agent, to));
                    assert!(
                        matches!(&moved, TransitionOutcome::Done(entry) if entry.status == to),
                        "{to}: {moved:?}"
                    );
                }
                assert!(patiently(|| queue.release_processing_lock(agent)), "the lock was not its own");
                merged.push(entry.id.to_string());
            }
            Claimed::Locked(lock) => {
                assert_ne!(lock.agent_id, agent);
                // Others need the processor too.
                park_timeout(Duration::from_millis(1));
            }
            Claimed::Nothing => return merged,
        }
    }
}

/// Every task in the same order, so that all want the same one.
fn finalize(finalization: &mut Finalization, processor: &str) -> Vec<String> {
    let mut finalized = Vec::new();
    for number in 0..amount() {
        let task = format!("task-{number}");
        match patiently(|| finalization.claim_task_for_finalization(&task, processor, TIMEOUT)) {
            FinalizationClaim::Claimed { .. } => {
                if number % 3 == 0 {
                    assert!(patiently(|| finalization.extend(&task, processor)), "the claim was not its own");
                }
                assert_eq!(patiently(|| finalization.complete(&task, processor)), Completion::Completed);
                finalized.push(task);
            }
            FinalizationClaim::AlreadyClaimed { by, .. } => assert_ne!(by, processor),
            FinalizationClaim::AlreadyComplete => {}
            other => panic!("{other:?}"),
        }
    }
    finalized
}

fn claim_once(queue: &mut TaskQueue, worker: &str) -> Vec<String> {
    let worker = WorkerId::new(worker).unwrap();
    match patiently(|| queue.claim(&worker, &TaskFilter::default())) {
        TaskClaim::Task(task) => vec![task.id.to_string()],
        TaskClaim::Nothing => vec!["nothing".into()],
        other @ TaskClaim::LostRace { .. } => panic!("{other:?}"),
    }
}

/// Processes that are ready, and wait for the word to begin.
struct Crew(Vec<(Child, BufReader<ChildStdout>)>);

impl Crew {
    fn hire(count: usize, role: &str, path: &Path) -> Crew {
        let start = |number| {
            let mut command = Command::new(std::env::current_exe().expect("this binary"));
            command.args(["--exact", "workers::processes::child", "--ignored", "--nocapture"]);
            command.env(DATABASE, path).env(ROLE, role).env(NAME, format!("worker-{number}"));
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
            let mut child = command.spawn().expect("a process");
            let output = BufReader::new(child.stdout.take().expect("its output"));
            (child, output)
        };
        let mut crew = Crew((0..count).map(start).collect());
        for (_, output) in &mut crew.0 {
            let ready = output.by_ref().lines().map_while(Result::ok).any(|line| line == "READY");
            assert!(ready, "a process did not start");
        }
        crew
    }

    /// All begin at once; what each of them got.
    fn work(mut self) -> Vec<Vec<String>> {
        // Letting go of their standard input is the word to begin.
        for (child, _) in &mut self.0 {
            drop(child.stdin.take());
        }
        let answer = |(mut child, output): (Child, BufReader<ChildStdout>)| {
            let lines: Vec<String> = output.lines().map_while(Result::ok).collect();
            assert!(child.wait().expect("its end").success(), "{lines:?}");
            let got = lines.iter().find_map(|line| line.strip_prefix("GOT")).expect("an answer");
            got.split_whitespace().map(str::to_owned).collect()
        };
        self.0.into_iter().map(answer).collect()
    }

    /// The same while somebody looks again and again; what each got, and who looked.
    fn work_watched<T: Look + Send>(self, detector: T) -> (Vec<Vec<String>>, T) {
        let over = &AtomicBool::new(false);
        thread::scope(|scope| {
            let detector = scope.spawn(move || observe(over, detector));
            let got = {
                let _ending = Ending(over);
                self.work()
            };
            (got, detector.join().expect("an observer that found nothing"))
        })
    }
}

/// Looks at the tables, and fails if they are not as they should be.
trait Look {
    fn look(&mut self);
}

fn observe<T: Look>(over: &AtomicBool, mut detector: T) -> T {
    let mut looks = 0_u64;
    // On a busy machine the others may be done before it gets its turn: what they leave is looked at as well.
    while !over.load(Ordering::SeqCst) || looks <= 10 {
        detector.look();
        looks += 1;
    }
    println!("{looks} looks");
    detector
}

fn observer(file: &support::Database) -> Connection {
    let connection = Connection::open(file.path()).expect("a connection");
    connection.pragma_update(None, "query_only", true).expect("an observer that only looks");
    connection
}

fn number(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).expect(sql)
}

/// All that was got, in order.
fn sorted<T: Ord + std::str::FromStr<Err: std::fmt::Debug>>(got: &[Vec<String>]) -> Vec<T> {
    let mut all: Vec<T> = got.iter().flatten().map(|id| id.parse().expect("an id")).collect();
    all.sort_unstable();
    all
}

/// A change of hands: who had a thing before, and who has it now.
type Change = (Option<String>, Option<String>);

/// The changes of hands of every thing, first to last.
fn hands(file: &support::Database) -> BTreeMap<String, Vec<Change>> {
    let sql = "SELECT what, was, becomes FROM hands ORDER BY rowid";
    let mut statement = file.connection.prepare(sql).expect(sql);
    let mut rows = statement.query([]).expect(sql);
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    while let Some(row) = rows.next().expect(sql) {
        let what: String = row.get(0).expect("a name");
        all.entry(what).or_default().push((row.get(1).expect("a name"), row.get(2).expect("a name")));
    }
    all
}

/// From nobody to one, from this one to nobody, and so on; how many had it.
#[track_caller]
fn assert_never_two_owners(what: &str, changes: &[Change]) -> usize {
    for pair in changes.chunks(2) {
        let [(None, Some(taken)), (Some(left), None)] = pair else { panic!("{what}: {pair:?}") };
        assert_eq!(taken, left, "{what}");
    }
    changes.len() / 2
}

const MERGE_HANDS: &str = "
    CREATE TABLE hands (what TEXT NOT NULL, was TEXT, becomes TEXT);
    CREATE TRIGGER lock_taken AFTER INSERT ON queue_processing_lock
      BEGIN INSERT INTO hands VALUES ('lock', NULL, new.agent_id); END;
    CREATE TRIGGER lock_left AFTER DELETE ON queue_processing_lock
      BEGIN INSERT INTO hands VALUES ('lock', old.agent_id, NULL); END;
    CREATE TRIGGER lock_changed AFTER UPDATE ON queue_processing_lock WHEN new.agent_id IS NOT old.agent_id
      BEGIN INSERT INTO hands VALUES ('lock', old.agent_id, new.agent_id); END;
    CREATE TRIGGER entry_changed AFTER UPDATE ON merge_queue WHEN new.agent_id IS NOT old.agent_id
      BEGIN INSERT INTO hands VALUES ('entry ' || new.id, old.agent_id, new.agent_id); END;";

/// What an detector knows of the queue: who had an entry.
struct LockOnlooker {
    connection: Connection,
    owners: BTreeSet<String>,
}

impl Look for LockOnlooker {
    fn look(&mut self) {
        self.owners.extend(assert_one_owner(&self.connection));
        assert_invariants(&self.connection);
    }
}

#[test]
fn thirty_two_processes_merge_every_entry_once_and_never_two_at_a_time() {
    let entries = amount();
    let file = support::Database::new(&format!("{}{MERGE_HANDS}", System::MergeQueue.sqlite()));
    let mut queue = MergeQueue::new(Database::open(&file.path()).unwrap());
    for number in 1..=entries {
        let new = NewEntry::of(&format!("w-{number}")).for_bead(&format!("bd-{number}"));
        assert_eq!(queue.enqueue(&new).unwrap().id(), number);
    }
    let detector = LockOnlooker { connection: observer(&file), owners: BTreeSet::new() };
    let (got, detector) = Crew::hire(32, "merge", &file.path()).work_watched(detector);
    assert_eq!(sorted::<i64>(&got), (1..=entries).collect::<Vec<_>>(), "each once, none lost");
    println!("{} owners were seen", detector.owners.len());
    assert!(!detector.owners.is_empty(), "nobody was ever seen with the lock");
    assert_eq!(number(&file.connection, "SELECT count(*) FROM merge_queue WHERE status <> 'merged'"), 0);
    assert_eq!(number(&file.connection, "SELECT count(*) FROM queue_processing_lock"), 0);
    let claimed = "SELECT count(*) FROM queue_events WHERE event_type = 'claimed'";
    assert_eq!(number(&file.connection, claimed), entries);
    let hands = hands(&file);
    assert_eq!(hands.len() as i64, entries + 1);
    for (what, changes) in &hands {
        let owners = assert_never_two_owners(what, changes) as i64;
        assert!(if what == "lock" { owners >= entries } else { owners == 1 }, "{what}: {changes:?}");
    }
}

const FINALIZE_HANDS: &str = "
    CREATE TABLE hands (what TEXT NOT NULL, was TEXT, becomes TEXT);
    CREATE TRIGGER task_changed AFTER UPDATE ON tasker_tasks WHEN new.claimed_by IS NOT old.claimed_by
      BEGIN INSERT INTO hands VALUES (new.task_uuid, old.claimed_by, new.claimed_by); END;";

/// What an detector knows of the tasks: who had each of them when it was last looked at.
struct ClaimOnlooker {
    connection: Connection,
    holders: BTreeMap<String, String>,
}

impl Look for ClaimOnlooker {
    /// No claim of these tests runs out or is given up, so a task has one holder, ever.
    fn look(&mut self) {
        let sql = "SELECT task_uuid, claimed_by, claimed_at, complete FROM tasker_tasks
                   WHERE claimed_by IS NOT NULL OR claimed_at IS NOT NULL";
        let mut statement = self.connection.prepare_cached(sql).expect(sql);
        let mut rows = statement.query([]).expect(sql);
        while let Some(row) = rows.next().expect(sql) {
            let task: String = row.get(0).expect("a task");
            let (holder, since): (Option<String>, Option<String>) =
                (row.get(1).expect("a name"), row.get(2).expect("a time"));
            assert!(since.is_some() && !row.get::<_, bool>(3).expect("a flag"), "{task}: half a claim");
            let holder = holder.unwrap_or_else(|| panic!("{task}: half a claim"));
            let first = self.holders.entry(task.clone()).or_insert_with(|| holder.clone());
            assert_eq!(*first, holder, "{task} changed hands while its claim was valid");
        }
    }
}

#[test]
fn thirty_two_processes_finalize_every_task_once_and_no_claim_changes_hands() {
    let tasks = amount();
    let file = support::Database::new(&format!("{}{FINALIZE_HANDS}", System::Finalization.sqlite()));
    let mut finalization = Finalization::new(Database::open(&file.path()).unwrap());
    for number in 0..tasks {
        let (task, step) = (format!("task-{number}"), format!("step-{number}"));
        assert!(finalization.add_task(&task, 0).unwrap());
        assert!(finalization.add_step(&task, &step).unwrap());
        assert!(finalization.end_step(&step, StepEnd::Completed).unwrap());
    }
    let detector = ClaimOnlooker { connection: observer(&file), holders: BTreeMap::new() };
    let (got, detector) = Crew::hire(32, "finalize", &file.path()).work_watched(detector);
    let mut expected: Vec<String> = (0..tasks).map(|number| format!("task-{number}")).collect();
    expected.sort_unstable();
    assert_eq!(sorted::<String>(&got), expected, "each once, none lost");
    println!("{} claims were seen", detector.holders.len());
    assert!(!detector.holders.is_empty(), "no claim was ever seen");
    for (number, mine) in got.iter().enumerate() {
        for task in mine {
            let seen = detector.holders.get(task);
            assert!(seen.is_none_or(|holder| *holder == format!("worker-{number}")), "{task}: {seen:?}");
        }
    }
    let left = "SELECT count(*) FROM tasker_tasks WHERE complete = 0 OR claimed_by IS NOT NULL";
    assert_eq!(number(&file.connection, left), 0);
    let ended = "SELECT count(*) FROM tasker_task_transitions WHERE to_state = 'complete'";
    assert_eq!(number(&file.connection, ended), tasks);
    let hands = hands(&file);
    assert_eq!(hands.len() as i64, tasks);
    for (task, changes) in &hands {
        assert_eq!(assert_never_two_owners(task, changes), 1, "{task}: {changes:?}");
    }
}

#[test]
fn of_ten_processes_on_five_tasks_five_succeed_and_five_hear_that_there_is_nothing() {
    for _ in 0..3 {
        let file = support::Database::new(System::TaskQueue.sqlite());
        let mut queue = TaskQueue::new(Database::open(&file.path()).unwrap());
        queue.register_type("render", "1", None).unwrap();
        for _ in 0..5 {
            queue.enqueue(&NewTask::of("render")).unwrap();
        }
        let got = Crew::hire(10, "claim", &file.path()).work();
        let (empty, taken): (Vec<_>, Vec<_>) =
            got.into_iter().partition(|answer| answer == &["nothing".to_owned()]);
        assert_eq!((empty.len(), sorted::<i64>(&taken)), (5, vec![1, 2, 3, 4, 5]));
        let holders = "SELECT count(DISTINCT worker_id) FROM tasks WHERE status = 'claimed'";
        assert_eq!(number(&file.connection, holders), 5);
        let log = "SELECT count(*) FROM task_logs WHERE event = 'claimed'";
        assert_eq!(number(&file.connection, log), 5);
    }
}
