//! Claims in trouble that somebody freed between two polls.

use std::collections::BTreeMap;

use super::source_watch::read_again;
use crate::domain::board_id::BoardId;
use crate::domain::change::ClaimChange;
use crate::domain::snapshot::{Judged, Snapshot};
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::events::{ObservedClaim, Reread};
use crate::store::{Reader, StoreError};

/// Claims that are read again after one poll; beyond it the count is a lower bound.
const MOST: usize = 200;

/// The stale and orphaned claims of the last poll.
#[derive(Debug, Default)]
pub struct CleanupObserver {
    /// The fingerprint of the database that they are in.
    database: String,
    troubled: BTreeMap<BoardId, BTreeMap<String, Judged>>,
}

impl CleanupObserver {
    /// How many claims of each board were freed since the last poll, as far as the worst rows show it.
    pub fn observe(
        &mut self,
        reader: &mut Reader,
        snapshots: &[Snapshot],
    ) -> Result<BTreeMap<BoardId, u64>, StoreError> {
        let (database, now) = (reader.fingerprint(), troubled(snapshots));
        let before = std::mem::replace(&mut self.troubled, now);
        // Claims of another database say nothing about this one.
        if std::mem::replace(&mut self.database, database.clone()) != database {
            return Ok(BTreeMap::new());
        }
        let mut counts = BTreeMap::new();
        let Some(now) = snapshots.first().map(|snapshot| snapshot.now) else { return Ok(counts) };
        let mut left = MOST;
        for (board, claims) in &before {
            let Some(still) = self.troubled.get(board) else { continue };
            for (address, judged) in claims.iter().filter(|(address, _)| !still.contains_key(*address)) {
                if left == 0 {
                    return Ok(counts);
                }
                left -= 1;
                let (profile, name) = (board.profile(), board.board());
                let claim = ObservedClaim { profile, board: name, address, judged };
                if is_freed(reader, &claim, now)? {
                    *counts.entry(board.clone()).or_default() += 1;
                }
            }
        }
        Ok(counts)
    }
}

/// The stale and orphaned claims among the rows of a poll. A board without any is in it, too: its claims may all be
/// free now.
fn troubled(snapshots: &[Snapshot]) -> BTreeMap<BoardId, BTreeMap<String, Judged>> {
    let is_troubled = |one: &&Judged| matches!(one.verdict.headline(), Set::Stale | Set::Orphaned);
    let boards = snapshots.iter().flat_map(|snapshot| {
        snapshot.boards.iter().map(|board| {
            let claims = board.worst.iter().filter(is_troubled);
            let claims = claims.map(|one| (one.claim.key.address(), one.clone())).collect();
            (BoardId::new(&snapshot.profile, &board.board), claims)
        })
    });
    boards.collect()
}

/// Whether the former holder lost the claim. A claim that is only renewed is still its own.
fn is_freed(reader: &mut Reader, claim: &ObservedClaim<'_>, now: Moment) -> Result<bool, StoreError> {
    let was = claim.judged;
    Ok(match read_again(reader, claim)? {
        Reread::Gone | Reread::Released { .. } => true,
        Reread::Unknown => false,
        // The same holder with a later time has renewed it.
        Reread::Is(is) => matches!(ClaimChange::between(&was.claim, &is.claim, now), ClaimChange::TakenBy(_)),
    })
}
