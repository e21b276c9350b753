//! PostgreSQL servers: how their addresses are written, and connections to them.
//!
//! A target says which server and how to prove who we are; a link is one connection to it. No password, wherever it
//! came from, is in anything that these print or hand out. Knows neither profiles nor claims: the store and the
//! workers connect the same way.

pub mod address;
pub mod connect_error;
#[cfg(feature = "postgres")]
pub mod error;
mod keyword;
#[cfg(feature = "postgres")]
pub mod link;
#[cfg(feature = "postgres")]
mod search_path;
#[cfg(feature = "postgres")]
pub mod target;
#[cfg(feature = "postgres")]
pub mod tls;

pub use connect_error::{ConnectError, ConnectFailure, ConnectFailures};
#[cfg(feature = "postgres")]
pub use error::PgError;
#[cfg(feature = "postgres")]
pub use link::{Begin, Limits, Link, Purpose, Row};
#[cfg(feature = "postgres")]
pub use search_path::{home, search_path};
#[cfg(feature = "postgres")]
pub use target::Target;
