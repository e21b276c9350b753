//! The clock of the dashboard's machine is set while it runs, forwards and backwards.

use super::on_postgres::jobs;
use super::pty::{ESC, Pty};
use super::*;
use crate::support::faketime::FakeClock;
use crate::support::postgres::PgDatabase;

fn under(mut start: Start, clock: &FakeClock) -> Pty {
    for (name, value) in clock.variables() {
        start = start.env(name, value);
    }
    start.run()
}

/// Waits until the head counts these.
fn counts(pty: &Pty, all: &[&str]) {
    pty.wait_for(&all.join(", "), |screen| {
        let shown = screen.contents();
        all.iter().all(|part| shown.contains(part))
    });
}

/// It answers keys as before.
fn answers(pty: &mut Pty) {
    pty.press("?", "Put it right");
    pty.keys(ESC);
}

#[test]
fn on_a_file_every_claim_is_judged_anew_by_the_clock_as_it_is_then() {
    let scene = Scene::usual();
    let Some(clock) = FakeClock::beside(scene.database.folder(), "clock") else { return };
    let mut pty = under(scene.start().with(scene.database.path()), &clock);
    counts(&pty, &["1 stale", "1 expiring"]);
    for (seconds, expected) in [
        (480, &["2 stale", "0 expiring"][..]),
        (0, &["1 stale", "1 expiring"]),
        (-7_200, &["2 unknown"]),
        (0, &["1 stale", "1 expiring"]),
    ] {
        clock.set(seconds);
        counts(&pty, expected);
        answers(&mut pty);
    }
    assert_eq!(scene.ids(), ["task-old", "task-soon"]);
    pty.quit();
}

#[test]
fn on_a_server_only_the_servers_clock_counts() {
    let database = PgDatabase::new(&jobs());
    let folder = tempfile::tempdir().expect("a folder");
    let Some(clock) = FakeClock::beside(folder.path(), "clock") else { return };
    let start = Start::claimtop(&folder.path().join("state")).folder(folder.path()).with(database.url());
    let mut pty = under(start, &clock);
    counts(&pty, &["2 stale", "1 expiring", "400 healthy"]);
    for (seconds, stale) in [(7_200, 3), (-7_200, 4)] {
        clock.set(seconds);
        // A job that comes afterwards shows that what is seen was read by the new clock.
        database.run(
            "INSERT INTO executor_jobs (type, status, locked_by, locked_at, heartbeat_at)
             VALUES ('run_tsa', 'running', 'gone', now() - interval '1 hour', now() - interval '1 hour')",
        );
        counts(&pty, &[&format!("{stale} stale"), "1 expiring", "400 healthy"]);
        answers(&mut pty);
    }
    pty.quit();
}
