//! A process that outlives the program: it ends what is left of a demo and removes its folder.

use rustix::process::{Pid, Signal};
use std::io::{self, Read};
use std::path::Path;
use std::thread::park_timeout;
use std::time::Duration;

use super::CHILD;
use super::demo_database::DemoDatabase;
use super::error::DemoError;
use super::folder::{self, FolderLifetime};

/// How often it looks for processes, with a pause in between: one that was being started when the program died may
/// appear late.
const ROUNDS: usize = 50;
const PAUSE: Duration = Duration::from_millis(40);

pub(super) fn run(folder: &Path, place: FolderLifetime) -> Result<(), DemoError> {
    // Nobody writes to this pipe; it ends when the program ends, in whatever way.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    for _ in 0..ROUNDS {
        let ended = end_all(folder);
        park_timeout(PAUSE);
        if ended == 0 && end_all(folder) == 0 {
            break;
        }
    }
    match place {
        // First the schema on a server: only the folder knows where it is.
        FolderLifetime::Temporary if folder.exists() => {
            let cleared = DemoDatabase::of(folder).and_then(|database| database.clear(folder));
            folder::remove(folder).map_err(DemoError::file(folder)).and(cleared)
        }
        FolderLifetime::Temporary => folder::remove(folder).map_err(DemoError::file(folder)),
        FolderLifetime::Kept => Ok(()),
    }
}

/// Kills the processes of this demo, including stopped ones, and returns how many there were.
fn end_all(folder: &Path) -> usize {
    let Ok(listing) = std::fs::read_dir("/proc") else { return 0 };
    let numbers = listing.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let own = rustix::process::getpid();
    let others = numbers.filter_map(Pid::from_raw).filter(|pid| *pid != own);
    others.filter(|pid| end(*pid, folder)).count()
}

/// Kills the process if it belongs to this demo. A descriptor keeps its PID from being reused while its command line
/// is read.
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
