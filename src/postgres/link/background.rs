//! Futures that speak with servers, run on the background threads for callers that only wait.

use std::sync::mpsc;

use crate::background::runtime;

/// Runs a future to its end on the background threads. `None`: they cannot be started. The caller may itself be
/// a task of the runtime, which `block_on` would not allow.
pub(super) fn start<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Option<mpsc::Receiver<T>> {
    let (give, take) = mpsc::sync_channel(1);
    let task = async move {
        // If nobody waits any more, nobody needs the result.
        let _ = give.send(future.await);
    };
    runtime().ok()?.spawn(task);
    Some(take)
}

/// The result of a future. `None`: the threads cannot be started, or it panicked.
pub(super) fn finish<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Option<T> {
    start(future)?.recv().ok()
}
