//! The state of the dashboard, and the one place where it changes.
//!
//! ```text
//!   Msg ──► update ──► Model'          a poll's answer, a key, an act's outcome, a second passed
//!              └─────► Vec<Effect>     what the runtime has to do: act, read, load, ring the bell
//! ```
//!
//! Pure: no I/O, no clock, no terminal. `now` comes with every message. Knows the domain; must not
//! know the store, the trail or how anything is drawn.

pub mod actions;
pub mod audit;
pub mod beats;
pub mod bulk;
pub mod claim_column;
pub mod claim_list;
pub mod dialog;
pub mod groups;
pub mod item;
pub mod keymap;
pub mod lists;
pub mod logged_event;
pub mod message;
pub mod model;
pub mod overlay;
pub mod overview;
pub mod palette;
pub mod query;
pub mod replay;
pub mod row;
pub mod source;
pub mod source_names;
pub mod timeline;
pub mod update;

pub use actions::{ACTIONS, ActionSpec, Command};
pub use message::{Effect, Msg};
pub use model::{Model, Pane};
