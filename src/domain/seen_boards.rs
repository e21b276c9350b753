//! The boards that a source was seen to have; those that are missing at a later look are named.

use std::collections::BTreeSet;

use super::board_id::BoardId;
use super::snapshot::Snapshot;

/// Every board that was ever seen.
#[derive(Debug, Clone, Default)]
pub struct SeenBoards(BTreeSet<BoardId>);

impl SeenBoards {
    /// Takes in the boards of a look; the sentences of those that were there before and are not now.
    pub fn call(&mut self, snapshots: &[Snapshot]) -> Vec<String> {
        let name = |snapshot: &Snapshot| {
            let boards = snapshot.boards.iter();
            boards.map(|board| BoardId::new(&snapshot.profile, &board.board)).collect::<Vec<_>>()
        };
        let here: BTreeSet<BoardId> = snapshots.iter().flat_map(name).collect();
        self.0.extend(here.iter().cloned());
        self.0.difference(&here).map(gone).collect()
    }

    /// The profiles of all of them.
    pub fn profiles(&self) -> BTreeSet<&str> {
        self.0.iter().map(BoardId::profile).collect()
    }
}

/// What is said of a board that is missing.
pub const GONE: &str = "gone: its table was dropped, renamed or changed, or may not be read";

/// The same in a sentence of its own.
pub fn gone(board: &BoardId) -> String {
    format!("{board} is {GONE}")
}
