//! The identity of a board: the name of its profile and its own name.
//!
//! Boards come and go with their tables, so a position in a list may mean another board at the next look.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use super::visible::visible;

/// Names one board of one source. A copy costs no memory of its own: every claim of a bulk act keeps one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoardId(Arc<BoardNames>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct BoardNames {
    profile: String,
    board: String,
}

impl BoardId {
    pub fn new(profile: impl Into<String>, board: impl Into<String>) -> BoardId {
        BoardId(Arc::new(BoardNames { profile: profile.into(), board: board.into() }))
    }

    pub fn profile(&self) -> &str {
        &self.0.profile
    }

    pub fn board(&self) -> &str {
        &self.0.board
    }
}

/// As people call it: `board jobs of task_queue`.
impl Display for BoardId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "board {} of {}", visible(self.board()), visible(self.profile()))
    }
}
