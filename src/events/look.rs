//! What one look showed of each board.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::board_id::BoardId;
use crate::domain::detail::Whole;
use crate::domain::snapshot::{BoardSnapshot, Judged, Nature, Snapshot};
use crate::domain::time::Moment;
use crate::domain::value::percent;
use crate::domain::verdict::judge;

/// One look at one source.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// The fingerprint of the database.
    pub(super) database: String,
    pub(super) boards: BTreeMap<BoardId, Board>,
}

/// How much of a board a look showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every claim.
    Whole,
    /// Every claim in one of the sets.
    Troubled,
    /// The worst of them.
    Worst,
}

#[derive(Debug, Clone)]
pub(super) struct Board {
    pub now: Moment,
    pub nature: Arc<Nature>,
    pub extent: Extent,
    /// By address.
    pub claims: BTreeMap<String, Judged>,
}

impl Look {
    /// What a poll of a database showed, and what was read of the boards that are small enough to be read whole.
    pub fn of(database: &str, snapshots: &[Snapshot], whole: &[Whole]) -> Look {
        let mut boards = BTreeMap::new();
        for snapshot in snapshots {
            for board in &snapshot.boards {
                let all =
                    whole.iter().find(|one| one.profile == snapshot.profile && one.board == board.board);
                let id = BoardId::new(&snapshot.profile, &board.board);
                boards.insert(id, Board::of(snapshot, board, all));
            }
        }
        Look { database: database.into(), boards }
    }
}

impl Board {
    fn of(snapshot: &Snapshot, board: &BoardSnapshot, whole: Option<&Whole>) -> Board {
        let claims = whole.map_or(&board.worst, |whole| &whole.claims);
        let troubled = board.counts.total.saturating_sub(board.counts.healthy);
        let extent = match whole {
            Some(_) => Extent::Whole,
            None if (board.worst.len() as u64) < troubled => Extent::Worst,
            None => Extent::Troubled,
        };
        let place = format!("{}/{}", percent(&snapshot.profile), percent(&board.board));
        // Rows in which nothing was written were read earlier; the clock has gone on since.
        let judged = |one: &Judged| {
            let verdict = judge(&one.claim, &board.nature.rules, snapshot.now);
            (format!("{place}/{}", one.claim.key.address()), Judged { verdict, ..one.clone() })
        };
        Board {
            now: snapshot.now,
            nature: Arc::clone(&board.nature),
            extent,
            claims: claims.iter().map(judged).collect(),
        }
    }
}
