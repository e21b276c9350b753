//! A line of the live log.

use crate::events::Event;

/// An event, and where it stands in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Happening {
    pub number: u64,
    pub source: usize,
    pub event: Event,
}
