//! Databases: from a source and its profiles to snapshots, and from an act to changed rows.
//!
//! A store reads; what it reads is judged by the domain. It knows profiles and the domain, and
//! must not know the command line, reports or the screen.

pub mod act;
mod actor;
pub mod attempts;
mod audit_table;
pub mod backend;
mod backoff;
mod batch;
mod beat_sample;
mod bind;
mod bound;
mod claim_list;
mod conditions;
mod connection;
mod detail;
mod dialect;
mod driver;
pub mod error;
mod facts;
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
#[cfg(feature = "mysql")]
pub mod mysql;
mod named_params;
mod opening;
pub mod options;
mod pace;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod prober;
mod protocol;
mod reader;
pub mod recoveries;
mod recovery_preview;
pub mod registrations;
pub mod released;
pub mod resolution;
mod rows;
mod sampling;
mod schema;
pub mod scope;
pub mod seen;
mod seen_reader;
mod selection;
#[cfg(feature = "postgres")]
mod server;
pub mod session;
pub mod side_effects;
pub mod source;
mod source_location;
mod sql_text;
pub mod sqlite;
mod statements;
pub mod suspend;
mod undo;
mod variants;
pub mod warn;
mod watched;
pub mod write_access;

pub use act::{Acted, Batch, Intents, Order, Pending, Undo, numbered};
pub use actor::Actor;
pub use attempts::{Attempt, AttemptCursor, Attempts};
pub use backend::{Backend, TerminateOrder, Terminated};
pub use backoff::Backoff;
pub use bind::LeftOut;
pub use error::StoreError;
pub use fit::{Fit, FitBoard};
pub use found::{Found, OfBoard, Overdue};
pub use image::{Change, Differences, Image, Images, RowAt, Side};
pub use listed::{Listed, Tally, Trace};
pub use opening::fits;
pub use options::{Effort, Options, Profiles};
pub use pace::Pace;
pub use prober::Prober;
pub use reader::Reader;
pub use registrations::Registrations;
pub use released::Released;
pub use resolution::{Basis, Resolution, TransactionMark};
pub use sampling::Sampling;
pub use scope::{OutOfScope, Scope};
pub use seen::{Place, Seen, prefix};
pub use selection::{Noted, Part, Selection};
pub use session::{Ends, Holding, Registered};
pub use side_effects::{OtherRow, SideEffects};
pub use source::Source;
pub use source_location::SourceLocation;
pub use warn::Warn;
pub use write_access::{NoWriteAccess, Protected, SessionMode, Standing, WriteAccess, WriteRules};

pub use crate::clock::clock;
pub use crate::domain::filter::Filter;
