//! The requests that wait for a thread. A repeated request is answered once.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Instant;

pub(super) struct Inbox<R> {
    receiver: Receiver<R>,
    waiting: VecDeque<R>,
    replaces: fn(&R, &R) -> bool,
}

/// The next thing to do.
pub(super) enum InboxItem<R> {
    Request(R),
    /// No request came before the poll was due.
    PollIsDue,
    /// No further request can come.
    End,
}

impl<R> Inbox<R> {
    pub(super) fn new(receiver: Receiver<R>, replaces: fn(&R, &R) -> bool) -> Inbox<R> {
        Inbox { receiver, waiting: VecDeque::new(), replaces }
    }

    /// The next request, if one comes before the poll is due.
    pub(super) fn take(&mut self, due: Option<Instant>) -> InboxItem<R> {
        loop {
            match self.receiver.try_recv() {
                Ok(request) => self.put(request),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return InboxItem::End,
            }
        }
        if let Some(request) = self.waiting.pop_front() {
            return InboxItem::Request(request);
        }
        let came = match due {
            None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => self.receiver.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match came {
            Ok(request) => InboxItem::Request(request),
            Err(RecvTimeoutError::Timeout) => InboxItem::PollIsDue,
            Err(RecvTimeoutError::Disconnected) => InboxItem::End,
        }
    }

    /// Of requests whose answers replace each other only the last is kept: after an outage, a database does not have
    /// to answer every key that was pressed meanwhile.
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
        while let InboxItem::Request(request) = inbox.take(Some(Instant::now())) {
            answered.push(request);
        }
        let count = |request: &str| answered.iter().filter(|other| **other == request).count();
        assert_eq!((count("holders"), count("kinds"), count("probe")), (1, 1, 10));
        drop(ask);
        assert!(matches!(inbox.take(None), InboxItem::End));
    }
}
