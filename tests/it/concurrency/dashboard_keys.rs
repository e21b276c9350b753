//! One-key recovery in the dashboard, on a server: the screen and the database.

use super::*;
use crate::dashboard::pty::{ENTER, Pty, Start};
use crate::support::postgres::PgDatabase;

const OLD: &str = "00000000-0000-0000-0000-00000000000a";

fn jobs() -> PgDatabase {
    let database = PgDatabase::new(&format!("{JOBS} {AUDIT}"));
    database.run(&format!(
        "INSERT INTO executor_jobs (id, type, status, locked_at, locked_by, attempts)
         VALUES ('{OLD}', 'run_tsa', 'running', now() - interval '1 hour', 'worker-1', 1),
           (gen_random_uuid(), 'run_tsa', 'running', now(), 'worker-2', 1)"
    ));
    database
}

fn open(database: &PgDatabase, state: &TempDir) -> Pty {
    let pty = Start::claimtop(state.path()).with(database.url()).run();
    pty.wait("LIVE 1");
    pty
}

fn state_of(database: &PgDatabase) -> String {
    let sql = format!(
        "SELECT status || ' ' || attempts || ' ' || coalesce(locked_by, '-') FROM executor_jobs WHERE id = '{OLD}'"
    );
    database.value(&sql).expect("the job")
}

#[test]
fn one_key_reclaims_another_releases_and_a_third_brings_it_back() {
    let (database, state) = (jobs(), tempfile::tempdir().expect("a folder"));
    let row = || database.query("SELECT t::text FROM executor_jobs AS t ORDER BY id");
    let before = row();
    let mut pty = open(&database, &state);
    pty.wait("worker-1");
    pty.press("r", "done, u undoes it: reclaim");
    assert_eq!(state_of(&database), "queued 2 -");
    pty.wait("! 0 stale");
    pty.press("u", "y undo");
    pty.press("y", "undone: ");
    assert_eq!(row(), before);
    pty.wait("! 1 stale");
    pty.press("x", "done, u undoes it: release");
    assert_eq!(state_of(&database), "queued 1 -");
    pty.press("u", "y undo");
    pty.press("y", "undone: ");
    assert_eq!(row(), before);
    pty.wait("! 1 stale");
    pty.press("e", "the full time again");
    pty.press(ENTER, "done, u undoes it: extend");
    assert_eq!(state_of(&database), "running 1 worker-1");
    let fresh = "SELECT count(*) FROM executor_jobs WHERE heartbeat_at > now() - interval '5 minutes'";
    assert_eq!(database.value(fresh).as_deref(), Some("1"));
    pty.quit();
    let acts = "SELECT string_agg(record::jsonb ->> 'action', ' ' ORDER BY action_id) FROM claimtop_audit";
    assert_eq!(database.value(acts).as_deref(), Some("reclaim undo release undo extend"));
}

#[test]
fn one_key_and_a_yes_reclaim_all_that_is_stale() {
    let (database, state) = (jobs(), tempfile::tempdir().expect("a folder"));
    database.run(&stale_jobs(30));
    let mut pty = open(&database, &state);
    pty.wait("worker-1");
    pty.press("R", "31 claims will be reclaimed");
    pty.press("y", "reclaim: 31 of 31 done");
    let left = "SELECT count(*) FROM executor_jobs
         WHERE locked_by IS DISTINCT FROM 'worker-2' AND (status = 'running' OR attempts <> 2)";
    assert_eq!(database.value(left).as_deref(), Some("0"));
    pty.quit();
}
