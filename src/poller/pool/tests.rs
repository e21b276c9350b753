//! Tasks that answer, hang and panic. The tests wait for turns, never for time.

use super::*;
use crate::poller::NextPoll;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// More threads than this are not needed for sources that answer, however many.
const FEW: usize = 10;

/// A source whose polls take no time, and are reported.
struct Answering {
    number: usize,
    polls: Sender<usize>,
}

impl Polled for Answering {
    type Request = Sender<usize>;

    fn poll(&mut self) -> NextPoll {
        if self.polls.send(self.number).is_err() {
            return NextPoll::Never;
        }
        NextPoll::At(Instant::now() + Duration::from_millis(1))
    }

    fn answer(&mut self, asked: Sender<usize>) -> NextPoll {
        let _ = asked.send(self.number);
        NextPoll::At(Instant::now())
    }
}

/// A source that does not answer until it is let go.
struct Hanging {
    began: Sender<()>,
    let_go: Receiver<()>,
    dropped: Arc<AtomicUsize>,
}

impl Polled for Hanging {
    type Request = ();

    fn poll(&mut self) -> NextPoll {
        let _ = self.began.send(());
        match self.let_go.recv() {
            Ok(()) => NextPoll::At(Instant::now()),
            Err(_) => NextPoll::WhenAsked,
        }
    }

    fn answer(&mut self, (): ()) -> NextPoll {
        NextPoll::WhenAsked
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

struct Panicking;

impl Polled for Panicking {
    type Request = Sender<usize>;

    fn poll(&mut self) -> NextPoll {
        panic!("a bug for the test")
    }

    fn answer(&mut self, _: Sender<usize>) -> NextPoll {
        NextPoll::WhenAsked
    }
}

fn workers(pool: &PollerPool) -> usize {
    pool.shared.lock().workers
}

/// Waits until each of the sources was polled once more.
fn all_polled(polls: &Receiver<usize>, sources: usize) {
    let mut seen = vec![false; sources];
    while seen.contains(&false) {
        seen[polls.recv().expect("a poll")] = true;
    }
}

#[test]
fn many_sources_need_few_threads() {
    let pool = PollerPool::new("many");
    let (report, polls) = channel();
    let start = |number| pool.start(Answering { number, polls: report.clone() }).expect("a thread");
    let pollers: Vec<_> = (0..200).map(start).collect();
    for _ in 0..20 {
        all_polled(&polls, pollers.len());
    }
    // Not exactly as many as turns may run at once: on a busy machine a short turn may look like one that hangs.
    assert!(workers(&pool) <= FEW, "{:?}", pool.shared.lock());
}

#[test]
fn sources_that_hang_delay_no_other() {
    const HANGING: usize = 30;
    let pool = PollerPool::new("hanging");
    let (report, polls) = channel();
    let (began, beginnings) = channel();
    let dropped = Arc::<AtomicUsize>::default();
    let mut gates = Vec::new();
    let hanging: Vec<_> = (0..HANGING)
        .map(|_| {
            let (gate, let_go) = channel();
            gates.push(gate);
            let source = Hanging { began: began.clone(), let_go, dropped: Arc::clone(&dropped) };
            pool.start(source).expect("a thread")
        })
        .collect();
    let start = |number| pool.start(Answering { number, polls: report.clone() }).expect("a thread");
    let answering: Vec<_> = (0..20).map(start).collect();
    // All of them hang at once.
    for _ in 0..HANGING {
        beginnings.recv().expect("a poll that hangs");
    }
    while polls.try_recv().is_ok() {}
    for _ in 0..50 {
        all_polled(&polls, answering.len());
    }
    assert!(workers(&pool) <= FEW + HANGING, "{:?}", pool.shared.lock());
    // A question is answered too.
    let (ask, answer) = channel();
    assert!(answering[7].ask(ask));
    assert_eq!(answer.recv(), Ok(7));
    // They hang again: their second poll begins beside the others.
    for gate in &gates {
        gate.send(()).expect("it waits");
    }
    for _ in 0..HANGING {
        beginnings.recv().expect("a poll that hangs again");
    }
    while polls.try_recv().is_ok() {}
    all_polled(&polls, answering.len());
    // Whoever ends one waits for its poll.
    let ender = std::thread::spawn(move || hanging.into_iter().for_each(Poller::end));
    all_polled(&polls, answering.len());
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(gates);
    ender.join().expect("the end");
    assert_eq!(dropped.load(Ordering::SeqCst), HANGING);
}

#[test]
fn a_source_that_panics_ends_alone_and_whoever_asks_it_hears_that() {
    let pool = PollerPool::new("panicking");
    let (report, polls) = channel();
    let panicking = pool.start(Panicking).expect("a thread");
    let answering = pool.start(Answering { number: 0, polls: report }).expect("a thread");
    all_polled(&polls, 1);
    // A request is dropped at once, or with the source.
    let (ask, answer) = channel();
    panicking.ask(ask);
    assert!(answer.recv().is_err());
    let mut heard = true;
    while heard {
        heard = panicking.ask(channel().0);
    }
    all_polled(&polls, 1);
    answering.end();
}

#[test]
fn a_source_that_waits_to_be_asked_has_no_thread_before() {
    let pool = PollerPool::new("asked");
    let (report, _polls) = channel();
    let pollers: Vec<_> =
        (0..50).map(|number| pool.start_when_asked(Answering { number, polls: report.clone() })).collect();
    assert_eq!(workers(&pool), 0);
    let (ask, answer) = channel();
    assert!(pollers[3].ask(ask));
    assert_eq!(answer.recv(), Ok(3));
    assert!(workers(&pool) >= 1);
}

#[test]
fn a_pool_without_sources_has_no_threads() {
    let pool = PollerPool::new("ending");
    let (report, polls) = channel();
    let pollers: Vec<_> = (0..10)
        .map(|number| pool.start(Answering { number, polls: report.clone() }).expect("a thread"))
        .collect();
    all_polled(&polls, 10);
    drop(pollers);
    while workers(&pool) > 0 {
        std::thread::yield_now();
    }
}
