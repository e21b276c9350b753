//! Tasks that were taken too often: whoever claims them dies, so taking them again helps nobody.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use crate::domain::time::{Moment, Span};
use crate::recovery::trail::{Record, Stage, Trail, TrailError};

const DAY: Span = Span::minutes(24 * 60);

/// How often a sweeper has taken each claim of a source within the last day, by the trail.
pub(super) fn taken(
    trail: &Path,
    fingerprint: &str,
    now: Moment,
) -> Result<HashMap<String, usize>, TrailError> {
    let since = now.minus(DAY);
    let counts = |record: &Record| {
        record.stage == Stage::Outcome
            && record.by == "sweeper"
            && record.action == "reclaim"
            && record.outcome.as_deref() == Some("applied")
            && record.fingerprint == fingerprint
            && Moment::parse(&record.at).is_some_and(|at| at >= since)
    };
    let mut taken = HashMap::new();
    // A day more, because clocks are set back; the years before that need not be read.
    let over = since.minus(DAY);
    Trail::read_only(trail)?.each_entry_back(|entry| {
        if Moment::parse(&entry.record.at).is_some_and(|at| at < over) {
            return ControlFlow::Break(());
        }
        if counts(&entry.record) {
            *taken.entry(entry.record.address).or_default() += 1;
        }
        ControlFlow::Continue(())
    })?;
    Ok(taken)
}
