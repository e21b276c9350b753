//! A sighting: what the kernel shows of one number.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs;

use super::proc_stat::{Stat, Status};

/// What has this number at the moment.
#[derive(Debug)]
pub enum Sighting {
    /// Nothing: the kernel itself said so.
    Absent,
    /// A thread of the process named, which no process can share the number with.
    Thread(Option<i64>),
    /// The kernel would not say.
    Refused(Errno),
    /// A process that `/proc` does not show us.
    Hidden,
    /// A process of which `/proc` tells what we cannot read.
    Garbled,
    /// A process, and what it believes its own number to be, if that is another.
    Seen(Stat, Option<i64>),
}

impl Sighting {
    /// Looks once; only ESRCH is absence, and a missing `/proc/PID` is none (`hidepid`).
    pub fn of(pid: Pid) -> Sighting {
        match test_kill_process(pid) {
            Err(Errno::SRCH) => return Sighting::Absent,
            // It exists and is somebody else's.
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return Sighting::Refused(errno),
        }
        let number = pid.as_raw_pid();
        let (status, stat) =
            (fs::read(format!("/proc/{number}/status")), fs::read(format!("/proc/{number}/stat")));
        let (Ok(status), Ok(stat)) = (status, stat) else { return unseen(pid) };
        match (Status::parse(&status), Stat::parse(&stat)) {
            (Some(status), _) if status.leader != i64::from(number) => Sighting::Thread(Some(status.leader)),
            (Some(status), Some(stat)) => Sighting::Seen(stat, status.inner),
            (None, _) | (_, None) => Sighting::Garbled,
        }
    }
}

/// What can be said of a number that `/proc` does not show: it may be hidden, or gone by now.
fn unseen(pid: Pid) -> Sighting {
    match (process_descriptor(pid), test_kill_process(pid)) {
        (_, Err(Errno::SRCH)) | (Err(Errno::SRCH), _) => Sighting::Absent,
        // The answer for the number of a thread: EINVAL in older kernels, ENOENT in newer ones.
        (Err(Errno::INVAL | Errno::NOENT), _) => Sighting::Thread(None),
        // An old kernel or a filter may refuse descriptors; that says nothing of the process.
        (Ok(()) | Err(_), _) => Sighting::Hidden,
    }
}

#[cfg(target_os = "linux")]
fn process_descriptor(pid: Pid) -> Result<(), Errno> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(pid, PidfdFlags::empty()).map(drop)
}

#[cfg(not(target_os = "linux"))]
fn process_descriptor(_: Pid) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}
