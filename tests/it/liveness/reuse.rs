//! Numbers that were given to a second process.

use super::beings::{NUMBERS, skipped};
use super::*;
use std::fs;

const LAST_PID: &str = "/proc/sys/kernel/ns_last_pid";

#[test]
fn a_process_that_started_after_the_last_heartbeat_is_another() {
    let child = Being::alive();
    let row = row(child.pid()).started(seconds_ago(7200));
    assert_found(&row.clone().beat(seconds_ago(60)).found(), Process::Dead, "was reused");
    assert_found(&row.beat(seconds_ago(3600)).found(), Process::Dead, "after the last heartbeat");
}

#[test]
fn a_heartbeat_of_the_last_second_is_inside_the_clocks_precision() {
    let child = Being::alive();
    assert_found(&row(child.pid()).beat(seconds_ago(1)).found(), Process::Alive, "runs");
}

#[test]
fn a_process_younger_than_its_session_may_be_another() {
    let child = Being::alive();
    let row = row(child.pid()).started(seconds_ago(7200));
    assert_found(&row.found(), Process::Unknown, "after the session was registered");
    assert_found(&row.beat(now()).found(), Process::Unknown, "after the session was registered");
}

#[test]
fn a_heartbeat_older_than_the_registration_proves_no_reuse() {
    let child = Being::alive();
    let row = row(child.pid()).started(now()).beat(seconds_ago(3600));
    assert_found(&row.found(), Process::Alive, "runs");
}

#[test]
fn a_reused_number_is_dead_by_its_times_and_never_alive() {
    if !machine_counts_here() {
        return skipped("the numbers of a container do not count");
    }
    let _alone = NUMBERS.write();
    let Some(again) = second_with_the_number_of_a_first() else {
        return skipped("the kernel would not give the same number twice");
    };
    let (long_ago, just_before) = (seconds_ago(7200), seconds_ago(60));
    let row = row(again.pid());
    assert_found(&row.clone().started(long_ago).beat(just_before).found(), Process::Dead, "was reused");
    assert_found(&row.clone().beat(just_before).found(), Process::Dead, "was reused");
    assert_found(&row.clone().started(long_ago).found(), Process::Unknown, "may be another process");
    // Without a time nobody can tell, and the sentence says so.
    assert_found(&row.found(), Process::Alive, "no time to compare");
}

/// Makes the kernel count again from just below the number of a process that is gone.
fn second_with_the_number_of_a_first() -> Option<Being> {
    let pid = Being::alive().reap();
    let before = fs::read_to_string(LAST_PID).ok()?;
    let mut found = None;
    for _ in 0..200 {
        fs::write(LAST_PID, (pid - 1).to_string()).ok()?;
        let next = Being::alive();
        if next.pid() == pid {
            found = Some(next);
            break;
        }
    }
    // Others on this machine go on counting from where they were.
    fs::write(LAST_PID, before.trim()).ok()?;
    found
}
