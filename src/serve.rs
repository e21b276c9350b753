//! `claimtop serve` without its command line: HTTP for Prometheus and for people, and the threads that poll.
//!
//! A scrape only reads figures. A database that does not answer delays only its own thread; a client that sends or
//! reads nothing delays only its own connection, and only for a few seconds.
//!
//! ```text
//! router          paths and their replies
//! watcher         polls a source and reports the figures to the metrics
//! page            the live page for people
//! trail_follower  a thread that follows the audit trail
//! ```

mod page;
mod router;
mod trail_follower;
mod watcher;

pub use page::LivePage;
pub use router::{ServedContent, start};
pub use trail_follower::follow;
pub use watcher::{Reopen, watch};
