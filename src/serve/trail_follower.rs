//! A thread that follows the audit trail, so that acts of other processes are counted as well.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::metrics::{ActCounts, MetricsRegistry};
use crate::recovery::trail::JournalFollower;

/// Reads the journal of a folder at this interval, until the returned sender is dropped.
pub fn follow(folder: &Path, every: Duration, metrics: Arc<MetricsRegistry>) -> io::Result<Sender<()>> {
    let folder = folder.to_owned();
    let (end, ended) = channel();
    thread::Builder::new().name("trail".into()).spawn(move || {
        let (mut follower, mut acts) = (JournalFollower::of(&folder), ActCounts::default());
        loop {
            let read = follower.news(|record| acts.add(record));
            if read.is_err() {
                // It is unknown how much was counted, so count everything again.
                (follower, acts) = (JournalFollower::of(&folder), ActCounts::default());
            }
            metrics.count_acts(read.is_ok().then(|| acts.clone()));
            if ended.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    })?;
    Ok(end)
}
