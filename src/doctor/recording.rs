//! What a recording says about the thresholds in force.

use std::collections::BTreeSet;

use super::{Diagnosis, DoctorCheck};
use crate::domain::backtest::{Advice, Measure, Series, Tested, advise, around};
use crate::domain::time::Span;
use crate::domain::visible::visible;
use crate::recording::{Recording, RecordingError};

/// Tests the thresholds in force, and those around them.
pub fn examine_recording(recording: &Recording) -> Result<Diagnosis, RecordingError> {
    let mut checks = vec![extent(recording)?];
    for series in recording.series(&BTreeSet::new())? {
        checks.extend(check(&series));
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

fn check(series: &Series) -> Option<DoctorCheck> {
    let current = series.current?;
    let name = series.subject.measure.as_str();
    let subject = subject(series);
    if series.silences.is_empty() {
        let floor = series.floor;
        return Some(DoctorCheck::ok(
            name,
            format!("{subject}: no silence of {floor} or longer; {current} was never reached"),
        ));
    }
    let tested = series.test(&thresholds(series, current));
    let now = tested.iter().find(|one| one.threshold == current);
    let now_text = now.map(|one| in_force(one, series.subject.measure)).unwrap_or_default();
    Some(match advise(series, &tested) {
        Advice::Choose { tested: chosen, .. } if is_near(chosen.threshold, current) => {
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
                format!("set {} in the config", visible(&series.config_line(chosen.threshold))),
            )
        }
        Advice::None(why) => DoctorCheck::ok(name, format!("{subject}: {current} stays; {why}")),
    })
}

/// Thresholds that could be better: those around the one in force, from the shortest that the recording can judge.
fn thresholds(series: &Series, current: Span) -> Vec<Span> {
    let mut all = around(current);
    all.extend(around(series.floor.max(Span::seconds(1))));
    all.retain(|threshold| *threshold >= series.floor || *threshold == current);
    all.sort_unstable();
    all.dedup();
    all
}

/// Within a fifth.
fn is_near(one: Span, other: Span) -> bool {
    one.minus(other).abs().times(5) <= other
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

fn subject(series: &Series) -> String {
    let kind = series.subject.kind.as_deref().map(|kind| format!(" {}", visible(kind))).unwrap_or_default();
    format!("{}/{}{kind}", visible(&series.subject.profile), visible(&series.subject.board))
}
