//! Ctrl-Z without a screen: SIGTSTP stops the process, but only while it has no transaction open.

use std::io;
use std::thread;

use rustix::process::{Signal, getpid, kill_process};

use crate::signals::{Request, Signals};
use crate::store::suspend;

/// From here on SIGTSTP waits for the open transactions. If the parent process has it ignored, it stays ignored.
pub fn stop_between_transactions() -> io::Result<()> {
    if is_ignored() {
        return Ok(());
    }
    let signals = Signals::that_suspend()?;
    thread::Builder::new().name("job control".into()).spawn(move || attend(signals))?;
    Ok(())
}

fn attend(mut signals: Signals) {
    let mut is_wanted = false;
    loop {
        if !is_wanted && signals.wait() != Request::Suspend {
            continue;
        }
        is_wanted = false;
        let idle = suspend::idle();
        // It was told to go on before it had stopped.
        if std::iter::from_fn(|| signals.take()).any(|request| request == Request::Continue) {
            continue;
        }
        // Another thread takes this signal: this may return before the process stops.
        if kill_process(getpid(), Signal::STOP).is_err() {
            continue;
        }
        // A request to stop that comes right after the one to go on may be heard before it. The kernel drops
        // those that came earlier.
        loop {
            match signals.wait() {
                Request::Continue => break,
                Request::Suspend => is_wanted = true,
                Request::Stop | Request::Reload => {}
            }
        }
        drop(idle);
    }
}

/// Whether the parent process has SIGTSTP ignored.
fn is_ignored() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (Signal::TSTP.as_raw() - 1)) != 0)
}
