//! Databases: from a source and its profiles to snapshots, and from an act to changed rows.
//!
//! A store reads; what it reads is judged by the domain. It knows profiles and the domain, and
//! must not know the command line, reports or the screen.

pub mod act;
mod actor;
mod address;
pub mod attempts;
mod audit_table;
mod backoff;
mod batch;
mod bind;
mod bound;
mod detail;
mod driver;
pub mod error;
pub mod filter;
mod fit;
pub mod found;
mod history;
mod holders;
pub mod image;
mod image_sql;
mod key_text;
mod kinds;
pub mod listed;
mod listing;
mod look;
mod named_params;
pub mod options;
mod pace;
pub mod postgres;
pub mod prober;
mod protocol;
mod reader;
pub mod registrations;
pub mod released;
pub mod resolution;
mod rows;
mod sampling;
mod schema;
pub mod scope;
pub mod seen;
mod selection;
pub mod session;
pub mod side_effects;
pub mod source;
mod source_location;
pub mod sqlite;
mod statements;
pub mod suspend;
mod undo;
pub mod warn;
mod watched;
pub mod write_access;

pub use act::{Acted, Batch, Intents, Order, Pending, Undo, numbered};
pub use actor::Actor;
pub use attempts::{Attempt, Attempts};
pub use backoff::Backoff;
pub use bind::LeftOut;
pub use error::StoreError;
pub use filter::Filter;
pub use fit::{Fit, FitBoard};
pub use found::{Found, OfBoard, Overdue};
pub use image::{Change, Differences, Image, Images, RowAt, Side};
pub use listed::{Listed, Tally, Trace};
pub use options::{Effort, Options, Profiles};
pub use pace::Pace;
pub use prober::Prober;
pub use reader::{Reader, fits};
pub use registrations::Registrations;
pub use released::Released;
pub use resolution::{Basis, Resolution, TransactionMark};
pub use sampling::Sampling;
pub use scope::Scope;
pub use seen::{Place, Seen, prefix};
pub use selection::{Noted, Part, Selection};
pub use session::{Ends, Holding, Registered};
pub use side_effects::{OtherRow, SideEffects};
pub use source::Source;
pub use source_location::SourceLocation;
pub use warn::Warn;
pub use watched::Watched;
pub use write_access::{NoWriteAccess, Protected, SessionMode, Standing, WriteAccess, WriteRules};

use crate::domain::time::Moment;

/// This host's clock.
pub fn clock() -> Moment {
    let now = chrono::Utc::now().timestamp_micros();
    Moment::from_micros(now).unwrap_or(Moment::EARLIEST)
}
