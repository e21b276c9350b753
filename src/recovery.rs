//! Recovery: acts that can be trusted, their record, and their undo.
//!
//! The store knows how to change exactly the row that was seen; the trail knows how to keep a
//! record. Here they meet: intent before the commit, outcome after it, and no act without both.

mod audit_writer;
pub mod audited_actor;
mod bulk;
mod permission;
mod plan;
mod session;
mod settle;
pub mod trail;
mod undo;

pub use audited_actor::{AuditedActor, Report};
pub use bulk::Told;
pub use plan::{BulkPlan, BulkResult, LISTED, ListedClaim};
