//! From the readers to the model: the latest answer of every source, and its silence.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;

use crate::app::message::{Msg, SourcePoll};
use crate::app::source::{Poll, PollFailure};
use crate::domain::time::Moment;
use crate::events::Event;
use crate::poller::SILENCE;
use crate::store::clock;

/// At most this many events, the latest ones, are kept while the screen takes none.
const UNTAKEN: usize = 10_000;
/// Answers that arrive within this time are shown together: of many sources, one has always been polled just now.
const FRAME: Duration = Duration::from_millis(100);
/// The answers of so few sources are shown at once: whoever acts sees the row as it is now.
const FEW_SOURCES: usize = 16;
/// How often to look for sources that do not answer.
const LOOK: Duration = Duration::from_millis(500);

/// What the readers of all sources have found and the model has not taken yet.
#[derive(Debug)]
pub(super) struct PollAnswers {
    sources: Mutex<Vec<SourceAnswer>>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct SourceAnswer {
    /// The latest result. If the one before was not taken in time, only its events are kept.
    latest: Option<(Result<Poll, PollFailure>, Vec<Event>)>,
    /// Since when the reader waits for the database.
    waits: Option<(Instant, Moment)>,
}

impl PollAnswers {
    pub(super) fn new(sources: usize) -> Arc<PollAnswers> {
        let sources = (0..sources).map(|_| SourceAnswer::default()).collect();
        Arc::new(PollAnswers { sources: Mutex::new(sources), arrived: Notify::new() })
    }

    /// The result of a poll and its events.
    pub(super) fn put(&self, source: usize, poll: Result<Poll, PollFailure>, events: Vec<Event>) {
        if let Some(answer) = self.lock().get_mut(source) {
            let mut all = answer.latest.take().map(|(_, events)| events).unwrap_or_default();
            all.extend(events);
            let too_many = all.len().saturating_sub(UNTAKEN);
            all.drain(..too_many);
            answer.latest = Some((poll, all));
        }
        self.arrived.notify_one();
    }

    /// Runs what may have to wait for the database.
    pub(super) fn waiting<T>(&self, source: usize, wait: impl FnOnce() -> T) -> T {
        let mark = |waits| {
            if let Some(answer) = self.lock().get_mut(source) {
                answer.waits = waits;
            }
        };
        mark(Some((Instant::now(), clock())));
        let result = wait();
        mark(None);
        result
    }

    /// Sends every answer to the model, and a message when none has come for a while: the reader that waits cannot
    /// send that.
    pub(super) fn forward_to(self: &Arc<PollAnswers>, messages: mpsc::Sender<Msg>) {
        let answers = Arc::clone(self);
        tokio::spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            let has_few = answers.lock().len() <= FEW_SOURCES;
            let mut frame = tokio::time::interval(FRAME);
            frame.set_missed_tick_behavior(MissedTickBehavior::Delay);
            look.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                let news = tokio::select! {
                    () = answers.arrived.notified() => {
                        if !has_few {
                            // Over at once, unless the last answers came a moment ago.
                            frame.tick().await;
                        }
                        vec![Msg::Polled(answers.take())]
                    }
                    _ = look.tick() => answers.silences(),
                };
                for msg in news {
                    if messages.send(msg).await.is_err() {
                        return;
                    }
                }
            }
        });
    }

    fn take(&self) -> Vec<SourcePoll> {
        let take = |(source, answer): (usize, &mut SourceAnswer)| {
            let (poll, events) = answer.latest.take()?;
            Some(SourcePoll { source, poll, events })
        };
        self.lock().iter_mut().enumerate().filter_map(take).collect()
    }

    /// The sources that have not answered for a while. Each is reported once.
    fn silences(&self) -> Vec<Msg> {
        let take = |(source, answer): (usize, &mut SourceAnswer)| {
            let (_, since) = answer.waits.take_if(|(began, _)| began.elapsed() > SILENCE)?;
            Some(Msg::Silent { source, since })
        };
        self.lock().iter_mut().enumerate().filter_map(take).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SourceAnswer>> {
        // Nothing in here can fail half-way.
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
