//! Every way to be kept out is one sentence with a way out.

use super::server::{CANARY, Kind, Server};
use super::{open, refusal};
use crate::support::server::free_port;
use claimtop::store::StoreError;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_server_that_does_not_let_us_in_is_quoted_with_a_hint() {
    let server = Server::start(Kind::Plain);
    let far = format!("host=127.0.0.1 port={} dbname=app", server.port);
    let wrong = refusal(&format!("{far} user=ann password={CANARY}x"));
    assert!(wrong.contains("password authentication failed") && wrong.contains("28P01"), "{wrong}");
    let role = refusal(&server.socket().replace("user=boss", "user=nobody"));
    assert!(role.contains("nobody"), "{role}");
    let database = refusal(&server.socket().replace("dbname=app", "dbname=gone"));
    assert!(
        database.contains("\"gone\" does not exist") && database.contains("name another database"),
        "{database}"
    );

    let none = refusal(&format!("{far} user=ann passfile=/proc/nonexistent"));
    assert!(none.contains("asks for a password") && none.contains("password_command"), "{none}");
    let file = server.private_file("pass", &format!("*:*:*:*:{CANARY}"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let open_file = refusal(&format!("{far} user=ann passfile={}", file.display()));
    assert!(open_file.contains("chmod 600"), "{open_file}");
    let error = open(&format!("{far} user=ann password=x")).unwrap_err();
    assert!(matches!(error, StoreError::Denied { .. }), "{error}");
}

#[test]
fn a_server_that_is_not_there_or_never_answers_is_named() {
    let port = free_port();
    let said = refusal(&format!("postgres://ann@127.0.0.1:{port}/app"));
    assert!(said.contains(&format!("127.0.0.1:{port}")) && said.contains("refused"), "{said}");
    assert!(said.contains("check that the server runs there"), "{said}");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let said = refusal(&format!("host=127.0.0.1 port={port} user=ann connect_timeout=1"));
    assert!(said.contains("does not answer within 1s"), "{said}");

    let said = refusal("host=/nonexistent user=ann");
    assert!(said.contains("/nonexistent/.s.PGSQL.5432"), "{said}");
    let said = refusal("host=127.0.0.1,127.0.0.2 port=1 user=ann");
    assert!(said.contains("127.0.0.1:1") && said.contains("127.0.0.2:1"), "{said}");
}

#[test]
fn a_text_that_makes_no_sense_is_named_without_its_values() {
    for (text, part) in [
        ("postgres://h/d?sslmod=canary", "sslmod"),
        ("host=h sslmode=canary", "verify-full"),
        ("host=h port=canary", "port"),
        ("host=h canary", "key=value"),
        ("host=h password='canary", "never closed"),
        ("host=h connect_timeout=canary", "connect_timeout"),
        ("host=a,b port=1,2,3", "3 ports"),
        ("service=nowhere-known", "there is no service nowhere-known"),
    ] {
        let said = refusal(text);
        assert!(said.contains(part) && !said.replace(text, "").contains("canary"), "{said}");
    }
}
