//! Parsers for files in `/proc`: they never panic, and return `None` for anything the kernel would not write.

use crate::domain::time::{Moment, Span};

/// The contents of `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcStat {
    pub command: String,
    pub state: ProcState,
    pub kind: ProcKind,
    /// Clock ticks from boot to the start of the process.
    pub start: u64,
}

/// Whether a process can still run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcState {
    Running,
    /// Stopped by a signal or a debugger; it can continue.
    Stopped,
    /// Ended, and not yet reaped by its parent.
    Zombie,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcKind {
    User,
    /// A kernel thread.
    Kernel,
}

impl ProcStat {
    pub fn parse(bytes: &[u8]) -> Option<ProcStat> {
        /// `PF_KTHREAD` of the field `flags`.
        const KERNEL_THREAD: u64 = 0x0020_0000;
        let open = bytes.iter().position(|byte| *byte == b'(')?;
        // The last ')': a command may be named ") Z 1 (", and the fields after it contain no ')'.
        let close = bytes.iter().rposition(|byte| *byte == b')').filter(|close| *close > open)?;
        let fields: Vec<&str> = str::from_utf8(&bytes[close + 1..]).ok()?.split_ascii_whitespace().collect();
        // Counted from the third field of proc(5), the state.
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let (flags, threads, start) = (number(6)?, number(17)?, number(19)?);
        let kind = if flags & KERNEL_THREAD == 0 { ProcKind::User } else { ProcKind::Kernel };
        let command = String::from_utf8_lossy(&bytes[open + 1..close]).into_owned();
        Some(ProcStat { command, state: ProcState::parse(fields.first()?, threads)?, kind, start })
    }
}

impl ProcState {
    fn parse(letter: &str, threads: u64) -> Option<ProcState> {
        match letter {
            // A main thread that ended first shows as a zombie, but the process lives on in its other threads, which
            // are counted here.
            "Z" | "X" | "x" if threads > 1 => Some(ProcState::Running),
            "Z" | "X" | "x" => Some(ProcState::Zombie),
            "T" | "t" => Some(ProcState::Stopped),
            // Running, sleeping, waiting for a disk, and states of future kernels.
            other => {
                (other.len() == 1 && other.as_bytes()[0].is_ascii_alphabetic()).then_some(ProcState::Running)
            }
        }
    }
}

/// The contents of `/proc/PID/status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcStatus {
    /// The process that this PID belongs to; a different number if it is the number of a thread.
    pub leader: i64,
    /// The PID inside the process's own namespace, if it runs in a nested one.
    pub inner: Option<i64>,
}

impl ProcStatus {
    pub fn parse(bytes: &[u8]) -> Option<ProcStatus> {
        // The kernel escapes line breaks in `Name:`, so a command cannot forge a line here.
        let text = String::from_utf8_lossy(bytes);
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let leader = line("Tgid:")?.trim().parse().ok()?;
        let inner = match line("NSpid:") {
            Some(numbers) => match numbers.split_ascii_whitespace().skip(1).last() {
                Some(number) => Some(number.parse().ok()?),
                None => None,
            },
            // Kernels before 4.1 do not show it.
            None => None,
        };
        Some(ProcStatus { leader, inner })
    }
}

/// When the machine booted, to the second, from `/proc/stat`.
pub fn boot_time(bytes: &[u8]) -> Option<Moment> {
    let text = String::from_utf8_lossy(bytes);
    let seconds: i64 = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Moment::from_micros(seconds.checked_mul(1_000_000)?)
}

/// The ticks per second in which start times are counted, from `/proc/self/auxv`.
pub fn ticks_per_second(auxv: &[u8]) -> Option<u64> {
    /// `AT_CLKTCK`.
    const CLOCK_TICKS: usize = 17;
    const WORD: usize = size_of::<usize>();
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    auxv.chunks_exact(2 * WORD)
        .find(|entry| word(&entry[..WORD]) == Some(CLOCK_TICKS))
        .and_then(|entry| word(&entry[WORD..]))
        .and_then(|ticks| u64::try_from(ticks).ok())
        .filter(|ticks| *ticks > 0)
}

/// The wall time of this many ticks after boot.
pub fn moment_of(boot: Moment, ticks: u64, per_second: u64) -> Option<Moment> {
    let micros = (u128::from(ticks) * 1_000_000).checked_div(u128::from(per_second))?;
    let span = Span::micros(i64::try_from(micros).ok()?);
    Moment::from_micros(boot.micros().checked_add(span.as_micros())?)
}

#[cfg(test)]
#[path = "proc_stat_tests.rs"]
mod tests;
