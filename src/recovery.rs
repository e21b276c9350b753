//! Recovery: acts that can be trusted, their record, and their undo.
//!
//! The store knows how to change exactly the row that was seen; the trail knows how to keep a
//! record. Here they meet: intent before the commit, outcome after it, and no act without both.

mod bulk;
pub mod perform;
mod plan;
mod scribe;
mod session;
mod settle;
pub mod trail;
mod undo;

pub use bulk::Told;
pub use perform::{Desk, Report};
pub use plan::{BulkPlan, BulkResult, LISTED, ListedClaim};
