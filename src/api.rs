//! The task queue over HTTP, for workers in any language.
//!
//! ```text
//! api_keys    who may ask: random keys, of which only hashes are kept
//! rate_limit  how often each of them may ask
//! queue_pool  threads that own the connections to the queue
//! message     requests and answers as JSON
//! router      paths, checks before them, answers
//! tls         certificate and key for addresses that others can reach
//! ```
//!
//! Every operation is one of [`crate::worker::task_queue`], so a task is claimed in one transaction and two workers
//! never get the same. A client whose answer is lost may have a task without knowing it; the task comes back to the
//! queue when its worker has been silent for five minutes.

mod api_keys;
mod message;
mod queue_pool;
mod rate_limit;
mod router;
mod tls;

pub(crate) use api_keys::{ApiKeys, new_key};
pub(crate) use queue_pool::{OpenQueue, QueuePool};
pub(crate) use rate_limit::RateLimit;
pub(crate) use router::{Api, router};
pub(crate) use tls::acceptor;

use std::io;
use std::net::TcpListener;
use std::time::Duration;
use tokio_rustls::TlsAcceptor;

use crate::http_server::{self, ConnectionLimits, Reuse};

/// Workers keep their connection; one that asks for nothing is closed after a minute.
const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 512,
    head: Duration::from_secs(60),
    life: Duration::from_secs(3_600),
    reuse: Reuse::ManyRequests,
};

/// Answers requests on a listener until the process ends.
pub(crate) fn start(listener: TcpListener, api: Api, tls: Option<TlsAcceptor>) -> io::Result<()> {
    http_server::start(listener, router(api), LIMITS, tls)
}
