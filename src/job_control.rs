//! Ctrl-Z: the process stops only while it has no transaction open. A program without a screen waits for that in a
//! thread; the dashboard has a loop of its own.

use std::io;
use std::thread;

use rustix::process::Signal;
use signal_hook::low_level::raise;

use crate::signals::{SignalRequest, Signals};
use crate::store::suspend::{self, Idle};

/// Whether the process should stop, after the requests that were heard so far.
///
/// Requests are not heard in the order in which they were made. SIGTSTP right after SIGCONT may be heard first, and
/// the kernel may even drop that SIGCONT. So the request that ended a stop must not count as an answer to the next
/// request to stop.
#[derive(Debug, Default)]
pub(crate) struct StopRequests {
    is_wanted: bool,
    /// The process went on, and the SIGCONT that made it go on has not been heard yet.
    is_resumed: bool,
}

impl StopRequests {
    pub(crate) fn hear(&mut self, request: SignalRequest) {
        match request {
            SignalRequest::Suspend => self.is_wanted = true,
            SignalRequest::Continue if self.is_resumed => self.is_resumed = false,
            // It was told to go on before it had stopped.
            SignalRequest::Continue => self.is_wanted = false,
            SignalRequest::Stop | SignalRequest::Reload => {}
        }
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Stops the process, and returns when it goes on.
    pub(crate) fn stop(&mut self, idle: Idle) {
        // Sent to this thread, which does not return from it before the whole process has stopped and goes on.
        let _ = raise(Signal::STOP.as_raw());
        *self = StopRequests { is_wanted: false, is_resumed: true };
        drop(idle);
    }
}

/// From here on SIGTSTP waits for open transactions. If the parent process ignores it, it stays ignored.
pub(crate) fn stop_between_transactions() -> io::Result<()> {
    if is_ignored() {
        return Ok(());
    }
    let signals = Signals::that_suspend()?;
    thread::Builder::new().name("job control".into()).spawn(move || attend(signals))?;
    Ok(())
}

fn attend(mut signals: Signals) {
    let mut requests = StopRequests::default();
    loop {
        requests.hear(signals.wait());
        if !requests.is_wanted() {
            continue;
        }
        let idle = suspend::idle();
        while let Some(request) = signals.take() {
            requests.hear(request);
        }
        if requests.is_wanted() {
            requests.stop(idle);
        }
    }
}

/// Whether the parent process has SIGTSTP ignored.
fn is_ignored() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (Signal::TSTP.as_raw() - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use SignalRequest::{Continue, Suspend};

    fn is_wanted(is_resumed: bool, heard: &[SignalRequest]) -> bool {
        let mut requests = StopRequests { is_wanted: false, is_resumed };
        heard.iter().for_each(|request| requests.hear(*request));
        requests.is_wanted()
    }

    #[test]
    fn a_request_to_go_on_answers_the_one_to_stop_before_it() {
        assert!(is_wanted(false, &[Suspend]));
        assert!(!is_wanted(false, &[Suspend, Continue]));
        assert!(is_wanted(false, &[Suspend, Continue, Suspend]));
    }

    #[test]
    fn what_ended_the_last_stop_does_not_answer_the_next_request_to_stop() {
        for heard in [&[Continue, Suspend][..], &[Suspend, Continue], &[Suspend]] {
            assert!(is_wanted(true, heard), "{heard:?}");
        }
        assert!(!is_wanted(true, &[Suspend, Continue, Continue]));
    }
}
