//! The sources of `check`, all polled at once: none waits for another.

use std::sync::mpsc::{Sender, channel};

use super::checked_source::CheckedSource;
use crate::domain::time::Moment;
use crate::events::Event;
use crate::poller::{NextPoll, Polled, Poller, PollerPool};
use crate::report::check::CheckResult;

pub(super) struct SourcePool {
    sources: Vec<(Poller<LookRequest>, CheckResult)>,
}

/// Asks for one poll, dated `at`.
pub(super) struct LookRequest {
    at: Moment,
    answer: Sender<(usize, (CheckResult, Vec<Event>))>,
    number: usize,
}

impl Polled for CheckedSource {
    type Request = LookRequest;

    /// Never due: each round asks.
    fn poll(&mut self) -> NextPoll {
        NextPoll::WhenAsked
    }

    fn answer(&mut self, LookRequest { at, answer, number }: LookRequest) -> NextPoll {
        // Whoever asked waits for it.
        let _ = answer.send((number, self.look(at)));
        NextPoll::WhenAsked
    }
}

impl SourcePool {
    pub(super) fn new(sources: impl Iterator<Item = CheckedSource>) -> SourcePool {
        let pool = PollerPool::new("check");
        let start = |source: CheckedSource| {
            let crashed = source.crashed();
            (pool.start_when_asked(source), crashed)
        };
        SourcePool { sources: sources.map(start).collect() }
    }

    /// One poll of every source, and the events since the last one. A poll that panicked is a result as well.
    pub(super) fn look(&self, at: Moment) -> (Vec<CheckResult>, Vec<Vec<Event>>) {
        let (answer, answers) = channel();
        for (number, (source, _)) in self.sources.iter().enumerate() {
            source.ask(LookRequest { at, answer: answer.clone(), number });
        }
        // From here on only those have a sender who have not answered yet.
        drop(answer);
        let mut looked: Vec<Option<(CheckResult, Vec<Event>)>> = self.sources.iter().map(|_| None).collect();
        for (number, result) in answers {
            looked[number] = Some(result);
        }
        let crashed = self.sources.iter().map(|(_, crashed)| (crashed.clone(), Vec::new()));
        looked.into_iter().zip(crashed).map(|(looked, crashed)| looked.unwrap_or(crashed)).unzip()
    }
}
