//! Looking from elsewhere: as another user, past a `/proc` that hides, from inside a namespace.
//!
//! The looking is done by this test binary itself, started again inside that world; one of its
//! tests then only prints what it finds.

use super::test_processes::{NUMBERS, is_root, skipped, with_a_thread};
use super::*;
use std::process::Command;
use std::{env, fs};

const PID: &str = "CLAIMTOP_PROBE_PID";
const BEAT: &str = "CLAIMTOP_PROBE_BEAT";

#[test]
fn prints_what_it_finds_for_another_test() {
    let Some(pid) = env::var(PID).ok().and_then(|pid| pid.parse().ok()) else { return };
    let beat_at = env::var(BEAT).ok().and_then(|micros| micros.parse().ok()).and_then(Moment::from_micros);
    let finding = Row { beat_at, ..row(pid) }.found();
    println!("\nFOUND {} {}", finding.process.as_str(), finding.evidence);
}

/// Runs the test above in another world; `None` if this machine does not let us go there.
fn from(world: &str, row: &Row) -> Option<ProcessFinding> {
    let Value::Int(pid) = row.pid else { panic!("a number") };
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", world, "sh"]).arg(env::current_exe().expect("this binary"));
    shell.args([
        "--exact",
        "process_liveness::namespaces::prints_what_it_finds_for_another_test",
        "--nocapture",
    ]);
    shell.env(PID, pid.to_string()).env_remove(BEAT);
    if let Some(beat) = row.beat_at {
        shell.env(BEAT, beat.micros().to_string());
    }
    let output = shell.output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(line) = text.lines().find_map(|line| line.strip_prefix("FOUND ")) else {
        skipped(&format!("{world}: {}", String::from_utf8_lossy(&output.stderr).trim()));
        return None;
    };
    let (word, evidence) = line.split_once(' ').expect("a word and a sentence");
    let process = [Process::Alive, Process::Dead, Process::Unknown]
        .into_iter()
        .find(|process| process.as_str() == word)
        .expect("one of three");
    Some(ProcessFinding { process, evidence: evidence.into() })
}

#[track_caller]
fn assert_from(world: &str, row: &Row, expected: Process, words: &str) {
    if let Some(finding) = from(world, row) {
        assert_found(&finding, expected, words);
    }
}

const NOBODY: &str = "exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
/// A mount of its own: the options of a mere remount would reach the whole machine, private
/// namespace or not, because they belong to the file system and not to the mount.
const HIDING: &str = "exec unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc &&
    exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"' sh \"$@\"";
const INSIDE: &str = "exec unshare -p -f --kill-child \"$@\"";
const INSIDE_WITH_PROC: &str = "exec unshare -p -f --kill-child --mount-proc \"$@\"";
/// Outside, with the `/proc` of a namespace that is gone.
const FOREIGN_PROC: &str =
    "exec unshare -m sh -c 'unshare -p -f mount -t proc proc /proc; exec \"$@\"' sh \"$@\"";

#[test]
fn the_plain_world_finds_what_this_process_finds() {
    let child = Being::alive();
    let found = from("exec \"$@\"", &row(child.pid()).beat(now())).expect("this world is open to all");
    assert_found(&found, Process::Alive, "runs");
}

#[test]
fn a_process_of_another_user_is_alive() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let child = Being::alive();
    assert_from(NOBODY, &row(1), Process::Alive, "process 1");
    assert_from(NOBODY, &row(child.pid()).beat(now()), Process::Alive, "runs");
    assert_from(NOBODY, &row(child.pid()).beat(seconds_ago(600)), Process::Dead, "was reused");
}

#[test]
fn an_absent_process_is_dead_also_to_another_user() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let _free = NUMBERS.read();
    assert_from(NOBODY, &row(Being::alive().reap()).beat(now()), Process::Dead, "no process");
}

#[test]
fn a_hidden_process_is_not_dead() {
    if !is_root() {
        return skipped("only root can mount a /proc that hides");
    }
    let _free = NUMBERS.read();
    let child = Being::alive();
    assert_from(HIDING, &row(child.pid()).beat(now()), Process::Unknown, "start time cannot be read");
    assert_from(
        HIDING,
        &row(child.pid()).beat(seconds_ago(600)),
        Process::Unknown,
        "start time cannot be read",
    );
    assert_from(HIDING, &row(child.pid()), Process::Alive, "exists");
    assert_from(HIDING, &row(1), Process::Alive, "process 1 exists");
    assert_from(HIDING, &row(Being::alive().reap()).beat(now()), Process::Dead, "no process");
}

#[test]
fn a_hidden_thread_is_no_process() {
    if !is_root() {
        return skipped("only root can mount a /proc that hides");
    }
    let found = with_a_thread(|number| from(HIDING, &row(number).beat(now())));
    if let Some(found) = found {
        assert_found(&found, Process::Dead, "a thread of another process");
    }
}

/// Every number that could be asked for from inside: alive outside, dead outside, alive inside.
fn assert_nothing_is_said(world: &str) {
    let _free = NUMBERS.read();
    let child = Being::alive();
    let gone = Being::alive().reap();
    for row in
        [row(child.pid()), row(child.pid()).beat(now()), row(gone), row(1), row(1).beat(seconds_ago(10))]
    {
        let Some(found) = from(world, &row) else { return };
        assert_eq!(found.process, Process::Unknown, "{}", found.evidence);
        assert!(found.evidence.contains("PID namespace"), "{}", found.evidence);
    }
}

#[test]
fn nothing_is_said_from_inside_a_pid_namespace() {
    assert_nothing_is_said(INSIDE);
}

#[test]
fn nothing_is_said_from_inside_a_pid_namespace_with_its_own_proc() {
    assert_nothing_is_said(INSIDE_WITH_PROC);
}

#[test]
fn nothing_is_said_past_the_proc_of_another_namespace() {
    assert_nothing_is_said(FOREIGN_PROC);
}

#[test]
fn a_process_inside_a_namespace_knows_itself_by_another_number() {
    let unshare = ["-p", "-f", "--kill-child", "sh", "-c", "echo ready; read line"];
    let Some(outer) = Being::ready(Command::new("unshare").args(unshare)) else {
        return skipped("this user cannot make a PID namespace");
    };
    let pid = outer.pid();
    let Some(inner) = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
        .ok()
        .and_then(|children| children.trim().parse().ok())
    else {
        return skipped("this kernel does not list children");
    };
    assert_found(&row(inner).found(), Process::Unknown, "knows itself as 1");
    assert_found(&row(inner).beat(seconds_ago(600)).found(), Process::Dead, "was reused");
    assert_found(&row(pid).found(), Process::Alive, "(unshare)");
}
