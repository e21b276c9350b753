//! The questions that wait for a poller: whatever was asked again counts once.

use std::collections::VecDeque;
use std::mem::{Discriminant, discriminant};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Instant;

use super::Question;

pub(super) struct Inbox {
    receiver: Receiver<Question>,
    waiting: VecDeque<Question>,
}

/// What there is to do.
pub(super) enum Taken {
    Question(Question),
    /// Nobody asked until it was time to look.
    Nothing,
    /// Nobody will ask any more.
    End,
}

impl Inbox {
    pub(super) fn of(receiver: Receiver<Question>) -> Inbox {
        Inbox { receiver, waiting: VecDeque::new() }
    }

    /// The next question, if there is one before a look is due.
    pub(super) fn take(&mut self, due: Option<Instant>) -> Taken {
        loop {
            match self.receiver.try_recv() {
                Ok(question) => self.put(question),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Taken::End,
            }
        }
        if let Some(question) = self.waiting.pop_front() {
            return Taken::Question(question);
        }
        let came = match due {
            None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => self.receiver.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match came {
            Ok(question) => Taken::Question(question),
            Err(RecvTimeoutError::Timeout) => Taken::Nothing,
            Err(RecvTimeoutError::Disconnected) => Taken::End,
        }
    }

    /// Of those whose answer replaces that of the one before only the last is kept: a database that
    /// was away for a while has not to make up for every key that was pressed meanwhile.
    fn put(&mut self, question: Question) {
        if let Some(kind) = replaces(&question) {
            self.waiting.retain(|other| discriminant(other) != kind);
        }
        self.waiting.push_back(question);
    }
}

fn replaces(question: &Question) -> Option<Discriminant<Question>> {
    match question {
        Question::Pace { .. }
        | Question::Page(_)
        | Question::Dead(_)
        | Question::Holders
        | Question::Kinds
        | Question::Examine(_)
        | Question::Now => Some(discriminant(question)),
        Question::Probe(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn what_was_asked_ten_times_is_answered_once_and_no_process_is_forgotten() {
        let (ask, receiver) = channel();
        for _ in 0..10 {
            for question in [Question::Holders, Question::Kinds, Question::Probe(Vec::new())] {
                ask.send(question).expect("somebody listens");
            }
        }
        let mut inbox = Inbox::of(receiver);
        let mut kinds = Vec::new();
        while let Taken::Question(question) = inbox.take(Some(Instant::now())) {
            kinds.push(discriminant(&question));
        }
        let count =
            |question: &Question| kinds.iter().filter(|kind| **kind == discriminant(question)).count();
        assert_eq!((count(&Question::Holders), count(&Question::Kinds)), (1, 1));
        assert_eq!(count(&Question::Probe(Vec::new())), 10);
        drop(ask);
        assert!(matches!(inbox.take(None), Taken::End));
    }
}
