//! The machine on which this program runs, and what can be said about a process from here.

use rustix::process::Pid;
use std::fs;

use super::namespace::Namespace;
use super::pid_sighting::PidSighting;
use super::proc_stat::{ProcKind, ProcStat, ProcState, boot_time, moment_of, ticks_per_second};
use super::process_identity::ProcessIdentity;
use super::{HoldersOn, ProcessFinding, ProcessSubject, host};
use crate::domain::claim::Process;
use crate::domain::time::{Moment, Span};
use crate::domain::value::Value;
use crate::domain::visible::visible;

/// This machine as seen from this process.
///
/// Keep one for the lifetime of the program: it remembers the boot time, and so notices when the clock is set.
#[derive(Debug, Clone)]
pub struct Machine {
    host: String,
    namespace: Namespace,
    pid_max: i64,
    boot: Option<Moment>,
    ticks: u64,
}

impl Machine {
    pub fn here() -> Machine {
        /// The largest limit of any Linux.
        const PID_MAX_LIMIT: i64 = 1 << 22;
        let pid_max = fs::read_to_string("/proc/sys/kernel/pid_max").ok();
        let auxv = fs::read("/proc/self/auxv").ok();
        Machine {
            host: host::ours(),
            namespace: Namespace::of_this_process(),
            pid_max: pid_max.and_then(|text| text.trim().parse().ok()).unwrap_or(PID_MAX_LIMIT),
            boot: read_boot_time(),
            ticks: auxv.and_then(|bytes| ticks_per_second(&bytes)).unwrap_or(100),
        }
    }

    /// Whether the subject's process is alive, dead (only on proof) or unknown.
    pub fn probe(&self, subject: &ProcessSubject<'_>, holders_on: Option<HoldersOn>) -> ProcessFinding {
        // The PID limit of this kernel does not apply to processes of another host.
        let admitted = self
            .admit_host(subject.host, holders_on)
            .and_then(|()| self.pid(subject.pid))
            .and_then(|pid| self.admit_namespace(pid).map(|()| pid));
        let finding = match admitted {
            Ok(pid) => self.examine(pid, subject),
            Err(why) => ProcessFinding::unknown(why),
        };
        match (finding.process, holders_on) {
            // A host name in the row does not distinguish a host from a container on it.
            (Process::Dead, None) => ProcessFinding::unknown(format!(
                "{}; but holders_on is not set, so it may be a process elsewhere",
                finding.evidence
            )),
            (Process::Alive | Process::Dead | Process::Unknown, _) => finding,
        }
    }

    /// The PID in the row, if it is one that this kernel could give to a process.
    ///
    /// Never cast: 0 and negative numbers mean process groups to the kernel, and 2^32 + 1 would become process 1.
    fn pid(&self, value: &Value) -> Result<Pid, String> {
        let number = match value {
            Value::Int(number) => Some(*number).filter(|number| (1..=self.pid_max).contains(number)),
            Value::Null | Value::Real(_) | Value::Text(_) | Value::BadText(_) | Value::Bytes(_) => None,
        };
        number.and_then(|number| i32::try_from(number).ok()).and_then(Pid::from_raw).ok_or_else(|| {
            format!("the pid is {}, not a whole number from 1 to {}", value.describe(), self.pid_max)
        })
    }

    fn admit_host(&self, named: Option<&str>, holders_on: Option<HoldersOn>) -> Result<(), String> {
        let named = named.filter(|name| !name.trim().is_empty());
        match (holders_on, named) {
            (Some(HoldersOn::Elsewhere), _) => Err("holders_on says that the holders run elsewhere".into()),
            (Some(HoldersOn::ThisHost), None) => Ok(()),
            (Some(HoldersOn::HostColumn), None) => Err("the row names no host".into()),
            (None, None) => Err("the row names no host; set holders_on".into()),
            (Some(HoldersOn::ThisHost | HoldersOn::HostColumn) | None, Some(name)) => {
                if host::same(&self.host, name) {
                    return Ok(());
                }
                Err(format!("the row names the host {}, and this is {}", visible(name), visible(&self.host)))
            }
        }
    }

    /// In a container neither result is proof: a missing process may live outside, and a process that is found may
    /// only have the same PID.
    fn admit_namespace(&self, pid: Pid) -> Result<(), String> {
        let pid = pid.as_raw_pid();
        match self.namespace {
            Namespace::Initial => Ok(()),
            Namespace::Nested => Err(format!(
                "this program runs in a PID namespace of its own (a container?), where {pid} may be another process"
            )),
            Namespace::Unclear => Err(format!(
                "/proc does not show this program's own PID namespace, so {pid} cannot be looked up"
            )),
        }
    }

    fn examine(&self, pid: Pid, subject: &ProcessSubject<'_>) -> ProcessFinding {
        let number = pid.as_raw_pid();
        match PidSighting::of(pid) {
            PidSighting::Absent => ProcessFinding::dead(format!("no process {number}")),
            PidSighting::Thread(Some(leader)) => {
                ProcessFinding::dead(format!("no process {number}: it is a thread of {leader}"))
            }
            PidSighting::Thread(None) => {
                ProcessFinding::dead(format!("no process {number}: it is a thread of another process"))
            }
            PidSighting::Refused(errno) => {
                ProcessFinding::unknown(format!("the kernel does not say: {errno}"))
            }
            PidSighting::Garbled => {
                ProcessFinding::unknown(format!("process {number} exists, but /proc is unreadable"))
            }
            PidSighting::Hidden => undated(&format!("process {number}"), subject),
            PidSighting::Seen(stat, inner) => self.recognise(number, &stat, inner, subject),
        }
    }

    /// Decides whether the process that was found is the holder's.
    fn recognise(
        &self,
        pid: i32,
        stat: &ProcStat,
        inner: Option<i64>,
        subject: &ProcessSubject<'_>,
    ) -> ProcessFinding {
        let name = format!("process {pid} ({})", visible(&stat.command));
        if stat.state == ProcState::Zombie {
            // No other process can have this PID, and this one has ended.
            return ProcessFinding::dead(format!("{name} has ended and is a zombie"));
        }
        let start = self.boot.and_then(|boot| moment_of(boot, stat.start, self.ticks));
        let identity = start.map(|start| ProcessIdentity::of(start, subject.started_at, subject.beat_at));
        let started = start.map_or_else(String::new, |start| format!(" started {}", start.rfc3339()));
        match (identity, stat.kind, inner) {
            (Some(ProcessIdentity::Other(_)), _, _) if self.clock_was_set() => ProcessFinding::unknown(
                format!("{name} exists, but the clock was set, so its start time means nothing"),
            ),
            (Some(ProcessIdentity::Other(sign)), _, _) => ProcessFinding::dead(format!(
                "pid {pid} was reused: {name}{started}, after the last heartbeat {}",
                sign.rfc3339()
            )),
            (_, ProcKind::Kernel, _) => ProcessFinding::unknown(format!(
                "{name} is a thread of the kernel, so the pid was counted elsewhere (a container?)"
            )),
            // The holder would have written its inner PID.
            (_, ProcKind::User, Some(inner)) => ProcessFinding::unknown(format!(
                "{name} runs in a PID namespace of its own and knows itself as {inner}, so it may be another process"
            )),
            (None, ProcKind::User, None) => undated(&name, subject),
            (Some(ProcessIdentity::Doubtful(registered)), ProcKind::User, None) => {
                ProcessFinding::unknown(format!(
                    "{name}{started}, after the session was registered {}, so it may be another process",
                    registered.rfc3339()
                ))
            }
            (Some(ProcessIdentity::Same), ProcKind::User, None) => {
                ProcessFinding::alive(format!("{name}{started}{}", run_state(stat.state)))
            }
            (Some(ProcessIdentity::Unchecked), ProcKind::User, None) => ProcessFinding::alive(format!(
                "{name}{started}{}; the row has no time to compare that with",
                run_state(stat.state)
            )),
        }
    }

    /// The kernel computes the boot time from the clock: if it changed, the clock was set.
    fn clock_was_set(&self) -> bool {
        match (self.boot, read_boot_time()) {
            (Some(then), Some(now)) => now.since(then).abs() > Span::seconds(1),
            (None, _) | (_, None) => true,
        }
    }
}

/// A process whose start time is unknown: the holder, unless the session has a time to compare with.
fn undated(name: &str, subject: &ProcessSubject<'_>) -> ProcessFinding {
    match (subject.started_at, subject.beat_at) {
        (None, None) => {
            ProcessFinding::alive(format!("{name} exists; neither its start nor the session's is known"))
        }
        (Some(_), _) | (_, Some(_)) => ProcessFinding::unknown(format!(
            "{name} exists, but its start time cannot be read, so it may be another process"
        )),
    }
}

fn run_state(state: ProcState) -> &'static str {
    match state {
        ProcState::Running | ProcState::Zombie => " and runs",
        ProcState::Stopped => " and is stopped",
    }
}

fn read_boot_time() -> Option<Moment> {
    fs::read("/proc/stat").ok().and_then(|bytes| boot_time(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_pid() -> Value {
        Value::Int(i64::from(std::process::id()))
    }

    fn machine() -> Machine {
        Machine { namespace: Namespace::Initial, ..Machine::here() }
    }

    /// This test's own process, in a session whose last heartbeat was this many seconds after boot.
    fn probe(machine: &Machine, beat_after_boot: i64) -> ProcessFinding {
        let pid = own_pid();
        let beat_at = read_boot_time().map(|boot| boot.plus(Span::seconds(beat_after_boot)));
        let subject = ProcessSubject { pid: &pid, host: None, started_at: None, beat_at };
        machine.probe(&subject, Some(HoldersOn::ThisHost))
    }

    #[test]
    fn a_clock_that_was_set_makes_nobody_dead() {
        let machine = machine();
        assert_eq!(probe(&machine, -60).process, Process::Dead);
        let boot = machine.boot.map(|boot| boot.plus(Span::minutes(60)));
        let found = probe(&Machine { boot, ..machine }, -60);
        assert_eq!(found.process, Process::Unknown, "{}", found.evidence);
    }

    #[test]
    fn without_a_boot_time_no_process_is_called_reused() {
        let found = probe(&Machine { boot: None, ..machine() }, -60);
        assert_eq!(found.process, Process::Unknown, "{}", found.evidence);
    }

    #[test]
    fn a_pid_beyond_our_own_limit_is_no_fault_of_a_row_of_another_host() {
        let pid = Value::Int(4_000_000);
        let subject =
            ProcessSubject { pid: &pid, host: Some("far.example"), started_at: None, beat_at: None };
        let small = Machine { pid_max: 32_768, ..machine() };
        let found = small.probe(&subject, Some(HoldersOn::HostColumn));
        assert_eq!(found.process, Process::Unknown);
        assert!(found.evidence.contains("far.example"), "{}", found.evidence);
        assert!(!found.evidence.contains("32768"), "{}", found.evidence);
    }

    #[test]
    fn nothing_is_said_from_another_namespace() {
        for namespace in [Namespace::Nested, Namespace::Unclear] {
            let found = probe(&Machine { namespace, ..machine() }, 0);
            assert_eq!(found.process, Process::Unknown, "{}", found.evidence);
        }
    }
}
