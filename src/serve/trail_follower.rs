//! One thread that follows the trail: acts of other processes count as well.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::metrics::{Acts, Metrics};
use crate::recovery::trail::Follower;

/// Reads the journal in a folder, so far apart, until the answer is dropped.
pub fn follow(folder: &Path, every: Duration, metrics: Arc<Metrics>) -> io::Result<Sender<()>> {
    let folder = folder.to_owned();
    let (end, ended) = channel();
    thread::Builder::new().name("trail".into()).spawn(move || {
        let (mut follower, mut acts) = (Follower::of(&folder), Acts::default());
        loop {
            let read = follower.news(|record| acts.add(record));
            if read.is_err() {
                // How much of it was counted is unknown, so everything is counted again.
                (follower, acts) = (Follower::of(&folder), Acts::default());
            }
            metrics.count_acts(read.is_ok().then(|| acts.clone()));
            if ended.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    })?;
    Ok(end)
}
