//! What entered and left the sets between two polls.

use std::collections::BTreeMap;

use super::row::{Row, RowId};
use crate::domain::change::Change;
use crate::domain::claim::Claim;
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::domain::visible::visible;

/// A line of the live log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    pub number: u64,
    pub at: Moment,
    pub source: usize,
    pub what: What,
    /// The claim, as it may be shown.
    pub shown: String,
    pub board: String,
    pub said: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Entered(Set),
    Acquired,
    Renewed,
    Finished,
    ChangedHands,
    Recovered,
    Link,
}

impl What {
    pub fn word(self) -> &'static str {
        match self {
            What::Entered(Set::Orphaned) => "orphaned",
            What::Entered(Set::Stale) => "expired",
            What::Entered(Set::Unknown) => "unknown",
            What::Entered(Set::Expiring) => "expiring",
            What::Entered(Set::Healthy) => "healthy",
            What::Acquired => "acquired",
            What::Renewed => "renewed",
            What::Finished => "finished",
            What::ChangedHands => "changed hands",
            What::Recovered => "recovered",
            What::Link => "link",
        }
    }
}

/// The claims that got worse, and those that are no longer among the rows.
pub fn compare(before: &[Row], after: &[Row]) -> (Vec<(Row, Set)>, Vec<Row>) {
    let known: BTreeMap<&RowId, Set> = before.iter().map(|row| (&row.id, row.headline())).collect();
    let worse = |row: &&Row| known.get(&row.id).is_none_or(|was| row.headline() < *was);
    let entered = after.iter().filter(worse).map(|row| (row.clone(), row.headline())).collect();
    let there: std::collections::BTreeSet<&RowId> = after.iter().map(|row| &row.id).collect();
    let left = before.iter().filter(|row| !there.contains(&row.id)).cloned().collect();
    (entered, left)
}

/// On boards that are read whole: claims that are new, gone, or in other hands. Those that were in
/// one of the sets are told of by [`left`].
pub fn compare_whole(before: &[Row], after: &[Row], troubled: &[Row]) -> Vec<(Row, What, String)> {
    let known: BTreeMap<&RowId, &Row> = before.iter().map(|row| (&row.id, row)).collect();
    let there: BTreeMap<&RowId, &Row> = after.iter().map(|row| (&row.id, row)).collect();
    let told = |id: &RowId| troubled.iter().any(|row| row.id == *id);
    let mut all = Vec::new();
    for (id, row) in &there {
        match known.get(id) {
            None => all.push(((*row).clone(), What::Acquired, format!("by {}", row.holder()))),
            Some(was) if was.claim().holder != row.claim().holder && !told(id) => {
                let said = format!("{} → {}", was.holder(), row.holder());
                all.push(((*row).clone(), What::ChangedHands, said));
            }
            Some(_) => {}
        }
    }
    for (id, row) in known {
        if !there.contains_key(id) && !told(id) {
            let said = format!("{} no longer has it: finished or released", row.holder());
            all.push((row.clone(), What::Finished, said));
        }
    }
    all
}

/// What to say of a claim that left its set; nothing, if it is only beyond the rows that were
/// fetched.
pub fn left(row: &Row, is: Option<&Claim>, now: Moment) -> Option<(What, String)> {
    let change = Change::between(row.claim(), is);
    let what = match &change {
        Change::Finished => What::Finished,
        Change::TakenBy(_) | Change::ClaimedAgain => What::ChangedHands,
        Change::Renewed => What::Renewed,
        Change::Kind | Change::Other => return None,
    };
    let said = match &change {
        Change::Finished => format!("{} no longer has it: finished or released", row.holder()),
        Change::TakenBy(by) => format!("{} → {}", row.holder(), visible(by)),
        other => other.sentence(is, now),
    };
    Some((what, said))
}
