//! A process that is stopped (Ctrl-Z) keeps the locks that it has, and every worker waits for it. So it is
//! stopped only while no transaction is open.
//!
//! Whoever opens a transaction, reads a file or writes to the journal does so inside [`uninterrupted`]. Whoever
//! is about to stop the process asks for [`idle`] first, which waits for the open ones and holds back new ones.
//! SIGSTOP itself cannot be caught: this is for SIGTSTP.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct GateState {
    /// Threads inside a piece of work.
    working: usize,
    stopping: bool,
}

static STATE: Mutex<GateState> = Mutex::new(GateState { working: 0, stopping: false });
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// How many pieces of work this thread is inside of: only the outermost one waits.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A piece of work; the process is not stopped before its end.
#[derive(Debug)]
pub struct Uninterrupted {
    /// It ends in the thread where it began.
    _thread: std::marker::PhantomData<*const ()>,
}

/// Nobody works until this is dropped.
#[derive(Debug)]
pub struct Idle(());

/// Begins a piece of work that must not be stopped half-way; waits while the process is about to be stopped.
pub fn uninterrupted() -> Uninterrupted {
    let depth = DEPTH.get();
    if depth == 0 {
        let mut state =
            CHANGED.wait_while(state(), |state| state.stopping).unwrap_or_else(PoisonError::into_inner);
        state.working += 1;
    }
    DEPTH.set(depth + 1);
    Uninterrupted { _thread: std::marker::PhantomData }
}

/// Waits until nobody works, and keeps it so.
pub fn idle() -> Idle {
    let mut waiting =
        CHANGED.wait_while(state(), |state| state.stopping).unwrap_or_else(PoisonError::into_inner);
    waiting.stopping = true;
    let _quiet = CHANGED.wait_while(waiting, |state| state.working > 0);
    Idle(())
}

impl Drop for Uninterrupted {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            state().working -= 1;
            CHANGED.notify_all();
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        state().stopping = false;
        CHANGED.notify_all();
    }
}

fn state() -> MutexGuard<'static, GateState> {
    // Nothing in here can fail half-way.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::thread;

    /// One test: all of them share the one gate of the process.
    #[test]
    fn whoever_stops_waits_for_open_work_and_holds_back_new_work() {
        let (say, heard) = channel();
        let outer = uninterrupted();
        let stopper = thread::spawn({
            let say = say.clone();
            move || {
                let idle = idle();
                say.send("idle").expect("a listener");
                idle
            }
        });
        while !state().stopping {
            thread::yield_now();
        }
        // A thread inside a piece of work may begin another one: it would wait for itself.
        drop(uninterrupted());
        assert!(heard.try_recv().is_err());
        drop(outer);
        let idle = stopper.join().expect("the stopper");
        assert_eq!(heard.recv(), Ok("idle"));
        let worker = thread::spawn(move || {
            let _work = uninterrupted();
            say.send("work").expect("a listener");
        });
        assert!(heard.try_recv().is_err());
        drop(idle);
        worker.join().expect("the worker");
        assert_eq!(heard.recv(), Ok("work"));
    }
}
