//! A commit whose answer is lost: looked up before it is reported, and settled later where it must be.

use super::proxy::Proxy;
use super::*;
use crate::support::postgres::{Session, url};
use crate::support::server::{Server, USER, until};
use postgres::config::Host;
use std::process::Child;

/// A commit waits for this lock: whoever holds it decides how long the answer takes.
const SLOW: &str = "
    CREATE FUNCTION wait_for_it() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON executor_jobs DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION wait_for_it();
    INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts) VALUES
      ('00000000-0000-0000-0000-000000000001', 'run_tsa', 'running', now() - interval '1 hour', 'w', 1),
      ('00000000-0000-0000-0000-000000000002', 'run_tsa', 'running', now(), 'w', 1);";
const JOB: &str = "00000000-0000-0000-0000-000000000001";
const OTHER: &str = "00000000-0000-0000-0000-000000000002";

struct Stage {
    server: Server,
    proxy: Proxy,
    operator: Operator,
}

impl Stage {
    fn new(with_table: bool) -> Stage {
        Stage::on(Server::start(), with_table)
    }

    fn on(server: Server, with_table: bool) -> Stage {
        server.create_database("jobs", &format!("{JOBS} {} {SLOW}", if with_table { AUDIT } else { "" }));
        let proxy = Proxy::to(server.folder());
        let operator = Operator::of(url(&Host::Unix(proxy.folder().into()), 5432, USER, "jobs"));
        Stage { server, proxy, operator }
    }

    /// A reclaim that has sent its commit and waits for the answer; what keeps it, and its backend.
    fn committing(&self) -> (Child, Session, i32) {
        let keeper = self.server.connect("jobs");
        keeper.run("SELECT pg_advisory_lock(7)");
        let mut command = self.operator.command(&["reclaim", "DB", JOB, "--json"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop runs");
        let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'";
        until("the commit", || keeper.query(waiting).len() == 1);
        let pid = keeper.value(waiting).expect("a pid").parse().expect("a number");
        (child, keeper, pid)
    }

    fn attempts(&self) -> String {
        let sql = format!("SELECT status || attempts FROM executor_jobs WHERE id = '{JOB}'");
        self.server.connect("jobs").value(&sql).expect("the job")
    }

    /// The next act settles what is open; then the trail says of the first one what it came to.
    fn settles(&self, outcome: &str) {
        self.operator.run(&["extend", "DB", OTHER, "--json"]).came_to(0, "applied");
        self.operator.trail_is_whole();
        let all = self.operator.outcomes();
        let of_job: Vec<&Json> = all
            .iter()
            .filter(|one| one["id"] == JOB || one["address"].as_str().is_some_and(|it| it.ends_with(JOB)))
            .collect();
        assert_eq!(of_job.last().expect("an outcome")["outcome"], outcome, "{of_job:#?}");
    }
}

fn end(child: Child) -> Run {
    Run::of(&child.wait_with_output().expect("its end"))
}

#[test]
fn a_commit_that_went_through_although_the_connection_was_cut_is_reported_as_done() {
    for with_table in [true, false] {
        let stage = Stage::new(with_table);
        let (child, keeper, _) = stage.committing();
        stage.proxy.cut();
        keeper.run("SELECT pg_advisory_unlock(7)");
        end(child).came_to(0, "applied");
        assert_eq!(stage.attempts(), "queued2");
        stage.settles("applied");
        let undone = stage.operator.outcomes();
        let id = undone[0]["action_id"].as_str().expect("an id");
        stage.operator.run(&["undo", "DB", id, "--json"]).came_to(0, "applied");
        assert_eq!(stage.attempts(), "running1");
    }
}

#[test]
fn a_backend_that_was_ended_in_the_commit_has_done_nothing_and_that_is_said() {
    let stage = Stage::new(false);
    let (child, keeper, pid) = stage.committing();
    keeper.run(&format!("SELECT pg_terminate_backend({pid})"));
    let run = end(child);
    run.came_to(5, "refused");
    run.says("nothing was written");
    assert_eq!(stage.attempts(), "running1");
    keeper.run("SELECT pg_advisory_unlock(7)");
    stage.settles("refused");
    stage.operator.run(&["reclaim", "DB", JOB, "--json"]).came_to(0, "applied");
    assert_eq!(stage.attempts(), "queued2");
}

#[test]
fn a_server_that_fell_over_in_the_commit_has_done_nothing_and_that_is_said() {
    let stage = Stage::new(true);
    let (child, keeper, _) = stage.committing();
    stage.server.restart_immediate();
    drop(keeper);
    let run = end(child);
    run.came_to(5, "refused");
    assert_eq!(stage.attempts(), "running1");
    stage.settles("refused");
}

#[test]
fn a_commit_that_nobody_can_tell_of_is_unknown_until_it_can_be_told() {
    let stage = Stage::new(false);
    let (child, keeper, pid) = stage.committing();
    stage.server.sigstop(pid);
    stage.proxy.cut();
    let run = end(child);
    run.came_to(6, "unknown");
    assert_eq!(stage.operator.run(&["audit", "list", "--open", "--json"]).lines().len(), 1);
    keeper.run("SELECT pg_advisory_unlock(7)");
    stage.server.sigcont(pid);
    let ended = format!("SELECT pid FROM pg_stat_activity WHERE pid = {pid}");
    until("the end of the commit", || keeper.query(&ended).is_empty());
    let outcome = if stage.attempts() == "queued2" { "applied" } else { "refused" };
    stage.settles(outcome);
}

/// After a crash a server may give the number of a lost transaction to the next one, which commits.
#[test]
fn a_number_that_another_transaction_got_after_a_crash_does_not_make_an_act_applied() {
    // What is not committed stays in memory as long as possible.
    let settings =
        "wal_writer_delay = 10000ms\nautovacuum = off\ncheckpoint_timeout = 1h\nwal_buffers = 16MB";
    let stage = Stage::on(Server::start_with(settings), false);
    let (mut child, keeper, _) = stage.committing();
    child.kill().expect("killed");
    child.wait().expect("its end");
    stage.server.fall();
    drop(keeper);
    stage.server.start_again();
    let open = stage.operator.run(&["audit", "list", "--open", "--json"]).lines();
    let record = &open[0]["record"];
    let number: u64 = record["transaction"]
        .as_str()
        .and_then(|mark| mark.split(' ').next())
        .expect("a number")
        .parse()
        .expect("a number");
    let worker = stage.server.connect("jobs");
    let next =
        || worker.value("SELECT pg_current_xact_id()").expect("a number").parse::<u64>().expect("a number");
    while next() + 1 < number {}
    worker.run(&format!("DELETE FROM executor_jobs WHERE id = '{JOB}'"));
    let status = worker.value(&format!("SELECT pg_xact_status('{number}')"));
    eprintln!("the number of the lost transaction is {status:?} by now");
    stage.operator.run(&["extend", "DB", OTHER, "--json"]).came_to(0, "applied");
    let action = record["action_id"].as_str().expect("an id");
    let said = stage.operator.outcomes().into_iter().find(|one| one["action_id"] == action);
    assert!(said.as_ref().is_none_or(|one| one["outcome"] == "refused"), "{said:#?}");
    let undone = stage.operator.run(&["undo", "DB", action, "--json"]);
    assert!([3, 5].contains(&undone.code), "{undone:#?}");
    assert_eq!(
        worker.value("SELECT count(*) FROM executor_jobs").as_deref(),
        Some("1"),
        "finished work came back"
    );
}
