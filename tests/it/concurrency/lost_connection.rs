//! A connection that is lost in the middle of a bulk: what was done is told, and what was not tried.

use super::proxy::Proxy;
use super::*;
use crate::support::postgres::url;
use crate::support::server::{Server, USER, until};
use postgres::config::Host;

/// Whoever changes the job of `late` takes for ever.
const SLOW: &str = "
    CREATE FUNCTION take_for_ever() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(600); RETURN NEW; END';
    CREATE TRIGGER slow BEFORE UPDATE ON executor_jobs FOR EACH ROW WHEN (OLD.locked_by = 'late')
      EXECUTE FUNCTION take_for_ever();";

#[test]
fn a_bulk_stops_when_its_connection_is_lost_and_tells_what_it_did() {
    let server = Server::start();
    let late = "INSERT INTO executor_jobs (type, status, locked_at, locked_by, attempts)
                VALUES ('run_tsa', 'running', now() - interval '1 hour', 'late', 1)";
    server.create_database("jobs", &format!("{JOBS} {SLOW} {}; {late}", stale_jobs(1_500)));
    let proxy = Proxy::to(server.folder());
    let operator = Operator::of(url(&Host::Unix(proxy.folder().into()), 5432, USER, "jobs"));
    let mut command = operator.command(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop runs");
    // Its results are read meanwhile: nobody writes into a full pipe.
    let ended = std::thread::spawn(move || child.wait_with_output().expect("its end"));
    let watcher = server.connect("jobs");
    let asleep = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    until("the transaction that takes for ever", || watcher.query(asleep).len() == 1);
    let pid = watcher.value(asleep).expect("a pid");
    proxy.cut();
    let run = Run::of(&ended.join().expect("its output"));
    assert_eq!(run.code, 3, "{}", run.err);
    let tally = run.lines().pop().expect("an object");
    let count = |name: &str| tally[name].as_u64().expect(name);
    assert_eq!(count("wanted"), 1_501, "{tally}");
    assert_eq!(count("applied") + count("not_tried"), 1_501, "{tally}");
    assert!(count("not_tried") > 0, "{tally}");
    assert!(tally["stopped"].as_str().is_some_and(|why| why.contains("lost")), "{tally}");
    watcher.run(&format!("SELECT pg_terminate_backend({pid})"));
    let queued = "SELECT count(*) FROM executor_jobs WHERE status = 'queued'";
    assert_eq!(watcher.value(queued), Some(count("applied").to_string()));
    operator.trail_is_whole();
    if count("applied") > 0 {
        let batch = tally["batch"].as_str().expect("an id");
        let undone = operator.run(&["undo", "DB", batch, "--json"]);
        assert_eq!(undone.code, 0, "{}", undone.err);
        assert_eq!(watcher.value(queued).as_deref(), Some("0"));
    }
}
