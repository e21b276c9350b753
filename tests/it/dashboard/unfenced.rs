//! A system that does not fence late workers: the screen asks before it frees a claim.

use super::pty::{ENTER, Start};
use crate::support::Database;
use claimtop::domain::fencing::UNFENCED;

/// A job of Delayed Job whose worker has held it an hour too long.
fn database() -> Database {
    let database = Database::new(
        "CREATE TABLE delayed_jobs (id INTEGER PRIMARY KEY, priority INTEGER, attempts INTEGER, handler TEXT,
         last_error TEXT, run_at DATETIME, locked_at DATETIME, failed_at DATETIME, locked_by TEXT, queue TEXT)",
    );
    let locked = (chrono::Utc::now() - chrono::TimeDelta::hours(5)).format("%Y-%m-%d %H:%M:%S").to_string();
    database.run(
        "INSERT INTO delayed_jobs (id, priority, attempts, handler, run_at, locked_at, locked_by, queue)
         VALUES (4711, 0, 0, 'mail', ?1, ?1, 'host:elsewhere pid:7', 'mail')",
        [locked],
    );
    database
}

#[test]
fn one_yes_is_asked_for_where_a_late_worker_is_not_fenced() {
    let database = database();
    let held = || database.number("SELECT count(*) FROM delayed_jobs WHERE locked_by IS NOT NULL");
    let mut pty =
        Start::claimtop(&database.beside("state")).with(database.source()).folder(database.folder()).run();
    pty.wait("4711");
    pty.press(ENTER, UNFENCED);
    pty.keys("\x1b[27u");
    pty.wait_without("4711", UNFENCED);
    pty.press("r", "y reclaim · n cancel");
    assert!(pty.screen().contains(UNFENCED), "{}", pty.screen());
    pty.press("n", "nothing was done");
    assert_eq!(held(), 1);
    pty.press("r", "y reclaim · n cancel");
    pty.press("y", "done, u undoes it: reclaim 4711");
    assert_eq!(held(), 0);
    pty.quit();
}
