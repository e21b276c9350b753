//! Poison tasks: tasks that were swept too often. Their workers die, so sweeping them again does not help.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::path::Path;

use crate::domain::time::{Moment, Span};
use crate::recovery::audited_actor::RecoveryError;
use crate::recovery::trail::{Record, RecordStage, Trail};
use crate::store::Actor;
use crate::store::act::SWEEPER;

const DAY: Span = Span::minutes(24 * 60);

/// How often a sweep has taken each claim of a source within the last day, by hashes of addresses and acts: a few
/// bytes each.
#[derive(Debug, Default)]
pub(super) struct RecentSweeps {
    state: RandomState,
    acts: HashSet<(u64, u64)>,
    times: HashMap<u64, usize>,
}

impl RecentSweeps {
    /// Counts acts in the trail and in the table `claimtop_audit` where the database has it: the table survives a
    /// change of the state directory, and is copied along with the file.
    pub(super) fn read(trail: &Path, actor: &mut Actor, now: Moment) -> Result<RecentSweeps, RecoveryError> {
        let mut taken = RecentSweeps::default();
        let (since, fingerprint) = (now.minus(DAY), actor.fingerprint());
        let counts = |record: &Record| {
            record.stage == RecordStage::Outcome
                && record.by == SWEEPER
                && record.action == "reclaim"
                && record.outcome.as_deref() == Some("applied")
                && record.fingerprint == fingerprint
                && Moment::parse(&record.at).is_some_and(|at| at >= since)
        };
        // One day more, because clocks may be set back; older records need not be read.
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

    /// An act that is in both records counts once.
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
