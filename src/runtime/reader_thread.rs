//! The thread that reads one source for the dashboard: it polls, and answers closer questions in between.

mod answers;
mod forwarding;
mod look;

use std::mem::discriminant;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::{Feed, ProberMaker};
use crate::app::message::{DeadJobsQuery, Msg, Target};
use crate::app::row::Row;
use crate::app::source::{Poll, Trouble};
use crate::domain::detail::{PageRequest, Whole};
use crate::events::Event;
use crate::poller::{Next, OpenSource, Polled, Poller, SourceWatch};
use crate::store::error::ConnectFailures;
use crate::store::{Backoff, Pace, StoreError};

/// The answer of one poll, or why there is none, and the events that it revealed.
#[derive(Debug)]
pub struct Answer {
    pub poll: Result<Poll, Trouble>,
    pub events: Vec<Event>,
}

/// The latest answer. Of one that nobody took in time only the events are kept.
pub type Slot = Arc<Mutex<Option<Answer>>>;

/// What can be asked of a source between polls.
#[derive(Debug)]
pub enum Question {
    Pace {
        interval: Duration,
        paused: bool,
    },
    Page(PageRequest),
    Dead(DeadJobsQuery),
    Holders,
    Kinds,
    Examine(Box<Target>),
    Probe(Vec<Row>),
    /// Something was written: look now.
    Now,
}

/// A handle on the thread.
#[derive(Debug)]
pub struct ReaderThread {
    pub questions: Poller<Question>,
    /// Counts the polls; the latest of them is in `latest` until somebody takes it.
    pub polls: watch::Receiver<u64>,
    pub latest: Slot,
    /// Odd while the thread waits for the database.
    pub turns: watch::Receiver<u64>,
}

/// So many events are kept for a screen that takes none in, the latest of them.
const UNTAKEN: usize = 10_000;
/// A source that owes an answer for longer is called silent.
pub const SILENCE: Duration = Duration::from_secs(3);
/// A server that refuses our login is asked again after this long: it may count the attempts.
const DENIED: Duration = Duration::from_secs(10);

impl ReaderThread {
    pub fn start(
        source: usize,
        feed: &Feed,
        interval: Duration,
        answers: mpsc::Sender<Msg>,
    ) -> std::io::Result<ReaderThread> {
        let (polled, polls) = watch::channel(0);
        let (turn, turns) = watch::channel(0);
        let latest = Slot::default();
        let work = Work {
            source,
            watch: SourceWatch::new(&feed.label, Arc::clone(&feed.open)),
            dead: OpenSource::new(Arc::clone(&feed.dead)),
            probers: Arc::clone(&feed.probers),
            interval,
            paused: false,
            due: Instant::now(),
            horizon: None,
            whole: None,
            small: Vec::new(),
            out_of_reach: None,
            backoff: Backoff::new(),
            pace: Pace::default(),
            turn,
            polled,
            latest: Arc::clone(&latest),
            answers,
        };
        let questions = Poller::start(format!("poller {source}"), work)?;
        Ok(ReaderThread { questions, polls, latest, turns })
    }
}

struct Work {
    source: usize,
    watch: SourceWatch,
    /// The same source, seen from its dead jobs.
    dead: OpenSource,
    probers: ProberMaker,
    interval: Duration,
    paused: bool,
    /// When to poll, unless it is paused.
    due: Instant,
    /// When the horizon was read, at which state of the data.
    horizon: Option<(Instant, Option<i64>)>,
    /// The state of the data when the small boards were last read.
    whole: Option<i64>,
    /// The small boards as they were read then.
    small: Vec<Whole>,
    /// The server and why it cannot be reached, if the last poll found that out.
    out_of_reach: Option<(String, ConnectFailures)>,
    backoff: Backoff,
    pace: Pace,
    turn: watch::Sender<u64>,
    polled: watch::Sender<u64>,
    latest: Slot,
    answers: mpsc::Sender<Msg>,
}

impl Polled for Work {
    type Request = Question;

    fn poll(&mut self) -> Next {
        let started = Instant::now();
        self.take_turn();
        let looked = self.look(started);
        self.take_turn();
        self.due = self.due_after(started, looked.as_ref().err());
        self.hand_out(looked);
        self.next()
    }

    fn answer(&mut self, question: Question) -> Next {
        match question {
            Question::Now => self.due = Instant::now(),
            Question::Pace { interval, paused } => {
                (self.interval, self.paused) = (interval, paused);
                self.due = self.due.min(Instant::now() + interval);
            }
            question => {
                self.take_turn();
                let (msg, lost) = self.reply(question);
                self.take_turn();
                if self.answers.blocking_send(msg).is_err() {
                    return Next::Never;
                }
                // A lost connection is reported at once, not with the next poll.
                if let Some(error) = lost {
                    self.due = self.due_after(Instant::now(), Some(&error));
                    self.hand_out(Err(error));
                }
            }
        }
        self.next()
    }

    fn replaces(new: &Question, old: &Question) -> bool {
        // Every process that was asked for is looked up.
        !matches!(new, Question::Probe(_)) && discriminant(new) == discriminant(old)
    }
}

impl Work {
    fn next(&self) -> Next {
        if self.polled.is_closed() {
            Next::Never
        } else if self.paused {
            Next::WhenAsked
        } else {
            Next::At(self.due)
        }
    }

    /// Puts the answer where the screen takes it, with the events of those that it did not take.
    fn hand_out(&mut self, looked: Result<(Poll, Vec<Event>), StoreError>) {
        let (poll, events) = match looked {
            Ok((poll, events)) => (Ok(poll), events),
            Err(error) => {
                self.whole = None;
                self.small.clear();
                let trouble = self.trouble(&error);
                let events = self.watch.fail(trouble.why());
                (Err(trouble), events)
            }
        };
        if let Ok(mut latest) = self.latest.lock() {
            let mut all: Vec<Event> = latest.take().map(|answer| answer.events).unwrap_or_default();
            all.extend(events);
            let too_many = all.len().saturating_sub(UNTAKEN);
            all.drain(..too_many);
            *latest = Some(Answer { poll, events: all });
        }
        self.polled.send_modify(|polls| *polls += 1);
    }

    /// Begins or ends a wait for the database.
    fn take_turn(&self) {
        self.turn.send_modify(|turns| *turns += 1);
    }

    /// When to look again.
    fn due_after(&mut self, started: Instant, failed: Option<&StoreError>) -> Instant {
        let now = Instant::now();
        self.out_of_reach = None;
        match failed {
            Some(StoreError::Unreachable { source_name, why }) => {
                self.out_of_reach = Some((source_name.clone(), why.clone()));
                now + self.backoff.next()
            }
            Some(StoreError::Denied { .. }) => now + self.interval.max(DENIED),
            // Waiting costs the database nothing, and it may be free again any moment.
            Some(StoreError::Locked { .. }) => now + self.interval,
            _ => {
                self.backoff.reset();
                started + self.pace.after(started.elapsed(), self.interval)
            }
        }
    }

    /// Why there is no answer.
    fn trouble(&self, error: &StoreError) -> Trouble {
        let why = error.brief(&self.watch.detector.profiles());
        match error {
            StoreError::Unreachable { .. } | StoreError::Denied { .. } => Trouble::NoLink(why),
            _ => Trouble::Unreadable(why),
        }
    }
}
