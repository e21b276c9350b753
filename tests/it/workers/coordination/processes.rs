//! Orphans whose process is looked at: real children, alive and dead.

#![cfg(target_os = "linux")]

use claimtop::domain::time::Moment;
use claimtop::liveness::HoldersOn;
use claimtop::worker::Database;
use claimtop::worker::coordination::{Coordination, CoordinationSettings, ProcessCheck, Registration};
use std::process::{Child, Command, Stdio};

use super::{World, pair};

/// A process that waits for its standard input to close.
struct Worker(Child);

impl Worker {
    fn start() -> Worker {
        Worker(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a child"))
    }

    fn pid(&self) -> i64 {
        i64::from(self.0.id())
    }

    fn die(&mut self) {
        self.0.kill().expect("a signal");
        self.0.wait().expect("its end");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The true time: the kernel's own times are compared with it.
fn today() -> World {
    World::at(Moment::from_micros(chrono::Utc::now().timestamp_micros()).expect("a time"))
}

/// A session of this process that has a task and has been silent for eleven minutes since.
fn silent_session(pid: Option<i64>) -> World {
    let mut world = today();
    let registration = Registration { pid, ..Registration::new("ann", "/project") };
    world.coordination.register(&registration).expect("a session");
    world.claim("task-1", "ann", 60);
    world.minutes_pass(11);
    world
}

fn verified(world: &mut World) -> u64 {
    world.coordination.cleanup_orphaned_claims(ProcessCheck::Verify).expect("a cleanup").count
}

fn counts_here() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() == "pid:[4026531836]")
}

#[test]
fn a_silent_session_with_a_live_process_keeps_its_claims() {
    let worker = Worker::start();
    let mut world = silent_session(Some(worker.pid()));
    assert_eq!(verified(&mut world), 0);
    assert_eq!(world.claims(), [pair("task-1", "ann")]);
    let trusting = world.coordination.cleanup_orphaned_claims(ProcessCheck::Trust).expect("a cleanup");
    assert_eq!(trusting.count, 1, "without the check its silence is enough");
}

#[test]
fn a_silent_session_with_a_dead_process_loses_its_claims() {
    let mut worker = Worker::start();
    let mut world = silent_session(Some(worker.pid()));
    worker.die();
    // Inside a container nobody can be proven dead.
    assert_eq!(verified(&mut world), u64::from(counts_here()));
    assert_eq!(world.claims().is_empty(), counts_here());
}

#[test]
fn a_process_that_cannot_be_judged_is_not_dead() {
    for pid in [None, Some(0), Some(-1), Some(i64::MAX)] {
        let mut world = silent_session(pid);
        assert_eq!(verified(&mut world), 0, "{pid:?}");
    }
}

#[test]
fn a_process_elsewhere_cannot_be_proven_dead() {
    let mut worker = Worker::start();
    let world = silent_session(Some(worker.pid()));
    worker.die();
    let database = Database::open(&world.path()).expect("a database").with_clock(world.clock.clone());
    let settings =
        CoordinationSettings { holders_on: HoldersOn::Elsewhere, ..CoordinationSettings::default() };
    let mut remote = Coordination::with_settings(database, settings);
    assert_eq!(remote.cleanup_orphaned_claims(ProcessCheck::Verify).expect("a cleanup").count, 0);
    assert_eq!(world.claims(), [pair("task-1", "ann")]);
}

#[test]
fn a_missing_session_needs_no_proof() {
    let mut world = silent_session(None);
    world.run("DELETE FROM sessions");
    assert_eq!(verified(&mut world), 1);
}
