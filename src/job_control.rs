//! Ctrl-Z without a screen: SIGTSTP stops the process, but only while it has no transaction open.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Signal as Signals, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::store::suspend;

/// From here on SIGTSTP waits for the open transactions. Whoever started us may have it ignored: then it stays so.
pub fn stop_between_transactions() -> io::Result<()> {
    if is_ignored() {
        return Ok(());
    }
    let (ready, listening) = mpsc::channel();
    thread::Builder::new().name("stops".into()).spawn(move || {
        if let Err(error) = listen(&ready) {
            let _ = ready.send(Err(error));
        }
    })?;
    listening.recv().map_err(io::Error::other)?
}

fn listen(ready: &mpsc::Sender<io::Result<()>>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut stops = signal(SignalKind::from_raw(Signals::TSTP.as_raw()))?;
        let mut continues = signal(SignalKind::from_raw(Signals::CONT.as_raw()))?;
        // Whoever started us may be gone; then nobody waits for this.
        let _ = ready.send(Ok(()));
        while stops.recv().await.is_some() {
            came(&mut continues).await;
            let idle = suspend::idle();
            // It was told to go on before it had stopped.
            if came(&mut continues).await {
                continue;
            }
            // Another thread takes this signal: it may return before the process stops.
            kill_process(getpid(), Signals::STOP)?;
            continues.recv().await;
            drop(idle);
        }
        Ok(())
    })
}

/// Whether the signal came since somebody asked.
async fn came(signal: &mut Signal) -> bool {
    tokio::time::timeout(Duration::ZERO, signal.recv()).await.is_ok()
}

/// Whether whoever started us has SIGTSTP ignored.
fn is_ignored() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (Signals::TSTP.as_raw() - 1)) != 0)
}
