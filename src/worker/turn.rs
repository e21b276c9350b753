//! Waiting for one's turn.
//!
//! SQLite's busy handler sleeps and tries again, so whoever comes at the right moment wins: at
//! saturation one worker of ten gets a claim while another gets thousands. The kernel's `flock`
//! wakes waiters in their order, but whoever has just let go of a lock can take it again before the
//! one it woke is there. So there are two: whoever has `-next` waits for `-turn`, and once it has that
//! lets the next one wait. Who comes back mostly finds `-next` taken and stands behind all others. Both
//! are files beside the database; who does not know of them (other programs) still meets SQLite's own
//! lock.
//!
//! It is not a strict queue: whoever arrives while the next one is waking up still overtakes it. With
//! pauses between their operations workers share evenly; without any, and with commits as short as a
//! wake-up (`NORMAL`), the luckiest gets about three times what the unluckiest gets.

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

/// A place in the queue before a database.
#[derive(Debug)]
pub struct Turn {
    door: Option<Door>,
    waiter: Option<Waiter>,
    /// A wait that was given up: the waiter still stands in the queue and owes us a word.
    owed: bool,
}

/// The two locks.
#[derive(Debug)]
struct Door {
    next: File,
    turn: File,
}

impl Door {
    fn open(database: &Path) -> io::Result<Door> {
        let beside = |ending: &str| {
            let mut name = database.as_os_str().to_owned();
            name.push(ending);
            File::options().read(true).write(true).create(true).truncate(false).mode(0o644).open(name)
        };
        Ok(Door { next: beside("-next")?, turn: beside("-turn")? })
    }

    fn try_clone(&self) -> io::Result<Door> {
        Ok(Door { next: self.next.try_clone()?, turn: self.turn.try_clone()? })
    }

    fn enter(&self, how: FlockOperation) -> bool {
        if flock(&self.next, how).is_err() {
            return false;
        }
        let inside = flock(&self.turn, how).is_ok();
        let _ = flock(&self.next, FlockOperation::Unlock);
        inside
    }

    fn leave(&self) {
        let _ = flock(&self.turn, FlockOperation::Unlock);
    }
}

/// `flock` knows no timeout, so a thread waits in our stead.
#[derive(Debug)]
struct Waiter {
    ask: Sender<()>,
    got: Receiver<Word>,
    /// Whether somebody still wants what the waiter waits for. Whoever takes it back decides: the waiter
    /// to say that it is inside, or we to go on without, and then the waiter keeps nobody out.
    wanted: Arc<AtomicBool>,
}

enum Word {
    Inside,
    /// It got in after we had gone on, and left again.
    TooLate,
    Failed,
}

impl Turn {
    /// The queue of a database. Where its files cannot be made there is none, and SQLite's own lock
    /// has to do.
    pub fn at(database: &Path) -> Turn {
        Turn { door: Door::open(database).ok(), waiter: None, owed: false }
    }

    /// Waits until it is our turn, at most `patience`. Without it one goes on all the same: a turn
    /// makes the order fair, the transaction makes it safe.
    pub fn take(&mut self, patience: Duration) -> bool {
        let Some(door) = &self.door else { return false };
        if !self.owed && door.enter(FlockOperation::NonBlockingLockExclusive) {
            return true;
        }
        if self.waiter.is_none() {
            self.waiter = door.try_clone().ok().and_then(Waiter::start);
        }
        let Some(waiter) = &self.waiter else { return false };
        let until = Instant::now() + patience;
        loop {
            waiter.wanted.store(true, Ordering::SeqCst);
            if !self.owed && waiter.ask.send(()).is_err() {
                return false;
            }
            let word = waiter.wait(until);
            self.owed = word.is_none();
            match word {
                Some(Word::Inside) => return true,
                Some(Word::TooLate) => {}
                Some(Word::Failed) | None => return false,
            }
        }
    }

    /// Lets the next one in.
    pub fn leave(&mut self) {
        if let Some(door) = &self.door {
            door.leave();
        }
    }
}

impl Waiter {
    fn start(door: Door) -> Option<Waiter> {
        let (ask, asked) = channel::<()>();
        let (tell, got) = channel();
        let wanted = Arc::new(AtomicBool::new(false));
        let still = Arc::clone(&wanted);
        let wait = move || {
            while asked.recv().is_ok() {
                let inside = door.enter(FlockOperation::LockExclusive);
                let word = match (inside, still.swap(false, Ordering::SeqCst)) {
                    (true, true) => Word::Inside,
                    (true, false) => Word::TooLate,
                    (false, _) => Word::Failed,
                };
                if matches!(word, Word::TooLate) {
                    door.leave();
                }
                if tell.send(word).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new().name("turn".into()).spawn(wait).ok()?;
        Some(Waiter { ask, got, wanted })
    }

    /// Its word; `None` if it did not come in time and is not wanted any more.
    fn wait(&self, until: Instant) -> Option<Word> {
        match self.got.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(word) => Some(word),
            Err(RecvTimeoutError::Disconnected) => Some(Word::Failed),
            Err(RecvTimeoutError::Timeout) if self.wanted.swap(false, Ordering::SeqCst) => None,
            // It got in at this very moment and is about to say so.
            Err(RecvTimeoutError::Timeout) => Some(self.got.recv().unwrap_or(Word::Failed)),
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
        let (mut one, mut two) = (Turn::at(&path), Turn::at(&path));
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
        let (mut one, mut two, mut three) = (Turn::at(&path), Turn::at(&path), Turn::at(&path));
        assert!(one.take(LONG));
        assert!(!two.take(SHORT));
        two.leave();
        one.leave();
        // The second one's waiter gets in now, and must go at once.
        assert!(three.take(LONG));
        three.leave();
        assert!(one.take(LONG));
        one.leave();
        assert!(two.take(LONG));
        two.leave();
        assert!(three.take(LONG));
    }
}
