//! All silences that one threshold decides about.

use std::sync::Arc;

use super::silence::{Outcome, Silence};
use super::tested::{Judgement, Tested};
use crate::domain::time::{Moment, Span};
use crate::domain::visible::visible;

/// The threshold that is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    Ttl,
    OrphanAfter,
    SilentAfter,
}

impl Measure {
    /// Its key in the config.
    pub fn as_str(self) -> &'static str {
        match self {
            Measure::Ttl => "ttl",
            Measure::OrphanAfter => "orphan_after",
            Measure::SilentAfter => "silent_after",
        }
    }
}

/// Whose threshold it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    pub source: String,
    pub profile: String,
    pub board: String,
    /// The kind, if kinds differ in this threshold.
    pub kind: Option<String>,
    pub measure: Measure,
}

impl Subject {
    /// "task-queue/job run_tsa".
    pub fn claims(&self) -> String {
        let kind = self.kind.as_deref().map(|kind| format!(" {}", visible(kind))).unwrap_or_default();
        format!("{}/{}{kind}", visible(&self.profile), visible(&self.board))
    }
}

/// The silences of one subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub subject: Subject,
    /// The threshold that was in force.
    pub current: Option<Span>,
    /// The database's clock at every poll that succeeded, in order.
    pub frames: Arc<[Moment]>,
    /// The address of every claim, by its number.
    pub claims: Arc<[String]>,
    /// Sorted by claim and time.
    pub silences: Vec<Silence>,
    /// Shorter silences are not in the recording.
    pub floor: Span,
    /// A holder that is silent for longer than this is late.
    pub late_after: Span,
    /// After this long the system itself frees a claim, if the profile says so.
    pub self_heals_after: Option<Span>,
    /// At some polls more claims were in trouble than were read: the takes are at least so many.
    pub is_partial: bool,
}

/// One claim that a sweep would have taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Take {
    pub claim: u32,
    pub at: Moment,
    pub outcome: Outcome,
    /// From the last sign of life to the take.
    pub delay: Span,
    /// From the take to the poll that found the claim recovered in fact.
    pub saved: Span,
}

impl Series {
    /// The line of the config that sets this threshold.
    pub fn config_line(&self, threshold: Span) -> String {
        let Subject { source, board, kind, measure, .. } = &self.subject;
        let quoted = |name: &str| match name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
            true if !name.is_empty() => name.to_owned(),
            _ => format!("{name:?}"),
        };
        let kind = kind.as_deref().map(|kind| format!(".kind.{}", quoted(kind))).unwrap_or_default();
        format!(
            "[source.{}.board.{}{kind}] {} = \"{threshold}\"",
            quoted(source),
            quoted(board),
            measure.as_str()
        )
    }

    /// The claims that a sweep at every poll would have taken. Only the first take of a claim counts: what followed
    /// would have been different.
    pub fn takes(&self, threshold: Span) -> impl Iterator<Item = Take> + '_ {
        let mut taken = None;
        self.silences.iter().filter_map(move |silence| {
            let due = silence.sign.plus(threshold);
            if silence.last <= due || taken == Some(silence.claim) {
                return None;
            }
            taken = Some(silence.claim);
            Some(self.take(silence, due))
        })
    }

    fn take(&self, silence: &Silence, due: Moment) -> Take {
        let next = self.frames.partition_point(|frame| *frame <= due);
        let at = self.frames.get(next).copied().unwrap_or(silence.last).max(silence.first).min(silence.last);
        let (delay, saved) = (at.since(silence.sign), silence.ended_at.since(at));
        Take { claim: silence.claim, at, outcome: silence.end.outcome(), delay, saved }
    }

    /// The claims that a single sweep at this poll would have taken.
    pub fn taken_at(&self, threshold: Span, poll: Moment) -> impl Iterator<Item = u32> + '_ {
        let is_due = move |silence: &&Silence| {
            silence.first <= poll && poll <= silence.last && silence.sign.plus(threshold) < poll
        };
        self.silences.iter().filter(is_due).map(|silence| silence.claim)
    }

    /// Tests thresholds.
    pub fn test(&self, thresholds: &[Span]) -> Vec<Tested> {
        let recovery = self.recovery();
        thresholds.iter().map(|threshold| self.test_one(*threshold, recovery)).collect()
    }

    fn test_one(&self, threshold: Span, recovery: Option<Span>) -> Tested {
        let mut tested = Tested::of(threshold, self.judgement(threshold, recovery));
        let (mut delays, mut saved) = (Vec::new(), Vec::new());
        for take in self.takes(threshold) {
            tested.count(take.outcome);
            if take.outcome == Outcome::Right {
                delays.push(take.delay);
                saved.push(take.saved);
            }
        }
        tested.missed = self.missed(threshold);
        (tested.delay_p50, tested.delay_p95) = (percentile(&mut delays, 50), percentile(&mut delays, 95));
        (tested.saved_p50, tested.saved_p95) = (percentile(&mut saved, 50), percentile(&mut saved, 95));
        tested
    }

    /// Claims of dead holders that were recovered in fact before this threshold would have taken them.
    fn missed(&self, threshold: Span) -> u64 {
        let mut taken = None;
        let mut missed = 0;
        for silence in &self.silences {
            if silence.last > silence.sign.plus(threshold) {
                taken = Some(silence.claim);
            } else if taken != Some(silence.claim) && self.is_dead(silence) {
                missed += 1;
            }
        }
        missed
    }

    /// Whether a silence is that of a dead holder. A claim that changes hands quickly was handed over.
    fn is_dead(&self, silence: &Silence) -> bool {
        silence.end.outcome() == Outcome::Right && silence.ended_at.since(silence.sign) > self.late_after
    }

    /// How soon the claims of dead holders were recovered in fact: half of them within this time.
    pub fn recovery(&self) -> Option<Span> {
        let dead = self.silences.iter().filter(|silence| self.is_dead(silence));
        percentile(&mut dead.map(|silence| silence.ended_at.since(silence.sign)).collect::<Vec<_>>(), 50)
    }

    fn judgement(&self, threshold: Span, recovery: Option<Span>) -> Judgement {
        if threshold < self.floor {
            return Judgement::BelowFloor(self.floor);
        }
        match recovery {
            Some(recovery) if threshold >= recovery => Judgement::AboveRecovery(recovery),
            _ => Judgement::Sound,
        }
    }

    /// The longest silence that its own holder ended.
    pub fn longest_living(&self) -> Option<Span> {
        let living = self.silences.iter().filter(|silence| silence.end.outcome() == Outcome::Wrong);
        living.map(|silence| silence.last.since(silence.sign)).max()
    }

    /// From the first poll to the last.
    pub fn length(&self) -> Span {
        let ends = self.frames.first().zip(self.frames.last());
        ends.map_or(Span::ZERO, |(first, last)| last.since(*first))
    }
}

/// The value below or at which so many percent lie.
fn percentile(values: &mut [Span], percent: usize) -> Option<Span> {
    let last = values.len().checked_sub(1)?;
    let at = (values.len() * percent).div_ceil(100).saturating_sub(1).min(last);
    Some(*values.select_nth_unstable(at).1)
}
