//! Taking times. Each benchmark uses a part of it.

#![allow(dead_code)]

use std::time::{Duration, Instant};

pub fn timed(run: impl FnOnce()) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

pub fn median(times: usize, mut run: impl FnMut() -> Duration) -> Duration {
    let mut all: Vec<Duration> = (0..times).map(|_| run()).collect();
    all.sort();
    all[times / 2]
}

pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The CPU time of this thread that something takes: on a busy machine the time on the clock says little.
pub fn cpu(run: impl FnOnce()) -> Duration {
    let before = used();
    run();
    used().saturating_sub(before)
}

fn used() -> Duration {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos = schedule.split_whitespace().next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds"))
}

/// The most memory that this process had, in MB.
pub fn peak_memory() -> f64 {
    peak_memory_of("self")
}

/// The same of a process.
pub fn peak_memory_of(process: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("memory");
    let kilobytes: f64 = line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number");
    kilobytes / 1_024.0
}
