//! HTTP connections for `serve` and `api`: limits on their number, their duration and their size; encryption.

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::background;

/// The largest head of a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The pause after an error of `accept`, such as too many open files.
const ACCEPT_ERROR_PAUSE: Duration = Duration::from_millis(100);

/// What a client may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    /// The most connections at once. One more closes the oldest that is not being answered: slow clients do not keep
    /// others out.
    pub(crate) connections: usize,
    /// The time to send the head of a request, and the longest pause between two requests.
    pub(crate) head: Duration,
    /// The longest time that a connection stays open.
    pub(crate) life: Duration,
    pub(crate) reuse: Reuse,
}

/// Whether a connection carries more than one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    OneRequest,
    ManyRequests,
}

/// Answers requests on a listener until the process ends.
pub(crate) fn start(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    tls: Option<TlsAcceptor>,
) -> io::Result<()> {
    let runtime = background::runtime()?;
    listener.set_nonblocking(true)?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    runtime.spawn(accept(listener, router, limits, tls));
    Ok(())
}

async fn accept(
    listener: tokio::net::TcpListener,
    router: Router,
    limits: ConnectionLimits,
    tls: Option<TlsAcceptor>,
) {
    let mut open = OpenConnections { limit: limits.connections, connections: VecDeque::new() };
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Perhaps too many files are open, and some of them are connections of ours.
            open.make_room();
            tokio::time::sleep(ACCEPT_ERROR_PAUSE).await;
            continue;
        };
        if !open.make_room() {
            continue;
        }
        let requests = Arc::new(AtomicUsize::new(0));
        let served = serve(stream, router.clone(), limits, tls.clone(), Arc::clone(&requests));
        // A slow client delays only its own connection.
        let task = tokio::spawn(tokio::time::timeout(limits.life, served));
        open.connections.push_back(OpenConnection { task: task.abort_handle(), requests });
    }
}

struct OpenConnection {
    task: AbortHandle,
    /// The requests that are being answered.
    requests: Arc<AtomicUsize>,
}

struct OpenConnections {
    limit: usize,
    /// The oldest first.
    connections: VecDeque<OpenConnection>,
}

impl OpenConnections {
    /// Makes room for one more; `false` if every connection is being answered.
    fn make_room(&mut self) -> bool {
        if self.connections.len() < self.limit {
            return true;
        }
        self.connections.retain(|connection| !connection.task.is_finished());
        if self.connections.len() < self.limit {
            return true;
        }
        let idle = |connection: &OpenConnection| connection.requests.load(Ordering::Relaxed) == 0;
        let Some(oldest) = self.connections.iter().position(idle) else { return false };
        if let Some(closed) = self.connections.remove(oldest) {
            closed.task.abort();
        }
        true
    }
}

async fn serve(
    stream: TcpStream,
    router: Router,
    limits: ConnectionLimits,
    tls: Option<TlsAcceptor>,
    requests: Arc<AtomicUsize>,
) {
    // Answers are small: waiting for more to send with them only delays them.
    let _ = stream.set_nodelay(true);
    match tls {
        None => converse(stream, router, limits, requests).await,
        Some(tls) => {
            // The handshake is part of the time for the first head.
            if let Ok(Ok(stream)) = tokio::time::timeout(limits.head, tls.accept(stream)).await {
                converse(stream, router, limits, requests).await;
            }
        }
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    limits: ConnectionLimits,
    requests: Arc<AtomicUsize>,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let (router, answering) = (router.clone(), Answering::begin(&requests));
        async move {
            let answer = router.oneshot(request.map(Body::new)).await;
            drop(answering);
            answer
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .keep_alive(limits.reuse == Reuse::ManyRequests)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // An error means that the client is gone, or sent something that is not HTTP and was answered so.
    drop(served);
}

/// A request that is being answered.
struct Answering(Arc<AtomicUsize>);

impl Answering {
    fn begin(requests: &Arc<AtomicUsize>) -> Answering {
        requests.fetch_add(1, Ordering::Relaxed);
        Answering(Arc::clone(requests))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
