//! Databases: from a source and its profiles to snapshots.
//!
//! A store reads; what it reads is judged by the domain. It knows profiles and the domain, and
//! must not know the command line, reports or the screen.

pub mod error;
pub mod filter;
pub mod postgres;
pub mod source;
pub mod sqlite;

pub use error::StoreError;
pub use filter::Filter;
pub use source::Source;
