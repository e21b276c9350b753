//! Which threshold to choose, and why.

use super::series::Series;
use super::tested::{Judgement, Tested};
use crate::domain::time::Span;

/// At most this share of the takes may be wrong.
pub const MOST_WRONG: f64 = 0.05;

/// What the recording says about the threshold.
#[derive(Debug, Clone, PartialEq)]
pub enum Advice {
    /// This threshold, and why.
    Choose { tested: Tested, reason: String },
    /// None can be recommended, and why.
    None(String),
}

/// The shortest threshold with few wrong takes among those that the recording can judge.
pub fn advise(series: &Series, tested: &[Tested]) -> Advice {
    if series.silences.is_empty() {
        return Advice::None("the recording has no silence that could be tested".into());
    }
    let sound: Vec<&Tested> = tested.iter().filter(|one| one.is_sound()).collect();
    let Some(longest) = sound.last() else {
        let why = tested.iter().find_map(|one| one.judgement.why_not());
        return Advice::None(why.unwrap_or_else(|| "no threshold was tested".into()));
    };
    let is_rarely_wrong = |one: &&&Tested| one.wrong_share_at_most().is_some_and(|share| share <= MOST_WRONG);
    if let Some(chosen) = sound.iter().find(is_rarely_wrong) {
        let reason = format!(
            "the shortest of which at most {:.0} % of the takes are wrong: {} of {}",
            MOST_WRONG * 100.0,
            chosen.wrongly_text(),
            chosen.taken()
        );
        return Advice::Choose { tested: **chosen, reason };
    }
    // With few dead holders nearly every take is a wrong one; what is left is to be longer than any living silence.
    match sound.iter().find(|one| one.wrongly_at_most() == 0) {
        Some(chosen) => Advice::Choose { tested: **chosen, reason: beyond_the_living(series) },
        None => {
            let is_above = |one: &Tested| matches!(one.judgement, Judgement::AboveRecovery(_));
            let then = match tested.iter().any(is_above) {
                true => "longer ones cannot be judged",
                false => "test longer ones",
            };
            let (wrongly, taken) = (longest.wrongly_text(), longest.taken());
            let threshold = longest.threshold;
            Advice::None(format!(
                "even {threshold} would have taken {wrongly} of {taken} claims wrongly; {then}"
            ))
        }
    }
}

fn beyond_the_living(series: &Series) -> String {
    match series.longest_living() {
        Some(longest) => {
            format!(
                "no living holder was silent for longer than {}",
                Span::seconds(longest.as_micros() / 1_000_000)
            )
        }
        None => "no living holder was silent for that long".into(),
    }
}
