//! What a recording says about the thresholds in force.

use std::collections::BTreeSet;

use super::{Diagnosis, DoctorCheck};
use crate::domain::backtest::{Advice, Measure, Series, Tested, TestedSeries};
use crate::domain::time::Span;
use crate::domain::visible::visible;
use crate::recording::{Recording, RecordingError};

/// Tests the thresholds in force, and those around them.
pub fn examine_recording(recording: &Recording) -> Result<Diagnosis, RecordingError> {
    let mut checks = vec![extent(recording)?];
    for series in recording.series(&BTreeSet::new())? {
        checks.extend(check(series));
    }
    Ok(Diagnosis { checks, unreachable: None })
}

/// How long the recording is, and what is missing in it.
fn extent(recording: &Recording) -> Result<DoctorCheck, RecordingError> {
    let (first, last) = (recording.first_frame()?, recording.last_frame()?);
    let length = first.zip(last).map_or(Span::ZERO, |(first, last)| last.at.since(first.at));
    let gaps = recording.gaps()?;
    let missing = gaps.iter().fold(Span::ZERO, |sum, gap| sum.plus(gap.to.since(gap.from)));
    let mut message = format!("{length} long");
    if !gaps.is_empty() {
        message += &format!(", {missing} of it missing in {}", super::count(gaps.len() as u64, "gap"));
    }
    const SHORT: Span = Span::minutes(60);
    Ok(if length < SHORT {
        let fix = "record for a day or more: thresholds are about rare events";
        DoctorCheck::warning("recording", message, fix)
    } else {
        DoctorCheck::ok("recording", message)
    })
}

fn check(series: Series) -> Option<DoctorCheck> {
    let current = series.current?;
    let name = series.subject.measure.as_str();
    let subject = series.subject.claims();
    if series.silences.is_empty() {
        let floor = series.floor;
        return Some(DoctorCheck::ok(
            name,
            format!("{subject}: no silence of {floor} or longer; {current} was never reached"),
        ));
    }
    let tested = TestedSeries::around_current(series)?;
    let measure = tested.series.subject.measure;
    let now_text = tested.in_force().map(|one| in_force(one, measure)).unwrap_or_default();
    Some(match tested.advice() {
        Advice::Choose { tested: chosen, .. } if tested.is_near_current(chosen.threshold) => {
            DoctorCheck::ok(name, format!("{subject}: {current} fits; {now_text}"))
        }
        Advice::Choose { tested: chosen, reason } => {
            let saved = match chosen.saved_p50 {
                Some(saved) if saved.is_positive() => {
                    format!("; dead claims would have been free {saved} sooner")
                }
                _ => String::new(),
            };
            DoctorCheck::warning(
                name,
                format!(
                    "{subject}: {current} in force, {} would be better: {reason}{saved}; {now_text}",
                    chosen.threshold
                ),
                format!("set {} in the config", visible(&tested.series.config_line(chosen.threshold))),
            )
        }
        Advice::None(why) => DoctorCheck::ok(name, format!("{subject}: {current} stays; {why}")),
    })
}

fn in_force(now: &Tested, measure: Measure) -> String {
    let took = match measure {
        Measure::Ttl | Measure::OrphanAfter => "takes",
        Measure::SilentAfter => "calls stale",
    };
    match now.judgement.why_not() {
        Some(why) => format!("the one in force cannot be judged: {why}"),
        None => format!("the one in force {took} {}, {} wrongly", now.taken(), now.wrongly_text()),
    }
}
