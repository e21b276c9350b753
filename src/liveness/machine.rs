//! The machine: where this program runs, and what it may say of a process from there.

use rustix::process::Pid;
use std::fs;

use super::identity::Identity;
use super::namespace::Namespace;
use super::proc_stat::{Kind, Stat, State, boot_time, moment_of, ticks_per_second};
use super::sighting::Sighting;
use super::{Finding, HoldersOn, Subject, host};
use crate::domain::claim::Process;
use crate::domain::time::{Moment, Span};
use crate::domain::value::Value;
use crate::domain::visible::visible;

/// This machine as seen from this process.
///
/// One is meant to last as long as the program: it remembers the boot time as the clock had it,
/// and so notices when the clock is set meanwhile.
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
        /// The most that any Linux allows.
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

    /// What can be said of the subject's process; dead only on proof.
    pub fn probe(&self, subject: &Subject<'_>, holders_on: Option<HoldersOn>) -> Finding {
        let admitted = self
            .pid(subject.pid)
            .and_then(|pid| self.admit_host(subject.host, holders_on).map(|()| pid))
            .and_then(|pid| self.admit_namespace(pid).map(|()| pid));
        let finding = match admitted {
            Ok(pid) => self.look(pid, subject),
            Err(why) => Finding::unknown(why),
        };
        match (finding.process, holders_on) {
            // The name in the row alone does not tell a host from a container on it.
            (Process::Dead, None) => Finding::unknown(format!(
                "{}; but holders_on is not set, so it may be a process elsewhere",
                finding.evidence
            )),
            (Process::Alive | Process::Dead | Process::Unknown, _) => finding,
        }
    }

    /// The number in the row, unless it is none that this kernel would give to a process.
    ///
    /// Never cast: 0 and negatives mean groups of processes to the kernel, and 2^32 + 1 would
    /// become process 1.
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

    /// In a container neither answer is one: what is missing may live outside, and what is found
    /// may be a namesake of the holder.
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

    fn look(&self, pid: Pid, subject: &Subject<'_>) -> Finding {
        let number = pid.as_raw_pid();
        match Sighting::of(pid) {
            Sighting::Absent => Finding::dead(format!("no process {number}")),
            Sighting::Thread(Some(leader)) => {
                Finding::dead(format!("no process {number}: it is a thread of {leader}"))
            }
            Sighting::Thread(None) => {
                Finding::dead(format!("no process {number}: it is a thread of another process"))
            }
            Sighting::Refused(errno) => Finding::unknown(format!("the kernel does not say: {errno}")),
            Sighting::Garbled => {
                Finding::unknown(format!("process {number} exists, but /proc is unreadable"))
            }
            Sighting::Hidden => undated(&format!("process {number}"), subject),
            Sighting::Seen(stat, inner) => self.recognise(number, &stat, inner, subject),
        }
    }

    /// Decides whether the process that was seen is the holder's.
    fn recognise(&self, pid: i32, stat: &Stat, inner: Option<i64>, subject: &Subject<'_>) -> Finding {
        let name = format!("process {pid} ({})", visible(&stat.command));
        if stat.state == State::Zombie {
            // Whoever it was: nobody else can have the number, and this one has ended.
            return Finding::dead(format!("{name} has ended and is a zombie"));
        }
        let start = self.boot.and_then(|boot| moment_of(boot, stat.start, self.ticks));
        let identity = start.map(|start| Identity::of(start, subject.started_at, subject.beat_at));
        let started = start.map_or_else(String::new, |start| format!(" started {}", start.rfc3339()));
        match (identity, stat.kind, inner) {
            (Some(Identity::Other(_)), _, _) if self.clock_was_set() => Finding::unknown(format!(
                "{name} exists, but the clock was set, so its start time means nothing"
            )),
            (Some(Identity::Other(sign)), _, _) => Finding::dead(format!(
                "pid {pid} was reused: {name}{started}, after the last heartbeat {}",
                sign.rfc3339()
            )),
            (_, Kind::Kernel, _) => Finding::unknown(format!(
                "{name} is a thread of the kernel, so the pid was counted elsewhere (a container?)"
            )),
            // Asked for its pid it would have written the inner one.
            (_, Kind::User, Some(inner)) => Finding::unknown(format!(
                "{name} runs in a PID namespace of its own and knows itself as {inner}, so it may be another process"
            )),
            (None, Kind::User, None) => undated(&name, subject),
            (Some(Identity::Doubtful(registered)), Kind::User, None) => Finding::unknown(format!(
                "{name}{started}, after the session was registered {}, so it may be another process",
                registered.rfc3339()
            )),
            (Some(Identity::Same), Kind::User, None) => {
                Finding::alive(format!("{name}{started}{}", manner(stat.state)))
            }
            (Some(Identity::Unchecked), Kind::User, None) => Finding::alive(format!(
                "{name}{started}{}; the row has no time to compare that with",
                manner(stat.state)
            )),
        }
    }

    /// The kernel recomputes the boot time from the clock: if it moved, the clock was set.
    fn clock_was_set(&self) -> bool {
        match (self.boot, read_boot_time()) {
            (Some(then), Some(now)) => now.since(then).abs() > Span::seconds(1),
            (None, _) | (_, None) => true,
        }
    }
}

/// A process that exists since nobody knows when: the holder, if no time could say otherwise.
fn undated(name: &str, subject: &Subject<'_>) -> Finding {
    match (subject.started_at, subject.beat_at) {
        (None, None) => {
            Finding::alive(format!("{name} exists; neither its start nor the session's is known"))
        }
        (Some(_), _) | (_, Some(_)) => Finding::unknown(format!(
            "{name} exists, but its start time cannot be read, so it may be another process"
        )),
    }
}

fn manner(state: State) -> &'static str {
    match state {
        State::Running | State::Zombie => " and runs",
        State::Stopped => " and is stopped",
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

    /// This test's own process, in a session that last beat so many seconds after boot.
    fn probe(machine: &Machine, beat_after_boot: i64) -> Finding {
        let pid = own_pid();
        let beat_at = read_boot_time().map(|boot| boot.plus(Span::seconds(beat_after_boot)));
        let subject = Subject { pid: &pid, host: None, started_at: None, beat_at };
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
    fn nothing_is_said_from_another_namespace() {
        for namespace in [Namespace::Nested, Namespace::Unclear] {
            let found = probe(&Machine { namespace, ..machine() }, 0);
            assert_eq!(found.process, Process::Unknown, "{}", found.evidence);
        }
    }
}
