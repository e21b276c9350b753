//! The result of one poll, reduced to numbers: without rows, ids and holders.

use super::catalog::*;
use super::kind_names::KindNames;
use super::samples::MetricSamples;
use crate::domain::detail::{KindTally, Kinds};
use crate::domain::snapshot::{BoardSnapshot, Snapshot};
use crate::domain::time::{Moment, Span};
use crate::domain::verdict::{Reason, Set};
use crate::domain::worst_claims::WorstClaims;

/// The figures of one poll.
#[derive(Debug)]
pub(super) struct PollFigures {
    snapshots: Vec<Snapshot>,
    /// The worst stale claim of every board, in the order of the snapshots and their boards.
    oldest: Vec<Option<Span>>,
}

impl PollFigures {
    pub(super) fn of(mut snapshots: Vec<Snapshot>) -> PollFigures {
        let mut oldest = Vec::new();
        for snapshot in &mut snapshots {
            let now = snapshot.now;
            for board in &mut snapshot.boards {
                oldest.push(oldest_stale(board, now));
                board.worst = WorstClaims::default();
            }
        }
        PollFigures { snapshots, oldest }
    }

    pub(super) fn fill(&self, samples: &mut MetricSamples, source: &str) {
        let mut oldest = self.oldest.iter();
        for snapshot in &self.snapshots {
            samples.set(&LAST_POLL, &[source], snapshot.poll_cost.as_seconds_f64());
            samples.set(&CLOCK, &[source], snapshot.clock_offset.as_seconds_f64());
            for board in &snapshot.boards {
                let labels = [source, &snapshot.profile, &board.board];
                fill_board(samples, &labels, board, snapshot.now);
                let oldest = oldest.next().copied().flatten();
                samples.set(&OLDEST_STALE, &labels, oldest.map_or(0.0, Span::as_seconds_f64));
            }
            if let Some(sessions) = snapshot.sessions() {
                let unknown = sessions.total.saturating_sub(sessions.alive + sessions.stale);
                for (state, count) in
                    [("alive", sessions.alive), ("stale", sessions.stale), ("unknown", unknown)]
                {
                    samples.set(&SESSIONS, &[source, &snapshot.profile, state], count as f64);
                }
            }
        }
    }

    /// The boards, by profile and name.
    pub(super) fn boards(&self) -> impl Iterator<Item = (&str, &str)> {
        self.snapshots.iter().flat_map(|snapshot| {
            snapshot.boards.iter().map(|board| (snapshot.profile.as_str(), board.board.as_str()))
        })
    }
}

fn oldest_stale(board: &BoardSnapshot, now: Moment) -> Option<Span> {
    let stale = board.worst.iter().filter(|judged| judged.verdict.is_in(Set::Stale));
    let overdue = stale.filter_map(|judged| {
        let passed = judged.verdict.deadline.filter(|deadline| *deadline < now);
        // A claim that is stale only because of silence has its deadline ahead.
        Some(now.since(passed.or_else(|| judged.claim.sign_of_life())?))
    });
    overdue.max()
}

fn fill_board(samples: &mut MetricSamples, labels: &[&str; 3], board: &BoardSnapshot, now: Moment) {
    let [source, profile, name] = *labels;
    samples.set(&HELD, labels, board.counts.total as f64);
    samples.set(&RUNAWAY, labels, board.counts.runaway as f64);
    samples.set(&EXACT, labels, f64::from(u8::from(board.gaps.is_exact())));
    for set in Set::ALL {
        samples.set(&CLAIMS, &[source, profile, name, set.as_str()], board.counts.of(set) as f64);
    }
    for reason in Reason::ALL {
        let count = board.reasons.get(&reason).copied().unwrap_or(0);
        samples.set(&REASONS, &[source, profile, name, reason.as_str()], count as f64);
    }
    for (state, count) in &board.backlog {
        samples.set(&BACKLOG, &[source, profile, name, state], *count as f64);
    }
    if !board.backlog.is_empty() {
        let waited = board.oldest_queued.map_or(0.0, |oldest| now.since(oldest).as_seconds_f64());
        samples.set(&OLDEST_QUEUED, labels, waited.max(0.0));
    }
}

/// Adds samples for the kinds, with how long the oldest job of each has waited at `now`.
pub(super) fn fill_kinds(
    samples: &mut MetricSamples,
    source: &str,
    all: &[Kinds],
    names: &mut KindNames,
    now: Option<Moment>,
) {
    for board in all {
        let labels = [source, &board.profile, &board.board];
        let exhausted: u64 = board.kinds.iter().map(|tally| tally.exhausted).sum();
        samples.set(&EXHAUSTED, &labels, exhausted as f64);
        samples.set(&KINDS_EXACT, &labels, f64::from(u8::from(!board.at_least)));
        for (kind, tally) in merged(board, names) {
            let [source, profile, name] = labels;
            let KindTally {
                running, stale, orphaned, exhausted, queued, dead, oldest_queued, reclaimed, ..
            } = tally;
            for (state, count) in
                [("running", running), ("stale", stale), ("orphaned", orphaned), ("exhausted", exhausted)]
            {
                samples.set(&KIND_CLAIMS, &[source, profile, name, kind, state], count as f64);
            }
            for (state, count) in [("queued", queued), ("dead", dead)] {
                samples.set(&KIND_BACKLOG, &[source, profile, name, kind, state], count as f64);
            }
            if let Some(reclaimed) = reclaimed {
                samples.set(&KIND_RECLAIMED, &[source, profile, name, kind], reclaimed as f64);
            }
            if let (Some(oldest), Some(now)) = (oldest_queued, now) {
                let waited = now.since(oldest).as_seconds_f64().max(0.0);
                samples.set(&KIND_QUEUED, &[source, profile, name, kind], waited);
            }
        }
    }
}

/// The tallies by label: kinds that share a label are added up.
fn merged<'a>(board: &'a Kinds, names: &mut KindNames) -> Vec<(&'a str, KindTally)> {
    let place = format!("{} {}", board.profile, board.board);
    let mut all: Vec<(&str, KindTally)> = Vec::new();
    for tally in &board.kinds {
        let label = names.label(&place, tally.kind.as_deref());
        match all.iter_mut().find(|(known, _)| *known == label) {
            None => all.push((label, tally.clone())),
            Some((_, sum)) => {
                sum.running += tally.running;
                sum.stale += tally.stale;
                sum.orphaned += tally.orphaned;
                sum.exhausted += tally.exhausted;
                sum.queued += tally.queued;
                sum.dead += tally.dead;
                sum.reclaimed = [sum.reclaimed, tally.reclaimed].into_iter().flatten().reduce(|a, b| a + b);
                sum.oldest_queued = [sum.oldest_queued, tally.oldest_queued].into_iter().flatten().min();
            }
        }
    }
    all
}
