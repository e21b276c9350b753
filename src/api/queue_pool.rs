//! Threads that own the connections to the queue. The HTTP side waits for their answers without blocking.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use tokio::sync::oneshot;

use crate::worker::WorkerError;
use crate::worker::task_queue::Operations;

/// Requests that may wait for a thread. One more is told to come back.
const WAITING: usize = 512;

type Work = Box<dyn FnOnce(&mut dyn Operations) + Send>;

/// A connection to the queue.
pub(crate) type OpenQueue = Box<dyn Operations>;

#[derive(Debug, Clone)]
pub(crate) struct QueuePool {
    work: SyncSender<Work>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// Too many requests wait.
    Full,
    Failed(WorkerError),
    /// The thread ended; only a panic does that.
    Gone,
}

impl QueuePool {
    /// A thread for every connection.
    pub(crate) fn start(queues: Vec<OpenQueue>) -> io::Result<QueuePool> {
        let (work, waiting) = sync_channel::<Work>(WAITING);
        let waiting = Arc::new(Mutex::new(waiting));
        for (number, mut queue) in queues.into_iter().enumerate() {
            let waiting = Arc::clone(&waiting);
            thread::Builder::new().name(format!("queue {number}")).spawn(move || {
                while let Some(work) = next(&waiting) {
                    work(queue.as_mut());
                }
            })?;
        }
        Ok(QueuePool { work })
    }

    /// Does something with the queue in one of the threads. It is done even if the client does not wait for it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Operations) -> Result<T, WorkerError> + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let (answer, answered) = oneshot::channel();
        let work = Box::new(move |queue: &mut dyn Operations| {
            // A client that has gone hears nothing.
            let _ = answer.send(work(queue));
        });
        match self.work.try_send(work) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(NoAnswer::Full),
            Err(TrySendError::Disconnected(_)) => return Err(NoAnswer::Gone),
        }
        answered.await.map_err(|_| NoAnswer::Gone)?.map_err(NoAnswer::Failed)
    }
}

fn next(waiting: &Mutex<Receiver<Work>>) -> Option<Work> {
    waiting.lock().ok()?.recv().ok()
}
