//! PostgreSQL databases.

mod actor;
pub mod link;
mod reader;
pub mod target;

pub use actor::Actor;
pub use reader::{Options, Reader, fits};
