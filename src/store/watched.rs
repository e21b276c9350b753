//! The boards of a source that are under watch, profile by profile, found by their identity.

use super::bound::BoundBoard;
use super::driver::{Connection, Failed};
use super::found::RowRef;
use super::rows::RowReader;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Judged;
use crate::domain::time::{Moment, Span};
use crate::profile::format::{Board, Profile};

/// A profile that fits the source, with its boards as the engine watches them.
#[derive(Debug)]
pub struct Watched<W> {
    pub name: String,
    pub profile: Profile,
    pub notices: Vec<String>,
    pub boards: Vec<W>,
}

/// A board that an engine watches: all that reading and acting need to know of it.
pub trait WatchedBoard {
    fn bound(&self) -> &BoundBoard;

    /// How its claims are read.
    fn rows(&self) -> &RowReader;

    /// How many claims there were at the last poll, as far as they were counted.
    fn total(&self) -> u64;

    /// Those of the claims at these rows that are still there, in their order, with their tokens.
    fn at(
        &self,
        connection: &mut dyn Connection,
        rows: &[RowRef],
        now: Moment,
    ) -> Result<Vec<Judged>, Failed>;

    /// Whether the claims with a deadline within a time can be found by an index; if so, up to `most` of those
    /// deadlines.
    fn deadlines(
        &self,
        _connection: &mut dyn Connection,
        _now: Moment,
        _within: Span,
        _most: usize,
    ) -> Result<Option<Vec<Moment>>, Failed> {
        Ok(None)
    }

    /// Whether up to `most` jobs of a backlog can be counted without reading a table that is much larger.
    fn may_count_backlog(&self, _connection: &mut dyn Connection, _most: usize) -> Result<bool, Failed> {
        Ok(true)
    }
}

impl<W: WatchedBoard> Watched<W> {
    /// The identities of its boards, in the profile's order.
    pub fn board_ids(&self) -> impl Iterator<Item = &BoardId> {
        self.boards.iter().map(|watch| &watch.bound().board_id)
    }

    /// A board as the profile's author wrote it.
    pub fn written(&self, watch: &W) -> Option<&Board> {
        self.profile.boards.iter().find(|written| written.name == watch.bound().name)
    }
}

/// The board with an identity and its profile, if its tables are still there.
pub fn find<'a, W: WatchedBoard>(watched: &'a [Watched<W>], id: &BoardId) -> Option<(&'a Watched<W>, &'a W)> {
    let profile = watched.iter().find(|watched| watched.name == id.profile())?;
    let board = profile.boards.iter().find(|watch| watch.bound().board_id == *id)?;
    Some((profile, board))
}

/// The identities of the boards with a name; without one, of all.
pub fn ids<W: WatchedBoard>(watched: &[Watched<W>], board: Option<&str>) -> Vec<BoardId> {
    let all = watched.iter().flat_map(Watched::board_ids);
    all.filter(|id| board.is_none_or(|board| board == id.board())).cloned().collect()
}
