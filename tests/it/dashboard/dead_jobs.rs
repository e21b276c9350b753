//! The dead jobs of a kind: opened from the Jobs pane, queued again by a key, buried again by another.

use claimtop::reference::System;
use rusqlite::types::Value;

use super::pty::{ENTER, ESC, Pty, Start};
use crate::support::Database;

/// Two dead jobs of one kind, and one of another kind that runs.
struct Graveyard {
    database: Database,
}

impl Graveyard {
    fn new() -> Graveyard {
        let database = Database::new(System::ExecutorJobs.sqlite());
        database.connection.pragma_update(None, "synchronous", "OFF").expect("no waiting");
        for (id, error) in [("job-boom", "the printer burns"), ("job-crash", "the disk is full")] {
            database.run(
                "INSERT INTO executor_jobs (id, type, status, attempts, last_error, updated_at)
                 VALUES (?1, 'run_tsa', 'dead', 10, ?2, '2026-01-02T03:04:05.000Z')",
                (id, error),
            );
        }
        database.run(
            "INSERT INTO executor_jobs (id, type, status, attempts, locked_by, locked_at)
             VALUES ('job-runs', 'build_artifact', 'running', 1, 'worker-1',
               strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
            [],
        );
        Graveyard { database }
    }

    fn open(&self, options: &[&str]) -> Pty {
        let mut start = Start::claimtop(&self.database.beside("state")).folder(&self.database.beside(""));
        for option in options {
            start = start.with(option);
        }
        let mut pty = start.with(self.database.path()).run();
        pty.wait("LIVE 1");
        pty.press("5", "WAITS SINCE");
        pty.wait("run_tsa");
        pty.wait("build_artifact");
        pty
    }

    fn job(&self, id: &str) -> Vec<Value> {
        let sql = "SELECT * FROM executor_jobs WHERE id = ?1";
        let mut statement = self.database.connection.prepare(sql).expect(sql);
        let columns = statement.column_count();
        statement.query_row([id], |row| (0..columns).map(|at| row.get(at)).collect()).expect(id)
    }

    fn status(&self, id: &str) -> (String, i64) {
        let sql = "SELECT status, attempts FROM executor_jobs WHERE id = ?1";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.database.connection.query_row(sql, [id], row).expect(id)
    }
}

fn dead() -> (String, i64) {
    ("dead".into(), 10)
}

/// Opens the kind that has dead jobs.
fn open_the_dead(pty: &mut Pty) -> String {
    pty.keys("G");
    pty.press(ENTER, "Dead: run_tsa on job");
    pty.wait("the printer burns")
}

#[test]
fn a_key_queues_a_dead_job_again_and_another_buries_it_as_it_was() {
    let yard = Graveyard::new();
    let (boom, crash) = (yard.job("job-boom"), yard.job("job-crash"));
    let mut pty = yard.open(&[]);
    let shown = open_the_dead(&mut pty);
    for part in ["job-boom", "job-crash", "10/10", "the disk is full"] {
        assert!(shown.contains(part), "{shown}");
    }
    pty.keys("g");
    pty.press("r", "done, u undoes it: requeue job-boom");
    assert_eq!(yard.status("job-boom"), ("queued".into(), 0));
    assert_eq!(yard.job("job-crash"), crash);
    // It is among the dead no more.
    pty.wait_without("the disk is full", "the printer burns");
    pty.press("u", "y undo");
    pty.press("y", "undone: job-boom");
    assert_eq!(yard.job("job-boom"), boom);
    pty.wait("the printer burns");
    pty.keys(ESC);
    pty.wait_without("WAITS SINCE", "the printer burns");
    pty.press("8", "requeue");
    pty.quit();
}

#[test]
fn the_one_that_is_selected_is_queued_again_and_no_other() {
    let yard = Graveyard::new();
    let boom = yard.job("job-boom");
    let mut pty = yard.open(&[]);
    open_the_dead(&mut pty);
    pty.keys("G");
    pty.press("r", "done, u undoes it: requeue job-crash");
    assert_eq!(yard.status("job-crash"), ("queued".into(), 0));
    assert_eq!(yard.job("job-boom"), boom);
    pty.wait_without("the printer burns", "the disk is full");
    pty.keys(ESC);
    pty.wait_without("WAITS SINCE", "Dead:");
    pty.quit();
}

#[test]
fn a_read_only_session_shows_the_dead_and_leaves_them() {
    let yard = Graveyard::new();
    let mut pty = yard.open(&["--read-only"]);
    open_the_dead(&mut pty);
    pty.press("r", "read-only");
    assert_eq!((yard.status("job-boom"), yard.status("job-crash")), (dead(), dead()));
    pty.keys(ESC);
    pty.wait_without("WAITS SINCE", "Dead:");
    pty.quit();
}

#[test]
fn a_job_that_somebody_else_queued_meanwhile_is_left_to_them() {
    let yard = Graveyard::new();
    let mut pty = yard.open(&[]);
    open_the_dead(&mut pty);
    pty.keys("g");
    yard.database.run("UPDATE executor_jobs SET status = 'queued', attempts = 4 WHERE id = 'job-boom'", []);
    pty.keys("r");
    pty.wait("job-boom");
    pty.wait_without("the disk is full", "the printer burns");
    assert_eq!(yard.status("job-boom"), ("queued".into(), 4));
    pty.keys(ESC);
    pty.wait_without("WAITS SINCE", "Dead:");
    pty.quit();
}

#[test]
fn a_kind_without_dead_jobs_shows_its_claims() {
    let yard = Graveyard::new();
    let mut pty = yard.open(&[]);
    pty.keys("g");
    pty.keys(ENTER);
    let shown = pty.wait_without("job-runs", "WAITS SINCE");
    assert!(!shown.contains("Dead:") && shown.contains("worker-1"), "{shown}");
    pty.quit();
}
