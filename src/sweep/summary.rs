//! The result of one run on one source.

use serde::Serialize;
use std::time::Duration;

use super::brakes::{Brake, BrakeHold};
use super::reason::SweepReason;
use crate::domain::cause::Cause;
use crate::domain::recovery::Outcome;

/// Counts, and the sentences of the brakes that held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepSummary {
    pub source: String,
    pub expired: usize,
    pub orphaned: usize,
    pub moved: usize,
    pub refused: usize,
    pub unknown: usize,
    /// Swept too often within a day.
    pub poison: usize,
    /// Left because a late worker could finish them a second time.
    pub unfenced: usize,
    /// Not watched long enough yet.
    pub watching: usize,
    /// Could have been taken, but were left.
    pub left: usize,
    pub held: Vec<BrakeHold>,
    /// The clocks did not run evenly since the last run, so every claim is watched again from the start.
    pub paused: bool,
    /// How many acts were tried, and how long they took without the pauses between them.
    pub tried: usize,
    pub acting: Duration,
    pub error: Option<String>,
    pub dry_run: bool,
    /// Boards that were seen before and are missing now.
    pub notices: Vec<String>,
    /// What the claims in trouble had in common before the run.
    pub causes: Vec<Cause>,
}

/// The summary of a source as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SummaryLine<'a> {
    event: &'static str,
    source: &'a str,
    applied: usize,
    expired: usize,
    orphaned: usize,
    moved: usize,
    refused: usize,
    unknown: usize,
    held: Option<String>,
    poison: usize,
    unfenced: usize,
    watching: usize,
    left: usize,
    error: Option<&'a str>,
    notices: &'a [String],
    causes: &'a [Cause],
    dry_run: bool,
}

impl SweepSummary {
    pub fn applied(&self) -> usize {
        self.expired + self.orphaned
    }

    /// Counts a claim that was taken.
    pub(super) fn take(&mut self, ground: SweepReason) {
        match ground {
            SweepReason::Expired(_) => self.expired += 1,
            SweepReason::Orphaned(_) => self.orphaned += 1,
        }
    }

    /// Counts the outcome of one act, except applied ones, which count by their reason.
    pub(super) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Applied => {}
            Outcome::Moved(_) => self.moved += 1,
            Outcome::Refused(_) => self.refused += 1,
            Outcome::Unknown(_) => self.unknown += 1,
        }
    }

    pub(super) fn hold(&mut self, brake: Brake, sentence: String) {
        self.held.push(BrakeHold { brake, sentence });
    }

    /// The sentences of the brakes that held.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        self.held.iter().map(|held| held.sentence.as_str())
    }

    /// The sentences of all brakes in one text.
    pub fn holds(&self) -> Option<String> {
        (!self.held.is_empty()).then(|| self.sentences().collect::<Vec<_>>().join("; "))
    }

    /// Whether this brake held, even if only for a pause.
    pub fn is_held_by(&self, brake: Brake) -> bool {
        brake == Brake::Clock && self.paused || self.held.iter().any(|held| held.brake == brake)
    }

    /// The summary for JSON.
    pub fn object(&self) -> impl Serialize + '_ {
        SummaryLine {
            event: "summary",
            source: &self.source,
            applied: self.applied(),
            expired: self.expired,
            orphaned: self.orphaned,
            moved: self.moved,
            refused: self.refused,
            unknown: self.unknown,
            held: self.holds(),
            poison: self.poison,
            unfenced: self.unfenced,
            watching: self.watching,
            left: self.left,
            error: self.error.as_deref(),
            notices: &self.notices,
            causes: &self.causes,
            dry_run: self.dry_run,
        }
    }

    /// For people: one line, and one for each cause.
    pub fn lines(&self) -> Vec<String> {
        let would = if self.dry_run { " would be" } else { "" };
        let mut line = format!(
            "{}: {}{would} swept ({} expired, {} orphaned)",
            self.source,
            self.applied(),
            self.expired,
            self.orphaned
        );
        for (count, what) in [
            (self.moved, "moved"),
            (self.refused, "refused"),
            (self.unknown, "with unknown outcome"),
            (self.poison, "poison"),
            (self.unfenced, "not fenced"),
            (self.watching, "watched until they have stayed unchanged long enough"),
            (self.left, "left"),
        ] {
            if count > 0 {
                line.push_str(&format!(", {count} {what}"));
            }
        }
        let causes = self.causes.iter().map(|cause| format!("  cause: {cause}"));
        std::iter::once(line).chain(causes).collect()
    }
}
