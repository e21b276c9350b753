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
    // More than there is room for: who comes then takes the place of the oldest.
    let more: Vec<TcpStream> = (0..400).map(|_| server.connect()).collect();
    server.scrape();
    // And they are sent away.
    for mut stream in silent.into_iter().chain(half).chain(more) {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!String::from_utf8_lossy(&rest).contains("claimtop_"));
    }
    drop(deaf);
}

/// How long it takes until a scrape is answered.
fn scraping(server: &Server) -> Duration {
    let began = Instant::now();
    server.scrape();
    began.elapsed()
}

#[test]
fn two_hundred_slow_connections_do_not_delay_a_scrape() {
    let (_database, server) = server();
    server.wait_until_read();
    let usual = (0..5).map(|_| scraping(&server)).max().unwrap_or_default();
    let mut slow: Vec<TcpStream> = (0..200).map(|_| server.connect()).collect();
    // Each sends a byte now and then: none of them is silent, and none ever comes to the end of its head.
    let mut took = Vec::new();
    for byte in b"GET /metrics HTTP/1.1\r\nHost: loc" {
        for stream in &mut slow {
            let _ = stream.write_all(&[*byte]);
        }
        took.push(scraping(&server));
    }
    took.sort_unstable();
    let (most, longest) = (took[took.len() / 2], took[took.len() - 1]);
    crate::support::figures::tell(&format!(
        "a scrape beside 200 slow connections: {longest:.1?} at most, {usual:.1?} without them"
    ));
    // Before, every scrape waited for seconds until one of them was sent away. A busy machine delays one or two.
    assert!(most < usual * 10 + Duration::from_secs(1), "{most:?} instead of {usual:?}: {took:?}");
}

#[test]
fn the_older_text_format_is_right_by_promtool() {
    let (_database, server) = server();
    server.wait_until_read();
    let ask = |accept: &str| {
        server.send(&format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n"))
    };
    let answer = ask("text/plain;version=0.0.4");
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool checks what a scrape brings; it is in Debian's package prometheus");
    promtool.stdin.take().expect("a pipe").write_all(answer.body.as_bytes()).expect("written");
    let output = promtool.wait_with_output().expect("its end");
    let said = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success() && said.is_empty(),
        "{}\n{}",
        String::from_utf8_lossy(&said),
        answer.body
    );
    // The same samples in both formats.
    let samples = |body: &str| -> Vec<String> {
        let all = body.lines().filter(|line| !line.starts_with('#'));
        all.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
    };
    let openmetrics = ask("application/openmetrics-text;q=0.6,text/plain;version=0.0.4;q=0.3");
    assert!(openmetrics.header("content-type").is_some_and(|kind| kind.contains("openmetrics")));
    assert_eq!(samples(&answer.body), samples(&openmetrics.body));
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
