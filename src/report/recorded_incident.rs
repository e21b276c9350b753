//! A recorded incident as one page: what happened, when it began, causes, the sets over time, the claims, who did what,
//! how long the recovery took, and what a better threshold would have done.

mod affected_claims;
mod sets_plot;

use super::document::{self, Block, Text, counted};
use super::incident::Incident;
use crate::domain::backtest::TestedSeries;
use crate::domain::snapshot::Counts;
use crate::domain::time::{Moment, Span};
use crate::events::Event;
use crate::recording::{Gap, RecordedCounts, RecordedEvent};
use affected_claims::AffectedClaims;
use sets_plot::SetsPlot;

/// Everything that the page tells.
#[derive(Debug)]
pub struct RecordedIncident {
    pub file: String,
    pub sources: Vec<String>,
    pub from: Moment,
    pub to: Moment,
    pub polls: usize,
    pub gaps: Vec<Gap>,
    /// Whenever the counts of a source changed, in order.
    pub counts: Vec<RecordedCounts>,
    pub events: Vec<RecordedEvent>,
    /// What the trail of this host has; nothing, if there is none.
    pub acts: Option<Incident>,
    pub thresholds: Vec<TestedSeries>,
}

/// When trouble began, was worst, and was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Course {
    began: Moment,
    /// It went on before the page begins.
    began_before: bool,
    peak: Moment,
    most: u64,
    /// So many claims are in trouble at quiet times.
    usual: u64,
    ended: Option<Moment>,
}

impl RecordedIncident {
    pub fn markdown(&self) -> String {
        document::markdown(&self.title(), &self.blocks())
    }

    pub fn html(&self) -> String {
        document::html(&self.title(), &self.blocks())
    }

    fn title(&self) -> String {
        format!("Incident report: {} to {} UTC", minute(self.from), minute(self.to))
    }

    fn blocks(&self) -> Vec<Block> {
        let sums = self.sums();
        let course = course(&sums);
        let claims = AffectedClaims::of(&self.events);
        let mut blocks = vec![self.facts()];
        blocks.extend(self.what_happened(course, &claims));
        blocks.push(Block::Heading("Causes"));
        blocks.push(self.causes());
        blocks.push(Block::Heading("Claims in trouble over time"));
        let plot =
            SetsPlot { from: self.from, to: self.to, counts: &sums, gaps: &self.gaps, causes: self.began() };
        blocks.push(Block::Picture { svg: plot.svg(), lines: plot.lines() });
        blocks.push(Block::Heading("Affected claims"));
        blocks.extend(claims.blocks());
        blocks.push(Block::Heading("Who did what"));
        blocks.extend(self.acts());
        blocks.push(Block::Heading("Time to recovery"));
        blocks.extend(self.recovery(course));
        blocks.push(Block::Heading("What a better threshold would have done"));
        blocks.extend(self.better());
        blocks
    }

    fn facts(&self) -> Block {
        let missing = self.gaps.iter().fold(Span::ZERO, |sum, gap| sum.plus(gap.to.since(gap.from)));
        let mut items = vec![
            vec![Text::plain("Recording:"), Text::code(&self.file)],
            vec![Text::plain(format!(
                "From {} to {} UTC, {} polls",
                second(self.from),
                second(self.to),
                self.polls
            ))],
        ];
        let names = self.sources.iter().map(Text::code);
        items.push([Text::plain("Sources:")].into_iter().chain(names).collect());
        for gap in self.gaps.iter().take(10) {
            let why = gap.why.as_deref().map_or_else(
                || "nobody recorded".into(),
                |why| format!("the source could not be read: {why}"),
            );
            items.push(vec![Text::plain(format!(
                "Gap from {} to {}: {why}",
                second(gap.from),
                second(gap.to)
            ))]);
        }
        if self.gaps.len() > 10 {
            items.push(vec![Text::plain(format!("{} gaps, {missing} in all", self.gaps.len()))]);
        }
        Block::List(items)
    }

    fn what_happened(&self, course: Option<Course>, claims: &AffectedClaims) -> Vec<Block> {
        let said = match course {
            None => "No claim was stale or orphaned in this time.".into(),
            Some(course) => {
                let began = match course.began_before {
                    true => format!("Trouble had begun before {} UTC.", second(course.began)),
                    false => format!("Trouble began at {} UTC.", second(course.began)),
                };
                let usual = match course.usual {
                    0 => String::new(),
                    usual => format!(" ({usual} were before)"),
                };
                format!(
                    "{began} At its worst, at {} UTC, {} claims were stale or orphaned{usual}. Affected: {}, held by {}. {}",
                    second(course.peak),
                    course.most,
                    counted(claims.count() as u64, "claim"),
                    counted(claims.holders() as u64, "holder"),
                    match course.ended {
                        Some(ended) => format!("It was over at {} UTC.", second(ended)),
                        None => "It was not over when the recording ended.".into(),
                    }
                )
            }
        };
        vec![Block::Heading("What happened"), Block::Paragraph(said)]
    }

    fn began(&self) -> Vec<(Moment, String)> {
        let began = self.events.iter().filter_map(|recorded| match &recorded.event {
            Event::CauseBegan { since, name, .. } => {
                let at = since.and_then(|millis| Moment::from_micros(millis.checked_mul(1_000)?));
                Some((at.unwrap_or(recorded.at).max(self.from), name.clone()))
            }
            _ => None,
        });
        began.collect()
    }

    fn causes(&self) -> Block {
        let mut items = Vec::new();
        for recorded in &self.events {
            match &recorded.event {
                Event::CauseBegan { sentence, .. } => {
                    items.push(vec![Text::plain(format!("{} {sentence}", second(recorded.at)))]);
                }
                Event::CauseEnded { by, name, .. } => {
                    items.push(vec![
                        Text::plain(format!("{} over: {by}", second(recorded.at))),
                        Text::code(name),
                    ]);
                }
                _ => {}
            }
        }
        match items.is_empty() {
            true => Block::Paragraph("The claims in trouble had nothing in common that stood out.".into()),
            false => Block::List(items),
        }
    }

    fn acts(&self) -> Vec<Block> {
        match &self.acts {
            Some(acts) if !acts.is_empty() => acts.blocks(),
            Some(_) => vec![Block::Paragraph(
                "The trail of this host has no act on these sources in this time.".into(),
            )],
            None => vec![Block::Paragraph(
                "There is no trail on this host; `claimtop audit report` on the host of the operator has it."
                    .into(),
            )],
        }
    }

    fn recovery(&self, course: Option<Course>) -> Vec<Block> {
        let whole = match course {
            None => return vec![Block::Paragraph("Nothing had to be recovered.".into())],
            Some(Course { began, ended: Some(ended), .. }) => {
                format!("{} from the first claim in trouble to the last.", ended.since(began))
            }
            Some(Course { began, ended: None, .. }) => {
                format!("Not recovered within {}.", self.to.since(began))
            }
        };
        let single = self.thresholds.iter().filter_map(|one| {
            let recovery = one.series.recovery()?;
            Some(vec![Text::plain(format!(
                "{}: half of the claims of dead holders were free again within {recovery} after their last sign of life",
                one.title()
            ))])
        });
        let single: Vec<Vec<Text>> = single.collect();
        let mut blocks = vec![Block::Paragraph(whole)];
        if !single.is_empty() {
            blocks.push(Block::List(single));
        }
        blocks
    }

    fn better(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for one in self.thresholds.iter().filter(|one| !one.series.silences.is_empty()) {
            blocks.push(Block::Paragraph(format!("{}: {}", one.title(), one.advice_text())));
            if let Some(line) = one.advised_line() {
                blocks.push(Block::List(vec![vec![Text::plain("config:"), Text::code(line)]]));
            }
            let said = [one.basis()].into_iter().chain(one.remarks());
            blocks.push(Block::List(said.map(|said| vec![Text::plain(said)]).collect()));
            blocks.push(Block::Lines(one.plot()));
        }
        if blocks.is_empty() {
            blocks.push(Block::Paragraph(
                "The recording has no silence that a threshold could be tested on.".into(),
            ));
        }
        blocks
    }

    /// The counts of all sources together, whenever those of one changed.
    fn sums(&self) -> Vec<(Moment, Counts)> {
        let mut now: Vec<Counts> = vec![Counts::default(); self.sources.len()];
        let mut sums: Vec<(Moment, Counts)> = Vec::new();
        for entry in &self.counts {
            if let Some(counts) = now.get_mut(entry.source) {
                *counts = entry.counts;
            }
            let mut sum = Counts::default();
            now.iter().for_each(|counts| sum += *counts);
            let at = entry.at.max(self.from);
            match sums.last_mut() {
                Some(last) if last.0 == at => last.1 = sum,
                _ => sums.push((at, sum)),
            }
        }
        sums
    }
}

/// Claims that are stale or orphaned. One in both sets counts twice: the counts do not tell.
fn trouble(counts: &Counts) -> u64 {
    counts.orphaned.max(counts.stale)
}

/// From the last quiet moment before the worst one to the first after it. Quiet is within a tenth of the way from the
/// fewest to the most claims in trouble.
fn course(sums: &[(Moment, Counts)]) -> Option<Course> {
    let most = sums.iter().map(|(_, counts)| trouble(counts)).max().filter(|most| *most > 0)?;
    let usual = sums.iter().map(|(_, counts)| trouble(counts)).min().unwrap_or(0);
    let usual = if usual == most { 0 } else { usual };
    let quiet = usual + (most - usual) / 10;
    let is_quiet = |at: &usize| trouble(&sums[*at].1) <= quiet;
    let peak = sums.iter().position(|(_, counts)| trouble(counts) == most)?;
    let calm = (0..peak).rev().find(is_quiet);
    let began = calm.map_or(0, |at| at + 1);
    let ended = (peak..sums.len()).find(is_quiet).map(|at| sums[at].0);
    Some(Course {
        began: sums[began].0,
        began_before: calm.is_none(),
        peak: sums[peak].0,
        most,
        usual,
        ended,
    })
}

/// "2026-11-18 03:17".
fn minute(at: Moment) -> String {
    at.rfc3339().get(..16).unwrap_or_default().replace('T', " ")
}

/// "2026-11-18 03:17:35".
fn second(at: Moment) -> String {
    at.rfc3339().get(..19).unwrap_or_default().replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Moment {
        Moment::from_micros(second * 1_000_000).expect("an instant")
    }

    fn orphaned(count: u64) -> Counts {
        Counts { total: 100, orphaned: count, ..Counts::default() }
    }

    #[test]
    fn an_incident_goes_from_the_last_quiet_moment_to_the_next() {
        let sums = [(0, 2), (10, 3), (20, 60), (30, 66), (40, 30), (50, 2), (60, 3)];
        let sums: Vec<(Moment, Counts)> =
            sums.into_iter().map(|(second, count)| (at(second), orphaned(count))).collect();
        let course = course(&sums).expect("an incident");
        assert_eq!((course.began, course.peak, course.ended), (at(20), at(30), Some(at(50))));
        assert_eq!((course.most, course.usual, course.began_before), (66, 2, false));
    }

    #[test]
    fn trouble_that_never_changes_has_begun_before_and_is_not_over() {
        let course = course(&[(at(0), orphaned(5)), (at(9), orphaned(5))]).expect("an incident");
        assert!(course.began_before && course.ended.is_none());
        assert_eq!(super::course(&[(at(0), orphaned(0))]), None);
        assert_eq!(super::course(&[]), None);
    }
}
