//! `claimtop serve` without its command line: HTTP for Prometheus, and the threads that find out what
//! it is told.
//!
//! A scrape reads figures and nothing else. A database that does not answer keeps its own thread
//! waiting; a client that says or reads nothing keeps its own connection waiting, and not for long.
//!
//! ```text
//! http      connections: how many, how long, how large
//! reply     a request in, an answer out: pure
//! watcher   polls a source and puts the figures into the metrics
//! trail_follower  one thread that follows the trail
//! ```

mod http;
mod reply;
mod trail_follower;
mod watcher;

pub use http::start;
pub use reply::{Asked, Reply, reply};
pub use trail_follower::follow;
pub use watcher::{Reopen, watch};
