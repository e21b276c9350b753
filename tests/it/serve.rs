//! `claimtop serve` with the program itself: what a scraper is told, and what it cannot do to it.

mod acts;
mod alert_rules;
mod finalization;
mod http;
mod metric_values;
mod on_postgres;
mod openmetrics;
mod page;
mod recording;
mod replaced_files;
mod sources;
mod sweeper;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, park_timeout};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use crate::support::command;
use openmetrics::Exposition;

/// Long enough for a busy machine; nothing waits for it that goes well.
const PATIENCE: Duration = Duration::from_secs(180);

/// A server, ended with the test.
struct Server {
    child: Child,
    address: String,
    folder: TempDir,
}

/// An answer over HTTP.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Server {
    fn start(arguments: &[&str], sources: &[&Path]) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        Server::with_state(arguments, sources, folder, &state)
    }

    /// With the trail below this folder.
    fn with_state(arguments: &[&str], sources: &[&Path], folder: TempDir, state: &Path) -> Server {
        let mut command = serve(&["--listen", "127.0.0.1:0", "--every", "100ms"], sources);
        command.args(arguments).env("XDG_STATE_HOME", state);
        Server::run(command, folder)
    }

    /// With the user's config below this folder.
    fn at_home(home: &Path, sources: &[&Path]) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = serve(&["--listen", "127.0.0.1:0", "--every", "100ms"], sources);
        command.env("XDG_CONFIG_HOME", home).env("XDG_STATE_HOME", folder.path().join("state"));
        Server::run(command, folder)
    }

    fn run(mut command: Command, folder: TempDir) -> Server {
        let errors = File::create(folder.path().join("stderr")).expect("a file");
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().expect("claimtop starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = lines.next().expect("a line").expect("UTF-8");
        let url = first.strip_prefix("serving http://").unwrap_or_else(|| panic!("{first}"));
        let address = url.strip_suffix("/metrics").expect("the path").to_owned();
        // Whatever else it prints must not keep it waiting.
        thread::spawn(move || lines.for_each(drop));
        Server { child, address, folder }
    }

    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).expect("its errors")
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    fn ask(&self, method: &str, path: &str) -> Answer {
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    }

    fn send(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("sent");
        Answer::read(stream)
    }

    fn scrape(&self) -> Exposition {
        let answer = self.ask("GET", "/metrics");
        assert_eq!(answer.status, 200, "{answer:?}");
        Exposition::parse(&answer.body)
    }

    /// Scrapes until it is told what is waited for.
    #[track_caller]
    fn wait(&self, what: &str, told: impl Fn(&Exposition) -> bool) -> Exposition {
        let end = Instant::now() + PATIENCE;
        loop {
            let scraped = self.scrape();
            if told(&scraped) {
                return scraped;
            }
            assert!(Instant::now() < end, "{what} never came: {scraped:#?}\n{}", self.errors());
            park_timeout(Duration::from_millis(20));
        }
    }

    /// Waits until all sources have been read and counted by kind, and the trail as well.
    #[track_caller]
    fn wait_until_read(&self) -> Exposition {
        self.wait("a good poll of all", |told| {
            told.get("claimtop_trail_up", &[]) == Some(1.0)
                && told.all("claimtop_up").iter().all(|(_, up)| *up == 1.0)
                && told.all("claimtop_up").len() == told.all("claimtop_last_poll_seconds").len()
        })
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    fn end(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.child.wait().expect("its end")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    fn read(mut stream: TcpStream) -> Answer {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head in {text:?}"));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

fn serve(arguments: &[&str], sources: &[&Path]) -> Command {
    let mut command = command(&["serve"]);
    command.args(arguments).args(sources).env_remove("HOME").stdin(Stdio::null());
    command
}

/// A config beside the other files of the test.
fn config(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("config.toml");
    std::fs::write(&path, text).expect("a config");
    path
}
