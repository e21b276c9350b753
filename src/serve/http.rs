//! Connections: each has its time and its room, and there are only so many at once.

use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, AsHeaderName, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, VARY};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use super::reply::{Asked, reply};
use crate::background;
use crate::metrics::Metrics;

/// Connections at once. For one more the oldest is ended: whoever is slow waits for nobody's turn, and a
/// scrape, which takes milliseconds, never waits for the slow.
const MOST: usize = 256;
/// A connection's whole life.
const LONGEST: Duration = Duration::from_secs(5);
/// The time to send the head of a request.
const HEAD: Duration = Duration::from_secs(2);
/// The size of that head.
const LARGEST: usize = 16 * 1024;
/// After an error of the system, such as too many open files.
const BREATH: Duration = Duration::from_millis(100);

/// Answers on a listener for as long as the process lives.
pub fn start(listener: TcpListener, metrics: Arc<Metrics>) -> io::Result<()> {
    let runtime = background::runtime()?;
    listener.set_nonblocking(true)?;
    let here = listener.local_addr()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let accept = async move {
        let mut open: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    make_room(&mut open);
                    let metrics = Arc::clone(&metrics);
                    // Whatever the client does or leaves undone, it does it alone.
                    let life = tokio::time::timeout(LONGEST, connection(stream, here, metrics));
                    open.push_back(tokio::spawn(life).abort_handle());
                }
                Err(_) => {
                    // Too many open files, perhaps: some of them are ours.
                    make_room(&mut open);
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    };
    runtime.spawn(accept);
    Ok(())
}

/// Forgets the connections that have ended, and ends the oldest if there are too many.
fn make_room(open: &mut VecDeque<AbortHandle>) {
    if open.len() >= MOST {
        open.retain(|connection| !connection.is_finished());
    }
    if open.len() >= MOST
        && let Some(oldest) = open.pop_front()
    {
        oldest.abort();
    }
}

async fn connection(stream: TcpStream, here: SocketAddr, metrics: Arc<Metrics>) {
    let service = service_fn(|request| {
        let response = respond(&request, here, &metrics);
        async { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .keep_alive(false)
        .max_buf_size(LARGEST)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // The client is gone, or spoke no HTTP and has been told so.
    drop(served);
}

fn respond(request: &Request<Incoming>, here: SocketAddr, metrics: &Metrics) -> Response<String> {
    let hosts = all(request, HOST).into_iter();
    let asked = Asked {
        method: request.method().as_str(),
        path: request.uri().path(),
        hosts: hosts.chain(request.uri().authority().map(|authority| authority.as_str())).collect(),
        accept: all(request, ACCEPT),
    };
    let answer = reply(&asked, here.ip(), metrics, Instant::now());
    // The length of what GET would bring stays; hyper itself sends no body to HEAD.
    let mut response = Response::new(answer.body);
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
    if answer.status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

/// Every value of a header; one that is no text is empty.
fn all(request: &Request<Incoming>, name: impl AsHeaderName) -> Vec<&str> {
    request.headers().get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).collect()
}
