//! Automatic cleanup and its brakes.
//!
//! This module decides which claims may be taken automatically, and when a sweep must stop. The acts themselves are
//! those of [`crate::recovery`]; there is no other way to change a row. It knows nothing about the command line or
//! about how events are printed.
//!
//! ```text
//! reason            may this claim be taken, and why               pure
//! brakes            the limits of a run                            pure
//! board_counts      how many claims of each board could be taken: the input of the brakes
//! sightings         did a row stay unchanged while we watched      pure
//! clock_continuity  did our clocks run evenly between two runs     pure
//! database_clock    did the database's clock run evenly            pure
//! recent_sweeps     poison tasks: swept too often, by the trail and by claimtop_audit
//! sightings_file    sightings kept for the next run
//! options           what a sweep may do
//! candidates        the claims that may be taken, part by part
//! watching          how often each must have been seen
//! pass              one run on one source
//! event             the event of a claim that was taken
//! source_plan       what a sweep needs to know about a source, and to whom it reports
//! swept_source      one source from run to run
//! sweeper           the polling loop on every source
//! ```

mod board_counts;
mod brakes;
mod candidates;
mod clock_continuity;
mod database_clock;
mod event;
mod options;
mod pass;
mod reason;
mod recent_sweeps;
mod sightings;
mod sightings_file;
mod source_plan;
mod summary;
mod sweeper;
mod swept_source;
mod watching;

pub use brakes::{Brake, BrakeHold, Brakes};
pub use clock_continuity::{ClockContinuity, Clocks};
pub use database_clock::DatabaseClock;
pub use options::{RequiredEvidence, SweepError, SweepMode, SweepOptions};
pub use pass::Pass;
pub use reason::{SkipReason, SweepReason, SweepSets, ground, unchanged_for};
pub use sightings::{ObservedCandidate, RequiredSightings, SightingPass, Sightings};
pub use sightings_file::{SavedSightings, SightingsFile};
pub use source_plan::{SourcePlan, SweepFailure, SweepReporter};
pub use summary::SweepSummary;
pub use sweeper::Sweeper;
pub use swept_source::{SightingsFrom, SweptSource};
pub use watching::SweepMemory;
