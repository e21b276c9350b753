//! `claimtop demo`, as its users meet it: real processes, a real database, and nothing left behind.

#![cfg(target_os = "linux")]

mod contents;
mod endings;
mod keep_option;
mod on_postgres;
mod screen;

use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread::park_timeout;
use std::time::{Duration, Instant};
use tempfile::TempDir;

use crate::support::{command, json, lines};

/// Generous: many tests share the machine.
const DEADLINE: Duration = Duration::from_secs(240);

/// Asks until there is an answer.
#[track_caller]
fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < until, "not within {DEADLINE:?}: {what}");
        park_timeout(Duration::from_millis(100));
    }
}

/// A demo without a screen, and the folder that everything of it is in.
struct Demo {
    child: Child,
    output: BufReader<ChildStdout>,
    /// Where the demo's database is.
    folder: PathBuf,
    around: TempDir,
}

impl Demo {
    /// With its database in a folder of the test's.
    fn kept(options: &[&str]) -> Demo {
        let around = tempfile::tempdir().expect("a folder");
        let folder = around.path().join("fleet");
        let keep = folder.to_str().expect("UTF-8").to_owned();
        Demo::start(around, &[options, &["--keep", &keep]].concat())
    }

    /// With its database in a temporary folder of its own.
    fn temporary(options: &[&str]) -> Demo {
        Demo::start(tempfile::tempdir().expect("a folder"), options)
    }

    fn start(around: TempDir, options: &[&str]) -> Demo {
        let mut command = demo(around.path(), options);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("a demo");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        let database = line.split(" on ").nth(1).and_then(|rest| rest.split(';').next());
        let database = PathBuf::from(database.unwrap_or_else(|| panic!("no database in {line:?}")));
        let folder = database.parent().expect("a folder").to_owned();
        Demo { child, output, folder, around }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a number")).expect("a process");
        kill_process(pid, signal).expect("a signal");
    }

    /// Waits for its end: how it ended and what it said last.
    fn end(&mut self) -> (ExitStatus, String) {
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("its words");
        (self.child.wait().expect("its end"), text)
    }

    /// A verb on its database, with its config.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = command(arguments);
        command.arg("--config").arg(self.folder.join("config.toml"));
        command.env("XDG_STATE_HOME", self.around.path()).output().expect("claimtop runs")
    }

    fn check(&self) -> Vec<Json> {
        json(&self.run(&["check", "fleet", "--json"]))["sources"].as_array().expect("sources").clone()
    }

    fn list(&self) -> Vec<Json> {
        lines(&self.run(&["list", "fleet", "--json"]))
    }

    fn look(&self) -> Connection {
        let path = self.folder.join("demo.db");
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the database");
        connection.busy_timeout(Duration::from_secs(20)).expect("patience");
        connection
    }

    /// One of its workers hangs.
    fn wait_for_a_stopped_one(&self) {
        eventually("a worker stops itself", || {
            processes(&self.folder).into_iter().find(|pid| is_stopped(*pid))
        });
    }

    #[track_caller]
    fn assert_nothing_is_left(&self) {
        eventually("no process is left", || processes(&self.folder).is_empty().then_some(()));
        eventually("no folder is left", || (!self.folder.exists()).then_some(()));
        let left: Vec<_> = fs::read_dir(self.around.path()).expect("a listing").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn demo(temporary: &Path, options: &[&str]) -> Command {
    let mut command = command(&["demo", "--headless"]);
    command.args(options).env("TMPDIR", temporary);
    command
}

/// The processes, other than the demo itself, whose command line names the folder.
fn processes(folder: &Path) -> Vec<i32> {
    let listing = fs::read_dir("/proc").expect("/proc");
    let numbers = listing.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let ours = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == b"demo-child") && words.any(|word| word == folder.as_os_str().as_bytes())
    };
    numbers.filter(ours).collect()
}

fn is_stopped(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
}
