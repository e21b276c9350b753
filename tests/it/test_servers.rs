//! The tests' own servers do what the fault tests take for granted.

use crate::support::postgres::PgDatabase;
use crate::support::server::{Server, until};
use std::fs;
use std::thread;

#[test]
fn a_database_of_the_runs_server_is_its_own_and_gone_afterwards() {
    let (one, other) =
        (PgDatabase::new("CREATE TABLE t (a int, b text);"), PgDatabase::new("CREATE TABLE t (a int)"));
    one.run("INSERT INTO t VALUES (1, 'x'); INSERT INTO t VALUES (2, NULL);");
    assert_eq!(
        one.query("SELECT a, b FROM t ORDER BY a"),
        [[Some("1".into()), Some("x".into())], [Some("2".into()), None]]
    );
    assert!(other.query("SELECT a FROM t").is_empty());
    assert!(one.url().starts_with("postgresql://"), "{}", one.url());

    let held = one.connect();
    let gone = format!("SELECT count(*) FROM pg_database WHERE datname = '{}'", one.name());
    assert_eq!(other.value(&gone).as_deref(), Some("1"));
    drop(one);
    assert_eq!(other.value(&gone).as_deref(), Some("0"));
    held.attempt("SELECT 1").expect_err("its database is gone");
}

#[test]
fn sessions_may_be_used_from_many_threads() {
    let database = PgDatabase::new("CREATE TABLE hits (who int)");
    thread::scope(|scope| {
        for who in 0..16 {
            let database = &database;
            scope.spawn(move || {
                database.run(&format!("INSERT INTO hits VALUES ({who})"));
                database.connect().run(&format!("INSERT INTO hits VALUES ({who})"));
            });
        }
    });
    assert_eq!(database.value("SELECT count(*) FROM hits").as_deref(), Some("32"));
}

#[test]
fn a_server_of_a_test_falls_gets_up_freezes_and_leaves_nothing_behind() {
    let server = Server::start_with_tcp();
    server.create_database("jobs", "CREATE TABLE t AS SELECT 1 AS a");
    let session = server.connect("jobs");
    let first = server.postmaster();

    // The sessions that made the database take a moment to go.
    until("one session", || server.backends("claimtop-tests") == [session.pid()]);
    assert!(server.terminate_backends() >= 1);
    session.attempt("SELECT 1").expect_err("it was terminated");

    let session = server.connect("jobs");
    server.restart_immediate();
    session.attempt("SELECT 1").expect_err("the server fell over");
    assert_ne!(server.postmaster(), first);

    let session = server.connect("jobs");
    server.freeze();
    thread::scope(|scope| {
        let answer = scope.spawn(|| session.value("SELECT a FROM t"));
        server.thaw();
        assert_eq!(answer.join().unwrap().as_deref(), Some("1"));
    });

    server.stop();
    assert!(std::net::TcpStream::connect(("127.0.0.1", server.port())).is_err());
    server.start_again();
    let by_tcp: postgres::Config = server.tcp_url("jobs").parse().unwrap();
    let by_tcp = crate::support::postgres::Session::open(&by_tcp);
    assert_eq!(by_tcp.value("SELECT a FROM t").as_deref(), Some("1"));

    // Dropped while frozen, which must not hang.
    let (folder, last) = (server.folder().to_path_buf(), server.postmaster());
    server.freeze();
    drop(server);
    assert!(!folder.exists());
    // It takes its file away just before it ends.
    until("the postmaster to end", || match fs::read_to_string(format!("/proc/{last}/stat")) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    });
}

#[test]
fn a_standby_follows_its_server_and_can_be_held_back() {
    let primary = Server::start();
    primary.connect("postgres").run("CREATE TABLE t AS SELECT 1 AS a");
    let standby = primary.standby();
    standby.catch_up_with(&primary);
    let count = || standby.connect("postgres").value("SELECT count(*) FROM t");
    assert_eq!(standby.connect("postgres").value("SELECT pg_is_in_recovery()").as_deref(), Some("t"));
    assert_eq!(count().as_deref(), Some("1"));

    standby.pause_replay();
    primary.connect("postgres").run("INSERT INTO t VALUES (2)");
    assert_eq!(count().as_deref(), Some("1"));
    standby.resume_replay();
    standby.catch_up_with(&primary);
    assert_eq!(count().as_deref(), Some("2"));
    standby.connect("postgres").attempt("INSERT INTO t VALUES (3)").expect_err("it is read-only");
}
