//! Reads one source for the dashboard: polls it, and answers detailed questions in between.

mod answers;
mod dashboard_poll;

use std::mem::discriminant;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::poll_answers::PollAnswers;
use super::{ProberMaker, SourceAccess};
use crate::app::message::{DeadJobsQuery, Msg, ShownClaim};
use crate::app::row::Row;
use crate::app::source::{Poll, PollFailure};
use crate::domain::claim_list::ListRequest;
use crate::events::Event;
use crate::poller::{FullLook, NextPoll, OpenSource, Polled, Poller, PollerPool, Recorder, SourceWatch};
use crate::store::error::ConnectFailures;
use crate::store::{Backoff, Pace, StoreError};

/// Questions to a source between polls.
#[derive(Debug)]
pub(super) enum SourceQuestion {
    Pace {
        interval: Duration,
        paused: bool,
    },
    List(ListRequest),
    Dead(DeadJobsQuery),
    Holders,
    Kinds,
    Examine(Box<ShownClaim>),
    Probe(Vec<Row>),
    /// The groups pane is open: gather facts as soon as any claim is in trouble.
    Facts,
    /// Something was written: poll now.
    Now,
    /// Record polls from now on, or no longer.
    Record(Option<Recorder>),
}

/// A server that refuses the login is tried again after this long: it may count the attempts.
const DENIED: Duration = Duration::from_secs(10);

/// Starts to poll a source, and returns a handle for questions.
pub(super) fn start(
    pool: &PollerPool,
    source: usize,
    feed: &SourceAccess,
    interval: Duration,
    polls: Arc<PollAnswers>,
    answers: mpsc::Sender<Msg>,
) -> std::io::Result<Poller<SourceQuestion>> {
    pool.start(SourceReader {
        source,
        watch: SourceWatch::new(&feed.label, Arc::clone(&feed.open)),
        dead: OpenSource::new(Arc::clone(&feed.dead)),
        probers: Arc::clone(&feed.probers),
        interval,
        paused: false,
        due: Instant::now(),
        full: FullLook::default(),
        recorder: None,
        out_of_reach: None,
        backoff: Backoff::new(),
        pace: Pace::default(),
        polls,
        answers,
    })
}

struct SourceReader {
    source: usize,
    watch: SourceWatch,
    /// The same source, for its dead jobs.
    dead: OpenSource,
    probers: ProberMaker,
    interval: Duration,
    paused: bool,
    /// When to poll, unless it is paused.
    due: Instant,
    full: FullLook,
    /// Where polls are recorded, if they are.
    recorder: Option<Recorder>,
    /// The server and why it cannot be reached, if the last poll failed so.
    out_of_reach: Option<(String, ConnectFailures)>,
    backoff: Backoff,
    pace: Pace,
    polls: Arc<PollAnswers>,
    answers: mpsc::Sender<Msg>,
}

impl Drop for SourceReader {
    /// It ends with the dashboard, or because of a panic: then its source would look calm for ever.
    fn drop(&mut self) {
        let ended = "the reader of this source has ended unexpectedly";
        self.polls.put(self.source, Err(ended.into()), Vec::new());
    }
}

impl Polled for SourceReader {
    type Request = SourceQuestion;

    fn poll(&mut self) -> NextPoll {
        let started = Instant::now();
        let polls = Arc::clone(&self.polls);
        let looked = polls.waiting(self.source, || self.look(started));
        self.due = self.due_after(started, looked.as_ref().err());
        self.hand_out(looked);
        self.next()
    }

    fn answer(&mut self, question: SourceQuestion) -> NextPoll {
        match question {
            SourceQuestion::Now => self.due = Instant::now(),
            SourceQuestion::Record(recorder) => self.recorder = recorder,
            SourceQuestion::Facts => {
                self.watch.facts.gather_always();
                self.due = Instant::now();
            }
            SourceQuestion::Pace { interval, paused } => {
                (self.interval, self.paused) = (interval, paused);
                self.due = self.due.min(Instant::now() + interval);
            }
            question => {
                let polls = Arc::clone(&self.polls);
                let (msg, lost) = polls.waiting(self.source, || self.reply(question));
                if self.answers.blocking_send(msg).is_err() {
                    return NextPoll::Never;
                }
                // Report a lost connection now, not with the next poll.
                if let Some(error) = lost {
                    self.due = self.due_after(Instant::now(), Some(&error));
                    self.hand_out(Err(error));
                }
            }
        }
        self.next()
    }

    fn replaces(new: &SourceQuestion, old: &SourceQuestion) -> bool {
        // Every requested process is looked up.
        !matches!(new, SourceQuestion::Probe(_)) && discriminant(new) == discriminant(old)
    }
}

impl SourceReader {
    fn next(&self) -> NextPoll {
        if self.answers.is_closed() {
            NextPoll::Never
        } else if self.paused {
            NextPoll::WhenAsked
        } else {
            NextPoll::At(self.due)
        }
    }

    /// Stores the result for the screen, together with the events of results that it did not take.
    fn hand_out(&mut self, looked: Result<(Poll, Vec<Event>), StoreError>) {
        let (poll, events) = match looked {
            Ok((poll, events)) => (Ok(poll), events),
            Err(error) => {
                self.full.forget();
                let trouble = self.trouble(&error);
                let events = self.watch.fail(trouble.why());
                let is_unreachable = matches!(trouble, PollFailure::NoLink(_));
                let recorded = self.recorder.as_ref();
                let stopped = recorded.and_then(|to| to.failure(trouble.why(), is_unreachable, &events));
                self.report_stop(stopped);
                (Err(trouble), events)
            }
        };
        self.polls.put(self.source, poll, events);
    }

    /// When to poll again.
    fn due_after(&mut self, started: Instant, failed: Option<&StoreError>) -> Instant {
        let now = Instant::now();
        self.out_of_reach = None;
        match failed {
            Some(StoreError::Unreachable { source_name, why }) => {
                self.out_of_reach = Some((source_name.clone(), why.clone()));
                now + self.backoff.next()
            }
            Some(StoreError::Denied { .. }) => now + self.interval.max(DENIED),
            // Waiting costs the database nothing, and it may be free again soon.
            Some(StoreError::Locked { .. }) => now + self.interval,
            _ => {
                self.backoff.reset();
                started + self.pace.after(started.elapsed(), self.interval)
            }
        }
    }

    /// Why the poll failed.
    fn trouble(&self, error: &StoreError) -> PollFailure {
        let why = error.brief(&self.watch.detector.profiles());
        match error {
            StoreError::Unreachable { .. } | StoreError::Denied { .. } => PollFailure::NoLink(why),
            _ => PollFailure::Unreadable(why),
        }
    }
}
