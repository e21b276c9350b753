//! The verbs that look again and again while their tables change.

use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, park_timeout};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::{Base, Change, ENDS, PARTS};
use crate::support::command;
use crate::support::engine::{Engine, on_both_engines};

on_both_engines! {
    check_names_what_is_gone_and_goes_on_when_it_is_back,
    the_sweep_names_what_is_gone_and_goes_on_when_it_is_back,
    the_server_is_down_while_the_tables_are_gone_and_up_when_they_are_back,
}

/// Long enough for a busy machine; nothing waits for it that goes well.
const PATIENCE: Duration = Duration::from_secs(180);

/// A verb that runs until the test is over, and what it prints.
struct Running {
    child: Child,
    lines: Receiver<String>,
    _state: TempDir,
}

impl Running {
    fn start(arguments: &[&str], base: &Base) -> Running {
        let state = tempfile::tempdir().expect("a folder");
        let mut command = command(arguments);
        command.arg(base.source()).env("XDG_STATE_HOME", state.path()).env_remove("HOME");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("claimtop");
        let printed = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let (give, lines) = channel();
        thread::spawn(move || printed.map_while(Result::ok).all(|line| give.send(line).is_ok()));
        Running { child, lines, _state: state }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("another line")
    }

    /// Reads on until a line is as it should be.
    #[track_caller]
    fn wait(&self, what: &str, is_so: impl Fn(&Json) -> bool) -> Json {
        let end = Instant::now() + PATIENCE;
        loop {
            let line = self.line();
            let object: Json = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if is_so(&object) {
                return object;
            }
            assert!(Instant::now() < end, "{what} never came; the last is {line}");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn says(text: &Json, part: &str) -> bool {
    text.to_string().contains(part)
}

fn check_names_what_is_gone_and_goes_on_when_it_is_back(engine: Engine) {
    let base = Base::of(engine);
    let running = Running::start(&["check", "--json", "--watch", "100ms"], &base);
    let stale = |count: u64| move |round: &Json| round["sources"][0]["claims"]["stale"] == count;
    running.wait("both", stale(2));
    for Change { done, undone, said } in ENDS {
        base.run(done);
        running.wait(said, |round| round["sources"][0]["ok"] == false && says(round, said));
        base.run(undone);
        running.wait("both again", stale(2));
    }
    for Change { done, undone, said } in PARTS {
        base.run(done);
        running.wait(said, |round| stale(1)(round) && says(&round["sources"][0]["notices"], said));
        base.run(undone);
        let round = running.wait("both again", stale(2));
        assert!(!says(&round, "is gone"), "{round}");
    }
}

fn the_sweep_names_what_is_gone_and_goes_on_when_it_is_back(engine: Engine) {
    let base = Base::of(engine);
    let running = Running::start(&["sweep", "--json", "--dry-run", "--every", "1s"], &base);
    let well = |line: &Json| line["event"] == "summary" && line["error"].is_null();
    running.wait("a run", well);
    for Change { done, undone, said } in ENDS {
        base.run(done);
        running.wait(said, |line| line["event"] == "summary" && says(&line["error"], said));
        base.run(undone);
        running.wait("a run again", well);
    }
    for Change { done, undone, said } in PARTS {
        base.run(done);
        running.wait(said, |line| well(line) && says(line, said));
        base.run(undone);
        running.wait("a run again", |line| well(line) && !says(line, said));
    }
}

fn the_server_is_down_while_the_tables_are_gone_and_up_when_they_are_back(engine: Engine) {
    let base = Base::of(engine);
    let running = Running::start(&["serve", "--listen", "127.0.0.1:0", "--every", "100ms"], &base);
    let first = running.line();
    let address = first.strip_prefix("serving http://").and_then(|url| url.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{first}")).to_owned();
    let stale = r#"board="task",set="stale"} 1"#;
    wait(&address, "/metrics", &["claimtop_up{", stale], &[]);
    for Change { done, undone, said } in ENDS {
        base.run(done);
        // What was read is believed for a while; then it is said why nothing is.
        wait(&address, "/readyz", &[said], &[]);
        wait(&address, "/metrics", &[], &[stale]);
        base.run(undone);
        wait(&address, "/metrics", &[stale], &[]);
    }
    for Change { done, undone, said } in PARTS {
        base.run(done);
        wait(&address, "/readyz", &[said], &[]);
        wait(&address, "/metrics", &[r#"board="lock",set="stale"} 1"#], &[stale]);
        base.run(undone);
        wait(&address, "/metrics", &[stale], &[]);
        wait(&address, "/readyz", &["read"], &[said]);
    }
}

/// Asks until the answer holds all of the one and none of the other.
#[track_caller]
fn wait(address: &str, path: &str, says: &[&str], hides: &[&str]) {
    let end = Instant::now() + PATIENCE;
    loop {
        let mut stream = TcpStream::connect(address).expect("a connection");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        if says.iter().all(|part| answer.contains(part)) && !hides.iter().any(|part| answer.contains(part)) {
            return;
        }
        assert!(Instant::now() < end, "{says:?} without {hides:?} never came: {answer}");
        park_timeout(Duration::from_millis(50));
    }
}
