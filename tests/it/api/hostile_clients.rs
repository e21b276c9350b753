//! Clients that send nonsense, too much, or nothing: they are answered or cut off, and the queue is unharmed.

use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use super::{Client, Server, on_both};
use crate::support::engine::Engine;

#[test]
fn a_wrong_request_is_refused_with_what_is_wrong() {
    on_both(|server| {
        server.task(&json!({"task_type": "youtube_video_scrape"}));
        let claim = "/api/tasks/claim";
        for (path, body, said) in [
            (claim, "", "JSON"),
            (claim, "{", "JSON"),
            (claim, "[]", ""),
            (claim, "{}", "Missing required field: worker_id"),
            (claim, r#"{"worker_id": 7}"#, "worker_id"),
            (claim, r#"{"worker_id": ""}"#, "Invalid worker_id format"),
            (claim, r#"{"worker_id": "a b"}"#, "Invalid worker_id format"),
            (claim, "{\"worker_id\": \"a\\n\"}", "Invalid worker_id format"),
            (claim, r#"{"worker_id": "w", "worker": "w"}"#, "unknown field"),
            (claim, r#"{"worker_id": "w", "worker_id": "v"}"#, "duplicate field"),
            (claim, r#"{"worker_id": "w", "task_types": "mail"}"#, "task_types"),
            (claim, r#"{"worker_id": "w", "task_types": [""]}"#, "task_types"),
            (claim, r#"{"worker_id": "w", "task_types": ["a\u0000b"]}"#, "NUL"),
            (claim, r#"{"worker_id": "w", "max_attempts_remaining": -1}"#, "max_attempts_remaining"),
            (claim, r#"{"worker_id": "w", "max_attempts_remaining": 9223372036854775807}"#, "0 to 1000"),
            (claim, r#"{"worker_id": "w", "sort_by": "id; DROP TABLE tasks"}"#, "sort_by"),
            (claim, r#"{"worker_id": "w", "sort_order": "DESC"}"#, "sort_order"),
            ("/api/tasks", r#"{"params": {}}"#, "Missing required field: task_type"),
            ("/api/tasks", r#"{"task_type": "reddit_post_fetch", "params": []}"#, "params"),
            ("/api/tasks", r#"{"task_type": "reddit_post_fetch", "params": {"a": "\u0000"}}"#, "NUL"),
            ("/api/tasks", r#"{"task_type": "reddit_post_fetch", "params": {"a": 1e999}}"#, ""),
            ("/api/tasks", r#"{"task_type": "reddit_post_fetch", "priority": 3000000000}"#, "priority"),
            ("/api/tasks", r#"{"task_type": "reddit_post_fetch", "max_attempts": 0}"#, "max_attempts"),
            ("/api/tasks/x/complete", r#"{"worker_id": "w"}"#, "number"),
            ("/api/tasks/1/fail", r#"{"worker_id": "w", "error": "\u0000"}"#, "NUL"),
            ("/api/workers/heartbeat", r#"{"worker_id": "w", "pid": -1}"#, "pid"),
        ] {
            let answer = server.client().send("POST", path, body);
            assert_eq!(answer.status, 400, "{path} {body}: {answer:?}");
            let object = answer.json();
            assert_eq!(object["success"], false);
            let error = object["error"].as_str().expect("a sentence");
            assert!(!error.is_empty() && error.contains(said), "{path} {body}: {error}");
        }
        let pending: i64 = server.ground.one("SELECT count(*) FROM tasks WHERE status = 'pending'");
        assert_eq!(pending, 1);
        assert!(!server.errors().contains("panicked"), "{}", server.errors());
    });
}

#[test]
fn paths_and_methods_that_do_not_exist_are_answered_as_such() {
    let server = Server::on(Engine::Sqlite);
    for (method, path, status) in [
        ("GET", "/", 404),
        ("GET", "/api/tasks/../../etc/passwd", 404),
        ("GET", "/api/tasks/1%2f..%2f2", 400),
        ("GET", "/api//tasks/1", 404),
        ("GET", "/api/tasks/-1", 404),
        ("GET", "/api/tasks/99999999999999999999", 400),
        ("DELETE", "/api/tasks/1", 405),
        ("GET", "/api/tasks/claim", 405),
        ("PUT", "/api/workers", 405),
        ("GET", "/healthz", 200),
    ] {
        let answer = server.client().send(method, path, "");
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
    }
}

#[test]
fn a_body_that_is_too_large_or_no_json_is_refused() {
    let server = Server::on(Engine::Sqlite);
    let large = json!({"task_type": "reddit_post_fetch", "params": {"text": "x".repeat(300 * 1024)}});
    assert_eq!(server.post("/api/tasks", &large).status, 413);
    let mut client = server.client();
    let request = format!(
        "POST /api/tasks/claim HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}",
        server.key
    );
    client.stream.get_mut().write_all(request.as_bytes()).expect("sent");
    assert_eq!(client.answer().status, 415);
    // Deeper than anybody means it.
    let deep = format!("{{\"worker_id\": {}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
    assert_eq!(server.client().send("POST", "/api/tasks/claim", &deep).status, 400);
    let endless = format!("GET /api/workers HTTP/1.1\r\nHost: x\r\nX-Long: {}", "x".repeat(100_000));
    let mut client = server.client();
    let _ = client.stream.get_mut().write_all(endless.as_bytes());
    let answer = client.try_answer();
    assert!(answer.is_none_or(|answer| answer.status == 431), "a head without end");
}

/// A connection that sends the beginning of a request and then nothing.
fn slow(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(&server.address).expect("a connection");
    // The server may have closed it already.
    let _ = stream.write_all(b"POST /api/tasks/claim HTTP/1.1\r\nHost: x\r\n");
    stream
}

#[test]
fn a_thousand_connections_that_send_nothing_keep_no_worker_out() {
    let server = Server::on(Engine::Sqlite);
    let mut worker = server.client();
    assert_eq!(worker.send("GET", "/api/workers", "").status, 200);
    let before = server.peak_memory();
    let slow: Vec<TcpStream> = (0..1_000).map(|_| slow(&server)).collect();
    for number in 0..50 {
        server.task(&json!({"task_type": "youtube_video_scrape"}));
        let answer = server.claim(&json!({"worker_id": format!("worker-{number}")}));
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    drop(slow);
    let grown = server.peak_memory().saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KiB more");
}

/// Whatever the server still sends until it closes the connection.
fn until_closed(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(300))).expect("a timeout");
    let mut told = Vec::new();
    stream.read_to_end(&mut told).expect("the server closes it");
    String::from_utf8_lossy(&told).into_owned()
}

#[test]
fn a_request_that_never_ends_is_cut_off() {
    let server = Server::on(Engine::Sqlite);
    let head = slow(&server);
    let mut body = TcpStream::connect(&server.address).expect("a connection");
    let request = format!(
        "POST /api/tasks/claim HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: 100\r\n\r\n{{",
        server.key
    );
    body.write_all(request.as_bytes()).expect("sent");
    thread::scope(|scope| {
        let head = scope.spawn(|| until_closed(head));
        let body = scope.spawn(|| until_closed(body));
        assert!(!head.join().expect("an end").contains("200 OK"));
        assert!(body.join().expect("an end").starts_with("HTTP/1.1 408"));
    });
}

#[test]
fn large_and_broken_bodies_leave_the_memory_as_it_was() {
    let server = Server::on(Engine::Sqlite);
    let large = format!("{{\"task_type\": \"{}\"}}", "x".repeat(4 * 1024 * 1024));
    let broken = format!("{{\"worker_id\": {}", "[".repeat(200_000));
    let round = || {
        for body in [&large, &broken] {
            // The server may close the connection before it has read all.
            let mut client = server.client();
            let _ = client
                .stream
                .get_mut()
                .write_all(super::request("POST", "/api/tasks", &server.key, body).as_bytes());
            let answer = client.try_answer();
            assert!(answer.is_none_or(|answer| [400, 413].contains(&answer.status)));
        }
    };
    (0..5).for_each(|_| round());
    let before = server.peak_memory();
    (0..100).for_each(|_| round());
    let grown = server.peak_memory().saturating_sub(before);
    assert!(grown < 8 * 1024, "{grown} KiB more");
}

#[test]
fn a_client_that_leaves_in_the_middle_harms_nobody() {
    on_both(|server| {
        for _ in 0..20 {
            server.task(&json!({"task_type": "youtube_video_scrape"}));
            let mut client: Client = server.client();
            let body = r#"{"worker_id": "gone"}"#;
            let request = format!(
                "POST /api/tasks/claim HTTP/1.1\r\nHost: x\r\nX-API-Key: {}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                server.key,
                body.len()
            );
            client.stream.get_mut().write_all(request.as_bytes()).expect("sent");
        }
        // Whatever became of those claims, every task is in exactly one state, and the queue goes on.
        let id = server.task(&json!({"task_type": "reddit_post_fetch"}));
        let path = format!("/api/tasks/{id}/claim");
        assert_eq!(server.post(&path, &json!({"worker_id": "here"})).status, 200);
        let odd: i64 = server.ground.one(
            "SELECT count(*) FROM tasks WHERE (status = 'claimed') <> (worker_id IS NOT NULL AND claimed_at IS NOT NULL)",
        );
        assert_eq!(odd, 0);
    });
}
