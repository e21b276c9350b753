//! Recovery: acts that can be trusted, their record, and their undo.
//!
//! The store changes exactly the row that was seen; the trail keeps the record. This module combines them: the intent
//! before the commit, the outcome after it, and no act without both.

mod audit_writer;
pub mod audited_actor;
mod bulk;
mod listing;
mod permission;
mod plan;
mod session;
mod settle;
mod terminate;
pub mod trail;
mod undo;

pub use audited_actor::{ActReport, AuditedActor};
pub use bulk::PerformedAct;
pub use listing::{HolderTally, LISTED, ListedClaim, Listing};
pub use permission::{ActKind, NotUndoable};
pub use plan::{BulkPlan, BulkResult};
pub use terminate::Termination;
