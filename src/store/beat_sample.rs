//! How often the claims of a source usually beat, by one look at some of them.

use super::{Reader, StoreError};
use crate::domain::beat_intervals::BeatIntervals;
use crate::domain::claim::Claim;
use crate::domain::detail::{Cursor, PageRequest};
use crate::domain::verdict::Set;

/// So many claims are read from each end of a board.
const SAMPLE: usize = 250;

impl Reader {
    /// Estimates the usual intervals from the healthy claims at both ends of every board.
    pub fn beat_intervals(&mut self) -> Result<BeatIntervals, StoreError> {
        let mut known = BeatIntervals::default();
        for board in self.engine.board_ids() {
            let mut claims: Vec<Claim> = Vec::new();
            let mut now = None;
            for from in [Cursor::First, Cursor::Last] {
                let (profile, name) = (board.profile().to_owned(), board.board().to_owned());
                let page = self.page(&PageRequest {
                    profile,
                    board: name,
                    from,
                    conditions: Vec::new(),
                    rows: SAMPLE,
                })?;
                now = Some(page.now);
                let healthy =
                    page.claims.into_iter().filter(|judged| judged.verdict.headline() == Set::Healthy);
                claims.extend(healthy.map(|judged| judged.claim));
                if page.is_last {
                    break;
                }
            }
            if let Some(now) = now {
                known.estimate(claims.iter().map(|claim| (&board, claim)), now);
            }
        }
        Ok(known)
    }
}
