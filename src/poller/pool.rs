//! A small pool of threads that poll many sources.
//!
//! Each source is a task. A worker takes the task that is due, gives it one turn (a poll, or the answer to one
//! request), and puts it back until it is due again. A task is in one turn at a time.
//!
//! A source that does not answer keeps its worker and no other: turns that take longer than [`PATIENCE`] do not count
//! as busy, so another worker takes their place. One worker is always free to notice that. So there are never more
//! workers than tasks, and never many more than turns that wait for a source.

mod schedule;
mod task;
mod worker;

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Polled;
use schedule::{Asked, Schedule, TaskId};
use task::{PolledTask, Requests};

/// A turn that takes longer is not waited for: other tasks get another worker.
const PATIENCE: Duration = Duration::from_millis(100);

/// Polls the sources that it is given.
#[derive(Debug, Clone)]
pub struct PollerPool {
    shared: Arc<SharedPool>,
}

#[derive(Debug)]
struct SharedPool {
    name: &'static str,
    schedule: Mutex<Schedule>,
    /// For the free worker that waits until the next task is due.
    due: Condvar,
    /// For the other free workers.
    free: Condvar,
    /// For those who wait for the end of a task.
    ended: Condvar,
}

impl PollerPool {
    /// Without workers so far; `name` is that of their threads.
    pub fn new(name: &'static str) -> PollerPool {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let schedule = Mutex::new(Schedule::new(processors.clamp(2, 4)));
        let (due, free, ended) = Default::default();
        PollerPool { shared: Arc::new(SharedPool { name, schedule, due, free, ended }) }
    }

    /// Adds a source; its first poll begins now. An error if no thread can be started for it.
    pub fn start<W: Polled + Send + 'static>(&self, work: W) -> io::Result<Poller<W::Request>>
    where
        W::Request: Send,
    {
        let poller = self.add(work, Some(Instant::now()));
        self.shared.call_worker(&mut self.shared.lock())?;
        Ok(poller)
    }

    /// Adds a source that does nothing until it is asked; until then no thread is started for it.
    pub fn start_when_asked<W: Polled + Send + 'static>(&self, work: W) -> Poller<W::Request>
    where
        W::Request: Send,
    {
        self.add(work, None)
    }

    fn add<W: Polled + Send + 'static>(&self, work: W, due: Option<Instant>) -> Poller<W::Request>
    where
        W::Request: Send,
    {
        let requests = Requests::new(W::replaces);
        let task = self.shared.lock().add(Box::new(PolledTask::new(work, requests.clone())), due);
        Poller { requests, task, pool: Arc::clone(&self.shared) }
    }
}

impl SharedPool {
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        // No turn runs while it is locked, and nothing else in here can fail half-way.
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a free worker look for work, or a new one if none is free. An error if there is none at all.
    fn call_worker(self: &Arc<SharedPool>, schedule: &mut Schedule) -> io::Result<()> {
        if schedule.needs_worker() {
            return worker::start(self, schedule);
        }
        if schedule.watched_until.is_some() {
            self.due.notify_one();
        } else {
            self.free.notify_one();
        }
        Ok(())
    }
}

/// A handle on a source that is polled. Polling ends when the handle is dropped.
#[derive(Debug)]
pub struct Poller<R> {
    requests: Requests<R>,
    task: TaskId,
    pool: Arc<SharedPool>,
}

impl<R> Poller<R> {
    /// Sends a request to the source; `false` if it is no longer polled and so will not answer.
    pub fn ask(&self, request: R) -> bool {
        self.requests.put(request);
        let mut schedule = self.pool.lock();
        let is_heard = match schedule.ask(self.task) {
            Asked::Now => self.pool.call_worker(&mut schedule).is_ok(),
            Asked::AfterTurn => true,
            Asked::Never => false,
        };
        drop(schedule);
        if !is_heard {
            // Whoever waits for the answer learns that none comes.
            self.requests.clear();
        }
        is_heard
    }

    /// Ends polling after the current poll, and waits for that.
    pub fn end(self) {
        let task = self.pool.lock().end(self.task);
        drop(task);
        let there = |schedule: &mut Schedule| schedule.has(self.task);
        let _ended = self.pool.ended.wait_while(self.pool.lock(), there);
    }
}

impl<R> Drop for Poller<R> {
    fn drop(&mut self) {
        // Bound first: the task closes its source, which must not happen while the schedule is locked.
        let task = self.pool.lock().end(self.task);
        drop(task);
        // Workers without tasks end.
        self.pool.due.notify_all();
        self.pool.free.notify_all();
    }
}

#[cfg(test)]
mod tests;
