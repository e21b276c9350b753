//! What happened: what two looks in a row reveal, what a sweep did, and how both are told.
//!
//! The dashboard's Events pane, `sweep --events` and `check --watch --events` are fed from here and
//! nowhere else. Nothing in it reads a database or asks a clock.
//!
//! ```text
//! look       what one poll showed of each board
//! reveal     two looks in, events out; what left is to be read again
//! sessions   what the claims reveal of those who hold them
//! detector   the last look of a source, compared with the next
//! event      an event, named and shaped as in document 000
//! words      the same for people
//! what       the kinds of events, in the order in which they are told
//! batch      above a bound, one event stands for all of its kind
//! ```

mod batch;
mod change_detector;
mod event;
mod look;
mod reveal;
mod sessions;
mod what;
mod words;

pub use batch::{BOUND, batched};
pub use change_detector::ChangeDetector;
pub use event::{About, By, Event, OfSource, millis};
pub use look::{Extent, Look};
pub use reveal::{Again, ObservedClaim};
pub use what::What;
