//! Polling a database server: what is the same on PostgreSQL, MySQL and MariaDB.
//!
//! The server finds the claims that may be in trouble, by index where it has one; each of them is judged here. What only
//! one of the servers knows is behind [`ServerSql`] and [`Connection`](super::connection::Connection).

mod backlog;
mod candidate_queries;
mod found;
mod gather;
mod sessions;
mod sql;
mod watch;
mod zone_signs;

use super::watched::Watched;
pub(super) use backlog::BacklogPlan;
pub(super) use found::{FoundOrder, find_all, overdue, select_all};
pub(super) use sql::{HoldersAsked, ServerSql};
pub(super) use watch::{Watch, WatchPlan};

/// A profile under watch.
pub(super) type WatchedProfile = Watched<Watch>;

/// What a poll does, as errors name it.
const POLLING: &str = "polling";

/// One more than this, to see whether there are more.
fn one_more(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1)
}
