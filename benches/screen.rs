//! What the screen costs: a frame with a million claims behind it beside one with a hundred; from a
//! key to its frame while polls run; from the start of the process to its first frame; what the facts
//! add to a poll; and what watching costs when nothing happens.
//!
//! `cargo bench --bench screen` runs all of it on a real pty; `-- 100000` takes that many claims
//! instead of a million.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

use claimtop::app::Msg;
use claimtop::app::keymap::Keymap;
use claimtop::app::message::SourcePoll;
use claimtop::app::model::{Model, ModelSettings};
use claimtop::app::source::{Access, Poll, SourceView};
use claimtop::config::Config;
use claimtop::domain::cause::find;
use claimtop::domain::time::Span;
use claimtop::profile::Library;
use claimtop::store::{Effort, Options, Profiles, Reader, SourceLocation, clock};
use claimtop::ui::theme::{Depth, Palette};
use claimtop::ui::{self, Theme, View};
use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rusqlite::{Connection, params};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const MINUTE: i64 = 60_000;

fn main() {
    let many = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (small, large) = (folder.path().join("small.db"), folder.path().join("large.db"));
    // A hundred claims that fill every line of the screen, as the worst of a million do.
    build(&small, 100, Fleet { expired_one_in: 2, silent_of_ten: 5 });
    build(&large, many, Fleet { expired_one_in: 1_000, silent_of_ten: 1 });

    let (few, rows_of_few) = frame(&small);
    let (lots, rows_of_lots) = frame(&large);
    let ratio = lots.as_secs_f64() / few.as_secs_f64();
    println!(
        "frame 200x60        {:>8.3} ms with 100 claims, {:.3} ms with {many}: {ratio:.2} x ({rows_of_few} and \
         {rows_of_lots} rows drawn)",
        ms(few),
        ms(lots)
    );

    let mut starts: Vec<f64> = (0..10).map(|_| ms(Session::start(&large).1)).collect();
    starts.sort_by(f64::total_cmp);
    println!(
        "first frame         {:>8.1} ms after the start (median of 10, worst {:.1})",
        starts[5], starts[9]
    );

    keys(&large);
    idle("watching, 10 % in trouble", &large);
    let quiet = folder.path().join("quiet.db");
    build(&quiet, many, Fleet { expired_one_in: i64::MAX, silent_of_ten: 0 });
    idle("watching, quiet", &quiet);
    let incident = folder.path().join("incident.db");
    build(&incident, many, Fleet { expired_one_in: 30, silent_of_ten: 0 });
    facts(&incident);
}

/// Which share of the claims has expired (as many are about to), and how many of ten sessions are silent.
#[derive(Clone, Copy)]
struct Fleet {
    expired_one_in: i64,
    silent_of_ten: i64,
}

fn build(path: &Path, claims: i64, fleet: Fleet) {
    let mut connection = Connection::open(path).expect("a database");
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE sessions (id TEXT PRIMARY KEY, last_heartbeat INTEGER, started_at INTEGER, pid INTEGER);
             CREATE INDEX idx_sessions_heartbeat ON sessions(last_heartbeat);
             CREATE TABLE task_claims (task_id TEXT PRIMARY KEY, session_id TEXT, claimed_at INTEGER,
               expires_at INTEGER, last_heartbeat INTEGER);
             CREATE INDEX idx_claims_session ON task_claims(session_id);
             CREATE INDEX idx_claims_expires ON task_claims(expires_at);
             CREATE INDEX idx_claims_heartbeat ON task_claims(last_heartbeat);",
        )
        .expect("tables");
    let now = clock().micros() / 1_000;
    let transaction = connection.transaction().expect("a transaction");
    for session in 0..(claims / 1_000).max(10) {
        let beat = if session % 10 < fleet.silent_of_ten { now - 20 * MINUTE } else { now };
        let values = params![format!("session-{session}"), beat, now - 90 * MINUTE, 4_000_000 + session];
        transaction.execute("INSERT INTO sessions VALUES (?1, ?2, ?3, ?4)", values).expect("a session");
    }
    for claim in 0..claims {
        // What is healthy stays so for five minutes: longer than this runs.
        let expires = match fleet.expired_one_in - claim % fleet.expired_one_in {
            1 => now - 10 * MINUTE,
            2 => now + 4 * MINUTE,
            _ => now + 300 * MINUTE,
        };
        let holder = format!("session-{}", claim % (claims / 1_000).max(10));
        let values = params![format!("task-{claim:08}"), holder, now - 20 * MINUTE, expires, now];
        transaction.execute("INSERT INTO task_claims VALUES (?1, ?2, ?3, ?4, ?5)", values).expect("a claim");
    }
    transaction.commit().expect("commit");
}

/// A poll after a write, and what the facts for causes and groups add to it.
fn facts(path: &Path) {
    let mut reader = open(path);
    let writer = Connection::open(path).expect("the database");
    let (mut polls, mut facts) = (Vec::new(), Vec::new());
    for round in 0..15 {
        let beat = params![clock().micros() / 1_000, format!("task-{round:08}")];
        writer
            .execute("UPDATE task_claims SET last_heartbeat = ?1 WHERE task_id = ?2", beat)
            .expect("a beat");
        let started = Instant::now();
        let snapshots = reader.poll().expect("a poll");
        polls.push(ms(started.elapsed()));
        let troubled = snapshots[0].counts().stale;
        let started = Instant::now();
        let found = find(&reader.facts("incident").expect("facts"));
        facts.push(ms(started.elapsed()));
        if round == 0 {
            println!("facts               {troubled:>8} claims in trouble, {} causes", found.len());
        }
    }
    polls.sort_by(f64::total_cmp);
    facts.sort_by(f64::total_cmp);
    println!("a poll              {:>8.1} ms, and {:.1} ms for its facts and causes", polls[7], facts[7]);
}

fn open(path: &Path) -> Reader {
    let config = Config::default();
    let options = Options {
        at: SourceLocation::File(path.into()),
        profiles: Profiles::Detect(Library::built_in()),
        operator: config.operator(None),
        effort: Effort { rows: config.row_limit, slice: config.census_slice, whole: config.census_slice },
        busy_timeout: Duration::from_secs(10),
        poll_timeout: Duration::from_secs(60),
        frozen_at: None,
        prober: None,
        registrations: claimtop::store::Registrations::default(),
        protected: Default::default(),
        allow_functions: Vec::new(),
        warn: None,
    };
    Reader::open(options).expect("the database")
}

/// The median of many frames, each drawn from nothing.
fn frame(path: &Path) -> (Duration, usize) {
    let mut reader = open(path);
    let snapshots = reader.poll().expect("a poll");
    let facts = Some(Arc::new(reader.facts("large.db").expect("facts")));
    let horizon = reader.horizon(30).expect("a horizon");
    let source = SourceView::new("large.db".into(), "sqlite", Access::Write);
    let settings = ModelSettings { interval: Span::seconds(1), bell: false };
    let mut model = Model::new(vec![source], settings, Keymap::default(), clock());
    let poll =
        Poll { snapshots, horizon: Some(horizon), whole: None, warnings: Vec::new(), facts, causes: None };
    model.update(clock(), Msg::Polled(vec![SourcePoll { source: 0, poll: Ok(poll), events: Vec::new() }]));
    let theme = Theme::new(Palette::Dark, Depth::True);
    let area = Rect::new(0, 0, 200, 60);
    let mut view = View::default();
    let mut times: Vec<Duration> = (0..300)
        .map(|_| {
            let mut buffer = Buffer::empty(area);
            let started = Instant::now();
            view.begin();
            ui::render(&model, &mut view, &theme, area, &mut buffer);
            started.elapsed()
        })
        .collect();
    times.sort();
    (times[times.len() / 2], view.rows.len())
}

/// The program in a pty.
struct Session {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    output: Arc<(Mutex<usize>, Condvar)>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
    _state: tempfile::TempDir,
}

impl Session {
    /// Starts it; the time until its first frame was there.
    fn start(path: &Path) -> (Session, Duration) {
        let size = PtySize { rows: 60, cols: 200, pixel_width: 0, pixel_height: 0 };
        let pty = NativePtySystem::default().openpty(size).expect("a pty");
        let state = tempfile::tempdir().expect("a folder");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_claimtop"));
        command.arg(path);
        command.env("XDG_STATE_HOME", state.path());
        command.env("XDG_CONFIG_HOME", "/nonexistent");
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        let started = Instant::now();
        let child = pty.slave.spawn_command(command).expect("claimtop");
        drop(pty.slave);
        let mut reader = pty.master.try_clone_reader().expect("its output");
        let output: Arc<(Mutex<usize>, Condvar)> = Arc::default();
        let counted = Arc::clone(&output);
        thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(count) = reader.read(&mut bytes) {
                if count == 0 {
                    break;
                }
                *counted.0.lock().expect("the count") += count;
                counted.1.notify_all();
            }
        });
        let writer = pty.master.take_writer().expect("its input");
        let session = Session { child, writer, output, _master: pty.master, _state: state };
        // The frame itself, not the sequences that open the screen.
        session.wait_for_more_than(500);
        (session, started.elapsed())
    }

    fn bytes(&self) -> usize {
        *self.output.0.lock().expect("the count")
    }

    fn wait_for_more_than(&self, bytes: usize) {
        let mut count = self.output.0.lock().expect("the count");
        while *count <= bytes {
            count = self.output.1.wait_timeout(count, Duration::from_secs(30)).expect("output").0;
        }
    }

    /// What the process has used of a processor, and the memory it has.
    fn used(&self) -> (f64, f64) {
        let pid = self.child.process_id().expect("a pid");
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its stat");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        let ticks: f64 =
            fields[11].parse::<f64>().expect("ticks") + fields[12].parse::<f64>().expect("ticks");
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).expect("memory");
        let peak: f64 = peak.split_whitespace().nth(1).expect("memory").parse().expect("a number");
        (ticks / 100.0, peak / 1_024.0)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// From a key to the bytes of its frame, while a writer makes every poll look anew.
fn keys(path: &Path) {
    let (mut session, _) = Session::start(path);
    thread::sleep(Duration::from_secs(3));
    let done = Arc::new(Mutex::new(false));
    let (stop, place) = (Arc::clone(&done), path.to_owned());
    let writer = thread::spawn(move || {
        let connection = Connection::open(place).expect("the database");
        connection.busy_timeout(Duration::from_secs(10)).expect("a timeout");
        let mut beat = 0;
        while !*stop.lock().expect("the end") {
            beat += 1;
            let values =
                params![clock().micros() / 1_000 + beat, format!("task-{:08}", beat * 7 % 1_000 + 2)];
            connection
                .execute("UPDATE task_claims SET last_heartbeat = ?1 WHERE task_id = ?2", values)
                .expect("a beat");
            thread::sleep(Duration::from_millis(20));
        }
    });
    let mut times = Vec::new();
    for step in 0..200 {
        // The keys fall on every moment of the poll.
        thread::sleep(Duration::from_millis(37));
        let before = session.bytes();
        let started = Instant::now();
        let key = if step % 2 == 0 { b"j" } else { b"k" };
        session.writer.write_all(key).expect("a key");
        session.wait_for_more_than(before);
        times.push(ms(started.elapsed()));
    }
    *done.lock().expect("the end") = true;
    writer.join().expect("the writer");
    times.sort_by(f64::total_cmp);
    println!(
        "key to frame        {:>8.1} ms median, {:.1} ms p99, {:.1} ms worst, while polls run",
        times[100], times[198], times[199]
    );
}

/// A poll every second, nobody writes: while the census goes through the table once, and after it.
fn idle(what: &str, path: &Path) {
    let (session, _) = Session::start(path);
    let share_of = |pause: u64| {
        thread::sleep(Duration::from_secs(pause));
        let before = session.used().0;
        thread::sleep(Duration::from_secs(25));
        (session.used().0 - before) / 25.0 * 100.0
    };
    let (first, then) = (share_of(10), share_of(40));
    let peak = session.used().1;
    println!(
        "{what:<26} {then:>6.2} % of a core, a poll a second, nothing written ({first:.2} % in the first minute, with the census); peak memory {peak:.1} MB"
    );
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
