//! A fair queue of workers in front of a SQLite database.
//!
//! SQLite's busy handler sleeps and retries, so luck decides who gets the lock: at saturation one worker of ten gets a
//! single claim while another gets thousands. The kernel's `flock` wakes waiters in order, but the process that has
//! just released a lock can take it again before the one that was woken runs. So there are two locks: the holder of
//! `-next` waits for `-turn`; once it has that, it releases `-next` to the following worker. A worker that comes back
//! usually finds `-next` taken and is last in line. Both locks are files beside the database. Other programs do not know
//! them and still meet SQLite's own lock.
//!
//! It is not a strict queue: a worker that arrives while the next one is waking up can still overtake it. With pauses
//! between their operations workers share evenly. Without any, and with commits as short as a wake-up (`NORMAL`), the
//! luckiest gets about three times as much as the unluckiest.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// A process that is woken runs after about this long.
const WAKE_UP: Duration = Duration::from_micros(100);

/// A place in the queue of a database.
#[derive(Debug)]
pub(super) struct FairQueue {
    files: Option<LockFiles>,
    waiter: Option<LockWaiter>,
    /// Whether the last turn had to be waited for: others are in the queue.
    has_waited: bool,
    /// Whether a wait timed out: the waiter is still in the queue, and its answer is outstanding.
    is_outstanding: bool,
}

/// The two lock files.
#[derive(Debug)]
struct LockFiles {
    next: File,
    turn: File,
}

impl LockFiles {
    fn open(database: &Path) -> io::Result<LockFiles> {
        let beside = |ending: &str| {
            let mut name = database.as_os_str().to_owned();
            name.push(ending);
            File::options().read(true).write(true).create(true).truncate(false).mode(0o644).open(name)
        };
        Ok(LockFiles { next: beside("-next")?, turn: beside("-turn")? })
    }

    fn try_clone(&self) -> io::Result<LockFiles> {
        Ok(LockFiles { next: self.next.try_clone()?, turn: self.turn.try_clone()? })
    }

    fn lock(&self, how: FlockOperation) -> bool {
        if flock(&self.next, how).is_err() {
            return false;
        }
        let is_locked = flock(&self.turn, how).is_ok();
        let _ = flock(&self.next, FlockOperation::Unlock);
        is_locked
    }

    fn leave(&self) {
        let _ = flock(&self.turn, FlockOperation::Unlock);
    }
}

/// `flock` has no timeout, so a thread waits instead.
#[derive(Debug)]
struct LockWaiter {
    ask: Sender<()>,
    answers: Receiver<WaitResult>,
    /// Whether the lock is still wanted. Whoever clears the flag first decides: the waiter, which then reports the
    /// lock, or the caller that timed out, and then the waiter releases the lock again.
    wanted: Arc<AtomicBool>,
}

enum WaitResult {
    Acquired,
    /// It took the lock after the timeout, and released it again.
    Abandoned,
    Failed,
}

impl FairQueue {
    /// The queue of a database. If its files cannot be created there is none, and SQLite's own lock must suffice.
    pub(super) fn at(database: &Path) -> FairQueue {
        let files = LockFiles::open(database).ok();
        FairQueue { files, waiter: None, has_waited: false, is_outstanding: false }
    }

    /// Waits for this worker's turn, at most `timeout`. The caller continues even without it: the queue makes the
    /// order fair, the transaction makes it safe.
    #[allow(clippy::disallowed_methods, reason = "nothing tells when a process that was woken runs")]
    pub(super) fn take(&mut self, timeout: Duration) -> bool {
        let Some(files) = &self.files else { return false };
        if self.has_waited {
            // Whoever is next has been woken and does not run yet. Let it take its place before this worker does.
            thread::sleep(WAKE_UP);
        }
        self.has_waited = false;
        if !self.is_outstanding && files.lock(FlockOperation::NonBlockingLockExclusive) {
            return true;
        }
        if self.waiter.is_none() {
            self.waiter = files.try_clone().ok().and_then(LockWaiter::start);
        }
        let Some(waiter) = &self.waiter else { return false };
        self.has_waited = true;
        let until = Instant::now() + timeout;
        loop {
            waiter.wanted.store(true, Ordering::SeqCst);
            if !self.is_outstanding && waiter.ask.send(()).is_err() {
                return false;
            }
            let answer = waiter.wait(until);
            self.is_outstanding = answer.is_none();
            match answer {
                Some(WaitResult::Acquired) => return true,
                Some(WaitResult::Abandoned) => {}
                Some(WaitResult::Failed) | None => return false,
            }
        }
    }

    /// Lets the next worker continue.
    pub(super) fn leave(&mut self) {
        if let Some(files) = &self.files {
            files.leave();
        }
    }
}

impl LockWaiter {
    fn start(files: LockFiles) -> Option<LockWaiter> {
        let (ask, asked) = channel::<()>();
        let (tell, answers) = channel();
        let wanted = Arc::new(AtomicBool::new(false));
        let still = Arc::clone(&wanted);
        let wait = move || {
            while asked.recv().is_ok() {
                let is_locked = files.lock(FlockOperation::LockExclusive);
                let answer = match (is_locked, still.swap(false, Ordering::SeqCst)) {
                    (true, true) => WaitResult::Acquired,
                    (true, false) => WaitResult::Abandoned,
                    (false, _) => WaitResult::Failed,
                };
                if matches!(answer, WaitResult::Abandoned) {
                    files.leave();
                }
                if tell.send(answer).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().name("turn".into()).spawn(wait).ok()?;
        Some(LockWaiter { ask, answers, wanted })
    }

    /// Its answer; `None` after a timeout, when the lock is not wanted any more.
    fn wait(&self, until: Instant) -> Option<WaitResult> {
        match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Disconnected) => Some(WaitResult::Failed),
            Err(RecvTimeoutError::Timeout) if self.wanted.swap(false, Ordering::SeqCst) => None,
            // It took the lock at this very moment, and its answer follows.
            Err(RecvTimeoutError::Timeout) => Some(self.answers.recv().unwrap_or(WaitResult::Failed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(30);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn one_has_the_turn_and_the_other_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.db");
        let (mut one, mut two) = (FairQueue::at(&path), FairQueue::at(&path));
        assert!(one.take(LONG));
        assert!(!two.take(SHORT));
        two.leave();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| two.take(LONG));
            one.leave();
            assert!(waiting.join().unwrap());
        });
        assert!(!one.take(SHORT));
        two.leave();
    }

    #[test]
    fn who_gave_up_waiting_keeps_nobody_out_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.db");
        let (mut one, mut two, mut three) =
            (FairQueue::at(&path), FairQueue::at(&path), FairQueue::at(&path));
        assert!(one.take(LONG));
        assert!(!two.take(SHORT));
        two.leave();
        one.leave();
        // The second one's waiter takes the lock now, and must release it at once.
        assert!(three.take(LONG));
        three.leave();
        assert!(one.take(LONG));
        one.leave();
        assert!(two.take(LONG));
        two.leave();
        assert!(three.take(LONG));
    }
}
