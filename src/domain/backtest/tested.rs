//! The result of one threshold.

use super::silence::Outcome;
use crate::domain::time::Span;

/// What one threshold would have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tested {
    pub threshold: Span,
    pub right: u64,
    /// Their holders were alive.
    pub wrongly: u64,
    /// Gone, and nothing tells whether their holders were alive.
    pub unclear: u64,
    /// The recording ended before.
    pub undecided: u64,
    /// Claims of dead holders that were recovered in fact before.
    pub missed: u64,
    /// How long the claims of dead holders would have waited.
    pub delay_p50: Option<Span>,
    pub delay_p95: Option<Span>,
    /// How much sooner they would have been recovered than in fact.
    pub saved_p50: Option<Span>,
    pub saved_p95: Option<Span>,
    pub judgement: Judgement,
}

/// Whether the recording can judge a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    Sound,
    /// Silences shorter than this are not in the recording.
    BelowFloor(Span),
    /// Half of the dead were recovered within this time: they were gone before the threshold.
    AboveRecovery(Span),
}

impl Judgement {
    /// Why the recording cannot judge it.
    pub fn why_not(self) -> Option<String> {
        match self {
            Judgement::Sound => None,
            Judgement::BelowFloor(floor) => {
                Some(format!("the recording has no silences shorter than {floor}"))
            }
            Judgement::AboveRecovery(recovery) => Some(format!(
                "half of the dead claims were recovered within {recovery}, without this threshold"
            )),
        }
    }
}

impl Tested {
    pub(super) fn of(threshold: Span, judgement: Judgement) -> Tested {
        Tested {
            threshold,
            right: 0,
            wrongly: 0,
            unclear: 0,
            undecided: 0,
            missed: 0,
            delay_p50: None,
            delay_p95: None,
            saved_p50: None,
            saved_p95: None,
            judgement,
        }
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Right => &mut self.right,
            Outcome::Wrong => &mut self.wrongly,
            Outcome::Unclear => &mut self.unclear,
            Outcome::Undecided => &mut self.undecided,
        } += 1;
    }

    pub fn taken(&self) -> u64 {
        self.right + self.wrongly + self.unclear + self.undecided
    }

    pub fn is_sound(&self) -> bool {
        self.judgement == Judgement::Sound
    }

    /// As many as may have been wrong: those of which nothing tells count.
    pub fn wrongly_at_most(&self) -> u64 {
        self.wrongly + self.unclear
    }

    /// The share of decided takes that are wrong, at most: the upper end of a 95 % interval. None wrong among n says
    /// only that fewer than 3/n are.
    pub fn wrong_share_at_most(&self) -> Option<f64> {
        let decided = self.right + self.wrongly + self.unclear;
        if decided == 0 {
            return None;
        }
        let (n, wrong) = (decided as f64, self.wrongly_at_most() as f64);
        if wrong == 0.0 {
            return Some((3.0 / n).min(1.0));
        }
        // Wilson's interval.
        const Z: f64 = 1.96;
        let share = wrong / n;
        let middle = share + Z * Z / (2.0 * n);
        let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        Some(((middle + half) / (1.0 + Z * Z / n)).min(1.0))
    }

    /// The wrong takes as text: a number, or bounds where some are unclear.
    pub fn wrongly_text(&self) -> String {
        match self.unclear {
            0 => self.wrongly.to_string(),
            _ => format!("{}..{}", self.wrongly, self.wrongly_at_most()),
        }
    }
}
