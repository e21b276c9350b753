//! The facts and causes of one source from poll to poll. They are gathered again only when they may have changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::domain::cause::{Cause, Facts, find};
use crate::domain::snapshot::Snapshot;
use crate::store::{Reader, StoreError};

use super::unless_lost;

/// With fewer claims in trouble, no cause is sought.
pub(super) const FEWEST: u64 = 5;
/// Facts are gathered again after this long even if nothing was written: holders fall silent without writing.
const OLDEST: Duration = Duration::from_secs(5);
/// Gathering takes at most this fraction of the time (one in twenty).
const SHARE: u32 = 20;
/// While nothing is written and no claim changes its set, at most this fraction: watching must stay cheap.
const QUIET_SHARE: u32 = 200;

#[derive(Debug)]
pub struct FactsWatch {
    label: String,
    /// Facts are gathered from this many claims in trouble on.
    fewest: u64,
    gathered: Option<GatheredFacts>,
}

#[derive(Debug)]
struct GatheredFacts {
    at: Instant,
    cost: Duration,
    /// The version of the data and the claims in trouble at that time.
    version: Option<i64>,
    troubled: (u64, u64),
    facts: Arc<Facts>,
    causes: Vec<Cause>,
}

impl FactsWatch {
    pub fn new(label: &str) -> FactsWatch {
        FactsWatch { label: label.into(), fewest: FEWEST, gathered: None }
    }

    /// Gathers facts as soon as any claim is in trouble, for a view of groups.
    pub fn gather_always(&mut self) {
        self.fewest = 1;
    }

    /// Updates the facts after a poll.
    pub fn refresh(&mut self, reader: &mut Reader, snapshots: &[Snapshot]) -> Result<(), StoreError> {
        let troubled = snapshots
            .iter()
            .map(Snapshot::counts)
            .fold((0, 0), |sum, counts| (sum.0 + counts.stale, sum.1 + counts.orphaned));
        if troubled.0 + troubled.1 < self.fewest {
            self.gathered = None;
            return Ok(());
        }
        let version = reader.data_version();
        if self.gathered.as_ref().is_some_and(|last| last.is_good_for(version, troubled)) {
            return Ok(());
        }
        let started = Instant::now();
        // If facts cannot be gathered, the poll is still valid.
        self.gathered = unless_lost(reader.facts(&self.label))?.map(|facts| GatheredFacts {
            causes: find(&facts),
            facts: Arc::new(facts),
            at: Instant::now(),
            cost: started.elapsed(),
            version,
            troubled,
        });
        Ok(())
    }

    pub fn forget(&mut self) {
        self.gathered = None;
    }

    /// The facts of the last poll, if enough claims were in trouble.
    pub fn facts(&self) -> Option<Arc<Facts>> {
        self.gathered.as_ref().map(|gathered| Arc::clone(&gathered.facts))
    }

    /// The causes found in the facts.
    pub fn causes(&self) -> &[Cause] {
        self.gathered.as_ref().map_or(&[], |gathered| &gathered.causes)
    }
}

impl GatheredFacts {
    fn is_good_for(&self, version: Option<i64>, troubled: (u64, u64)) -> bool {
        let is_same = version.is_some() && self.version == version && self.troubled == troubled;
        let pause = if is_same { OLDEST.max(self.cost * QUIET_SHARE) } else { self.cost * SHARE };
        self.at.elapsed() < pause
    }
}
