//! Who may ask, how often, and over which connections.

use serde_json::json;
use std::fs;
use std::io::Write;
use std::process::Command;

use super::{Server, new_key};
use crate::dashboard::pty::until;
use crate::support::command;
use crate::support::engine::Engine;
use crate::workers::both_engines::Ground;
use claimtop::reference::System;

#[test]
fn without_a_known_key_nothing_is_done() {
    let server = Server::on(Engine::Sqlite);
    server.task(&json!({"task_type": "youtube_video_scrape"}));
    let near_miss = format!("{}0", server.key);
    for header in [
        String::new(),
        "X-API-Key: \r\n".into(),
        format!("X-API-Key: {near_miss}\r\n"),
        format!("X-API-Key: {}\r\n", &server.key[1..]),
        format!("Authorization: Basic {}\r\n", server.key),
        format!("Authorization: {}\r\n", server.key),
        format!("Authorization: Bearer x\r\nX-API-Key: {}\r\n", server.key),
        format!("Authorization: Bearer {}\r\nX-API-Key: x\r\n", server.key),
    ] {
        for path in ["/api/tasks/claim", "/api/tasks", "/api/tasks/1/complete"] {
            let mut client = server.client();
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: x\r\n{header}Content-Type: application/json\r\nContent-Length: 17\r\n\r\n\
                 {{\"worker_id\":\"w\"}}"
            );
            client.stream.get_mut().write_all(request.as_bytes()).expect("sent");
            let answer = client.answer();
            assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("bearer")), "{header}");
        }
    }
    let claimed: i64 = server.ground.one("SELECT count(*) FROM tasks WHERE status <> 'pending'");
    assert_eq!(claimed, 0);
    // Both ways to send a key.
    let mut client = server.client();
    let request =
        format!("GET /api/workers HTTP/1.1\r\nHost: x\r\nAuthorization: bearer {}\r\n\r\n", server.key);
    client.stream.get_mut().write_all(request.as_bytes()).expect("sent");
    assert_eq!(client.answer().status, 200);
    assert_eq!(server.get("/api/workers").status, 200);
}

#[test]
fn a_key_that_asks_too_often_is_told_when_to_come_back() {
    // The types of the scene took two requests.
    let server = Server::with(Engine::Sqlite, &["--rate", "5"]);
    let mut client = server.client();
    // As many as it takes: on a busy machine some of the allowance is back before it is used up.
    let refused = (0..1_000).map(|_| client.send("GET", "/api/workers", "")).find(|told| told.status == 429);
    let wait: u64 = refused.expect("one").header("retry-after").expect("a time").parse().expect("a number");
    assert!((1..=12).contains(&wait), "{wait}");
    // Another key has its own allowance.
    let other = new_key(&server.folder, "others");
    server.signal("HUP");
    until("the new key is known", || {
        let mut client = server.client();
        client.key.clone_from(&other);
        (client.send("GET", "/api/workers", "").status == 200).then_some(())
    });
}

#[test]
fn keys_come_and_go_with_the_file() {
    let server = Server::on(Engine::Sqlite);
    let keys = server.folder.path().join("keys");
    // A file without keys keeps the old ones.
    let before = fs::read_to_string(&keys).expect("the keys");
    fs::write(&keys, "").expect("written");
    server.signal("HUP");
    until("it says so", || server.errors().contains("the keys stay as they were").then_some(()));
    assert_eq!(server.get("/api/workers").status, 200);
    fs::write(&keys, before.replace("workers ", "# workers ")).expect("written");
    new_key(&server.folder, "others");
    server.signal("HUP");
    until("the old key is gone", || (server.get("/api/workers").status == 401).then_some(()));
}

/// What the program says when it does not start.
fn refused(ground: &Ground, arguments: &[&str]) -> (i32, String) {
    let output = command(&["api"]).arg(&ground.place().0).args(arguments).output().expect("it runs");
    (output.status.code().expect("a code"), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn what_is_missing_or_dangerous_is_said_at_the_start() {
    let ground = Ground::new(Engine::Sqlite, System::TaskQueue);
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys").display().to_string();
    let missing = refused(&ground, &["--keys", &keys]);
    assert!(missing.0 == 3 && missing.1.contains("claimtop api key new"), "{missing:?}");
    new_key(&folder, "workers");
    let open = refused(&ground, &["--keys", &keys, "--listen", "0.0.0.0:0"]);
    assert!(open.0 == 3 && open.1.contains("--tls-cert"), "{open:?}");
    let read_only = refused(&ground, &["--keys", &keys, "--read-only"]);
    assert_eq!(read_only.0, 5, "{read_only:?}");
    let nowhere = command(&["api", "/nonexistent/tasks.db", "--keys", &keys]).output().expect("it runs");
    let said = String::from_utf8_lossy(&nowhere.stderr);
    assert!(nowhere.status.code() == Some(3) && said.contains("no such file"), "{said}");
    let other = Ground::new(Engine::Sqlite, System::Coordination);
    let other = refused(&other, &["--keys", &keys]);
    assert!(other.0 == 3 && other.1.contains("--system task-queue"), "{other:?}");
}

#[test]
fn with_a_certificate_the_connection_is_encrypted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=localhost",
            "-days",
            "2",
            "-out",
        ])
        .arg(&certificate)
        .arg("-keyout")
        .arg(&key)
        .output()
        .expect("openssl");
    assert!(made.status.success(), "{made:?}");
    let paths = [certificate.to_str().expect("UTF-8"), key.to_str().expect("UTF-8")];
    let options = ["--listen", "0.0.0.0:0", "--tls-cert", paths[0], "--tls-key", paths[1], "--rate", "0"];
    let server = Server::with(Engine::Sqlite, &options);
    let port = server.address.rsplit(':').next().expect("a port");
    let url = format!("https://localhost:{port}/api/workers");
    let curl = Command::new("curl")
        .args(["--silent", "--cacert", paths[0], "--noproxy", "*", "-H"])
        .arg(format!("X-API-Key: {}", server.key))
        .arg(&url)
        .output()
        .expect("curl");
    assert!(String::from_utf8_lossy(&curl.stdout).contains("\"success\":true"), "{curl:?}");
}
