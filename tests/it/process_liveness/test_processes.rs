//! Processes to look at: each is ended and collected when the test is over, also by a panic.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Tests that count on a number staying free read it; the one that makes the kernel hand out
/// numbers again writes it.
pub static NUMBERS: RwLock<()> = RwLock::new(());

/// A child process of the test.
pub struct Being {
    child: Child,
}

impl Being {
    /// A shell that waits for its standard input, and has begun to.
    pub fn alive() -> Being {
        Being::named(Path::new("/bin/sh"))
    }

    /// The same, run by this name: a link to the shell.
    pub fn named(path: &Path) -> Being {
        let mut command = Command::new(path);
        command.arg0("sh").args(["-c", "echo ready; read line"]);
        Being::ready(&mut command).expect("a shell that waits")
    }

    /// Runs a command until it has said that it is ready; `None` if it never does.
    pub fn ready(command: &mut Command) -> Option<Being> {
        let mut being = Being::spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(being.child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        (line == "ready\n").then_some(being)
    }

    pub fn spawn(command: &mut Command) -> Being {
        Being { child: command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")) }
    }

    pub fn pid(&self) -> i64 {
        i64::from(self.child.id())
    }

    pub fn kernel_pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Ends it and does not collect it.
    pub fn kill(&mut self) {
        self.child.kill().expect("our own child");
    }

    /// Ends it, collects it and tells what its number was.
    pub fn reap(mut self) -> i64 {
        self.kill();
        self.child.wait().expect("our own child");
        self.pid()
    }

    /// Waits until the kernel shows it in this state.
    pub fn until_state(&self, state: char) {
        until(&format!("state {state}"), || state_of(self.pid()) == Some(state));
    }
}

impl Drop for Being {
    fn drop(&mut self) {
        // Both fail only if it was collected before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Calls with the number of a thread of this process that lives meanwhile.
pub fn with_a_thread<Answer>(look: impl FnOnce(i64) -> Answer) -> Answer {
    let (tell, told) = mpsc::channel();
    let (end, wait) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let link = fs::read_link("/proc/thread-self").expect("a thread");
        let number = link.file_name().expect("its number").to_string_lossy().into_owned();
        tell.send(number).expect("somebody who asked");
        // Ends with an error when the other side is dropped, by a panic too.
        let _ = wait.recv();
    });
    let answer = look(told.recv().expect("an answer").parse().expect("a number"));
    drop(end);
    thread.join().expect("the thread");
    answer
}

/// The letter in `/proc/PID/stat`.
fn state_of(pid: i64) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

pub fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        thread::yield_now();
    }
}

/// Whether the tests run in the machine's first PID namespace, where alone a number counts.
pub fn machine_counts_here() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link == Path::new("pid:[4026531836]"))
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says on the test's output that a case could not be tried here.
pub fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}
