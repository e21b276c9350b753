//! Every pane in every state, text and style, and what each message does to the model.

mod keys;
mod panes;
pub mod stage;
