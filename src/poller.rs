//! One thread per source that reads: polls at its pace, and answers closer questions in between.
//!
//! A slow or dead database keeps this thread waiting and nobody else.

mod answers;
mod inbox;
mod look;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use crate::app::message::{DeadJobsQuery, Msg, Target};
use crate::app::row::Row;
use crate::app::source::{Poll, Trouble};
use crate::domain::detail::{PageRequest, Whole};
use crate::domain::time::Span;
use crate::events::{ChangeDetector, Event};
use crate::store::StoreError;
use crate::store::postgres::Backoff;
use crate::store::{Options, Pace, Prober, Reader, clock};
use inbox::{Inbox, Taken};
pub use look::read_again;

/// How to open a source, as often as it takes.
pub type Opener = Arc<dyn Fn() -> Result<Options, StoreError> + Send + Sync>;
/// Makes someone who asks the kernel, and remembers nothing from before.
pub type ProberMaker = Arc<dyn Fn() -> Prober + Send + Sync>;

/// The answer of one poll, or why there is none, and what it revealed.
#[derive(Debug)]
pub struct Answer {
    pub poll: Result<Poll, Trouble>,
    pub events: Vec<Event>,
}

/// Where the latest answer lies. Of one that nobody took in time only the events are kept.
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
pub struct Poller {
    pub questions: Sender<Question>,
    /// Counts the polls; the latest of them lies in `latest` until somebody takes it.
    pub polls: watch::Receiver<u64>,
    pub latest: Slot,
    /// Odd while the thread waits for the database.
    pub turns: watch::Receiver<u64>,
}

/// Boards of at most this many claims are read whole.
pub const SMALL: usize = 500;
/// So many events are kept for a screen that takes none in, the latest of them.
const UNTAKEN: usize = 10_000;
/// A source that owes an answer for longer is called silent.
pub const SILENCE: Duration = Duration::from_secs(3);
/// The minutes that the horizon looks ahead.
pub const MINUTES: usize = 30;
/// How often it is looked at anew, when something was written and when nothing was.
const HORIZON: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(15));
/// A server that does not let us in is asked again after this long: it may count the attempts.
const DENIED: Duration = Duration::from_secs(10);

impl Poller {
    pub fn start(
        (source, label): (usize, &str),
        (open, dead): (Opener, Opener),
        probers: ProberMaker,
        interval: Duration,
        answers: mpsc::Sender<Msg>,
    ) -> std::io::Result<Poller> {
        let (questions, inbox) = channel();
        let (polled, polls) = watch::channel(0);
        let (turn, turns) = watch::channel(0);
        let latest = Slot::default();
        let work = Work {
            source,
            open,
            dead,
            probers,
            interval,
            paused: false,
            reader: None,
            horizon: None,
            whole: None,
            small: Vec::new(),
            detector: ChangeDetector::new(label),
            out_of_reach: None,
            backoff: Backoff::new(),
            pace: Pace::default(),
            turn,
            polled,
            latest: Arc::clone(&latest),
            answers,
        };
        thread::Builder::new().name(format!("poller {source}")).spawn(move || work.run(Inbox::of(inbox)))?;
        Ok(Poller { questions, polls, latest, turns })
    }
}

struct Work {
    source: usize,
    open: Opener,
    /// The same source, seen from its dead jobs.
    dead: Opener,
    probers: ProberMaker,
    interval: Duration,
    paused: bool,
    reader: Option<Reader>,
    /// When it was looked at, at which state of the data.
    horizon: Option<(Instant, Option<i64>)>,
    /// The state of the data when the small boards were last read.
    whole: Option<i64>,
    /// What was read of them.
    small: Vec<Whole>,
    detector: ChangeDetector,
    /// The server and why it cannot be reached, if the last poll found that out.
    out_of_reach: Option<(String, String)>,
    backoff: Backoff,
    pace: Pace,
    turn: watch::Sender<u64>,
    polled: watch::Sender<u64>,
    latest: Slot,
    answers: mpsc::Sender<Msg>,
}

impl Work {
    fn run(mut self, mut inbox: Inbox) {
        let mut next = Instant::now();
        loop {
            let due = if self.paused { None } else { Some(next) };
            match inbox.take(due) {
                Taken::End => return,
                Taken::Nothing => {
                    let started = Instant::now();
                    self.take_turn();
                    let looked = self.look(started);
                    self.take_turn();
                    next = self.next_poll(started, looked.as_ref().err());
                    self.hand_out(looked);
                }
                Taken::Question(Question::Now) => next = Instant::now(),
                Taken::Question(Question::Pace { interval, paused }) => {
                    (self.interval, self.paused) = (interval, paused);
                    next = next.min(Instant::now() + interval);
                }
                Taken::Question(question) => {
                    self.take_turn();
                    let (msg, lost) = self.answer(question);
                    self.take_turn();
                    if self.answers.blocking_send(msg).is_err() {
                        return;
                    }
                    // What a question found out need not wait for the next poll.
                    if let Some(error) = lost {
                        next = self.next_poll(Instant::now(), Some(&error));
                        self.hand_out(Err(error));
                    }
                }
            }
            if self.polled.is_closed() {
                return;
            }
        }
    }

    /// Lays the answer out for whoever takes it, with the events of those that nobody took.
    fn hand_out(&mut self, looked: Result<(Poll, Vec<Event>), StoreError>) {
        let (poll, events) = match looked {
            Ok((poll, events)) => (Ok(poll), events),
            Err(error) => {
                // Whatever it was, the next poll begins anew.
                self.reader = None;
                self.whole = None;
                self.small.clear();
                let trouble = self.trouble(&error);
                let events = self.detector.fail(trouble.why(), clock()).into_iter().collect();
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
    fn next_poll(&mut self, started: Instant, failed: Option<&StoreError>) -> Instant {
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

    fn reader(&mut self) -> Result<&mut Reader, StoreError> {
        match &mut self.reader {
            Some(reader) => Ok(reader),
            none => Ok(none.insert(Reader::open((self.open)()?)?)),
        }
    }

    /// Why there is no answer.
    fn trouble(&self, error: &StoreError) -> Trouble {
        let why = error.sentence_after(&self.detector.profiles());
        match error {
            StoreError::Unreachable { .. } | StoreError::Denied { .. } => Trouble::NoLink(why),
            _ => Trouble::Unreadable(why),
        }
    }
}

/// A span as the standard library counts it.
pub fn duration(span: Span) -> Duration {
    Duration::from_micros(u64::try_from(span.as_micros()).unwrap_or(0))
}
