//! The texts of `/proc`, parsed: total, and `None` for whatever the kernel would not write.

use crate::domain::time::{Moment, Span};

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    pub command: String,
    pub state: State,
    pub kind: Kind,
    /// Clock ticks from boot to the start of the process.
    pub start: u64,
}

/// Whether a process can still do anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Running,
    /// Stopped by a signal or a debugger: it continues when told to.
    Stopped,
    /// Ended, and not yet collected by its parent.
    Zombie,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    User,
    /// A thread of the kernel itself.
    Kernel,
}

impl Stat {
    pub fn parse(bytes: &[u8]) -> Option<Stat> {
        /// `PF_KTHREAD` of the field `flags`.
        const KERNEL_THREAD: u64 = 0x0020_0000;
        let open = bytes.iter().position(|byte| *byte == b'(')?;
        // The last one: a command may be named ") Z 1 (", and the fields behind it have no ')'.
        let close = bytes.iter().rposition(|byte| *byte == b')').filter(|close| *close > open)?;
        let fields: Vec<&str> = str::from_utf8(&bytes[close + 1..]).ok()?.split_ascii_whitespace().collect();
        // Counted from the third field of proc(5), the state.
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let (flags, threads, start) = (number(6)?, number(17)?, number(19)?);
        let kind = if flags & KERNEL_THREAD == 0 { Kind::User } else { Kind::Kernel };
        let command = String::from_utf8_lossy(&bytes[open + 1..close]).into_owned();
        Some(Stat { command, state: State::parse(fields.first()?, threads)?, kind, start })
    }
}

impl State {
    fn parse(letter: &str, threads: u64) -> Option<State> {
        match letter {
            // A main thread that ended before the others shows as a zombie, but the process lives
            // in the others and is counted with them.
            "Z" | "X" | "x" if threads > 1 => Some(State::Running),
            "Z" | "X" | "x" => Some(State::Zombie),
            "T" | "t" => Some(State::Stopped),
            // Running, sleeping, waiting for a disk, and what kernels may yet invent.
            other => {
                (other.len() == 1 && other.as_bytes()[0].is_ascii_alphabetic()).then_some(State::Running)
            }
        }
    }
}

/// What `/proc/PID/status` says of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The process that the number belongs to; another number if it is a thread's.
    pub leader: i64,
    /// What the process itself believes its number to be, if it runs in a namespace below.
    pub inner: Option<i64>,
}

impl Status {
    pub fn parse(bytes: &[u8]) -> Option<Status> {
        // The kernel escapes line breaks in `Name:`, so a command cannot forge a line here.
        let text = String::from_utf8_lossy(bytes);
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let leader = line("Tgid:")?.trim().parse().ok()?;
        let inner = match line("NSpid:") {
            Some(numbers) => match numbers.split_ascii_whitespace().skip(1).last() {
                Some(number) => Some(number.parse().ok()?),
                None => None,
            },
            // Kernels before 4.1 do not say.
            None => None,
        };
        Some(Status { leader, inner })
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

/// The wall time of so many ticks after boot.
pub fn moment_of(boot: Moment, ticks: u64, per_second: u64) -> Option<Moment> {
    let micros = (u128::from(ticks) * 1_000_000).checked_div(u128::from(per_second))?;
    let span = Span::micros(i64::try_from(micros).ok()?);
    Moment::from_micros(boot.micros().checked_add(span.as_micros())?)
}

#[cfg(test)]
#[path = "proc_stat_tests.rs"]
mod tests;
