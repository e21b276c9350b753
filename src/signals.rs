//! Signals, received in one place.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::background;

/// What a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalRequest {
    /// End after the current work.
    Stop,
    /// Read the config again.
    Reload,
    /// Give the terminal back and stop until continued (Ctrl-Z).
    Suspend,
    /// Continue.
    Continue,
}

/// Tells that the end was requested. All clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The requests that were received and not taken yet.
#[derive(Debug)]
pub struct Signals {
    requests: UnboundedReceiver<SignalRequest>,
}

const TERMINATE: (SignalKind, SignalRequest) = (SignalKind::terminate(), SignalRequest::Stop);
const INTERRUPT: (SignalKind, SignalRequest) = (SignalKind::interrupt(), SignalRequest::Stop);
const HANGUP: (SignalKind, SignalRequest) = (SignalKind::hangup(), SignalRequest::Stop);
const RELOAD: (SignalKind, SignalRequest) = (SignalKind::hangup(), SignalRequest::Reload);
const SUSPEND: (SignalKind, SignalRequest) =
    (SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()), SignalRequest::Suspend);
const CONTINUE: (SignalKind, SignalRequest) =
    (SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()), SignalRequest::Continue);

impl Signals {
    /// SIGTERM, SIGINT and SIGHUP request the end.
    pub fn that_stop() -> io::Result<Signals> {
        Signals::listen(&[TERMINATE, INTERRUPT, HANGUP])
    }

    /// SIGTERM and SIGINT request the end, SIGHUP a reload of the config.
    pub fn that_stop_or_reload() -> io::Result<Signals> {
        Signals::listen(&[TERMINATE, INTERRUPT, RELOAD])
    }

    /// SIGTSTP and SIGCONT.
    pub fn that_suspend() -> io::Result<Signals> {
        Signals::listen(&[SUSPEND, CONTINUE])
    }

    /// All signals that concern a program with a screen.
    pub fn for_screen() -> io::Result<Signals> {
        Signals::listen(&[TERMINATE, INTERRUPT, HANGUP, SUSPEND, CONTINUE])
    }

    /// From here on none of these signals ends or stops the process by its default action.
    fn listen(wanted: &[(SignalKind, SignalRequest)]) -> io::Result<Signals> {
        let runtime = background::runtime()?;
        let mut streams: Vec<(Signal, SignalRequest)> = Vec::new();
        {
            let _inside = runtime.enter();
            for &(kind, request) in wanted {
                streams.push((signal(kind)?, request));
            }
        }
        let (sender, requests) = unbounded_channel();
        runtime.spawn(async move {
            // It ends when the receiver is dropped.
            while sender.send(next_of(&mut streams).await).is_ok() {}
        });
        Ok(Signals { requests })
    }

    /// The next request.
    pub async fn next(&mut self) -> SignalRequest {
        // The listener outlives this receiver.
        self.requests.recv().await.unwrap_or(SignalRequest::Stop)
    }

    /// The next request, for a blocking thread.
    pub fn wait(&mut self) -> SignalRequest {
        self.requests.blocking_recv().unwrap_or(SignalRequest::Stop)
    }

    /// A request that was received already.
    pub fn take(&mut self) -> Option<SignalRequest> {
        self.requests.try_recv().ok()
    }

    /// Calls `act` when the end is requested; other requests are dropped.
    pub fn at_stop(mut self, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
        background::runtime()?.spawn(async move {
            while self.next().await != SignalRequest::Stop {}
            act();
        });
        Ok(())
    }
}

async fn next_of(streams: &mut [(Signal, SignalRequest)]) -> SignalRequest {
    poll_fn(|context| {
        let mut ready = |(stream, request): &mut (Signal, SignalRequest)| {
            stream.poll_recv(context).is_ready().then_some(*request)
        };
        streams.iter_mut().find_map(&mut ready).map_or(Poll::Pending, Poll::Ready)
    })
    .await
}
