//! Signals: SIGTERM and SIGINT end a sweep after the current batch, SIGHUP has it read its config.

use std::io;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

/// What somebody outside has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    None,
    Reload,
    Stop,
}

/// Hears signals, in a thread of its own. Every clone answers each call once.
#[derive(Debug, Clone)]
pub struct Calls {
    heard: Arc<(Mutex<Heard>, Condvar)>,
    /// Reloads that this one has answered.
    answered: u64,
}

/// What was called so far.
#[derive(Debug, Default)]
struct Heard {
    stop: bool,
    reloads: u64,
}

impl Calls {
    /// From here on no signal of these ends the program by itself.
    pub fn listen() -> io::Result<Calls> {
        let calls = Calls { heard: Arc::default(), answered: 0 };
        let (ready, listening) = mpsc::channel();
        let ears = calls.clone();
        thread::Builder::new().name("signals".into()).spawn(move || ears.hear(&ready))?;
        listening.recv().map_err(io::Error::other)??;
        Ok(calls)
    }

    fn hear(&self, ready: &mpsc::Sender<io::Result<()>>) {
        let hearing = || -> io::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut terminate = signal(SignalKind::terminate())?;
                let mut interrupt = signal(SignalKind::interrupt())?;
                let mut hangup = signal(SignalKind::hangup())?;
                // Whoever started us may be gone; then nobody waits for this.
                let _ = ready.send(Ok(()));
                loop {
                    let call = tokio::select! {
                        _ = terminate.recv() => Call::Stop,
                        _ = interrupt.recv() => Call::Stop,
                        _ = hangup.recv() => Call::Reload,
                    };
                    self.tell(call);
                }
            })
        };
        if let Err(error) = hearing() {
            let _ = ready.send(Err(error));
        }
    }

    fn tell(&self, call: Call) {
        let (heard, changed) = &*self.heard;
        if let Ok(mut heard) = heard.lock() {
            match call {
                Call::None => {}
                Call::Reload => heard.reloads += 1,
                // Nothing that comes later takes a stop back.
                Call::Stop => heard.stop = true,
            }
        }
        changed.notify_all();
    }

    pub fn is_stop(&self) -> bool {
        self.heard.0.lock().is_ok_and(|heard| heard.stop)
    }

    /// Waits until somebody calls, or this long. Calls to reload that came together are one.
    pub fn wait(&mut self, most: Duration) -> Call {
        let (heard, changed) = &*self.heard;
        let Ok(guard) = heard.lock() else { return Call::Stop };
        let quiet = |heard: &mut Heard| !heard.stop && heard.reloads == self.answered;
        match changed.wait_timeout_while(guard, most, quiet) {
            Ok((heard, _)) if heard.stop => Call::Stop,
            Ok((heard, _)) if heard.reloads != self.answered => {
                self.answered = heard.reloads;
                Call::Reload
            }
            Ok(_) => Call::None,
            Err(_) => Call::Stop,
        }
    }
}
