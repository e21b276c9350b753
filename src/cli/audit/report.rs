//! `claimtop audit report`: one Markdown page about an incident.

use clap::Args;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::cli::output::{complain, print};
use crate::cli::setup::Setup;
use crate::domain::audit::{Period, PeriodTime};
use crate::domain::time::{Moment, Span};
use crate::exit::Exit;
use crate::recovery::trail::{Trail, TrailError};
use crate::report::incident::Incident;
use crate::store::clock;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// From then: 2h, 03:17, 2026-11-18 or 2026-11-18T03:17:35Z [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = PeriodTime::parse, conflicts_with = "batch")]
    since: Option<PeriodTime>,
    /// Until then [default: now]
    #[arg(long, value_name = "TIME", value_parser = PeriodTime::parse, conflicts_with = "batch")]
    until: Option<PeriodTime>,
    /// One bulk or one act, and its undo, by the id that `audit list` shows
    #[arg(long, value_name = "ID")]
    batch: Option<String>,
    /// Write the page to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(setup: &Setup, trail: &Trail, arguments: &ReportArgs) -> Result<Exit, TrailError> {
    let now = setup.now.unwrap_or_else(clock);
    let (incident, title) = match &arguments.batch {
        Some(id) => match of_batch(trail, id)? {
            Some(incident) => (incident, format!("Act {id}")),
            None => {
                return Ok(complain(&format!("there is no act {id} in the trail; `audit list` shows ids")));
            }
        },
        None => {
            let since = arguments.since.unwrap_or(PeriodTime::Ago(Span::minutes(24 * 60))).moment(now);
            let until = arguments.until.map(|until| until.moment(now));
            if until.is_some_and(|until| until < since) {
                return Ok(complain("--until is before --since; nothing can be in between"));
            }
            let period = Period { since: Some(since), until };
            (of_period(trail, &period)?, title(since, until.unwrap_or(now)))
        }
    };
    let page = incident.page(&title);
    let Some(file) = &arguments.out else {
        // If standard output is closed, there is nobody to tell.
        let _ = print(&page);
        return Ok(Exit::Fine);
    };
    Ok(match std::fs::write(file, page) {
        Ok(()) => Exit::Fine,
        Err(error) => complain(&format!("{}: cannot write the report: {error}", file.display())),
    })
}

/// An act may take this long.
const LONGEST_ACT: Span = Span::minutes(10);

fn title(since: Moment, until: Moment) -> String {
    let minute = |at: Moment| at.rfc3339().get(..16).unwrap_or_default().replace('T', " ");
    format!("Incident of {} to {} UTC", minute(since), minute(until))
}

fn of_period(trail: &Trail, period: &Period) -> Result<Incident, TrailError> {
    let mut incident = Incident::default();
    // The outcome of an act may be written after the end of the period.
    let read = Period { since: period.since, until: period.until.map(|until| until.plus(LONGEST_ACT)) };
    trail.each_entry_of(&read, |entry| {
        let is_inside = entry.record.moment().is_none_or(|at| period.contains(at));
        if is_inside || incident.awaits(&entry) {
            incident.add(&entry);
        }
        ControlFlow::Continue(())
    })?;
    Ok(incident)
}

/// The acts of a bulk and their later undo; `None` if there is no such bulk.
fn of_batch(trail: &Trail, id: &str) -> Result<Option<Incident>, TrailError> {
    let (mut incident, mut first, mut last) = (Incident::default(), None, 0);
    let mut names = HashSet::new();
    trail.each_entry_of_batch(id, |entry| {
        incident.add(&entry);
        first = first.or(entry.record.moment());
        last = last.max(entry.seq);
        names.insert(base(&entry.record.action_id).to_owned());
        ControlFlow::Continue(())
    })?;
    if names.is_empty() {
        return Ok(None);
    }
    trail.each_entry_of(&Period { since: first, until: None }, |entry| {
        let undoes = entry.record.refers_to.as_deref().is_some_and(|undone| match id.contains('.') {
            true => undone == id,
            false => names.contains(base(undone)),
        });
        if entry.seq > last && undoes {
            incident.add(&entry);
        }
        ControlFlow::Continue(())
    })?;
    Ok(Some(incident))
}

/// The id of an act's transaction, or of the act itself.
fn base(id: &str) -> &str {
    id.split_once('.').map_or(id, |(base, _)| base)
}
