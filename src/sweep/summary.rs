//! What one run came to on one source.

use serde::Serialize;
use std::time::Duration;

use super::brakes::{Brake, Held};
use super::reason::SweepReason;
use crate::domain::recovery::Outcome;

/// Counts, and the sentences of the brakes that held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub source: String,
    pub expired: usize,
    pub orphaned: usize,
    pub moved: usize,
    pub refused: usize,
    pub unknown: usize,
    /// Came back too often within a day.
    pub poison: usize,
    /// Not seen long enough yet.
    pub watching: usize,
    /// Could have been taken and were not.
    pub left: usize,
    pub held: Vec<Held>,
    /// The clocks did not run evenly since the look before, so everything is watched anew.
    pub paused: bool,
    /// Acts that were tried, and the time that they took, without the pauses between them.
    pub tried: usize,
    pub acting: Duration,
    pub error: Option<String>,
    pub dry_run: bool,
    /// The boards that were seen before and are missing now.
    pub notices: Vec<String>,
}

/// The last line of a source, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
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
    watching: usize,
    left: usize,
    error: Option<&'a str>,
    notices: &'a [String],
    dry_run: bool,
}

impl Summary {
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

    /// Counts what came of one act, but for those applied, which count by their ground.
    pub(super) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Applied => {}
            Outcome::Moved(_) => self.moved += 1,
            Outcome::Refused(_) => self.refused += 1,
            Outcome::Unknown(_) => self.unknown += 1,
        }
    }

    pub(super) fn hold(&mut self, brake: Brake, sentence: String) {
        self.held.push(Held { brake, sentence });
    }

    /// What was said by the brakes that held.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        self.held.iter().map(|held| held.sentence.as_str())
    }

    /// All that held, in one text.
    pub fn holds(&self) -> Option<String> {
        (!self.held.is_empty()).then(|| self.sentences().collect::<Vec<_>>().join("; "))
    }

    /// Whether this brake held, be it only for a pause.
    pub fn is_held_by(&self, brake: Brake) -> bool {
        brake == Brake::Clock && self.paused || self.held.iter().any(|held| held.brake == brake)
    }

    /// As an object for programs.
    pub fn object(&self) -> impl Serialize + '_ {
        Line {
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
            watching: self.watching,
            left: self.left,
            error: self.error.as_deref(),
            notices: &self.notices,
            dry_run: self.dry_run,
        }
    }

    /// As a line for people.
    pub fn text(&self) -> String {
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
            (self.watching, "watched until they have stood still long enough"),
            (self.left, "left"),
        ] {
            if count > 0 {
                line.push_str(&format!(", {count} {what}"));
            }
        }
        line
    }
}
