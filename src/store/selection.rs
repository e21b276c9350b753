//! The claims of a bulk act, as they were seen. A few are kept with their rows; of many only where each is and
//! a stamp of its state, so that a million of them take little room. They are looked at again in parts, and
//! what has another stamp then has moved.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::actor::Actor;
use super::found::RowRef;
use super::listed::worse_first;
use super::seen::{Place, Seen, Spot};
use super::{Filter, StoreError};
use crate::domain::recovery::Moved;
use crate::domain::snapshot::Judged;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;

/// Up to so many claims are kept with their rows, and so many are looked at again at once.
pub(super) const PART: usize = 10_000;
/// Rows that are looked at together where the claims are found first.
const PAGE: usize = 2_000;

/// The claims of a bulk act.
#[derive(Debug)]
pub struct Selection {
    pub(super) claims: SelectedClaims,
    /// A claim of each profile.
    samples: Vec<Seen>,
}

#[derive(Debug)]
pub(super) enum SelectedClaims {
    Whole(Vec<Seen>),
    Noted(Vec<Noted>),
}

/// A claim that is not kept with its rows.
#[derive(Debug, Clone)]
pub struct Noted {
    pub place: Place,
    pub spot: Option<Spot>,
    pub stamp: u64,
    rank: SelectionRank,
}

/// Sets in the order in which they were asked for, in each the most urgent and then the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SelectionRank(usize, u32, Set, i64);

/// What a claim that was noted is when it is looked at again.
pub(super) type LookedAgain = Result<Seen, Moved>;

impl Default for Selection {
    fn default() -> Selection {
        Selection { claims: SelectedClaims::Whole(Vec::new()), samples: Vec::new() }
    }
}

impl From<Vec<Seen>> for Selection {
    fn from(all: Vec<Seen>) -> Selection {
        let mut selection = Selection::default();
        all.iter().for_each(|seen| selection.sample(seen));
        Selection { claims: SelectedClaims::Whole(all), ..selection }
    }
}

impl Selection {
    pub fn len(&self) -> usize {
        match &self.claims {
            SelectedClaims::Whole(all) => all.len(),
            SelectedClaims::Noted(all) => all.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A claim of each profile whose claims are among them.
    pub fn samples(&self) -> &[Seen] {
        &self.samples
    }

    /// Adds a claim of these sets. Where it cannot be found again by its place, all stay whole.
    pub(super) fn push(&mut self, seen: Seen, sets: &[Set]) {
        self.sample(&seen);
        if let SelectedClaims::Whole(all) = &self.claims
            && all.len() >= PART
            && seen.can_be_noted()
        {
            self.claims = SelectedClaims::Noted(all.iter().map(|seen| Noted::of(seen, sets)).collect());
        }
        match &mut self.claims {
            SelectedClaims::Whole(all) => all.push(seen),
            SelectedClaims::Noted(all) => all.push(Noted::of(&seen, sets)),
        }
    }

    fn sample(&mut self, seen: &Seen) {
        let profile = seen.place.board.profile();
        if !self.samples.iter().any(|other| other.place.board.profile() == profile) {
            self.samples.push(seen.clone());
        }
    }

    /// Puts the claims of each board into their order. They were added board by board.
    pub(super) fn sort(&mut self, filter: &Filter) {
        match &mut self.claims {
            SelectedClaims::Whole(all) => {
                for board in all.chunk_by_mut(|one, other| one.place.board == other.place.board) {
                    board.sort_by(|one, other| {
                        let order = |seen: &Seen| (set_of(&seen.judged, &filter.sets), seen.urgency);
                        order(one).cmp(&order(other)).then_with(|| worse_first(&one.judged, &other.judged))
                    });
                }
            }
            SelectedClaims::Noted(all) => {
                for board in all.chunk_by_mut(|one, other| one.place.board == other.place.board) {
                    board.sort_by_key(|noted| noted.rank);
                }
            }
        }
    }

    /// Keeps the first so many.
    pub(super) fn truncate(&mut self, most: usize) {
        match &mut self.claims {
            SelectedClaims::Whole(all) => all.truncate(most),
            SelectedClaims::Noted(all) => all.truncate(most),
        }
    }

    /// The claims that are kept with their rows, and those that are not.
    pub fn into_parts(self) -> (Vec<Seen>, Vec<Noted>) {
        match self.claims {
            SelectedClaims::Whole(all) => (all, Vec::new()),
            SelectedClaims::Noted(all) => (Vec::new(), all),
        }
    }

    /// The claims, part by part, each as [`crate::store::Actor::look_again`] finds it.
    pub fn parts(self) -> Parts {
        let (whole, noted) = self.into_parts();
        Parts { whole, noted: noted.into_iter() }
    }

    /// The same with only some of its claims.
    pub fn of(whole: Vec<Seen>, noted: Vec<Noted>, samples: Vec<Seen>) -> Selection {
        let claims =
            if noted.is_empty() { SelectedClaims::Whole(whole) } else { SelectedClaims::Noted(noted) };
        Selection { claims, samples }
    }
}

/// What is still to be gone through.
#[derive(Debug)]
pub struct Parts {
    whole: Vec<Seen>,
    noted: std::vec::IntoIter<Noted>,
}

/// The next claims of a selection.
#[derive(Debug)]
pub enum Part {
    Whole(Vec<Seen>),
    Noted(Vec<Noted>),
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        if !self.whole.is_empty() {
            return Some(Part::Whole(std::mem::take(&mut self.whole)));
        }
        let next: Vec<Noted> = self.noted.by_ref().take(PART).collect();
        (!next.is_empty()).then_some(Part::Noted(next))
    }
}

impl Actor {
    /// The claims of a bulk act, noted as they are now.
    pub fn selection(&mut self, filter: &Filter) -> Result<Selection, StoreError> {
        if let Some(selection) = self.driver.reader_mut().select_all(filter)? {
            return Ok(selection);
        }
        let (found, mut selection) = (self.find_all(filter)?, Selection::default());
        let most = filter.limit.unwrap_or(usize::MAX);
        for part in found.parts(PAGE) {
            if selection.len() < most {
                let seen = self.look_at(&found, part)?.into_iter();
                seen.take(most - selection.len()).for_each(|seen| selection.push(seen, &filter.sets));
            }
        }
        Ok(selection)
    }

    /// Claims that are not kept with their rows, as they are now; an error is why one is not what it was.
    pub fn look_again(&mut self, all: &[Noted]) -> Result<Vec<LookedAgain>, StoreError> {
        self.look("looking at the claims again", |look| {
            let mut again = Vec::with_capacity(all.len());
            for noted in all.chunk_by(|one, other| one.place.board == other.place.board) {
                let Some(watch) = look.board(&noted[0].place.board) else {
                    again.extend(noted.iter().map(|_| Err(Moved::TablesChanged)));
                    continue;
                };
                let places: Vec<RowRef> = noted.iter().map(Noted::row).collect();
                let found = look.seen_among(watch, &places)?.into_iter();
                let mut found: HashMap<u64, Seen> = found.map(|seen| (seen.stamp(), seen)).collect();
                again.extend(noted.iter().map(|one| found.remove(&one.stamp).ok_or(Moved::SincePreview)));
            }
            Ok(again)
        })
    }
}

impl Noted {
    /// Where it was. On a server the place says enough: a stamp tells the partitions apart.
    fn row(&self) -> RowRef {
        match self.spot {
            Some(spot) => RowRef::Version { table: 0, spot },
            None => RowRef::Number(self.place.rowid),
        }
    }

    fn of(seen: &Seen, sets: &[Set]) -> Noted {
        let deadline = seen.judged.verdict.deadline.map_or(i64::MAX, Moment::micros);
        let set = set_of(&seen.judged, sets);
        let rank = SelectionRank(set, seen.urgency, seen.judged.verdict.headline(), deadline);
        Noted { place: seen.place.clone(), spot: seen.spot, stamp: seen.stamp(), rank }
    }
}

impl Seen {
    /// On a server a row is found again by where its version is.
    fn can_be_noted(&self) -> bool {
        self.version.is_none() || self.spot.is_some()
    }

    /// Stands for the state that it was judged by.
    pub(super) fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.judged.claim.key.address().hash(&mut hasher);
        self.version.hash(&mut hasher);
        // Equal values look equal, and no others do.
        format!("{:?}", self.row).hash(&mut hasher);
        if self.rests_on_session() {
            format!("{:?}", self.session).hash(&mut hasher);
        }
        hasher.finish()
    }
}

fn set_of(judged: &Judged, sets: &[Set]) -> usize {
    sets.iter().position(|set| judged.verdict.is_in(*set)).unwrap_or(sets.len())
}
