//! Acts on record: which of them are wanted, and what came of them. The command line and the screen share it.

mod filter;
mod outcomes;
mod period;

pub use filter::{ActFilter, Field, Match, RecordedAct};
pub use outcomes::OutcomeCounts;
pub use period::{Period, PeriodTime};
