//! A source that does not answer keeps no other from being swept.

use super::*;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;

#[test]
fn a_server_that_never_answers_delays_no_other_source() {
    let scene = Scene::new();
    scene.expired(1);
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("its address").port();
    let server = format!("postgres://nobody@127.0.0.1:{port}/none?sslmode=disable&connect_timeout=600");
    let mut command = scene.command(&["sweep", "--every", "200ms", "--json", &server, "DB"]);
    let mut sweep = command.stdout(Stdio::piped()).spawn().expect("claimtop runs");
    let lines = BufReader::new(sweep.stdout.take().expect("its output")).lines();
    let summaries = lines
        .map(|line| serde_json::from_str::<Json>(&line.expect("a line")).expect("JSON"))
        .filter(|line| line["source"].as_str().is_some_and(|source| source == scene.database.source()));
    // Two looks: the claim's times are the worker's, so the first only sees it.
    assert_eq!(summaries.take(3).count(), 3);
    sweep.kill().expect("our own child");
    sweep.wait().expect("our own child");
}
