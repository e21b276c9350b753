//! PostgreSQL databases.

pub mod link;
pub mod target;
