//! Taking times.

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
