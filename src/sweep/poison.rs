//! Tasks that were taken too often: whoever claims them dies, so taking them again helps nobody.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::path::Path;

use crate::domain::time::{Moment, Span};
use crate::recovery::audited_actor::RecoveryError;
use crate::recovery::trail::{Record, Stage, Trail};
use crate::store::Actor;
use crate::store::act::SWEEPER;

const DAY: Span = Span::minutes(24 * 60);

/// How often a sweep has taken each claim of a source within the last day, by hashes of addresses and acts: a
/// few bytes for each.
#[derive(Debug, Default)]
pub(super) struct Taken {
    state: RandomState,
    acts: HashSet<(u64, u64)>,
    times: HashMap<u64, usize>,
}

impl Taken {
    /// Counts by the trail, and by the table `claimtop_audit` where the database has it: that one stays when the
    /// state directory changes, and goes along when the file is copied.
    pub(super) fn read(trail: &Path, actor: &mut Actor, now: Moment) -> Result<Taken, RecoveryError> {
        let mut taken = Taken::default();
        let (since, fingerprint) = (now.minus(DAY), actor.fingerprint());
        let counts = |record: &Record| {
            record.stage == Stage::Outcome
                && record.by == SWEEPER
                && record.action == "reclaim"
                && record.outcome.as_deref() == Some("applied")
                && record.fingerprint == fingerprint
                && Moment::parse(&record.at).is_some_and(|at| at >= since)
        };
        // A day more, because clocks are set back; the years before that need not be read.
        let over = since.minus(DAY);
        Trail::read_only(trail)?.each_entry_back(|entry| {
            if Moment::parse(&entry.record.at).is_some_and(|at| at < over) {
                return ControlFlow::Break(());
            }
            if counts(&entry.record) {
                taken.add(&entry.record.address, &entry.record.action_id);
            }
            ControlFlow::Continue(())
        })?;
        actor.each_swept_since(since, &mut |id, address| taken.add(address, id))?;
        Ok(taken)
    }

    /// An act that both records tell of counts once.
    fn add(&mut self, address: &str, action_id: &str) {
        let claim = self.state.hash_one(address);
        if self.acts.insert((claim, self.state.hash_one(action_id))) {
            *self.times.entry(claim).or_default() += 1;
        }
    }

    pub(super) fn times(&self, address: &str) -> usize {
        self.times.get(&self.state.hash_one(address)).copied().unwrap_or(0)
    }
}
