//! Ends a process of the demo together with its parent.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getppid};
use std::io::stdin;
use std::time::Duration;

use super::error::DemoError;

/// Held by a process that must not outlive its parent. Two ways lead to that: the kernel kills it together with the
/// thread that started it, even while it is stopped; and its standard input is a pipe that ends with the parent, which
/// works on every system.
#[derive(Debug)]
pub struct ParentGuard(());

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    TimeOver,
    /// The parent is gone.
    ParentGone,
}

impl ParentGuard {
    pub fn hold(parent: u32) -> Result<ParentGuard, DemoError> {
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
            .map_err(|error| DemoError::Process(error.into()))?;
        // The parent may have died before the kernel was asked for the signal.
        let known = i32::try_from(parent).ok().and_then(Pid::from_raw);
        if known.is_none() || getppid() != known {
            return Err(DemoError::NoParent);
        }
        Ok(ParentGuard(()))
    }

    /// Waits for this time, or until the parent is gone.
    pub fn wait(&self, time: Duration) -> Wait {
        let timeout = Timespec::try_from(time).ok();
        let input = stdin();
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) => Wait::TimeOver,
            Ok(_) => Wait::ParentGone,
            // Interrupted by a signal, such as SIGCONT.
            Err(_) => Wait::TimeOver,
        }
    }
}
