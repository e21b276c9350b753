//! One thread per source that reads: polls at its pace, and answers closer questions in between.
//!
//! A slow or dead database keeps this thread waiting and nobody else.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use crate::app::message::{Grave, Msg, Probed, Target};
use crate::app::row::Row;
use crate::app::source::{Poll, Trouble};
use crate::domain::close_up::{Cursor, Holder, Horizon, PageRequest, Whole};
use crate::domain::snapshot::Snapshot;
use crate::domain::time::Span;
use crate::events::{Again, Event, Look, Onlooker, Sight};
use crate::store::StoreError;
use crate::store::postgres::Backoff;
use crate::store::{Options, Prober, Reader, clock};

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
    Dead(Grave),
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
            onlooker: Onlooker::new(label),
            out_of_reach: None,
            backoff: Backoff::new(),
            turn,
            polled,
            latest: Arc::clone(&latest),
            answers,
        };
        thread::Builder::new().name(format!("poller {source}")).spawn(move || work.run(&inbox))?;
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
    onlooker: Onlooker,
    /// The server and why it cannot be reached, if the last poll found that out.
    out_of_reach: Option<(String, String)>,
    backoff: Backoff,
    turn: watch::Sender<u64>,
    polled: watch::Sender<u64>,
    latest: Slot,
    answers: mpsc::Sender<Msg>,
}

impl Work {
    fn run(mut self, inbox: &Receiver<Question>) {
        let mut next = Instant::now();
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            let question = if self.paused {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                inbox.recv_timeout(wait)
            };
            match question {
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let started = Instant::now();
                    self.take_turn();
                    let polled = self.poll();
                    self.take_turn();
                    next = self.next_poll(started, &polled);
                    self.hand_out(polled.map_err(|error| trouble(&error)), started.elapsed());
                    self.polled.send_modify(|polls| *polls += 1);
                    if self.polled.is_closed() {
                        return;
                    }
                }
                Ok(Question::Now) => next = Instant::now(),
                Ok(Question::Pace { interval, paused }) => {
                    (self.interval, self.paused) = (interval, paused);
                    next = next.min(Instant::now() + interval);
                }
                Ok(question) => {
                    self.take_turn();
                    let msg = self.answer(question);
                    self.take_turn();
                    if let Some(msg) = msg
                        && self.answers.blocking_send(msg).is_err()
                    {
                        return;
                    }
                }
            }
        }
    }

    /// Lays the answer out for whoever takes it, with the events of those that nobody took.
    fn hand_out(&mut self, poll: Result<Poll, Trouble>, took: Duration) {
        let mut events: Vec<Event> = Vec::new();
        match &poll {
            Ok(poll) => {
                // The screen called it silent meanwhile.
                if took > SILENCE {
                    let why = format!("no answer for {} s", took.as_secs());
                    events.extend(self.onlooker.fail(&why, clock()));
                }
                events.extend(self.reveal(&poll.snapshots));
            }
            Err(trouble) => events.extend(self.onlooker.fail(trouble.why(), clock())),
        }
        if let Ok(mut latest) = self.latest.lock() {
            let mut all = latest.take().map(|answer| answer.events).unwrap_or_default();
            all.extend(events);
            let too_many = all.len().saturating_sub(UNTAKEN);
            all.drain(..too_many);
            *latest = Some(Answer { poll, events: all });
        }
    }

    fn reveal(&mut self, snapshots: &[Snapshot]) -> Vec<Event> {
        let Work { reader, onlooker, small, .. } = self;
        let look = Look::of(snapshots, small);
        onlooker.see(look, clock(), &mut |sight| match reader {
            Some(reader) => read_again(reader, sight),
            None => Again::Unknown,
        })
    }

    /// Begins or ends a wait for the database.
    fn take_turn(&self) {
        self.turn.send_modify(|turns| *turns += 1);
    }

    /// When to look again.
    fn next_poll(&mut self, started: Instant, polled: &Result<Poll, StoreError>) -> Instant {
        let now = Instant::now();
        self.out_of_reach = None;
        match polled {
            Err(StoreError::Unreachable { source_name, why }) => {
                self.out_of_reach = Some((source_name.clone(), why.clone()));
                now + self.backoff.next()
            }
            Err(StoreError::Denied { .. }) => now + self.interval.max(DENIED),
            // Waiting costs the database nothing, and it may be free again any moment.
            Err(StoreError::Locked { .. }) => now + self.interval,
            // One that is slow to answer is asked less often.
            _ => {
                self.backoff.reset();
                started + self.interval.max(started.elapsed() * 4)
            }
        }
    }

    /// For a question: while polls knock at a server that cannot be reached, nobody else does.
    fn reachable(&mut self) -> Result<&mut Reader, StoreError> {
        match &self.out_of_reach {
            Some((source_name, why)) if !self.paused => {
                Err(StoreError::Unreachable { source_name: source_name.clone(), why: why.clone() })
            }
            _ => self.reader(),
        }
    }

    fn reader(&mut self) -> Result<&mut Reader, StoreError> {
        match &mut self.reader {
            Some(reader) => Ok(reader),
            none => Ok(none.insert(Reader::open((self.open)()?)?)),
        }
    }

    fn poll(&mut self) -> Result<Poll, StoreError> {
        let snapshots = self.reader().and_then(Reader::poll);
        if snapshots.is_err() {
            // Whatever it was, the next poll begins anew.
            self.reader = None;
            self.whole = None;
            self.small.clear();
        }
        Ok(Poll { snapshots: snapshots?, horizon: self.horizon(), whole: self.whole() })
    }

    fn horizon(&mut self) -> Option<Horizon> {
        let reader = self.reader.as_mut()?;
        let version = reader.data_version();
        if let Some((at, seen)) = self.horizon {
            let pause = if seen == version { HORIZON.1 } else { HORIZON.0 };
            if at.elapsed() < pause {
                return None;
            }
        }
        self.horizon = Some((Instant::now(), version));
        // A chart that cannot be drawn is no reason to lose the poll.
        reader.horizon(MINUTES).ok()
    }

    /// The small boards, whenever something was written.
    fn whole(&mut self) -> Option<Vec<Whole>> {
        let reader = self.reader.as_mut()?;
        let version = reader.data_version();
        if version.is_some() && self.whole == version {
            return None;
        }
        self.whole = version;
        let small = reader.whole(SMALL).ok();
        self.small = small.clone().unwrap_or_default();
        small
    }

    fn answer(&mut self, question: Question) -> Option<Msg> {
        let source = self.source;
        Some(match question {
            Question::Pace { .. } | Question::Now => return None,
            Question::Page(request) => {
                let page = self.reachable().and_then(|reader| reader.page(&request));
                Msg::Paged { source, request, page: page.map_err(|error| error.to_string()) }
            }
            Question::Dead(grave) => {
                let found = self.dead(&grave).map_err(|error| error.to_string());
                Msg::Dead { grave, found }
            }
            Question::Holders => {
                let holders = self.reachable().and_then(|reader| reader.holders(None));
                let holders = holders.map(|holders| self.probe_all(holders));
                Msg::Holders { source, holders: holders.map_err(|error| error.to_string()) }
            }
            Question::Kinds => {
                let kinds = self.reachable().and_then(Reader::kinds);
                Msg::Kinds { source, kinds: kinds.map_err(|error| error.to_string()) }
            }
            Question::Examine(target) => {
                let found = self.examine(&target);
                Msg::Examined { id: target.id, found: found.map_err(|error| error.to_string()) }
            }
            Question::Probe(rows) => Msg::Probed(self.probe(&rows)),
        })
    }

    /// The dead of a kind, read through a door of their own.
    fn dead(&mut self, grave: &Grave) -> Result<Vec<Row>, StoreError> {
        self.reachable()?;
        let mut reader = Reader::open((self.dead)()?)?;
        let request = PageRequest {
            profile: grave.profile.clone(),
            board: grave.board.clone(),
            from: Cursor::First,
            holder: None,
            kind: grave.kind.clone(),
            rows: SMALL,
        };
        let page = reader.page(&request)?;
        let snapshots = reader.poll()?;
        let snapshot = snapshots.iter().find(|snapshot| snapshot.profile == grave.profile);
        let board = snapshot.and_then(|one| one.boards.iter().find(|board| board.board == grave.board));
        let (Some(snapshot), Some(board)) = (snapshot, board) else { return Ok(Vec::new()) };
        let row = |judged| {
            Row::new(grave.source, &grave.profile, &grave.board, snapshot.generic, &board.nature, judged)
        };
        Ok(page.claims.into_iter().map(row).collect())
    }

    fn examine(
        &mut self,
        target: &Target,
    ) -> Result<Option<Box<crate::domain::close_up::Examined>>, StoreError> {
        let Some(mark) = &target.mark else { return Ok(None) };
        let address = target.claim.key.address();
        let found = self.reachable()?.examine(&target.profile, &target.board, mark, &address)?;
        Ok(found.map(Box::new))
    }

    fn probe_all(&self, holders: Vec<Holder>) -> Vec<Holder> {
        let prober = (self.probers)();
        let probe = |mut holder: Holder| {
            prober.probe(&mut holder.worker, holder.started_at.at(), holder.beat_at.at());
            holder
        };
        holders.into_iter().map(probe).collect()
    }

    fn probe(&self, rows: &[Row]) -> Vec<Probed> {
        let prober = (self.probers)();
        let mut probed: Vec<Probed> = Vec::new();
        for row in rows {
            let mut claim = row.claim().clone();
            let Some(holder) = claim.holder.clone() else { continue };
            if probed.iter().any(|known| known.holder == holder) {
                continue;
            }
            prober.probe_holder_of(&mut claim);
            probed.push(Probed {
                source: self.source,
                holder,
                process: claim.worker.process,
                evidence: claim.worker.evidence.unwrap_or_default(),
                at: clock(),
            });
        }
        probed
    }
}

/// What a claim that left the rows is now, by its key.
pub fn read_again(reader: &mut Reader, sight: &Sight<'_>) -> Again {
    let Some(mark) = &sight.judged.mark else { return Again::Unknown };
    let key = sight.judged.claim.key.address();
    match reader.examine(sight.profile, sight.board, mark, &key) {
        Ok(Some(examined)) => Again::Is(Box::new(examined.judged)),
        Ok(None) => Again::Gone,
        Err(_) => Again::Unknown,
    }
}

fn trouble(error: &StoreError) -> Trouble {
    let why = error.to_string();
    match error {
        StoreError::Unreachable { .. } | StoreError::Denied { .. } => Trouble::NoLink(why),
        _ => Trouble::Unreadable(why),
    }
}

/// A span as the standard library counts it.
pub fn duration(span: Span) -> Duration {
    Duration::from_micros(u64::try_from(span.as_micros()).unwrap_or(0))
}
