//! Every wait has an end, and what was under way is never called done.

use super::server::{Kind, Server};
use super::{LIMITS, cell, open};
use claimtop::store::postgres::{Begin, Limits, Link, PgError, Purpose, Target};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

#[test]
fn statements_have_limits_and_a_failed_transaction_is_never_committed() {
    let server = Server::start(Kind::Plain);
    let mut link = open(&server.socket()).unwrap();
    link.batch("CREATE TABLE public.t (id int PRIMARY KEY, note text)").unwrap();
    link.begin(Begin::Acting).unwrap();
    let added = link.execute(
        "INSERT INTO public.t SELECT $1::int, $2 UNION ALL SELECT 2, $3",
        &[Some("1"), Some("x"), None],
    );
    assert_eq!(added, Ok(2));
    link.commit().unwrap();
    let rows = link.query("SELECT id::text, note FROM public.t ORDER BY id", &[]).unwrap();
    assert_eq!((rows[0].len(), rows[0].get(1), rows[1].get(1), rows[1].get(9)), (2, Some("x"), None, None));

    link.begin(Begin::Acting).unwrap();
    link.execute("DELETE FROM public.t WHERE id = $1::int", &[Some("1")]).unwrap();
    let error = link.query("SELECT nothing FROM public.t", &[]).unwrap_err();
    assert_eq!(error.code(), Some("42703"));
    assert_eq!(link.commit().unwrap_err().code(), Some("25P02"));
    assert_eq!(cell(&mut link, "SELECT count(*)::text FROM public.t"), "2");

    link.begin(Begin::Reading).unwrap();
    assert_eq!(link.execute("DELETE FROM public.t", &[]).unwrap_err().code(), Some("25006"));
    link.rollback().unwrap();

    let target = Target::parse(&server.socket(), None).unwrap();
    let limits = Limits { lock: Duration::from_millis(100), ..LIMITS };
    let mut other = Link::open(&target, Purpose::Acts, limits).unwrap();
    link.begin(Begin::Acting).unwrap();
    link.execute("UPDATE public.t SET note = 'held' WHERE id = 1", &[]).unwrap();
    other.begin(Begin::Acting).unwrap();
    let error = other.execute("UPDATE public.t SET note = 'mine' WHERE id = 1", &[]).unwrap_err();
    assert_eq!(error.code(), Some("55P03"));
    other.rollback().unwrap();
    assert!(other.is_open());
    let limits = Limits { statement: Duration::from_millis(200), ..LIMITS };
    let mut other = Link::open(&target, Purpose::Acts, limits).unwrap();
    other.begin(Begin::Reading).unwrap();
    assert_eq!(other.query("SELECT pg_sleep(60)::text", &[]).unwrap_err().code(), Some("57014"));
    assert!(other.is_open() && link.is_open());
}

#[test]
fn a_frozen_server_is_left_after_our_own_limit() {
    let server = Server::start(Kind::Plain);
    let limits = Limits { answer: Duration::from_secs(5), ..LIMITS };
    let target = Target::parse(&server.socket(), None).unwrap();
    let mut link = Link::open(&target, Purpose::Polls, limits).unwrap();
    let pid = Pid::from_raw(cell(&mut link, "SELECT pg_backend_pid()::text").parse().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let error = link.query("SELECT 'never'", &[]).unwrap_err();
    kill_process(pid, Signal::CONT).unwrap();
    assert_eq!(error, PgError::TimedOut(limits.answer));
    assert!(!link.is_open());
    assert!(matches!(link.query("SELECT 'x'", &[]), Err(PgError::Lost(_))));
}

#[test]
fn a_terminated_connection_is_lost_in_the_middle_and_between_statements() {
    let server = Server::start(Kind::Plain);
    let mut killer = open(&server.socket()).unwrap();
    for busy in [false, true] {
        let mut link = open(&server.socket()).unwrap();
        let pid = cell(&mut link, "SELECT pg_backend_pid()::text");
        let end = |killer: &mut Link| {
            let sql = "SELECT pg_terminate_backend($1::int, 60000)::text";
            killer.query(sql, &[Some(&pid)]).unwrap();
        };
        let error = std::thread::scope(|scope| {
            let waiting = busy.then(|| {
                scope.spawn(|| {
                    let active = format!("SELECT count(*)::text FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'");
                    while cell(&mut killer, &active) == "0" {}
                    end(&mut killer);
                })
            });
            if waiting.is_some() {
                return link.query("SELECT pg_sleep(300)::text", &[]).unwrap_err();
            }
            let mut second = open(&server.socket()).unwrap();
            end(&mut second);
            link.query("SELECT 'x'", &[]).unwrap_err()
        });
        assert!(matches!(&error, PgError::Lost(why) if why.contains("administrator command")), "{error}");
        assert!(!link.is_open());
    }
}

/// A caller may be a task of another runtime.
#[test]
fn a_link_may_be_used_inside_another_runtime() {
    let server = Server::start(Kind::Plain);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut link = open(&server.socket()).unwrap();
        assert_eq!(cell(&mut link, "SELECT 'here'"), "here");
    });
}
