//! One source as the pool sees it: something that can be given a turn.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::poller::{NextPoll, Polled};

/// What a worker runs.
pub(super) trait Task: Send {
    /// Answers the request that has waited longest, or polls if there is none.
    fn take_turn(&mut self) -> NextPoll;

    fn has_requests(&self) -> bool;
}

pub(super) struct PolledTask<W: Polled> {
    work: W,
    requests: Requests<W::Request>,
}

impl<W: Polled> PolledTask<W> {
    pub(super) fn new(work: W, requests: Requests<W::Request>) -> PolledTask<W> {
        PolledTask { work, requests }
    }
}

impl<W: Polled> Drop for PolledTask<W> {
    fn drop(&mut self) {
        self.requests.clear();
    }
}

impl<W: Polled + Send> Task for PolledTask<W>
where
    W::Request: Send,
{
    fn take_turn(&mut self) -> NextPoll {
        match self.requests.take() {
            Some(request) => self.work.answer(request),
            None => self.work.poll(),
        }
    }

    fn has_requests(&self) -> bool {
        !self.requests.lock().is_empty()
    }
}

/// The requests that wait for a source. A repeated request is answered once.
pub(super) struct Requests<R> {
    waiting: Arc<Mutex<VecDeque<R>>>,
    replaces: fn(&R, &R) -> bool,
}

impl<R> Requests<R> {
    pub(super) fn new(replaces: fn(&R, &R) -> bool) -> Requests<R> {
        Requests { waiting: Arc::default(), replaces }
    }

    /// Of requests whose answers replace each other only the last is kept: after an outage, a database does not have
    /// to answer every key that was pressed meanwhile.
    pub(super) fn put(&self, request: R) {
        let mut waiting = self.lock();
        waiting.retain(|other| !(self.replaces)(&request, other));
        waiting.push_back(request);
    }

    pub(super) fn clear(&self) {
        let dropped = std::mem::take(&mut *self.lock());
        drop(dropped);
    }

    fn take(&self) -> Option<R> {
        self.lock().pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<R>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R> Clone for Requests<R> {
    fn clone(&self) -> Requests<R> {
        Requests { waiting: Arc::clone(&self.waiting), replaces: self.replaces }
    }
}

impl<R> fmt::Debug for Requests<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Requests").field("waiting", &self.lock().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_was_repeated_is_answered_once_unless_every_answer_counts() {
        let requests = Requests::new(|new: &&str, old: &&str| new == old && *new != "probe");
        for _ in 0..10 {
            for request in ["holders", "kinds", "probe"] {
                requests.put(request);
            }
        }
        let answered: Vec<&str> = std::iter::from_fn(|| requests.take()).collect();
        let count = |request: &str| answered.iter().filter(|other| **other == request).count();
        assert_eq!((count("holders"), count("kinds"), count("probe")), (1, 1, 10));
    }
}
