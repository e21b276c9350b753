//! `claimtop api` with the program itself: what a worker is answered, and what a hostile client cannot do.

mod access;
mod claiming;
mod hostile_clients;
mod killed_servers;
mod openapi;
mod settling;

use claimtop::reference::System;
use serde_json::{Value as Json, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

use crate::support::command;
use crate::support::engine::{Engine, engines};
use crate::workers::both_engines::Ground;

/// Long enough for a busy machine; nothing waits for it that goes well.
const PATIENCE: Duration = Duration::from_secs(180);

/// A server on a queue with two types of tasks, ended with the test.
struct Server {
    child: Child,
    address: String,
    key: String,
    folder: TempDir,
    ground: Ground,
}

/// The same on both engines.
fn on_both(test: impl Fn(Server)) {
    for &engine in engines() {
        println!("on {engine:?}");
        test(Server::on(engine));
    }
}

impl Server {
    fn on(engine: Engine) -> Server {
        Server::with(engine, &["--rate", "0"])
    }

    fn with(engine: Engine, options: &[&str]) -> Server {
        let ground = Ground::new(engine, System::TaskQueue);
        let folder = tempfile::tempdir().expect("a folder");
        let key = new_key(&folder, "workers");
        let (child, address) = Server::run(&ground, &folder, options);
        let server = Server { child, address, key, folder, ground };
        if !options.contains(&"--tls-cert") {
            for name in ["youtube_video_scrape", "reddit_post_fetch"] {
                assert_eq!(server.post("/api/task-types", &json!({"name": name})).status, 201);
            }
        }
        server
    }

    /// Another server on the same queue, after this one was killed.
    fn again(mut self) -> Server {
        self.child.wait().expect("its end");
        (self.child, self.address) = Server::run(&self.ground, &self.folder, &["--rate", "0"]);
        self
    }

    /// The program, and the address on which it answers.
    fn run(ground: &Ground, folder: &TempDir, options: &[&str]) -> (Child, String) {
        let keys = folder.path().join("keys");
        let mut command = command(&["api"]);
        command.arg(&ground.place().0).arg("--keys").arg(keys).args(options);
        if !options.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let errors = File::create(folder.path().join("stderr")).expect("a file");
        command.env_remove("HOME").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().expect("claimtop starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let Some(Ok(first)) = lines.next() else {
            panic!("{}", std::fs::read_to_string(folder.path().join("stderr")).expect("its errors"));
        };
        let url = first.strip_prefix("serving http").unwrap_or_else(|| panic!("{first}"));
        let address =
            url.trim_start_matches('s').strip_prefix("://").and_then(|url| url.strip_suffix("/api"));
        let address = address.expect("an address").to_owned();
        thread::spawn(move || lines.for_each(drop));
        (child, address)
    }

    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("stderr")).expect("its errors")
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// The most memory that it has used, in KiB.
    fn peak_memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Client { stream: BufReader::new(stream), key: self.key.clone() }
    }

    fn post(&self, path: &str, body: &Json) -> Answer {
        self.client().send("POST", path, &body.to_string())
    }

    fn get(&self, path: &str) -> Answer {
        self.client().send("GET", path, "")
    }

    /// A new task; its id.
    fn task(&self, wish: &Json) -> i64 {
        let answer = self.post("/api/tasks", wish);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["task"]["id"].as_i64().expect("an id")
    }

    fn claim(&self, wish: &Json) -> Answer {
        self.post("/api/tasks/claim", wish)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A new key in the file `keys`.
fn new_key(folder: &TempDir, name: &str) -> String {
    let keys = folder.path().join("keys");
    let mut made = command(&["api", "key", "new", "--name", name]);
    let made = made.arg("--keys").arg(&keys).output().expect("a key");
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout).expect("UTF-8").trim().to_owned()
}

/// A connection that is kept.
struct Client {
    stream: BufReader<TcpStream>,
    key: String,
}

/// An answer over HTTP.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Client {
    fn send(&mut self, method: &str, path: &str, body: &str) -> Answer {
        self.stream.get_mut().write_all(request(method, path, &self.key, body).as_bytes()).expect("sent");
        self.answer()
    }

    /// A request that may find nobody.
    fn try_send(&mut self, path: &str, body: &str) -> Option<Answer> {
        self.stream.get_mut().write_all(request("POST", path, &self.key, body).as_bytes()).ok()?;
        self.try_answer()
    }

    /// What comes back for whatever was sent.
    fn answer(&mut self) -> Answer {
        self.try_answer().expect("an answer")
    }

    /// The same; nothing if the connection was cut.
    fn try_answer(&mut self) -> Option<Answer> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let head = head.to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
        self.stream.read_exact(&mut body).ok()?;
        Some(Answer { status, head, body: String::from_utf8(body).expect("UTF-8") })
    }
}

fn request(method: &str, path: &str, key: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

impl Answer {
    fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}
