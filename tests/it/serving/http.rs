//! The HTTP side: what is answered, to whom, and who can hold it up.

use super::*;
use crate::support::{COORDINATION, Database, stderr};

fn server() -> (Database, Server) {
    let database = Database::new(COORDINATION);
    let server = Server::start(&[], &[&database.path()]);
    (database, server)
}

#[test]
fn metrics_are_openmetrics_with_the_right_type_and_head_brings_the_same_head() {
    let (_database, server) = server();
    server.wait_until_read();
    let answer = server.ask("GET", "/metrics");
    let wanted = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!((answer.status, answer.header("content-type")), (200, Some(wanted)));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()));
    let told = Exposition::parse(&answer.body);
    assert!(told.families.values().all(|family| family.help.ends_with('.')));
    let head = server.ask("HEAD", "/metrics");
    assert_eq!((head.status, head.header("content-type"), head.body.as_str()), (200, Some(wanted), ""));
}

#[test]
fn there_are_three_pages_and_two_methods() {
    let (_database, server) = server();
    server.wait_until_read();
    let status = |method, path| server.ask(method, path).status;
    assert_eq!(status("GET", "/healthz"), 200);
    assert_eq!(status("GET", "/readyz"), 200);
    for path in ["/", "/metrics/", "/metricsx", "/../etc/passwd", "/healthz/x"] {
        assert_eq!(status("GET", path), 404, "{path}");
    }
    assert_eq!(status("GET", "/metrics?x=1"), 200);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = server.ask(method, "/metrics");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("get, head")), "{method}");
    }
    assert_eq!(status("POST", "/nowhere"), 404);
}

#[test]
fn a_page_whose_name_leads_here_is_told_nothing() {
    let (_database, server) = server();
    let port = server.address.rsplit_once(':').expect("a port").1.to_owned();
    let asked = |host: &str| {
        let answer = server.send(&format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(answer.status == 200 || !answer.body.contains("claimtop_"), "{answer:?}");
        answer.status
    };
    assert_eq!(asked(&format!("127.0.0.1:{port}")), 200);
    assert_eq!(asked("[::1]"), 200);
    assert_eq!(asked(&format!("evil.example:{port}")), 403);
    assert_eq!(asked("localhost.evil.example"), 403);
    let absolute = "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(server.send(absolute).status, 403);
    assert_eq!(server.send("GET /metrics HTTP/1.0\r\n\r\n").status, 400);
}

#[test]
fn clients_that_say_or_read_nothing_hold_nobody_up() {
    let (_database, server) = server();
    let silent: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    let half: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: local").expect("sent");
            stream
        })
        .collect();
    let deaf: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
            stream
        })
        .collect();
    let before = server.wait_until_read().get("claimtop_polls_total", &[("result", "good")]).expect("polls");
    server.wait("polls go on", |told| {
        told.get("claimtop_polls_total", &[("result", "good")]).is_some_and(|polls| polls > before)
    });
    // More than there is room for: who comes then waits, and is served.
    let more: Vec<TcpStream> = (0..60).map(|_| server.connect()).collect();
    server.scrape();
    // And they are sent away.
    for mut stream in silent.into_iter().chain(half).chain(more) {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!String::from_utf8_lossy(&rest).contains("claimtop_"));
    }
    drop(deaf);
}

#[test]
fn a_head_without_end_is_refused() {
    let (_database, server) = server();
    let mut stream = server.connect();
    let huge = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(200_000));
    // It may close before it has read all of it.
    let _ = stream.write_all(huge.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("claimtop_"));
    server.scrape();
}

#[test]
fn two_scrapers_at_once_are_both_served() {
    let (_database, server) = server();
    server.wait_until_read();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..20).for_each(|_| drop(server.scrape())));
        }
    });
}

#[test]
fn a_port_that_is_taken_is_an_error_that_says_so() {
    let (database, server) = server();
    let output = serve(&["--listen", &server.address], &[&database.path()]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("this port is taken"), "{}", stderr(&output));
    let bad = serve(&["--listen", "nowhere"], &[&database.path()]).output().expect("it runs");
    assert_eq!(bad.status.code(), Some(3));
}

#[test]
fn only_an_address_that_others_reach_is_warned_of() {
    let database = Database::new(COORDINATION);
    let server = Server::start(&[], &[&database.path()]);
    assert_eq!(server.errors(), "");
    let mut command = serve(&["--listen", "0.0.0.0:0"], &[&database.path()]);
    let mut open = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = String::new();
    BufReader::new(open.stderr.take().expect("a pipe")).read_line(&mut said).expect("a line");
    open.kill().expect("killed");
    open.wait().expect("its end");
    assert!(said.contains("warning") && said.contains("no authentication"), "{said}");
}

#[test]
fn sigterm_and_sigint_end_it_with_zero_and_sighup_does_not() {
    for signal in ["TERM", "INT"] {
        let (_database, mut server) = server();
        server.wait_until_read();
        server.signal("HUP");
        let heard = |_: &Exposition| server.errors().contains("the config was read again");
        server.wait("the config", heard);
        server.signal(signal);
        assert_eq!(server.child.wait().expect("its end").code(), Some(0), "{signal}");
    }
}
