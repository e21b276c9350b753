//! The claims that were stale or orphaned, and what became of each.

use std::collections::{BTreeSet, HashMap};

use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::events::{Event, EventKind};
use crate::recording::RecordedEvent;
use crate::report::document::{Block, Text};

/// How many claims are listed.
const MOST: usize = 100;

#[derive(Debug)]
struct AffectedClaim {
    at: Moment,
    source: String,
    address: String,
    holder: Option<String>,
    why: String,
    ended: Option<(Moment, String)>,
}

/// In the order in which they got into trouble.
#[derive(Debug, Default)]
pub(super) struct AffectedClaims {
    claims: Vec<AffectedClaim>,
    by_address: HashMap<(String, String), usize>,
    /// Of these only the number is known.
    unnamed: usize,
    holders: BTreeSet<String>,
}

impl AffectedClaims {
    pub(super) fn of(events: &[RecordedEvent]) -> AffectedClaims {
        let mut affected = AffectedClaims::default();
        events.iter().for_each(|recorded| affected.add(recorded));
        affected
    }

    fn add(&mut self, recorded: &RecordedEvent) {
        let kind = recorded.event.kind();
        if let (Event::Batch { count, .. }, EventKind::Entered(Set::Orphaned | Set::Stale)) =
            (&recorded.event, kind)
        {
            self.unnamed += count;
        }
        let Some((_, holder, about)) = recorded.event.claim() else { return };
        let known = (about.source.clone(), about.address.clone());
        match kind {
            EventKind::Entered(Set::Orphaned | Set::Stale) => {
                self.holders.extend(holder.map(str::to_owned));
                if !self.by_address.contains_key(&known) {
                    self.by_address.insert(known, self.claims.len());
                    self.claims.push(AffectedClaim {
                        at: recorded.at,
                        source: about.source.clone(),
                        address: about.address.clone(),
                        holder: holder.map(str::to_owned),
                        why: about.why.clone(),
                        ended: None,
                    });
                }
            }
            EventKind::ChangedHands
            | EventKind::Retried
            | EventKind::Renewed
            | EventKind::Finished
            | EventKind::Left
            | EventKind::Recovered => {
                let claim = self.by_address.get(&known).and_then(|at| self.claims.get_mut(*at));
                if let Some(claim) = claim.filter(|claim| claim.ended.is_none()) {
                    claim.ended = Some((recorded.at, kind.word().to_owned()));
                }
            }
            _ => {}
        }
    }

    pub(super) fn count(&self) -> usize {
        self.claims.len() + self.unnamed
    }

    pub(super) fn holders(&self) -> usize {
        self.holders.len()
    }

    pub(super) fn blocks(&self) -> Vec<Block> {
        if self.count() == 0 {
            return vec![Block::Paragraph("None.".into())];
        }
        let rows = self.claims.iter().take(MOST).map(|claim| {
            let ended = claim.ended.as_ref().map_or_else(
                || "still in trouble at the end".into(),
                |(at, how)| format!("{how} after {}", at.since(claim.at)),
            );
            vec![
                Text::plain(super::second(claim.at)),
                Text::code(&claim.source),
                Text::code(&claim.address),
                claim.holder.as_ref().map_or_else(|| Text::plain("-"), Text::code),
                Text::plain(&claim.why),
                Text::plain(ended),
            ]
        });
        let headings = vec!["Time", "Source", "Claim", "Holder", "Why", "Then"];
        let mut blocks = vec![Block::Table { headings, rows: rows.collect() }];
        let more = self.count().saturating_sub(MOST.min(self.claims.len()));
        if more > 0 {
            blocks.push(Block::Paragraph(format!("and {more} more")));
        }
        blocks
    }
}
