//! Row locks: what is being changed by somebody whose transaction is not over is never taken, and not waited for.
//! What both engines promise of renewals is in `guarded_acts::renewal_race`.

use super::*;
use crate::support::COORDINATION;
use crate::support::postgres::PgDatabase;

const MS: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Two sessions that fell silent half an hour ago, each with a claim whose lease still runs.
fn silent() -> PgDatabase {
    let database = PgDatabase::new(&COORDINATION.replace("INTEGER", "BIGINT"));
    database.run(&format!(
        "INSERT INTO sessions SELECT 'w' || n, '/p', 'cli', {MS} - 9000000, {MS} - 1800000, '{{}}', NULL
           FROM generate_series(1, 2) n;
         INSERT INTO task_claims SELECT 't' || n, 'w' || n, {MS} - 9000000, {MS} + 600000, {MS} - 1800000, 0
           FROM generate_series(1, 2) n"
    ));
    database
}

#[test]
fn a_session_whose_beat_is_not_committed_yet_keeps_its_claim() {
    let database = silent();
    let operator = Operator::of(database.url());
    let beating = database.connect();
    beating.run(&format!("BEGIN; UPDATE sessions SET last_heartbeat = {MS} WHERE id = 'w1'"));
    operator.run(&["reclaim", "DB", "t1", "--json"]).came_to(4, "moved");
    let bulk = operator.run(&["reclaim", "DB", "--set", "orphaned", "--yes", "--json"]);
    assert_eq!(bulk.code, 4, "{bulk:#?}");
    let came = |id: &str| bulk.lines().into_iter().find(|one| one["id"] == id).expect(id)["outcome"].clone();
    assert_eq!((came("t1"), came("t2")), ("moved".into(), "applied".into()));
    beating.run("COMMIT");
    operator.run(&["reclaim", "DB", "t1", "--json"]).came_to(5, "refused");
    assert_eq!(database.query("SELECT task_id FROM task_claims"), [[Some("t1".to_owned())]]);
}

#[test]
fn a_beat_that_is_committed_while_the_act_waits_keeps_the_claim() {
    let database = silent();
    let operator = Operator::of(database.url());
    let beating = database.connect();
    // The table's lock makes the act wait; the beat is there when it gets through.
    beating.run("BEGIN; LOCK TABLE sessions IN EXCLUSIVE MODE");
    let mut command = operator.command(&["reclaim", "DB", "t1", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("claimtop runs");
    let waiting =
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    crate::support::server::until("the act to wait", || database.query(waiting).len() == 1);
    beating.run(&format!("UPDATE sessions SET last_heartbeat = {MS} WHERE id = 'w1'; COMMIT"));
    Run::of(&child.wait_with_output().expect("its end")).came_to(4, "moved");
    assert_eq!(database.query("SELECT task_id FROM task_claims").len(), 2);
}

#[test]
fn a_worker_that_holds_its_row_is_not_waited_for() {
    let database = PgDatabase::new(JOBS);
    database.run(&stale_jobs(5));
    let id = database.value("SELECT min(id::text) FROM executor_jobs").expect("a job");
    let worker = database.connect();
    worker.run(&format!("BEGIN; UPDATE executor_jobs SET heartbeat_at = now() WHERE id = '{id}'"));
    let operator = Operator::of(database.url());
    operator.run(&["reclaim", "DB", &id, "--json"]).came_to(4, "moved");
    let bulk = operator.run(&["reclaim", "DB", "--set", "stale", "--yes", "--json"]);
    let applied = bulk.lines().iter().filter(|one| one["outcome"] == "applied").count();
    assert_eq!((bulk.code, applied), (4, 4), "{bulk:#?}");
    worker.run("COMMIT");
    let sql = format!("SELECT status FROM executor_jobs WHERE id = '{id}'");
    assert_eq!(database.value(&sql).as_deref(), Some("running"));
}
