//! `claimtop report`: one page about what a recording shows.

use clap::Args;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::output::{complain, print};
use crate::domain::audit::{Period, PeriodTime};
use crate::domain::backtest::TestedSeries;
use crate::domain::time::Moment;
use crate::exit::Exit;
use crate::recording::{Recording, RecordingError};
use crate::recovery::trail::{Trail, TrailError};
use crate::report::incident::Incident;
use crate::report::recorded_incident::RecordedIncident;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A recording, as `claimtop record` makes it
    file: PathBuf,
    /// From then: 03:17, 2026-11-18T03:17:35Z, or 2h before its end [default: its beginning]
    #[arg(long, value_name = "TIME", value_parser = PeriodTime::parse)]
    from: Option<PeriodTime>,
    /// Until then [default: its end]
    #[arg(long, value_name = "TIME", value_parser = PeriodTime::parse)]
    to: Option<PeriodTime>,
    /// Write one HTML file with pictures instead of Markdown
    #[arg(long)]
    html: bool,
    /// Write the page to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &ReportArgs) -> Exit {
    let incident = match read(arguments) {
        Ok(Ok(incident)) => incident,
        Ok(Err(sentence)) => return complain(&sentence),
        Err(error) => return complain(&error.to_string()),
    };
    let page = if arguments.html { incident.html() } else { incident.markdown() };
    let Some(file) = &arguments.out else {
        // If standard output is closed, there is nobody to tell.
        let _ = print(&page);
        return Exit::Fine;
    };
    match std::fs::write(file, page) {
        Ok(()) => Exit::Fine,
        Err(error) => complain(&format!("{}: cannot write the report: {error}", file.display())),
    }
}

/// What the recording and the trail have, or what is wrong with the arguments.
fn read(arguments: &ReportArgs) -> Result<Result<RecordedIncident, String>, RecordingError> {
    let recording = Recording::open(&arguments.file)?;
    let frames = recording.frames()?;
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
        return Err(RecordingError::Empty { path: arguments.file.clone() });
    };
    let from = arguments.from.map_or(first.at, |from| from.moment(last.at)).max(first.at);
    let to = arguments.to.map_or(last.at, |to| to.moment(last.at)).min(last.at);
    if to < from {
        let (begins, ends) = (first.at.rfc3339(), last.at.rfc3339());
        return Ok(Err(format!("--from and --to leave nothing: the recording is from {begins} to {ends}")));
    }
    let is_inside = |at: Moment| from <= at && at <= to;
    let inside: Vec<i64> = frames.iter().filter(|frame| is_inside(frame.at)).map(|frame| frame.id).collect();
    let events = match (inside.first(), inside.last()) {
        (Some(first), Some(last)) => recording.events(*first..=*last)?,
        _ => Vec::new(),
    };
    let gaps = recording.gaps()?.into_iter().filter(|gap| gap.from <= to && gap.to >= from);
    Ok(Ok(RecordedIncident {
        file: file_name(&arguments.file),
        sources: recording.sources().iter().map(|source| source.label.clone()).collect(),
        from,
        to,
        polls: inside.len(),
        gaps: gaps.collect(),
        // What was true before counts until it changes.
        counts: recording.counts()?.into_iter().filter(|entry| entry.at <= to).collect(),
        events,
        acts: acts(&recording, from, to),
        thresholds: thresholds(&recording)?,
    }))
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The acts on the recorded databases, if this host has a trail.
fn acts(recording: &Recording, from: Moment, to: Moment) -> Option<Incident> {
    let trail = Trail::read_only(&Trail::default_folder()?).ok()?;
    let known: BTreeSet<&str> =
        recording.sources().iter().filter_map(|source| source.fingerprint.as_deref()).collect();
    let mut incident = Incident::default();
    let read: Result<(), TrailError> =
        trail.each_entry_of(&Period { since: Some(from), until: Some(to) }, |entry| {
            if known.contains(entry.record.fingerprint.as_str()) {
                incident.add(&entry);
            }
            ControlFlow::Continue(())
        });
    read.ok().map(|()| incident)
}

/// The thresholds in force and those around them.
fn thresholds(recording: &Recording) -> Result<Vec<TestedSeries>, RecordingError> {
    let all = recording.series(&BTreeSet::new())?;
    Ok(all.into_iter().filter_map(TestedSeries::around_current).collect())
}
