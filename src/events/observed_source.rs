//! What one poll showed of each board.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::board_id::BoardId;
use crate::domain::detail::Whole;
use crate::domain::snapshot::{BoardSnapshot, Judged, Nature, Snapshot};
use crate::domain::time::Moment;
use crate::domain::value::percent;
use crate::domain::verdict::judge;

/// One poll of one source.
#[derive(Debug, Clone, Default)]
pub struct ObservedSource {
    /// The fingerprint of the database.
    pub(super) database: String,
    pub(super) boards: BTreeMap<BoardId, ObservedBoard>,
}

/// How much of a board a poll showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// Every claim.
    Whole,
    /// Every claim in one of the sets.
    Troubled,
    /// The worst of them.
    Worst,
}

impl Coverage {
    /// Of a poll and, if the board is small enough, of all its claims.
    pub fn of(board: &BoardSnapshot, whole: Option<&Whole>) -> Coverage {
        let troubled = board.counts.total.saturating_sub(board.counts.healthy);
        match whole {
            Some(_) => Coverage::Whole,
            None if (board.worst.len() as u64) < troubled => Coverage::Worst,
            None => Coverage::Troubled,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Coverage::Whole => "whole",
            Coverage::Troubled => "troubled",
            Coverage::Worst => "worst",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct ObservedBoard {
    pub now: Moment,
    pub nature: Arc<Nature>,
    pub extent: Coverage,
    /// By address.
    pub claims: BTreeMap<String, Judged>,
}

impl ObservedSource {
    /// Built from a poll of a database, and from the boards that are small enough to be read in full.
    pub fn of(database: &str, snapshots: &[Snapshot], whole: &[Whole]) -> ObservedSource {
        let mut boards = BTreeMap::new();
        for snapshot in snapshots {
            for board in &snapshot.boards {
                let all =
                    whole.iter().find(|one| one.profile == snapshot.profile && one.board == board.board);
                let id = BoardId::new(&snapshot.profile, &board.board);
                boards.insert(id, ObservedBoard::of(snapshot, board, all));
            }
        }
        ObservedSource { database: database.into(), boards }
    }
}

impl ObservedBoard {
    fn of(snapshot: &Snapshot, board: &BoardSnapshot, whole: Option<&Whole>) -> ObservedBoard {
        let claims: &[Judged] = whole.map_or(&board.worst, |whole| &whole.claims);
        let place = format!("{}/{}", percent(&snapshot.profile), percent(&board.board));
        // Rows that did not change were read earlier; judge them again with the current time.
        let judged = |one: &Judged| {
            let verdict = judge(&one.claim, &board.nature.rules, snapshot.now);
            (format!("{place}/{}", one.claim.key.address()), Judged { verdict, ..one.clone() })
        };
        ObservedBoard {
            now: snapshot.now,
            nature: Arc::clone(&board.nature),
            extent: Coverage::of(board, whole),
            claims: claims.iter().map(judged).collect(),
        }
    }
}
