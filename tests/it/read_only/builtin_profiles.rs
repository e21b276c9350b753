//! Looking at a database with the profiles that come with the program.

use super::{Keeping, Scene, answered};
use crate::support::stdout;

const LOOKS: [&[&str]; 10] = [
    &["check"],
    &["check", "--json", "--exact"],
    &["check", "--check-pid"],
    &["list"],
    &["list", "--json"],
    &["list", "--csv"],
    &["list", "--history"],
    &["pid"],
    &["profile", "detect"],
    &["profile", "check", "coordination"],
];

fn looks_leave_no_trace(keeping: Keeping) {
    let scene = Scene::new(keeping);
    let before = scene.state();
    let names: &[&str] = match keeping {
        Keeping::Rollback => &["tasks.db"],
        Keeping::Log | Keeping::AbandonedLog => &["tasks.db", "tasks.db-shm", "tasks.db-wal"],
        Keeping::Server => &["catalogue", "rows"],
    };
    assert_eq!(before.names(), names, "{keeping:?}");
    for look in LOOKS {
        for options in [&[][..], &["--read-only"]] {
            let what = format!("{keeping:?}: {look:?} {options:?}");
            let output =
                scene.command(look).args(options).arg(scene.source()).output().expect("claimtop runs");
            let (code, said) = answered(&output, &what);
            let expected = if look[0] == "check" { 2 } else { 0 };
            assert_eq!((code, said.as_str()), (expected, ""), "{what}: {}", stdout(&output));
            assert_eq!(scene.state(), before, "{what}: the folder is as it was");
        }
    }
    assert!(!scene.at("state").exists(), "{keeping:?}: looking needs no folder of its own");
}

#[test]
fn a_look_at_a_rollback_journal_database_leaves_no_trace() {
    looks_leave_no_trace(Keeping::Rollback);
}

#[test]
fn a_look_at_a_wal_database_in_use_leaves_no_trace() {
    looks_leave_no_trace(Keeping::Log);
}

#[test]
fn a_look_at_a_wal_database_of_a_killed_application_leaves_no_trace() {
    looks_leave_no_trace(Keeping::AbandonedLog);
}

#[test]
fn a_look_at_a_server_leaves_no_trace() {
    looks_leave_no_trace(Keeping::Server);
}
