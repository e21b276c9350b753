//! Which thresholds to test: `10m`, `5m,10m,30m`, `1m..60m`, or `run_tsa=1m..60m` for one kind.

use crate::domain::time::Span;

/// Thresholds to test, for all kinds or for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThresholdRange {
    pub kind: Option<String>,
    pub thresholds: Vec<Span>,
}

/// A range is divided into at most so many steps.
const STEPS: i64 = 60;

/// The steps that people would choose, in seconds.
const NICE: [i64; 16] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 86_400];

impl ThresholdRange {
    pub fn parse(text: &str) -> Result<ThresholdRange, String> {
        let (kind, list) = match text.rsplit_once('=') {
            Some((kind, list)) if !kind.is_empty() => (Some(kind.to_owned()), list),
            Some(_) => return Err("write KIND=1m..60m, or 1m..60m for all kinds".into()),
            None => (None, text),
        };
        let mut thresholds = Vec::new();
        for part in list.split(',') {
            match part.split_once("..") {
                Some((from, to)) => thresholds.extend(steps(Span::parse(from)?, Span::parse(to)?)?),
                None => thresholds.push(Span::parse(part)?),
            }
        }
        if thresholds.iter().any(|threshold| !threshold.is_positive()) {
            return Err("a threshold is longer than 0s".into());
        }
        thresholds.sort_unstable();
        thresholds.dedup();
        if thresholds.len() > 1_000 {
            return Err("at most 1000 thresholds".into());
        }
        Ok(ThresholdRange { kind, thresholds })
    }
}

/// Even steps between two thresholds, both of them included.
fn steps(from: Span, to: Span) -> Result<Vec<Span>, String> {
    if to < from {
        return Err(format!("{from} is longer than {to}; write the shorter one first"));
    }
    let whole = to.minus(from).as_micros();
    let is_coarse_enough = |seconds: &&i64| whole / (**seconds * 1_000_000) < STEPS;
    let step = NICE.iter().find(is_coarse_enough).map_or(whole / STEPS, |seconds| seconds * 1_000_000).max(1);
    let mut all: Vec<Span> = (0..=whole / step).map(|at| from.plus(Span::micros(at * step))).collect();
    if all.last() != Some(&to) {
        all.push(to);
    }
    Ok(all)
}

/// Thresholds that people would choose, in seconds and in minutes.
const RUNGS: [i64; 20] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 45, 50];

/// The thresholds from the shortest to twice the current one that people would choose, and these two themselves. They
/// are closer together where they are short: half a minute matters at two minutes, and not at an hour.
pub fn ladder(shortest: Span, current: Span) -> Vec<Span> {
    let seconds = RUNGS.into_iter();
    let minutes = RUNGS.into_iter().flat_map(|rung| [rung * 60, rung * 60 + 30]);
    let minutes = minutes.filter(|seconds| seconds % 60 == 0 || *seconds < 180);
    let hours = (1..24).map(|hours| hours * 3_600).chain([5_400]);
    let days = (1..=60).map(|days| days * 86_400);
    let mut all: Vec<Span> = seconds.chain(minutes).chain(hours).chain(days).map(Span::seconds).collect();
    let shortest = shortest.max(Span::seconds(1));
    all.retain(|threshold| (shortest..=current.times(2)).contains(threshold));
    all.extend([shortest, current]);
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<Span> {
        ThresholdRange::parse(text).expect("a range").thresholds
    }

    #[test]
    fn a_range_has_even_steps_and_both_ends() {
        let minutes: Vec<Span> = (1..=60).map(Span::minutes).collect();
        assert_eq!(parsed("1m..60m"), minutes);
        assert_eq!(parsed("10s..12s"), [10, 11, 12].map(Span::seconds));
        assert_eq!(parsed("30m,5m,5m"), [5, 30].map(Span::minutes));
        assert_eq!(parsed("5m..5m"), [Span::minutes(5)]);
        assert_eq!(parsed("1s..24h").len(), 49);
    }

    #[test]
    fn a_kind_stands_before_its_range() {
        let range = ThresholdRange::parse("a=b=1m").expect("a range");
        assert_eq!(range.kind.as_deref(), Some("a=b"));
        for bad in ["", "=1m", "2m..1m", "0s", "x", "1m..", "run=soon"] {
            assert!(ThresholdRange::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_ladder_has_the_current_threshold_and_few_rungs() {
        for current in [1, 45, 90, 600, 1_800, 7_200, 86_400].map(Span::seconds) {
            let all = ladder(Span::minutes(1), current);
            assert!(all.contains(&current) && all.len() <= 60, "{current}: {all:?}");
            assert!(
                all.is_sorted()
                    && all.last().is_some_and(|last| *last <= current.times(2).max(Span::minutes(1)))
            );
        }
        let all: Vec<String> =
            ladder(Span::minutes(1), Span::minutes(5)).iter().map(Span::to_string).collect();
        assert_eq!(all.join(" "), "1m 1m30s 2m 2m30s 3m 4m 5m 6m 7m 8m 10m");
    }
}
