//! A worker of the pool: takes tasks that are due and gives each a turn.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::schedule::{Schedule, Step, Turn};
use super::{PATIENCE, SharedPool};
use crate::poller::NextPoll;

/// A worker that is not needed ends after this long without a turn.
const LINGER: Duration = Duration::from_secs(10);

/// Starts a worker. An error if there is none at all.
pub(super) fn start(pool: &Arc<SharedPool>, schedule: &mut Schedule) -> io::Result<()> {
    let own = Arc::clone(pool);
    let name = format!("{} {}", pool.name, schedule.workers);
    match thread::Builder::new().name(name).spawn(move || run(&own)) {
        Ok(_) => {
            schedule.workers += 1;
            schedule.free += 1;
            Ok(())
        }
        Err(error) if schedule.workers == 0 => Err(error),
        // The others do its work, later.
        Err(_) => Ok(()),
    }
}

fn run(pool: &Arc<SharedPool>) {
    let mut schedule = pool.lock();
    let mut last_turn = Instant::now();
    loop {
        match schedule.next(Instant::now()) {
            Step::Turn(turn) => {
                schedule = work(pool, schedule, turn);
                last_turn = Instant::now();
            }
            Step::Wait(_) if schedule.has_spare_worker() && last_turn.elapsed() >= LINGER => break,
            Step::Wait(until) => schedule = wait(pool, schedule, until),
            Step::End => break,
        }
    }
    schedule.workers -= 1;
    schedule.free -= 1;
}

/// Gives a task its turn.
fn work<'a>(
    pool: &'a Arc<SharedPool>,
    mut schedule: MutexGuard<'a, Schedule>,
    mut turn: Turn,
) -> MutexGuard<'a, Schedule> {
    schedule.free -= 1;
    if schedule.needs_worker() {
        // Fails only if there are others.
        let _ = start(pool, &mut schedule);
    } else if schedule.watched_until.is_none() && (!turn.is_short || schedule.is_work_waiting(Instant::now()))
    {
        pool.free.notify_one();
    }
    drop(schedule);
    // A task that panics ends alone. The panic was reported when it happened.
    let next = catch_unwind(AssertUnwindSafe(|| turn.task.take_turn())).unwrap_or(NextPoll::Never);
    let id = turn.id;
    let mut schedule = pool.lock();
    if let Some(task) = schedule.put_back(turn, next, Instant::now()) {
        drop(schedule);
        // It closes its source, which may take a while, and may panic as well.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(task)));
        schedule = pool.lock();
        schedule.forget(id);
        pool.ended.notify_all();
    }
    schedule.free += 1;
    if schedule.is_watched_too_late() {
        pool.due.notify_one();
    }
    schedule
}

/// Waits for work. One free worker waits until the next task is due; the others look from time to time whether it
/// still does, for it may be in a turn that does not end.
fn wait<'a>(
    pool: &'a SharedPool,
    mut schedule: MutexGuard<'a, Schedule>,
    until: Option<Instant>,
) -> MutexGuard<'a, Schedule> {
    if schedule.watched_until.is_some() {
        let waited = pool.free.wait_timeout(schedule, PATIENCE);
        return waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    schedule.watched_until = Some(until);
    let pause = until.map_or(LINGER, |until| until.saturating_duration_since(Instant::now()));
    let waited = pool.due.wait_timeout(schedule, pause);
    let mut schedule = waited.unwrap_or_else(PoisonError::into_inner).0;
    schedule.watched_until = None;
    schedule
}
