//! Which claims a listing shows.

use super::StoreError;
use super::look::ReadEngine;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::Judged;
use crate::domain::verdict::{Reasons, Set};

#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Any of these sets; empty, all.
    pub sets: Vec<Set>,
    /// Any of these reasons; none, all.
    pub reasons: Reasons,
    pub board: Option<String>,
    pub holder: Option<String>,
    pub kind: Option<String>,
    pub limit: Option<usize>,
}

impl Filter {
    pub fn takes_board(&self, board: &str) -> bool {
        self.board.as_deref().is_none_or(|wanted| wanted == board)
    }

    /// What to look for, one after the other: each set, or all that have one of the reasons.
    pub fn wanted(&self) -> Vec<Reasons> {
        if self.sets.is_empty() {
            return vec![self.reasons];
        }
        self.sets.iter().map(|set| Reasons::of(*set)).collect()
    }

    pub fn takes(&self, judged: &Judged) -> bool {
        let claim = &judged.claim;
        (self.sets.is_empty() || self.sets.iter().any(|set| judged.verdict.is_in(*set)))
            && (self.reasons.is_empty() || self.reasons.meet(judged.verdict.reasons))
            && self.holder.as_ref().is_none_or(|wanted| claim.holder.as_ref() == Some(wanted))
            && self.kind.as_ref().is_none_or(|wanted| claim.kind.as_ref() == Some(wanted))
    }
}

/// An error that names the boards of a source, unless `wanted` is one of them.
pub fn expect_board(engine: &dyn ReadEngine, wanted: Option<&str>) -> Result<(), StoreError> {
    let Some(wanted) = wanted else { return Ok(()) };
    let ids = engine.board_ids();
    let boards: Vec<&str> = ids.iter().map(BoardId::board).collect();
    if boards.contains(&wanted) {
        return Ok(());
    }
    let (path, boards) = (engine.label().into(), boards.join(", "));
    Err(StoreError::NoBoard { path, wanted: wanted.into(), boards })
}
