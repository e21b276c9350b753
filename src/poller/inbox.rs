//! The requests that wait for a thread. One that was repeated is answered once.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Instant;

pub(super) struct Inbox<R> {
    receiver: Receiver<R>,
    waiting: VecDeque<R>,
    replaces: fn(&R, &R) -> bool,
}

/// What there is to do.
pub(super) enum Taken<R> {
    Request(R),
    /// Nobody asked until it was time to look.
    Nothing,
    /// Nobody will ask any more.
    End,
}

impl<R> Inbox<R> {
    pub(super) fn new(receiver: Receiver<R>, replaces: fn(&R, &R) -> bool) -> Inbox<R> {
        Inbox { receiver, waiting: VecDeque::new(), replaces }
    }

    /// The next request, if there is one before a look is due.
    pub(super) fn take(&mut self, due: Option<Instant>) -> Taken<R> {
        loop {
            match self.receiver.try_recv() {
                Ok(request) => self.put(request),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Taken::End,
            }
        }
        if let Some(request) = self.waiting.pop_front() {
            return Taken::Request(request);
        }
        let came = match due {
            None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => self.receiver.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match came {
            Ok(request) => Taken::Request(request),
            Err(RecvTimeoutError::Timeout) => Taken::Nothing,
            Err(RecvTimeoutError::Disconnected) => Taken::End,
        }
    }

    /// Of requests whose answers replace each other only the last is kept: a database that was away for a while
    /// does not have to answer every key that was pressed meanwhile.
    fn put(&mut self, request: R) {
        self.waiting.retain(|other| !(self.replaces)(&request, other));
        self.waiting.push_back(request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_request_that_was_repeated_is_answered_once_unless_every_answer_counts() {
        let (ask, receiver) = channel();
        for _ in 0..10 {
            for request in ["holders", "kinds", "probe"] {
                ask.send(request).expect("somebody listens");
            }
        }
        let mut inbox = Inbox::new(receiver, |new, old| new == old && *new != "probe");
        let mut answered = Vec::new();
        while let Taken::Request(request) = inbox.take(Some(Instant::now())) {
            answered.push(request);
        }
        let count = |request: &str| answered.iter().filter(|other| **other == request).count();
        assert_eq!((count("holders"), count("kinds"), count("probe")), (1, 1, 10));
        drop(ask);
        assert!(matches!(inbox.take(None), Taken::End));
    }
}
