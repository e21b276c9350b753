//! Faults at the COMMIT itself: what is said of the act is what became of it, or that it is not known.

use super::*;
use crate::support::figures;
use crate::support::postgres::{Session, url};
use crate::support::server::{Server, USER, socket_folder};
use postgres::config::Host;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// `./tests/run --soak` asks for more.
fn faults() -> u64 {
    number("CLAIMTOP_COMMIT_FAULTS", 16)
}

/// What happens to the next COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The server never hears of it.
    CutBefore,
    /// It gets a part of the message.
    CutInside,
    /// The connection is gone as soon as it is sent.
    CutAfter,
    /// The answer is lost.
    LoseAnswer,
    /// The backend is ended at that moment.
    Terminate,
    /// The server falls over before it hears of it.
    FallBefore,
    /// Or after.
    FallAfter,
}

const OFTEN: [Fault; 5] =
    [Fault::CutBefore, Fault::CutInside, Fault::CutAfter, Fault::LoseAnswer, Fault::Terminate];

impl Fault {
    /// A server takes a second to get up, so it falls less often.
    fn number(number: u64) -> Fault {
        match number % 16 {
            7 => Fault::FallBefore,
            15 => Fault::FallAfter,
            other => OFTEN[usize::try_from(other % 5).expect("small")],
        }
    }
}

const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// A way to the server that does something to the next COMMIT.
struct CommitProxy {
    folder: TempDir,
    next: Arc<Mutex<Option<Fault>>>,
    /// That a COMMIT has come which somebody else has to do something to, and that it is done.
    reached: Receiver<Fault>,
    done: Sender<()>,
}

struct Pump {
    near: UnixStream,
    far: UnixStream,
    next: Arc<Mutex<Option<Fault>>>,
    loses_answer: Arc<AtomicBool>,
    reached: Sender<Fault>,
    done: Arc<Mutex<Receiver<()>>>,
}

impl CommitProxy {
    fn to(server: &Path) -> CommitProxy {
        let folder = socket_folder("claimtop-com.");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let server: PathBuf = server.join(".s.PGSQL.5432");
        let next: Arc<Mutex<Option<Fault>>> = Arc::default();
        let ((tell, reached), (done, wait)) = (channel(), channel());
        let (faults, wait) = (Arc::clone(&next), Arc::new(Mutex::new(wait)));
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = UnixStream::connect(&server) else { continue };
                let (next, done) = (Arc::clone(&faults), Arc::clone(&wait));
                let (loses_answer, reached) = (Arc::<AtomicBool>::default(), tell.clone());
                let pump = Pump { near, far, next, loses_answer, reached, done };
                pump.start();
            }
        });
        CommitProxy { folder, next, reached, done }
    }
}

impl Pump {
    fn start(self) {
        let twice = |stream: &UnixStream| stream.try_clone().expect("a handle");
        let (mut from, mut to) = (twice(&self.far), twice(&self.near));
        let loses_answer = Arc::clone(&self.loses_answer);
        thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                if loses_answer.load(Ordering::SeqCst) || to.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
        thread::spawn(move || {
            self.forward();
            let _ = self.far.shutdown(Shutdown::Both);
            let _ = self.near.shutdown(Shutdown::Both);
        });
    }

    fn forward(&self) {
        let mut buffer = vec![0; 65_536];
        while let Ok(length @ 1..) = (&self.near).read(&mut buffer) {
            let chunk = &buffer[..length];
            let at = chunk.windows(COMMIT.len()).position(|window| window == COMMIT);
            let fault = at.and_then(|at| Some((at, self.next.lock().expect("the fault").take()?)));
            let is_open = match fault {
                Some((at, fault)) => self.break_at(fault, chunk, at),
                None => (&self.far).write_all(chunk).is_ok(),
            };
            if !is_open {
                return;
            }
        }
    }

    /// Does it; whether the connection goes on.
    fn break_at(&self, fault: Fault, chunk: &[u8], at: usize) -> bool {
        let send = |bytes: &[u8]| (&self.far).write_all(bytes).is_ok();
        let send_last = |bytes: &[u8]| {
            send(bytes);
            false
        };
        let ask_for_it = || {
            let _ = self.reached.send(fault);
            let _ = self.done.lock().expect("the turn").recv();
        };
        match fault {
            Fault::CutBefore => send_last(&chunk[..at]),
            Fault::CutInside => send_last(&chunk[..at + 7]),
            Fault::CutAfter => send_last(chunk),
            Fault::LoseAnswer => {
                self.loses_answer.store(true, Ordering::SeqCst);
                send(chunk)
            }
            Fault::FallBefore => {
                ask_for_it();
                send(chunk)
            }
            Fault::Terminate | Fault::FallAfter => {
                let is_sent = send(chunk);
                ask_for_it();
                is_sent
            }
        }
    }
}

/// A job with this number, held by a worker that fell silent.
fn id(number: u64) -> String {
    format!("00000000-0000-0000-0000-{number:012}")
}

struct Stage {
    server: Server,
    proxy: CommitProxy,
    operator: Operator,
    database: &'static str,
}

/// What an act came to, by the one who was told, and by the rows.
#[derive(Debug, Default)]
struct Tally {
    faults: u64,
    applied: u64,
    refused: u64,
    unknown: u64,
    settled: u64,
    left_open: u64,
    by_fault: BTreeMap<String, u64>,
}

impl Stage {
    fn session(&self) -> Session {
        self.server.connect(self.database)
    }

    fn is_running(&self, job: &str) -> bool {
        let sql = format!("SELECT status FROM executor_jobs WHERE id = '{job}'");
        self.session().value(&sql).as_deref() == Some("running")
    }

    /// Runs it with a fault at its COMMIT, and does what the fault takes.
    fn run(&self, arguments: &[&str], fault: Fault) -> Run {
        *self.proxy.next.lock().expect("the fault") = Some(fault);
        let mut command = self.operator.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop runs");
        if matches!(fault, Fault::Terminate | Fault::FallBefore | Fault::FallAfter) {
            let reached = self.proxy.reached.recv_timeout(Duration::from_secs(120)).expect("the COMMIT");
            match reached {
                Fault::Terminate => drop(self.server.terminate_backends()),
                _ => self.server.restart_immediate(),
            }
            self.proxy.done.send(()).expect("somebody who waits");
        }
        let run = Run::of(&child.wait_with_output().expect("its end"));
        assert_eq!(*self.proxy.next.lock().expect("the fault"), None, "{fault:?} did not happen: {run:#?}");
        run
    }

    /// One act with its fault; an undo of one every third time.
    fn act(&self, number: u64, fault: Fault, tally: &mut Tally) {
        let (job, other) = (id(number * 2), id(number * 2 + 1));
        self.session().run(&format!(
            "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts) VALUES
             ('{job}', 'run_tsa', 'running', now() - interval '1 hour', 'w', 1),
             ('{other}', 'run_tsa', 'running', now(), 'w', 1)"
        ));
        let run = if number % 3 == 2 {
            let done = self.operator.run(&["reclaim", "DB", &job, "--json"]).came_to(0, "applied");
            self.run(&["undo", "DB", done["action_id"].as_str().expect("an id"), "--json"], fault)
        } else if number % 3 == 1 {
            self.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"], fault)
        } else {
            self.run(&["reclaim", "DB", &job, "--json"], fault)
        };
        let story = format!("fault {number}, {fault:?}, {}: {run:#?}", self.database);
        let all = run.lines();
        let said = all.iter().find(|one| one["action_id"].is_string()).expect(&story);
        let action = said["action_id"].as_str().expect("an id");
        // Once the server has heard that nobody is there, nothing changes any more.
        let ours = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                    AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let watcher = self.session();
        crate::support::server::until("the end of its session", || {
            watcher.value(ours).as_deref() == Some("0")
        });
        let is_applied = self.is_running(&job) == (number % 3 == 2);
        tally.faults += 1;
        *tally.by_fault.entry(format!("{fault:?}")).or_default() += 1;
        match said["outcome"].as_str() {
            Some("applied") => {
                assert!(is_applied, "{story}");
                tally.applied += 1;
            }
            Some("refused") => {
                assert!(!is_applied, "{story}");
                tally.refused += 1;
            }
            Some("unknown") => tally.unknown += 1,
            other => panic!("{other:?} in {story}"),
        }
        // The next act settles what is open; what it says is true.
        self.operator.run(&["extend", "DB", &other, "--json"]).came_to(0, "applied");
        let outcomes = self.operator.outcomes();
        let last = outcomes.iter().rfind(|one| one["action_id"] == action).expect("an outcome");
        match last["outcome"].as_str() {
            Some("applied") => assert!(is_applied, "{last:#} after {story}"),
            Some("refused") => assert!(!is_applied, "{last:#} after {story}"),
            _ => tally.left_open += 1,
        }
        tally.settled += u64::from(last["why"].as_str().is_some_and(|why| why.contains("later:")));
        watcher.run("DELETE FROM executor_jobs");
    }
}

#[test]
fn a_fault_at_the_commit_never_makes_a_false_outcome() {
    let mut tally = Tally::default();
    for (database, schema) in [("plain", JOBS.to_owned()), ("audited", format!("{JOBS} {AUDIT}"))] {
        let server = Server::start();
        server.create_database(database, &schema);
        let proxy = CommitProxy::to(server.folder());
        let operator = Operator::of(url(&Host::Unix(proxy.folder.path().into()), 5432, USER, database));
        let stage = Stage { server, proxy, operator, database };
        for number in 0..faults().div_ceil(2) {
            stage.act(number + 1, Fault::number(number), &mut tally);
        }
        assert_eq!(stage.operator.run(&["audit", "verify"]).code, 0);
    }
    figures::tell(&format!("faults at the commit: {tally:?}"));
    figures::promise("A fault at the COMMIT on PostgreSQL makes no false outcome.", tally.faults, 0);
    assert!(tally.applied > 0 && tally.refused > 0, "{tally:?}");
}
