//! The one tokio runtime of the program. Its threads talk to servers, receive signals and answer HTTP; nothing that
//! blocks runs on them.

use std::io;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// The runtime, started when it is first needed; an error if the system cannot start its threads.
pub(crate) fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).thread_name("background").enable_all().build().ok()
    });
    started.as_ref().ok_or_else(|| io::Error::other("no background threads can be started"))
}
