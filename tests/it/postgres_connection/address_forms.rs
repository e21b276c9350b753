//! Every way to say where the server is.

use super::server::{CANARY, Kind, Server};
use super::{cell, open};
use claimtop::store::postgres::{Begin, Link, Purpose, Target};
use std::process::Command;

const WHO: &str = "SELECT current_user || '@' || current_database()";

#[test]
fn texts_files_commands_and_variables_lead_to_the_server() {
    let server = Server::start(Kind::Plain);
    let (folder, port) = (server.folder().display().to_string(), server.port);
    let encoded = folder.replace('/', "%2F");
    for text in [
        server.socket(),
        format!("postgres://boss@{encoded}:{port}/app"),
        format!("postgresql:///app?host={folder}&port={port}&user=boss"),
        // The first host refuses.
        format!("postgres://boss@127.0.0.1:1,{encoded}:{port}/app"),
    ] {
        assert_eq!(cell(&mut open(&text).expect(&text), WHO), "boss@app");
    }

    let far = format!("host=127.0.0.1 port={port} user=ann dbname=app");
    assert_eq!(cell(&mut open(&format!("{far} password={CANARY}")).unwrap(), WHO), "ann@app");
    let url = format!("postgres://ann:{CANARY}@localhost:{port}/app?sslmode=prefer");
    assert_eq!(cell(&mut open(&url).unwrap(), WHO), "ann@app");

    let file =
        server.private_file("pass", &format!("# no\n*:1:*:*:wrong\n127.0.0.1:{port}:*:ann:{CANARY}\n"));
    let text = format!("{far} passfile={}", file.display());
    assert_eq!(cell(&mut open(&text).unwrap(), WHO), "ann@app");

    let target = Target::parse(&far, Some(&format!("echo {CANARY}; echo more"))).unwrap();
    let mut link = Link::open(&target, Purpose::Polls, super::LIMITS).unwrap();
    assert_eq!(cell(&mut link, WHO), "ann@app");
    let name = cell(&mut link, "SELECT current_setting('application_name')");
    assert!(name.starts_with("claimtop/"), "{name}");
    assert!(link.begin(Begin::Acting).is_err(), "a link for polls began to write");

    let service = format!("[prod]\nhost={folder}\nport={port}\nuser=boss\ndbname=app\n");
    let file = server.private_file("services", &service);
    let text = format!("service=prod servicefile={}", file.display());
    assert_eq!(cell(&mut open(&text).unwrap(), WHO), "boss@app");

    let port = port.to_string();
    let all = [
        ("PGHOST", "127.0.0.1"),
        ("PGPORT", &port),
        ("PGUSER", "ann"),
        ("PGDATABASE", "app"),
        ("PGPASSWORD", CANARY),
    ];
    assert_eq!(elsewhere("postgres://", &all), "ann@app");
    let named = [("PGSERVICE", "prod"), ("PGSERVICEFILE", file.to_str().unwrap())];
    assert_eq!(elsewhere("postgres://", &named), "boss@app");
    let passfile = server.file("pass");
    assert_eq!(elsewhere(&far, &[("PGPASSFILE", &passfile), ("PGCONNECT_TIMEOUT", "20")]), "ann@app");
}

/// Who a process with these variables is to the server.
fn elsewhere(text: &str, variables: &[(&str, &str)]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "postgres_connection::address_forms::a_process_of_its_own_says_who_it_is",
            "--nocapture",
        ])
        .env("CLAIMTOP_TEST_TARGET", text)
        .envs(variables.iter().copied())
        .output()
        .expect("this program");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = said.lines().find_map(|line| line.split("who=").nth(1));
    found.unwrap_or_else(|| panic!("{said} {}", String::from_utf8_lossy(&output.stderr))).to_owned()
}

/// Variables belong to a process: the test above starts this one with its own.
#[test]
fn a_process_of_its_own_says_who_it_is() {
    if let Ok(text) = std::env::var("CLAIMTOP_TEST_TARGET") {
        println!("\nwho={}", cell(&mut open(&text).unwrap(), WHO));
    }
}
