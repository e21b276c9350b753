//! Numbers that were given to a second process.

use super::test_processes::{NUMBERS, skipped};
use super::*;
use rustix::process::{Signal, kill_process};
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

/// What a row says of its holder, who is gone, and what may be said when another process has its number: one row
/// for each way in which the times of a session can lie around the start of that process.
fn cases() -> [(Row, Process); 8] {
    let (long_ago, before) = (seconds_ago(7200), seconds_ago(60));
    let row = row(0);
    [
        (row.clone().beat(before), Process::Dead),
        (row.clone().started(long_ago).beat(before), Process::Dead),
        (row.clone().started(before).beat(long_ago), Process::Dead),
        // It may have registered the session that another began.
        (row.clone().started(long_ago), Process::Unknown),
        (row.clone().started(long_ago).beat(now()), Process::Unknown),
        // No time tells it from the holder: there is none, or it is within the clock's precision.
        (row.clone().beat(now()), Process::Alive),
        (row.clone().started(now()).beat(before), Process::Alive),
        (row, Process::Alive),
    ]
}

#[test]
fn a_reused_number_is_told_from_its_former_holder_in_every_case() {
    if !machine_counts_here() {
        return skipped("the numbers of a container do not count");
    }
    let reuses = std::env::var("CLAIMTOP_REUSES").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let _alone = NUMBERS.write();
    let mut tried = 0;
    for _ in 0..reuses {
        let Some(mut again) = second_with_the_number_of_a_first() else {
            return skipped("the kernel would not give the same number twice");
        };
        // Running, stopped, and ended but not collected: 24 cases.
        for state in ['S', 'T', 'Z'] {
            match state {
                'T' => kill_process(again.kernel_pid(), Signal::STOP).expect("our own child"),
                'Z' => again.kill(),
                _ => {}
            }
            if state != 'S' {
                again.until_state(state);
            }
            for (row, expected) in cases() {
                let row = Row { pid: Value::Int(again.pid()), ..row };
                // Whoever has ended is nobody's holder.
                let expected = if state == 'Z' { Process::Dead } else { expected };
                assert_found(&row.found(), expected, "");
                tried += 1;
            }
        }
    }
    let promise = "a PID given to a second process is not taken for its former holder where a time can tell";
    crate::support::figures::promise(promise, tried, 0);
    crate::support::figures::promise("forced reuses of a PID by the kernel", reuses, 0);
}

/// Has the kernel give the same number twice, far from the numbers that other tests have just seen set free.
fn second_with_the_number_of_a_first() -> Option<Being> {
    let read = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
    let (before, last) = (read(LAST_PID)?, read("/proc/sys/kernel/pid_max")?);
    let far = if before < last / 2 { last - last / 8 } else { last / 8 };
    let found = again_from(far);
    // Others on this machine go on counting from where they were.
    fs::write(LAST_PID, before.to_string()).ok()?;
    found
}

fn again_from(far: i64) -> Option<Being> {
    fs::write(LAST_PID, far.to_string()).ok()?;
    let pid = Being::alive().reap();
    // Somebody else on this machine may be quicker.
    (0..200).find_map(|_| {
        fs::write(LAST_PID, (pid - 1).to_string()).ok()?;
        Some(Being::alive()).filter(|next| next.pid() == pid)
    })
}
