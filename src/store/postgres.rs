//! PostgreSQL databases.
//!
//! A target says which server and how to prove who we are; a link is one connection to it. No
//! password, wherever it came from, is in anything that these print or hand out.

pub mod error;
pub mod link;
pub mod target;
pub mod tls;

pub use error::PgError;
pub use link::{Backoff, Begin, Limits, Link, Purpose, Row};
pub use target::Target;
