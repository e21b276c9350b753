//! The claims of a preview, one by one: what is foreseen of each, and why.

use crate::domain::tally::Foreseen;

/// How many claims are listed of those that will be done, of those that need a name, and of those that are skipped.
pub const LISTED: usize = 10_000;

/// A claim in a preview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedClaim {
    pub address: String,
    /// Why it is in trouble, or why it is not done.
    pub why: String,
}

/// The claims of a preview. Beyond [`LISTED`] they are counted only.
#[derive(Debug, Default)]
pub struct Listing {
    done: Vec<ListedClaim>,
    needs_name: Vec<ListedClaim>,
    skipped: Vec<ListedClaim>,
}

impl Listing {
    /// Adds a claim; `claim` returns its address and why this is foreseen.
    pub(super) fn add(&mut self, foreseen: Foreseen, claim: impl FnOnce() -> (String, String)) {
        let list = match foreseen {
            Foreseen::Done => &mut self.done,
            Foreseen::NeedsName => &mut self.needs_name,
            Foreseen::Skipped => &mut self.skipped,
        };
        if list.len() < LISTED {
            let (address, why) = claim();
            list.push(ListedClaim { address, why });
        }
    }

    /// The first of the claims of which this is foreseen.
    pub fn of(&self, foreseen: Foreseen) -> &[ListedClaim] {
        match foreseen {
            Foreseen::Done => &self.done,
            Foreseen::NeedsName => &self.needs_name,
            Foreseen::Skipped => &self.skipped,
        }
    }
}

/// What is foreseen of the claims of one holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HolderTally {
    pub done: usize,
    pub needs_name: usize,
    pub skipped: usize,
}

impl HolderTally {
    pub(super) fn add(&mut self, foreseen: Foreseen) {
        *match foreseen {
            Foreseen::Done => &mut self.done,
            Foreseen::NeedsName => &mut self.needs_name,
            Foreseen::Skipped => &mut self.skipped,
        } += 1;
    }
}
