//! What the kernel shows about one PID.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs;

use super::proc_stat::{ProcStat, ProcStatus};

/// What has this PID at the moment.
#[derive(Debug)]
pub(super) enum PidSighting {
    /// Nothing: the kernel says so.
    Absent,
    /// A thread of the named process; no process can have the same number.
    Thread(Option<i64>),
    /// The kernel did not answer.
    Refused(Errno),
    /// A process that `/proc` does not show to us.
    Hidden,
    /// A process whose `/proc` entry could not be parsed.
    Garbled,
    /// A process, and its PID inside its own namespace if that differs.
    Seen(ProcStat, Option<i64>),
}

impl PidSighting {
    /// Looks once. Only ESRCH proves absence; a missing `/proc/PID` does not (`hidepid`).
    pub(super) fn of(pid: Pid) -> PidSighting {
        match test_kill_process(pid) {
            Err(Errno::SRCH) => return PidSighting::Absent,
            // It exists and belongs to another user.
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return PidSighting::Refused(errno),
        }
        let number = pid.as_raw_pid();
        let (status, stat) =
            (fs::read(format!("/proc/{number}/status")), fs::read(format!("/proc/{number}/stat")));
        let (Ok(status), Ok(stat)) = (status, stat) else { return unseen(pid) };
        match (ProcStatus::parse(&status), ProcStat::parse(&stat)) {
            (Some(status), _) if status.leader != i64::from(number) => {
                PidSighting::Thread(Some(status.leader))
            }
            (Some(status), Some(stat)) => PidSighting::Seen(stat, status.inner),
            (None, _) | (_, None) => PidSighting::Garbled,
        }
    }
}

/// What a PID that `/proc` does not show can be: hidden, or gone by now.
fn unseen(pid: Pid) -> PidSighting {
    match (process_descriptor(pid), test_kill_process(pid)) {
        (_, Err(Errno::SRCH)) | (Err(Errno::SRCH), _) => PidSighting::Absent,
        // The answer for the number of a thread: EINVAL in older kernels, ENOENT in newer ones.
        (Err(Errno::INVAL | Errno::NOENT), _) => PidSighting::Thread(None),
        // An old kernel or a seccomp filter may refuse descriptors; that says nothing about the process.
        (Ok(()) | Err(_), _) => PidSighting::Hidden,
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
