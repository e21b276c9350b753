//! The boards of a source that are under watch, profile by profile, found by their identity.

use std::fmt::Debug;
use std::time::Instant;

use super::bound::{BoundBoard, BoundProfile};
use super::driver::{Connection, Failed};
use super::named_params::NamedParams;
use super::registrations::Remembered;
use super::rows::RowReader;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::{BoardSnapshot, Snapshot};
use crate::domain::time::{Moment, Span};
use crate::profile::format::{Act, Board, Profile};

/// A profile that fits the source, with its boards as the engine watches them.
#[derive(Debug)]
pub(super) struct Watched<W> {
    pub profile: Profile,
    pub notices: Vec<String>,
    pub boards: Vec<W>,
}

/// A board that an engine watches: all that reading and acting need to know of it.
pub(super) trait WatchedBoard: Debug {
    fn bound(&self) -> &BoundBoard;

    /// How its claims are read.
    fn rows(&self) -> &RowReader;

    /// How many claims there were at the last poll, as far as they were counted.
    fn total(&self) -> u64;

    /// The answer as of the last poll, which was at `now`.
    fn snapshot(&self, now: Moment) -> BoardSnapshot;

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

    /// The condition for a claim, as `c` and `s`, to be still stale or orphaned, if the database can tell.
    fn still_stale(&self, _now: Moment, _params: &mut NamedParams) -> Option<String> {
        None
    }
}

/// A board of a source, and the profile that it is of.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoardAt<'a> {
    pub profile: &'a Profile,
    pub watch: &'a dyn WatchedBoard,
}

impl<'a> BoardAt<'a> {
    /// Every board of some profiles, in their order.
    pub(super) fn all<W: WatchedBoard>(watched: &'a [Watched<W>]) -> Vec<BoardAt<'a>> {
        let of = |Watched { profile, boards, .. }: &'a Watched<W>| {
            boards.iter().map(move |watch| BoardAt { profile, watch })
        };
        watched.iter().flat_map(of).collect()
    }

    pub(super) fn board(&self) -> &'a BoundBoard {
        self.watch.bound()
    }

    /// As the profile writes it.
    pub(super) fn written(&self) -> Option<&'a Board> {
        self.profile.boards.iter().find(|written| written.name == self.board().name)
    }

    /// How a session of its registry ends, if the profile says so.
    pub(super) fn end(&self) -> Option<&'a Act> {
        self.profile.registry(self.written()?)?.end.as_ref()
    }
}

impl<W: WatchedBoard> Watched<W> {
    /// The profiles that fit, with their boards as `watch` makes them; it may leave one out.
    pub(super) fn all<E>(
        bound: Vec<BoundProfile>,
        remembered: &Remembered,
        mut watch: impl FnMut(BoundBoard) -> Result<Option<W>, E>,
    ) -> Result<Vec<Watched<W>>, E> {
        let mut all = Vec::new();
        for BoundProfile { profile, boards: bound, left_out } in bound {
            let mut boards = Vec::new();
            for mut board in bound {
                if let Some(registry) = &mut board.registry {
                    registry.remembered = remembered.clone();
                }
                boards.extend(watch(board)?);
            }
            let notices = left_out.iter().map(ToString::to_string).collect();
            all.push(Watched { profile, notices, boards });
        }
        Ok(all)
    }
}

/// The board with an identity and its profile, if its tables are still there.
pub(super) fn find<'a, W: WatchedBoard>(
    watched: &'a [Watched<W>],
    id: &BoardId,
) -> Option<(&'a Watched<W>, &'a W)> {
    let profile = watched.iter().find(|watched| watched.profile.name == id.profile())?;
    let board = profile.boards.iter().find(|watch| watch.bound().board_id == *id)?;
    Some((profile, board))
}

/// What surrounds a poll.
#[derive(Debug, Clone, Default)]
pub(super) struct PollContext {
    /// The database's clock minus ours.
    pub clock_offset: Span,
    /// How far behind its primary it is, if it is a standby.
    pub lag: Option<Span>,
    /// Tables whose rows may be hidden from us.
    pub veiled: Vec<String>,
    /// What else the operator should know.
    pub warnings: Vec<String>,
}

impl PollContext {
    /// Why rows may be hidden from us.
    pub(super) fn veiled(&self) -> Option<String> {
        (!self.veiled.is_empty()).then(|| self.veiled.join("; "))
    }

    /// What a poll that began at an instant has found, profile by profile.
    pub(super) fn snapshots<W: WatchedBoard>(
        &self,
        watched: &[Watched<W>],
        now: Moment,
        started: Instant,
    ) -> Vec<Snapshot> {
        let poll_cost = Span::micros(i64::try_from(started.elapsed().as_micros()).unwrap_or(i64::MAX));
        let snapshot = |watched: &Watched<W>| Snapshot {
            profile: watched.profile.name.clone(),
            generic: watched.profile.generic,
            now,
            clock_offset: self.clock_offset,
            poll_cost,
            boards: watched.boards.iter().map(|watch| watch.snapshot(now)).collect(),
            notices: watched.notices.iter().cloned().chain(self.notices()).collect(),
            replica: self.lag,
            veiled: self.veiled(),
        };
        watched.iter().map(snapshot).collect()
    }

    fn notices(&self) -> impl Iterator<Item = String> {
        let lag = self.lag.map(|lag| {
            format!("this is a standby, {lag} behind: claims are judged as of then, and nothing can be changed here")
        });
        lag.into_iter().chain(self.warnings.clone())
    }
}
