//! The threads that speak with servers, for callers that only wait.

use std::sync::OnceLock;
use std::sync::mpsc;
use tokio::runtime::{Builder, Runtime};

/// Has a future run to its end on the background threads, and gives what it comes to. None: they cannot be
/// had. The caller may itself be a task of another runtime, which `block_on` would not allow.
pub(super) fn start<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Option<mpsc::Receiver<T>> {
    let (give, take) = mpsc::sync_channel(1);
    let task = async move {
        // Nobody waits any more: then nobody needs it.
        let _ = give.send(future.await);
    };
    runtime()?.spawn(task);
    Some(take)
}

/// What it comes to. None: the threads cannot be had, or it broke.
pub(super) fn finish<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> Option<T> {
    start(future)?.recv().ok()
}

/// The threads; none if the system has no room for them.
pub(super) fn runtime() -> Option<&'static Runtime> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(2).thread_name("claimtop-link").enable_all().build().ok()
        })
        .as_ref()
}
