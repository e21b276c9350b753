//! Values that are no pid: unknown, with the value in the sentence.

use super::*;
use std::fs;

#[track_caller]
fn assert_no_pid(pid: Value, words: &str) {
    let finding = row_with(pid).found();
    assert_eq!(finding.process, Process::Unknown, "{}", finding.evidence);
    assert!(finding.evidence.contains(words), "{words:?} in {:?}", finding.evidence);
}

#[test]
fn null_is_no_pid() {
    assert_no_pid(Value::Null, "NULL");
}

#[test]
fn zero_and_negatives_mean_groups_to_the_kernel_and_are_no_pids() {
    for number in [0, -1, -i64::from(std::process::id()), i64::MIN] {
        assert_no_pid(Value::Int(number), &format!("the number {number},"));
    }
}

#[test]
fn numbers_too_large_are_never_cut_down_to_a_living_process() {
    let own = i64::from(std::process::id());
    for number in [(1 << 32) + 1, (1 << 32) + own, (1 << 31) + 1, i64::MAX, i64::from(u32::MAX)] {
        assert_no_pid(Value::Int(number), &number.to_string());
    }
}

#[test]
fn the_number_after_the_last_is_no_pid() {
    let pid_max = fs::read_to_string("/proc/sys/kernel/pid_max").expect("the last pid");
    let last: i64 = pid_max.trim().parse().expect("a number");
    assert_no_pid(Value::Int(last + 1), &format!("from 1 to {last}"));
}

#[test]
fn text_is_no_pid_even_if_it_looks_like_one() {
    assert_no_pid(Value::Text(std::process::id().to_string()), "the text");
    assert_no_pid(Value::Text("\u{1b}[2J".into()), "\\u{1b}[2J");
}

#[test]
fn reals_and_blobs_are_no_pids() {
    assert_no_pid(Value::Real(f64::from(std::process::id())), "the number");
    for real in [12.0, 0.5, f64::NAN, f64::INFINITY] {
        assert_no_pid(Value::Real(real), "the number");
    }
    for bytes in [Value::Bytes(vec![0x31, 0x32]), Value::BadText(vec![0x31, 0xff])] {
        assert_no_pid(bytes, "the pid is");
    }
}
