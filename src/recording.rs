//! Recordings: what every poll saw, kept in one SQLite file, and read back as it was.
//!
//! A recording stores what was read, not what was concluded: verdicts are computed again by the same judge. It knows
//! the domain and events, and must not know databases that are watched, the command line or the screen.
//!
//! ```text
//! schema       the tables, the application id, the version
//! writer       a poll in, rows out: one transaction per frame
//! tracked      which claims are being followed, and what has changed about them
//! silence      how long each claim gave no sign of life, and how that ended
//! encoding     numbers that change with every poll, as small differences
//! row_text, board_text, cause_text, event_text   values of the domain as JSON
//! beats        heartbeats over all frames: usual intervals, silent sessions
//! series       silences by the threshold that decides about them, for backtests
//! file         the file as a whole: sources, boards, frames
//! course       the counts, the gaps and the events over time
//! replay       one frame as a poll, as the dashboard got it
//! pseudonyms   ids and holders replaced for sharing
//! error        why a file is no recording, or cannot be read or written
//! ```
//!
//! # The file
//!
//! `PRAGMA application_id` is 0x434C5243 ("CLRC"), `PRAGMA user_version` the version of the format. All times are
//! microseconds since 1970 in UTC. A frame is one poll of one source; frames are numbered in the order in which they
//! were written. What does not change from frame to frame is written once: such a table has the frame from which a row
//! holds. While a recording is written it has a write-ahead log beside it; a finished one is a single file.
#![doc = concat!("```sql\n", include_str!("recording/schema.sql"), "```")]

mod beats;
mod board_text;
mod cause_text;
mod course;
mod encoding;
mod error;
mod event_text;
mod file;
mod pseudonyms;
mod replay;
mod row_text;
mod schema;
mod series;
mod silence;
mod tracked;
mod writer;

pub use course::{Gap, RecordedCounts, RecordedEvent};
pub use error::RecordingError;
pub use file::{Frame, RecordedBoard, RecordedSource, Recording, is_recording};
pub use pseudonyms::Pseudonyms;
pub use replay::RecordedPoll;
pub use schema::{APPLICATION_ID, VERSION};
pub use silence::{Ending, Silence};
pub use writer::{PollSeen, RecordingOptions, RecordingWriter, SourceIdentity};
