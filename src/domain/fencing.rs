//! Whether a worker that finishes late can settle a run that is somebody else's by then.

use serde::Deserialize;

use super::board_id::BoardId;
use super::claim::Process;

/// The risk of freeing a claim of a system without fencing.
pub const UNFENCED: &str = "a late worker could finish this job a second time";

/// What a profile says of its system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fencing {
    /// The system refuses a late worker's finish.
    Fenced,
    /// The system accepts it.
    Unfenced,
    /// The profile says nothing.
    #[default]
    Unknown,
}

impl Fencing {
    pub fn of(written: Option<bool>) -> Fencing {
        match written {
            Some(true) => Fencing::Fenced,
            Some(false) => Fencing::Unfenced,
            None => Fencing::Unknown,
        }
    }

    /// As a profile and JSON write it.
    pub fn written(self) -> Option<bool> {
        match self {
            Fencing::Fenced => Some(true),
            Fencing::Unfenced => Some(false),
            Fencing::Unknown => None,
        }
    }

    /// What freeing a claim risks. A holder that is proven dead cannot come back.
    pub fn risk(self, holder: Process) -> Option<&'static str> {
        match (self, holder) {
            (Fencing::Unfenced, Process::Alive | Process::Unknown) => Some(UNFENCED),
            (Fencing::Unfenced, Process::Dead) | (Fencing::Fenced | Fencing::Unknown, _) => None,
        }
    }
}

/// The boards without fencing of which a sweep takes claims although nobody has proven that the holder is dead. In
/// the config: `true`, `false`, or a list of boards.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "FencingValue")]
pub enum UnfencedBoards {
    None,
    All,
    /// By their names, alone or after the profile: `job` or `delayed-job/job`.
    Only(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected true, false or a list of boards")]
enum FencingValue {
    Flag(bool),
    Names(Vec<String>),
}

impl From<FencingValue> for UnfencedBoards {
    fn from(written: FencingValue) -> UnfencedBoards {
        match written {
            FencingValue::Flag(false) => UnfencedBoards::None,
            FencingValue::Flag(true) => UnfencedBoards::All,
            FencingValue::Names(names) => UnfencedBoards::Only(names),
        }
    }
}

impl UnfencedBoards {
    pub fn contain(&self, board: &BoardId) -> bool {
        let is_it = |name: &String| match name.split_once('/') {
            Some(both) => both == (board.profile(), board.board()),
            None => name == board.board(),
        };
        match self {
            UnfencedBoards::None => false,
            UnfencedBoards::All => true,
            UnfencedBoards::Only(names) => names.iter().any(is_it),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_named_alone_or_after_their_profile() {
        let (job, lock) = (BoardId::new("shop", "job"), BoardId::new("shop", "lock"));
        let only = |name: &str| UnfencedBoards::Only(vec![name.into()]);
        for (boards, expected) in [
            (UnfencedBoards::None, [false, false]),
            (UnfencedBoards::All, [true, true]),
            (only("job"), [true, false]),
            (only("shop/lock"), [false, true]),
            (only("other/job"), [false, false]),
            (UnfencedBoards::Only(Vec::new()), [false, false]),
        ] {
            assert_eq!([&job, &lock].map(|board| boards.contain(board)), expected, "{boards:?}");
        }
    }

    #[test]
    fn only_a_holder_that_is_proven_dead_takes_the_risk_away() {
        for process in [Process::Alive, Process::Unknown] {
            assert_eq!(Fencing::of(Some(false)).risk(process), Some(UNFENCED));
            assert_eq!(Fencing::of(Some(true)).risk(process), None);
            assert_eq!(Fencing::of(None).risk(process), None);
        }
        assert_eq!(Fencing::of(Some(false)).risk(Process::Dead), None);
    }
}
