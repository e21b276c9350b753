//! Signals: what the system asks of the program, heard in one place.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::background;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// End, after what is under way.
    Stop,
    /// Read the config again.
    Reload,
    /// Give the terminal back and stop until told to go on (Ctrl-Z).
    Suspend,
    /// Go on.
    Continue,
}

/// Says that somebody has asked for the end. All clones are one flag.
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

/// The requests that have come and nobody has taken yet.
#[derive(Debug)]
pub struct Signals {
    requests: UnboundedReceiver<Request>,
}

const TERMINATE: (SignalKind, Request) = (SignalKind::terminate(), Request::Stop);
const INTERRUPT: (SignalKind, Request) = (SignalKind::interrupt(), Request::Stop);
const HANGUP: (SignalKind, Request) = (SignalKind::hangup(), Request::Stop);
const RELOAD: (SignalKind, Request) = (SignalKind::hangup(), Request::Reload);
const SUSPEND: (SignalKind, Request) =
    (SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()), Request::Suspend);
const CONTINUE: (SignalKind, Request) =
    (SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()), Request::Continue);

impl Signals {
    /// SIGTERM, SIGINT and SIGHUP ask for the end.
    pub fn that_stop() -> io::Result<Signals> {
        Signals::listen(&[TERMINATE, INTERRUPT, HANGUP])
    }

    /// SIGTERM and SIGINT ask for the end, SIGHUP for a look at the config.
    pub fn that_stop_or_reload() -> io::Result<Signals> {
        Signals::listen(&[TERMINATE, INTERRUPT, RELOAD])
    }

    /// SIGTSTP and SIGCONT.
    pub fn that_suspend() -> io::Result<Signals> {
        Signals::listen(&[SUSPEND, CONTINUE])
    }

    /// Everything that concerns a program with a screen.
    pub fn for_screen() -> io::Result<Signals> {
        Signals::listen(&[TERMINATE, INTERRUPT, HANGUP, SUSPEND, CONTINUE])
    }

    /// From here on none of these signals ends or stops the process by its default action.
    fn listen(wanted: &[(SignalKind, Request)]) -> io::Result<Signals> {
        let runtime = background::runtime()?;
        let mut streams: Vec<(Signal, Request)> = Vec::new();
        {
            let _inside = runtime.enter();
            for &(kind, request) in wanted {
                streams.push((signal(kind)?, request));
            }
        }
        let (sender, requests) = unbounded_channel();
        runtime.spawn(async move {
            // It ends when nobody takes requests any more.
            while sender.send(next_of(&mut streams).await).is_ok() {}
        });
        Ok(Signals { requests })
    }

    /// The next request.
    pub async fn next(&mut self) -> Request {
        // The listener ends after this, never before.
        self.requests.recv().await.unwrap_or(Request::Stop)
    }

    /// The next request, for a thread that has nothing else to do.
    pub fn wait(&mut self) -> Request {
        self.requests.blocking_recv().unwrap_or(Request::Stop)
    }

    /// A request that has come already.
    pub fn take(&mut self) -> Option<Request> {
        self.requests.try_recv().ok()
    }

    /// Calls `act` when somebody asks for the end; other requests are dropped.
    pub fn at_stop(mut self, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
        background::runtime()?.spawn(async move {
            while self.next().await != Request::Stop {}
            act();
        });
        Ok(())
    }
}

async fn next_of(streams: &mut [(Signal, Request)]) -> Request {
    poll_fn(|context| {
        let mut ready = |(stream, request): &mut (Signal, Request)| {
            stream.poll_recv(context).is_ready().then_some(*request)
        };
        streams.iter_mut().find_map(&mut ready).map_or(Poll::Pending, Poll::Ready)
    })
    .await
}
