//! The worst claims of a board, read at one poll and judged at another.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::snapshot::{Judged, Nature};
use super::time::Moment;
use super::verdict::judge;

/// The worst claims of a board, worst first.
///
/// A poll that found nothing written has the rows of an earlier one. They are judged by its clock when somebody looks
/// at them, so that such a poll costs nothing for each row.
#[derive(Debug, Clone, Default)]
pub struct WorstClaims {
    read: Arc<[Judged]>,
    /// The rules and the clock of a later poll.
    later: Option<(Arc<Nature>, Moment)>,
    judged: OnceLock<Vec<Judged>>,
}

impl WorstClaims {
    /// The same rows under a later clock.
    pub fn at(&self, nature: &Arc<Nature>, now: Moment) -> WorstClaims {
        let later = Some((Arc::clone(nature), now));
        WorstClaims { read: Arc::clone(&self.read), later, judged: OnceLock::new() }
    }
}

impl Deref for WorstClaims {
    type Target = [Judged];

    fn deref(&self) -> &[Judged] {
        let Some((nature, now)) = &self.later else { return &self.read };
        self.judged.get_or_init(|| {
            let again = |one: &Judged| {
                let verdict = judge(&one.claim, &nature.rules, *now);
                Judged { verdict, ..one.clone() }
            };
            self.read.iter().map(again).collect()
        })
    }
}

impl From<Vec<Judged>> for WorstClaims {
    fn from(claims: Vec<Judged>) -> WorstClaims {
        claims.into_iter().collect()
    }
}

impl FromIterator<Judged> for WorstClaims {
    fn from_iter<I: IntoIterator<Item = Judged>>(claims: I) -> WorstClaims {
        WorstClaims { read: claims.into_iter().collect(), ..WorstClaims::default() }
    }
}
