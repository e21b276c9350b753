//! Processes in every state that a process can be in.

use super::test_processes::{NUMBERS, skipped, until, with_a_thread};
use super::*;
use rustix::process::{Signal, kill_process};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

#[test]
fn this_very_process_is_alive() {
    assert_found(
        &row(i64::from(std::process::id())).started(now()).beat(now()).found(),
        Process::Alive,
        "runs",
    );
}

#[test]
fn the_first_process_is_alive_whoever_asks() {
    assert_found(&row(1).found(), Process::Alive, "process 1");
}

#[test]
fn a_child_that_waits_is_alive() {
    let child = Being::alive();
    for row in [
        row(child.pid()),
        row(child.pid()).started(now()),
        row(child.pid()).beat(now()),
        row(child.pid()).started(now()).beat(seconds_ahead(3600)),
    ] {
        assert_found(&row.found(), Process::Alive, "(sh) started 20");
    }
}

#[test]
fn a_child_that_was_collected_is_dead() {
    let _free = NUMBERS.read();
    let pid = Being::alive().reap();
    assert_found(&row(pid).beat(now()).found(), Process::Dead, &format!("no process {pid}"));
}

#[test]
fn a_child_that_ended_by_itself_is_dead() {
    let _free = NUMBERS.read();
    let mut child = Command::new("true").spawn().expect("a child");
    child.wait().expect("its end");
    assert_found(&row(i64::from(child.id())).found(), Process::Dead, "no process");
}

#[test]
fn a_zombie_is_dead_though_it_can_be_signalled() {
    let mut child = Being::alive();
    child.kill();
    child.until_state('Z');
    for row in [row(child.pid()), row(child.pid()).started(now()).beat(now())] {
        assert_found(&row.found(), Process::Dead, "zombie");
    }
}

#[test]
fn a_stopped_child_is_alive() {
    let child = Being::alive();
    kill_process(child.kernel_pid(), Signal::STOP).expect("our own child");
    child.until_state('T');
    assert_found(&row(child.pid()).beat(now()).found(), Process::Alive, "stopped");
}

#[test]
fn the_number_of_a_thread_is_no_process() {
    let finding = with_a_thread(|number| row(number).found());
    assert_found(&finding, Process::Dead, &format!("a thread of {}", std::process::id()));
}

#[test]
fn a_process_whose_main_thread_ended_first_is_alive() {
    const SCRIPT: &str = "
import ctypes, platform, sys, threading
threading.Thread(target=sys.stdin.read).start()
ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[platform.machine()], 0)";
    let mut command = Command::new("python3");
    command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stderr(Stdio::null());
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skipped("no python3 to end a main thread with");
    }
    let mut child = Being::spawn(&mut command);
    child.until_state('Z');
    let finding = row(child.pid()).beat(now()).found();
    let threads = fs::read_dir(format!("/proc/{}/task", child.pid())).map_or(0, Iterator::count);
    if threads < 2 {
        return skipped("this python3 cannot end its main thread alone");
    }
    assert_found(&finding, Process::Alive, "python");
    child.kill();
    until("its death", || row(child.pid()).found().process != Process::Alive);
    assert_found(&row(child.pid()).found(), Process::Dead, "zombie");
}

#[test]
fn a_thread_of_the_kernel_is_nobodys_holder() {
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd") {
        assert_found(&row(2).found(), Process::Unknown, "a thread of the kernel");
    } else {
        skipped("process 2 is no thread of the kernel here");
    }
}

#[test]
fn a_command_name_cannot_forge_its_state_or_the_screen() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, shown) in [
        (") Z 1 (", "() Z 1 ()"),
        ("a) X 2\n(b", "(a) X 2\\n(b)"),
        ("two words", "(two words)"),
        ("\u{1b}[2J", "(\\u{1b}[2J)"),
        ("))))", "()))))"),
        ("\n", "(\\n)"),
    ] {
        let path = folder.path().join(name);
        symlink("/bin/sh", &path).expect("a link");
        let mut child = Being::named(&path);
        assert_found(&row(child.pid()).beat(now()).found(), Process::Alive, shown);
        child.kill();
        child.until_state('Z');
        assert_found(&row(child.pid()).beat(now()).found(), Process::Dead, "zombie");
    }
}
