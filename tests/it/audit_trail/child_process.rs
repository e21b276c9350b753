//! This test binary, started again: a process of its own that does one thing to a trail.

use super::*;
use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const TASK: &str = "CLAIMTOP_TRAIL_TASK";
const FOLDER: &str = "CLAIMTOP_TRAIL_FOLDER";

#[test]
fn does_what_another_test_asks() {
    let Ok(task) = env::var(TASK) else { return };
    let folder = PathBuf::from(env::var_os(FOLDER).expect("a folder"));
    let answer = match task.as_str() {
        "append" => append(Trail::open(&folder).expect("a trail")),
        "seal" => append(sealing(&folder)),
        "forever" => forever(Trail::open(&folder).expect("a trail")),
        "seal forever" => forever(sealing(&folder)),
        "fill" => full_disks::fill(&folder),
        "open" => Trail::open(&folder).map_or_else(|error| format!("{error:?} {error}"), |_| "opened".into()),
        "who" => serde_json::to_string(&UserIdentity::here()).expect("JSON"),
        "folder" => format!("{:?}", Trail::default_folder()),
        _ => panic!("no task {task}"),
    };
    println!("\nANSWER {answer}");
}

/// A trail that seals a file and writes its index all the time.
fn sealing(folder: &Path) -> Trail {
    Trail::open(folder).expect("a trail").with_files_of(3_000).with_lag_of(2_000)
}

/// Appends 25 batches of 4 as soon as the other test says so.
fn append(mut trail: Trail) -> String {
    println!("\nANSWER ready");
    io::stdin().lock().read_line(&mut String::new()).expect("a word");
    concurrent_writers::append(&mut trail);
    "done".into()
}

/// Appends until it is killed, and says after every record how many there are.
fn forever(mut trail: Trail) -> String {
    loop {
        trail.open_actions().expect("open");
        let entry = trail.append(&[intent()]).expect("appended").remove(0);
        println!("\nANSWER {}", entry.seq);
        io::stdout().flush().expect("flushed");
    }
}

/// A process that does a task inside a world that a line of shell builds.
pub(super) struct Again {
    command: Command,
}

impl Again {
    pub(super) fn new(world: &str, task: &str, folder: &Path) -> Again {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", world, "sh"]).arg(env::current_exe().expect("this binary"));
        command.args(["--exact", "audit_trail::child_process::does_what_another_test_asks", "--nocapture"]);
        command.env(TASK, task).env(FOLDER, folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Again { command }
    }

    pub(super) fn env(mut self, name: &str, value: Option<&str>) -> Again {
        match value {
            Some(value) => self.command.env(name, value),
            None => self.command.env_remove(name),
        };
        self
    }

    /// The last answer; `None`, with a note, if the world could not be built.
    pub(super) fn answer(mut self) -> Option<String> {
        let output = self.command.output().expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout);
        let answer = text.lines().rev().find_map(|line| line.strip_prefix("ANSWER ")).map(str::to_owned);
        if answer.is_none() {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(!errors.contains("panicked") && !text.contains("panicked"), "{text}{errors}");
            eprintln!("skipped: {}", errors.trim());
        }
        answer
    }

    pub(super) fn start(mut self) -> Running {
        let mut child = self.command.spawn().expect("a shell");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Running { child, input, output }
    }
}

/// Such a process while it runs.
pub(super) struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Running {
    pub(super) fn next_answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("its output") > 0, "it ended without an answer");
            if let Some(answer) = line.strip_prefix("ANSWER ") {
                return answer.trim_end().to_owned();
            }
        }
    }

    pub(super) fn go(&mut self) {
        self.input.take().expect("its input").write_all(b"go\n").expect("told");
    }

    pub(super) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    pub(super) fn end(mut self) {
        self.output.read_to_end(&mut Vec::new()).expect("its output");
        assert!(self.child.wait().expect("gone").success());
    }
}

/// This very world.
pub(super) const HERE: &str = "exec \"$@\"";
