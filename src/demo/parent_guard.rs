//! What ties a process of the demo to the one that started it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getppid};
use std::io::stdin;
use std::time::Duration;

use super::error::DemoError;

/// Held by a process that must not outlive its parent. The kernel kills it with the thread that
/// started it, also while it is stopped; and its standard input is a pipe that nobody writes to and
/// that ends with the parent, which a process that runs sees even where the kernel knows no such signal.
#[derive(Debug)]
pub struct ParentGuard(());

/// How a rest ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    Over,
    /// The parent is gone.
    Cut,
}

impl ParentGuard {
    pub fn hold(parent: u32) -> Result<ParentGuard, DemoError> {
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
            .map_err(|error| DemoError::Process(error.into()))?;
        // It may have died before the kernel was asked to tell.
        let known = i32::try_from(parent).ok().and_then(Pid::from_raw);
        if known.is_none() || getppid() != known {
            return Err(DemoError::NoParent);
        }
        Ok(ParentGuard(()))
    }

    /// Waits, but not longer than the parent lives.
    pub fn rest(&self, time: Duration) -> Rest {
        let timeout = Timespec::try_from(time).ok();
        let input = stdin();
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) => Rest::Over,
            Ok(_) => Rest::Cut,
            // A signal, such as that to go on after a stop.
            Err(_) => Rest::Over,
        }
    }
}
