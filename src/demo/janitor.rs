//! The one that outlives the program: ends what is left of a demo and removes its folder.

use rustix::process::{Pid, Signal};
use std::io::{self, Read};
use std::path::Path;
use std::thread::park_timeout;
use std::time::Duration;

use super::CHILD;
use super::error::DemoError;
use super::folder::{self, Place};
use super::ground::Ground;

/// Looks for what is left, with a pause in between: whoever was being started when the program died
/// has to arrive first.
const LOOKS: usize = 50;
const PAUSE: Duration = Duration::from_millis(40);

pub fn run(folder: &Path, place: Place) -> Result<(), DemoError> {
    // Nobody writes to it: it ends when the program does, however it does.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    for _ in 0..LOOKS {
        let ended = end_all(folder);
        park_timeout(PAUSE);
        if ended == 0 && end_all(folder) == 0 {
            break;
        }
    }
    match place {
        // What is on a server is removed first: the folder knows where it is.
        Place::Temporary if folder.exists() => {
            let cleared = Ground::of(folder).and_then(|ground| ground.clear(folder));
            folder::remove(folder).map_err(DemoError::file(folder)).and(cleared)
        }
        Place::Temporary => folder::remove(folder).map_err(DemoError::file(folder)),
        Place::Kept => Ok(()),
    }
}

/// Kills the processes of this demo, stopped ones as well; how many there were.
fn end_all(folder: &Path) -> usize {
    let Ok(listing) = std::fs::read_dir("/proc") else { return 0 };
    let numbers = listing.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let own = rustix::process::getpid();
    let others = numbers.filter_map(Pid::from_raw).filter(|pid| *pid != own);
    others.filter(|pid| end(*pid, folder)).count()
}

/// Kills the process if it is one of this demo's. It is held by a descriptor while its command line is
/// read: a number that was given to somebody else meanwhile cannot be hit.
#[cfg(target_os = "linux")]
fn end(pid: Pid, folder: &Path) -> bool {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    is_ours(pid, folder) && pidfd_send_signal(&process, Signal::KILL).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn end(pid: Pid, folder: &Path) -> bool {
    is_ours(pid, folder) && rustix::process::kill_process(pid, Signal::KILL).is_ok()
}

fn is_ours(pid: Pid, folder: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(line) = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())) else { return false };
    let has = |word: &[u8]| line.split(|byte| *byte == 0).any(|part| part == word);
    has(CHILD.as_bytes()) && has(folder.as_os_str().as_bytes())
}
