//! What a claim is and what can be said about it: pure, total, without I/O and without a clock.
//!
//! Everything here takes `now` as an argument. Nothing here may know a database, a file, a
//! terminal or the profile format; the layers above hand in what they read.

pub mod audit;
pub mod backtest;
pub mod beat_intervals;
pub mod board_id;
pub mod cause;
pub mod change;
pub mod claim;
pub mod claim_list;
pub mod detail;
pub mod evidence;
pub mod fencing;
pub mod filter;
pub mod idle;
pub mod recovery;
pub mod recovery_preview;
pub mod rules;
pub mod saved_view;
pub mod seen_boards;
pub mod shell;
pub mod similar;
pub mod snapshot;
pub mod source_label;
pub mod tally;
pub mod time;
pub mod timeline;
pub mod token;
pub mod value;
pub mod verdict;
pub mod visible;
pub mod worst_claims;
pub mod zone_doubt;
