//! A line of the live log.

use crate::events::Event;

/// An event, and where it stands in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    pub number: u64,
    pub source: usize,
    pub event: Event,
}
