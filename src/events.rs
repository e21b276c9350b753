//! Events: the difference between two polls, and what a sweep did.
//!
//! The Events pane of the dashboard, `sweep --events` and `check --watch --events` all use this module. It reads no
//! database and no clock.
//!
//! ```text
//! observed_source   what one poll showed of each board
//! diff              two polls in, events out; a claim that disappeared is read again
//! session_activity  what the claims show about the sessions that hold them
//! cause_log         which causes of a source began and which ended
//! change_detector   the last poll of a source, compared with the next
//! event             an event: its JSON follows coordination
//! event_text        an event as people read it
//! event_kind        the kinds of events, in the order in which they are reported
//! batch             too many events of one kind become one
//! ```

mod batch;
mod cause_log;
mod change_detector;
mod diff;
mod event;
mod event_kind;
mod event_text;
mod observed_source;
mod session_activity;

pub use batch::{BOUND, Batching, EventCollector, SingleEvents, batched};
pub use cause_log::CauseLog;
pub use change_detector::ChangeDetector;
pub use diff::{ObservedClaim, Reread};
pub use event::{ClaimContext, Event, Origin, SourceContext, millis};
pub use event_kind::EventKind;
pub use observed_source::{Coverage, ObservedSource};
