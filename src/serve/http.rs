//! Connections: each has its time and its room, and there are only so many at once.

use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::reply::{Asked, reply};
use crate::metrics::Metrics;

/// Connections at once; whoever comes then waits for one of them to end.
const MOST: usize = 64;
/// A connection's whole life: a scrape takes milliseconds.
const LONGEST: Duration = Duration::from_secs(5);
/// The head of a request.
const LARGEST: usize = 16 * 1024;
/// After an error of the system, such as too many open files.
const BREATH: Duration = Duration::from_millis(100);

/// Answers on a listener, in a thread of its own, for as long as the process lives.
pub fn start(listener: TcpListener, metrics: Arc<Metrics>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    listener.set_nonblocking(true)?;
    let here = listener.local_addr()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let accept = async move {
        let room = Arc::new(Semaphore::new(MOST));
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let metrics = Arc::clone(&metrics);
                    tokio::spawn(async move {
                        // Whatever the client does or leaves undone, it does it alone.
                        let _ = tokio::time::timeout(LONGEST, connection(stream, here, metrics)).await;
                        drop(place);
                    });
                }
                Err(_) => tokio::time::sleep(BREATH).await,
            }
        }
    };
    thread::Builder::new().name("http".into()).spawn(move || runtime.block_on(accept))?;
    Ok(())
}

async fn connection(stream: TcpStream, here: SocketAddr, metrics: Arc<Metrics>) {
    let service = service_fn(|request| {
        let response = respond(&request, here, &metrics);
        async { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(LARGEST)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // The client is gone, or spoke no HTTP and has been told so.
    drop(served);
}

fn respond(request: &Request<Incoming>, here: SocketAddr, metrics: &Metrics) -> Response<String> {
    let header = request.headers().get_all(HOST).iter();
    let hosts = header.map(|host| host.to_str().unwrap_or_default());
    let asked = Asked {
        method: request.method().as_str(),
        path: request.uri().path(),
        hosts: hosts.chain(request.uri().authority().map(|authority| authority.as_str())).collect(),
    };
    let answer = reply(&asked, here.ip(), metrics, Instant::now());
    // The length of what GET would bring stays; hyper itself sends no body to HEAD.
    let mut response = Response::new(answer.body);
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if answer.status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
