//! Automatic cleanup and its brakes.
//!
//! It decides which claims may be taken without anyone watching, and when it is wiser to hold. The
//! acts themselves are those of [`crate::recovery`]; there is no second way to change a row. It knows
//! nothing of the command line or of how events are printed.
//!
//! ```text
//! reason            may this claim be taken, and for what        pure
//! brakes            the cap and the share                        pure
//! boards            how many claims of each board are in trouble: what the share and the cap are decided by
//! sightings         has its row stood still while we watched     pure
//! clock_continuity  did our clocks run evenly between two looks  pure
//! database_clock    and the database's                           pure
//! poison            what was taken too often, by the trail and by claimtop_audit
//! sightings_file    sightings kept for the next run
//! orders            what a sweep is told
//! candidates        the claims that may be taken, part by part
//! watching          how often each must have been seen
//! pass              one look at one source, and its acts
//! event             what is said of a claim that was taken
//! source_plan       what a sweep asks about a source, and whom it tells
//! swept_source      one source from run to run
//! sweeper           the polling loop on every source
//! ```

mod boards;
mod brakes;
mod candidates;
mod clock_continuity;
mod database_clock;
mod event;
mod orders;
mod pass;
mod poison;
mod reason;
mod sightings;
mod sightings_file;
mod source_plan;
mod summary;
mod sweeper;
mod swept_source;
mod watching;

pub use brakes::{Brake, Brakes, Held};
pub use clock_continuity::{ClockContinuity, Clocks};
pub use database_clock::DatabaseClock;
pub use orders::{Manner, Orders, SweepError};
pub use pass::Pass;
pub use reason::{SkipReason, SweepReason, Wanted, ground, patience};
pub use sightings::{Look, Needs, Shown, Sightings};
pub use sightings_file::{SavedSightings, SightingsFile};
pub use source_plan::{SourcePlan, SweepFailure, SweepReporter};
pub use summary::Summary;
pub use sweeper::Sweeper;
pub use swept_source::{SightingsFrom, SweptSource};
pub use watching::Memory;
