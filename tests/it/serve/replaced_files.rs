//! A file that is cut off, overwritten, replaced or removed under those who watch it: the dashboard and
//! `serve` say so, show nothing of it as live, and go on when it is back.

use super::*;
use crate::dashboard::pty::{Pty, Start};
use crate::support::COORDINATION;
use claimtop::store::clock;
use rusqlite::Connection;

/// How much of the log is in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    /// All of it, and nobody else has the file open.
    Moved,
    /// All of it, by a worker who stays.
    MovedByWorker,
    /// Nothing: what the worker wrote is in the log alone.
    Needed,
}

/// What is done to the file, by commands in its folder.
struct Change {
    done: &'static str,
    undone: &'static str,
    /// What is said of it; without a word, the figures of the backup are shown.
    said: Option<&'static str>,
}

const fn change(done: &'static str, undone: &'static str, said: &'static str) -> Change {
    Change { done, undone, said: Some(said) }
}

const COPY_BACK: &str = "cp original.db live.db";
const MOVE_BACK: &str = "mv aside.db live.db";

/// What is the same whatever the log holds.
const REMOVED: [Change; 2] = [
    change("mv live.db aside.db", MOVE_BACK, "no such file"),
    change("mv live.db aside.db && mkdir live.db", "rmdir live.db && mv aside.db live.db", "is a directory"),
];

struct Scene {
    folder: TempDir,
    worker: Option<Connection>,
}

impl Scene {
    fn new(log: Log) -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        let scene = Scene { folder, worker: None };
        drop(scene.database("backup.db", &["task-b1", "task-b2", "task-b3"]));
        let worker = scene.database("live.db", &[]);
        let move_log = || {
            let moved = worker.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
            assert_eq!(moved, Ok(0));
        };
        claim(&worker, "task-old");
        move_log();
        let worker = (log != Log::Moved).then_some(worker);
        let scene = Scene { worker, ..scene };
        scene.run("cp live.db original.db && head -c 20000 /dev/urandom > garbage");
        scene
    }

    fn database(&self, name: &str, tasks: &[&str]) -> Connection {
        let connection = Connection::open(self.at(name)).expect("a database");
        connection.pragma_update(None, "journal_mode", "WAL").expect("WAL mode");
        connection.execute_batch(COORDINATION).expect("the tables");
        tasks.iter().for_each(|task| claim(&connection, task));
        connection
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// By processes of their own: closing a handle on a database drops the locks of this one.
    fn run(&self, commands: &str) {
        let status = Command::new("sh").args(["-ec", commands]).current_dir(self.folder.path()).status();
        assert!(status.expect("a shell").success(), "{commands}");
    }

    /// A claim that was not there before.
    fn work(&self, task: &str) {
        match &self.worker {
            Some(worker) => claim(worker, task),
            None => claim(&Connection::open(self.at("live.db")).expect("the database"), task),
        }
    }
}

/// A claim that is over for an hour.
fn claim(connection: &Connection, task: &str) {
    let now = clock().micros() / 1_000;
    let sql = "INSERT INTO task_claims (task_id, session_id, claimed_at, expires_at, last_heartbeat)
               VALUES (?1, 'w', ?2, ?3, ?3)";
    connection.execute(sql, (task, now - 7_200_000, now - 3_600_000)).expect("a claim");
}

fn wait(pty: &Pty, says: &[&str], hides: &[&str]) {
    pty.wait_for(&format!("{says:?} without {hides:?}"), |screen| {
        let shown = screen.contents().split_whitespace().collect::<Vec<_>>().join(" ");
        says.iter().all(|part| shown.contains(part)) && !hides.iter().any(|part| shown.contains(part))
    });
}

/// Does each to a file that both watch, and takes it back.
fn watch(log: Log, changes: &[&Change]) {
    let scene = Scene::new(log);
    let live = scene.at("live.db");
    let server = Server::start(&[], &[&live]);
    let state = scene.at("state");
    let pty = Start::claimtop(&state).folder(scene.folder.path()).with("live.db").run();
    wait(&pty, &["LIVE 1", "task-old"], &[]);
    server.wait_until_read();
    let mut held = 1.0;
    if log == Log::Needed {
        scene.work("task-in-log");
        held = 2.0;
        wait(&pty, &["task-in-log"], &[]);
    }
    server.wait("the figures", |told| told.sum("claimtop_claims_held", &[]) == Some(held));
    for (number, Change { done, undone, said }) in changes.iter().enumerate() {
        eprintln!("{done}");
        scene.run(done);
        match said {
            Some(said) => {
                wait(&pty, &["DISCONNECTED since", said], &[]);
                server.wait("no figures", |told| {
                    told.get("claimtop_up", &[]) == Some(0.0)
                        && told.sum("claimtop_claims_held", &[]).is_none()
                });
                let ready = server.ask("GET", "/readyz");
                assert!(ready.status == 503 && ready.body.contains(said), "{done}: {ready:?}");
            }
            None => {
                wait(&pty, &["LIVE 1", "task-b1", "task-b2", "task-b3"], &["task-old"]);
                server.wait("other figures", |told| told.sum("claimtop_claims_held", &[]) == Some(3.0));
            }
        }
        scene.run(undone);
        wait(&pty, &["LIVE 1", "task-old"], &["DISCONNECTED since", "task-b1"]);
        // It is watched, and not only shown. What is written now the copy would not have.
        if !undone.contains("cp ") {
            scene.work(&format!("task-{number}"));
            held += 1.0;
            wait(&pty, &["LIVE 1", &format!("task-{number}")], &["DISCONNECTED since"]);
            if log != Log::Needed {
                scene.run("cp live.db original.db");
            }
        }
        server.wait("the figures", |told| {
            told.get("claimtop_up", &[]) == Some(1.0) && told.sum("claimtop_claims_held", &[]) == Some(held)
        });
        assert_eq!(server.ask("GET", "/readyz").status, 200);
    }
    pty.quit();
}

#[test]
fn a_file_whose_log_is_all_in_it_is_read_as_it_is() {
    let changes = [
        change("truncate -s 0 live.db", COPY_BACK, "the file is empty"),
        change("truncate -s 9000 live.db", COPY_BACK, "the database is damaged"),
        change("cp garbage live.db", COPY_BACK, "is not a SQLite database"),
        Change { done: "cp backup.db live.db", undone: COPY_BACK, said: None },
        Change {
            done: "mv live.db aside.db && cp backup.db new.db && mv new.db live.db",
            undone: MOVE_BACK,
            said: None,
        },
    ];
    watch(Log::Moved, &changes.iter().chain(&REMOVED).collect::<Vec<_>>());
}

#[test]
fn a_file_that_is_overwritten_beside_a_worker_is_read_as_it_is() {
    let changes = [
        change("cp garbage live.db", COPY_BACK, "is not a SQLite database"),
        Change { done: "cp backup.db live.db", undone: COPY_BACK, said: None },
    ];
    watch(Log::MovedByWorker, &changes.iter().collect::<Vec<_>>());
}

#[test]
fn a_file_that_is_overwritten_under_its_log_is_said_to_be() {
    let overwritten = "something other than SQLite has overwritten it";
    let changes = [
        change("truncate -s 0 live.db", COPY_BACK, "the file is empty, although"),
        change("truncate -s 9000 live.db", COPY_BACK, overwritten),
        change("cp garbage live.db", COPY_BACK, overwritten),
        change("cp backup.db live.db", COPY_BACK, overwritten),
        change("mv live.db aside.db && cp backup.db new.db && mv new.db live.db", MOVE_BACK, overwritten),
    ];
    watch(Log::Needed, &changes.iter().chain(&REMOVED).collect::<Vec<_>>());
}
