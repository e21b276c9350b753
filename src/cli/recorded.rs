//! `check` and `list` on a recording: what was true at an instant.

use std::path::Path;

use super::Only;
use super::list::{ClaimPrinter, ListFormat, limit_of};
use super::output::complain;
use super::setup::RowSelection;
use crate::domain::beat_intervals::BeatIntervals;
use crate::domain::board_id::BoardId;
use crate::domain::snapshot::{BoardSnapshot, Judged, Snapshot};
use crate::domain::time::Moment;
use crate::domain::verdict::Set;
use crate::exit::Exit;
use crate::recording::{Frame, RecordedPoll, Recording, RecordingError, is_recording};
use crate::report::check::CheckResult;
use crate::store::Listed;

/// Whether a command is about a recording: it names a time, or its only source is one.
pub(super) fn is_asked_for(sources: &[String], at: Option<&str>) -> bool {
    at.is_some() || matches!(sources, [only] if is_recording(Path::new(only)))
}

/// A recording, and the frame of each of its sources at an instant.
struct RecordedInstant {
    recording: Recording,
    at: Moment,
    frames: Vec<(usize, Frame)>,
}

impl RecordedInstant {
    fn open(sources: &[String], at: Option<&str>) -> Result<RecordedInstant, String> {
        let [path] = sources else {
            return Err("--at looks at one recording: claimtop check FILE --at 03:12".into());
        };
        let path = Path::new(path);
        let recording = Recording::open(path).map_err(|error| error.to_string())?;
        let said = |error: RecordingError| error.to_string();
        let at = instant(&recording, at)?;
        let mut frames = Vec::new();
        for source in 0..recording.sources().len() {
            frames.extend(recording.frame_at(Some(source), at).map_err(said)?.map(|frame| (source, frame)));
        }
        if frames.is_empty() {
            let begins = recording.first_frame().map_err(said)?;
            let begins = begins.map_or_else(String::new, |frame| frame.at.rfc3339());
            let error = RecordingError::BeforeStart { path: path.into(), at: at.rfc3339(), begins };
            return Err(error.to_string());
        }
        Ok(RecordedInstant { recording, at, frames })
    }

    /// The name of a source.
    fn label(&self, source: usize) -> String {
        self.recording.sources().get(source).map_or_else(String::new, |source| source.label.clone())
    }

    fn engine(&self, source: usize) -> &'static str {
        let engine = self.recording.sources().get(source).map_or("", |source| &source.engine);
        engine_name(engine)
    }
}

/// The engine by its name, for reports and the screen.
pub(super) fn engine_name(engine: &str) -> &'static str {
    match engine {
        "sqlite" => "sqlite",
        "postgres" => "postgres",
        _ => "recorded",
    }
}

/// The instant that is meant; the end of the recording, if none is.
fn instant(recording: &Recording, at: Option<&str>) -> Result<Moment, String> {
    let failed = |error: RecordingError| error.to_string();
    let last = recording.last_frame().map_err(failed)?;
    let Some(last) = last else { return Err("the recording has no frame".into()) };
    match at {
        None => Ok(last.at),
        Some(text) => Moment::parse_near(text, last.at).ok_or_else(|| {
            format!("{text:?} is not a time; write 2026-11-15T03:12:00Z, or 03:12 for the last 03:12 of the recording")
        }),
    }
}

/// The sources as they were at an instant.
pub(super) fn check(sources: &[String], at: Option<&str>) -> Result<(Vec<CheckResult>, Moment), String> {
    let instant = RecordedInstant::open(sources, at)?;
    let mut looked = Vec::new();
    for (source, frame) in &instant.frames {
        let label = instant.label(*source);
        let result = match &frame.failure {
            Some(why) => Err(format!("{label}: {why}")),
            None => Ok(instant.recording.poll(frame).map_err(|error| error.to_string())?),
        };
        let facts = match &result {
            Ok(Some(poll)) => Some(poll.facts(&label)),
            _ => None,
        };
        looked.push(CheckResult {
            engine: instant.engine(*source),
            result: result.map(|poll| poll.map(|poll| poll.snapshots).unwrap_or_default()),
            facts: facts.map(std::sync::Arc::new),
            previews: Vec::new(),
            recoveries: Vec::new(),
            source: label,
        });
    }
    Ok((looked, instant.at))
}

/// The claims as they were at an instant.
pub(super) fn list(sources: &[String], at: Option<&str>, only: &Only, format: ListFormat) -> Exit {
    let instant = match RecordedInstant::open(sources, at) {
        Ok(instant) => instant,
        Err(sentence) => return complain(&sentence),
    };
    let limit = limit_of(only, format);
    let filter = only.filter(limit);
    let mut printer = ClaimPrinter::new(format, instant.frames.len() > 1, RowSelection::Claims);
    let (mut exit, mut left) = (Exit::Fine, limit.unwrap_or(usize::MAX));
    for (source, frame) in &instant.frames {
        let label = instant.label(*source);
        if !only.takes_source(&label) {
            continue;
        }
        if let Some(why) = &frame.failure {
            exit = exit.and(complain(&format!("{label}: {why}")));
            continue;
        }
        let poll = match instant.recording.poll(frame) {
            Ok(Some(poll)) => poll,
            Ok(None) => continue,
            Err(error) => return complain(&error.to_string()),
        };
        for listed in listed(&poll) {
            let board = BoardId::new(&listed.profile, &listed.board);
            if left == 0 || !filter.takes_board(&board) || !filter.takes(&board, &listed.judged, listed.now) {
                continue;
            }
            left -= 1;
            if !printer.claim(&label, &listed) {
                return exit;
            }
        }
        if let Some(board) = partly_recorded(&poll) {
            complain(&format!(
                "{label}: of {board} only claims in trouble were recorded; `claimtop record --whole` records all"
            ));
        }
    }
    printer.finish(limit, exit);
    exit
}

/// Every claim of a frame that was recorded, worst first.
fn listed(poll: &RecordedPoll) -> Vec<Listed> {
    let mut all = Vec::new();
    for (snapshot, board, claims) in poll.boards() {
        let id = BoardId::new(&snapshot.profile, &board.board);
        let healthy = claims.iter().filter(|judged| judged.verdict.headline() == Set::Healthy);
        let mut beats = BeatIntervals::default();
        beats.estimate(healthy.map(|judged| (&id, &judged.claim)), snapshot.now);
        let one = |judged: &Judged| {
            let pace = beats.pace(&id, &judged.claim, snapshot.now);
            Listed { pace, ..Listed::new(&id, judged.clone(), &board.nature, snapshot.now) }
        };
        all.extend(claims.iter().map(one));
    }
    all.sort_by_cached_key(|one| {
        let verdict = &one.judged.verdict;
        (verdict.headline(), verdict.deadline.map_or(i64::MAX, Moment::micros))
    });
    all
}

/// A board of which healthy claims were not recorded, if there is one.
fn partly_recorded(poll: &RecordedPoll) -> Option<BoardId> {
    let is_partly = |(_, board, claims): &(&Snapshot, &BoardSnapshot, &[Judged])| {
        (claims.len() as u64) < board.counts.total
    };
    let (snapshot, board, _) = poll.boards().find(is_partly)?;
    Some(BoardId::new(&snapshot.profile, &board.board))
}
