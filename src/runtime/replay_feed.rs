//! Feeds the dashboard from a recording instead of databases: an instant in, everything that was on the screen out.
//!
//! It has no connection to a source, no acting thread and no trail, so a replay can write nowhere.

mod answers;

use std::sync::Arc;

use crate::app::message::Msg;
use crate::app::replay::{
    PlotPoint, Replay, ReplayGap, ReplayMark, ReplayMarkKind, ReplayMove, ReplayPace, ReplayedEvents,
    ReplayedSource,
};
use crate::app::source::{Access, Poll, PollFailure, SourceView};
use crate::domain::snapshot::Counts;
use crate::domain::source_label::{LabelColour, SourceLabel};
use crate::domain::time::Moment;
use crate::events::Event;
use crate::recording::{Frame, RecordedCounts, RecordedPoll, Recording, RecordingError};

/// So many earlier polls a sparkline shows.
const PAST: usize = 300;
/// So many events the log keeps.
const LOG: usize = 2_000;
/// So many frames ahead the log goes on; further away it is read again.
const NEAR: i64 = 1_000;

/// A recording that is open, and where it stands.
#[derive(Debug)]
pub struct ReplayFeed {
    recording: Recording,
    /// Of all sources, in the order of time.
    frames: Vec<Frame>,
    counts: Vec<RecordedCounts>,
    /// What is shown of each source: the number of its frame, and what it read.
    shown: Vec<Option<(i64, Arc<RecordedPoll>)>>,
    /// Up to this frame events were told.
    told: i64,
}

impl ReplayFeed {
    pub fn new(recording: Recording) -> Result<ReplayFeed, RecordingError> {
        let mut frames = recording.frames()?;
        frames.sort_by_key(|frame| (frame.at, frame.id));
        let counts = recording.counts()?;
        let shown = recording.sources().iter().map(|_| None).collect();
        Ok(ReplayFeed { recording, frames, counts, shown, told: 0 })
    }

    /// The sources as the screen shows them.
    pub fn views(&self) -> Vec<SourceView> {
        let view = |source: &crate::recording::RecordedSource| {
            let engine = match source.engine.as_str() {
                "sqlite" => "sqlite",
                "postgres" => "postgres",
                _ => "recorded",
            };
            let why = "this is a replay: acts do not exist in it";
            let mut view = SourceView::new(source.shown.clone(), engine, Access::ReadOnly(why.into()));
            view.badge =
                source.badge.clone().map(|text| SourceLabel { text, colour: LabelColour::default() });
            view
        };
        self.recording.sources().iter().map(view).collect()
    }

    /// The recording for the scrubber; it stands at its beginning.
    pub fn replay(&self) -> Result<Option<Replay>, RecordingError> {
        let (Some(first), Some(last)) = (self.frames.first(), self.frames.last()) else { return Ok(None) };
        let name = self.recording.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let gaps = self.recording.gaps()?.into_iter();
        Ok(Some(Replay {
            name: name.unwrap_or_default(),
            begins: first.at,
            ends: last.at,
            at: first.at,
            pace: ReplayPace::Paused,
            speed: 1,
            plot: self.plot(),
            marks: self.marks()?,
            gaps: gaps.map(|gap| ReplayGap { from: gap.from, to: gap.to, why: gap.why }).collect(),
            backtest: None,
        }))
    }

    /// The counts of all sources together, whenever one of them changed.
    fn plot(&self) -> Vec<PlotPoint> {
        let mut now = vec![Counts::default(); self.shown.len()];
        let point = |one: &RecordedCounts| {
            if let Some(counts) = now.get_mut(one.source) {
                *counts = one.counts;
            }
            let mut sum = Counts::default();
            now.iter().for_each(|counts| sum += *counts);
            PlotPoint { at: one.at, counts: sum }
        };
        self.counts.iter().map(point).collect()
    }

    /// One mark for every frame with events; a cause has its name.
    fn marks(&self) -> Result<Vec<ReplayMark>, RecordingError> {
        let mut marks: Vec<ReplayMark> = Vec::new();
        for (at, cause) in self.recording.event_marks()? {
            let kind = cause.map_or(ReplayMarkKind::Event, ReplayMarkKind::Cause);
            match marks.last_mut() {
                Some(last) if last.at == at && kind == ReplayMarkKind::Event => {}
                Some(last) if last.at == at && last.kind == ReplayMarkKind::Event => last.kind = kind,
                _ => marks.push(ReplayMark { at, kind }),
            }
        }
        Ok(marks)
    }

    /// Goes elsewhere, and returns what is shown there.
    pub fn go(&mut self, from: Moment, to: ReplayMove) -> Result<Msg, RecordingError> {
        let at = match to {
            ReplayMove::To(at) => at,
            ReplayMove::Frames(frames) => self.frames_away(from, frames),
        };
        let (Some(first), Some(last)) = (self.frames.first(), self.frames.last()) else {
            return Ok(Msg::Tick);
        };
        self.show(at.clamp(first.at, last.at))
    }

    /// The instant of the frame that is so many after, or before, the one that is shown.
    fn frames_away(&self, from: Moment, frames: isize) -> Moment {
        let here = self.frames.partition_point(|frame| frame.at <= from).saturating_sub(1);
        let is_between = self.frames.get(here).is_some_and(|frame| frame.at < from);
        // Between two frames, one back is the frame that is shown.
        let back = if is_between && frames < 0 { frames + 1 } else { frames };
        let there = here.saturating_add_signed(back).min(self.frames.len().saturating_sub(1));
        self.frames.get(there).map_or(from, |frame| frame.at)
    }

    fn show(&mut self, at: Moment) -> Result<Msg, RecordingError> {
        let frames: Vec<Option<Frame>> =
            (0..self.shown.len()).map(|source| self.frame_at(source, at)).collect();
        let newest = frames.iter().flatten().map(|frame| frame.id).max().unwrap_or(0);
        let is_ahead = self.told > 0 && (self.told..=self.told + NEAR).contains(&newest);
        let events = match is_ahead {
            true => self.recording.events(self.told + 1..=newest)?,
            false => self.recording.last_events(newest, LOG)?,
        };
        self.told = newest.max(1);
        let mut sources = Vec::new();
        for (source, frame) in frames.into_iter().enumerate() {
            let mine = events.iter().filter(|event| event.source == source);
            let mine: Vec<Event> = mine.map(|event| event.event.clone()).collect();
            let events = if is_ahead { ReplayedEvents::New(mine) } else { ReplayedEvents::All(mine) };
            sources.push(self.show_source(source, frame.as_ref(), events)?);
        }
        Ok(Msg::Replayed { at, sources })
    }

    fn show_source(
        &mut self,
        source: usize,
        frame: Option<&Frame>,
        events: ReplayedEvents,
    ) -> Result<ReplayedSource, RecordingError> {
        let Some(frame) = frame else {
            return Ok(ReplayedSource { poll: None, lost: None, past: Vec::new(), events });
        };
        let poll = match &self.shown[source] {
            Some((shown, poll)) if *shown == frame.id => Some(Arc::clone(poll)),
            _ => self.recording.poll(frame)?.map(Arc::new),
        };
        self.shown[source] = poll.clone().map(|poll| (frame.id, poll));
        let lost = frame.failure.as_ref().map(|why| {
            let trouble = match frame.is_unreachable {
                true => PollFailure::NoLink(why.clone()),
                false => PollFailure::Unreadable(why.clone()),
            };
            (self.lost_since(source, frame), trouble)
        });
        let past = poll.as_ref().map(|poll| self.past(source, poll.frame.id)).unwrap_or_default();
        let label = self.recording.sources()[source].label.clone();
        let poll = poll.map(|poll| Poll {
            snapshots: poll.snapshots.clone(),
            horizon: Some(poll.horizon.clone()),
            whole: Some(poll.whole.clone()),
            warnings: poll.warnings.clone(),
            facts: Some(Arc::new(poll.facts(&label))),
            causes: Some(poll.causes.clone()),
        });
        Ok(ReplayedSource { poll, lost, past, events })
    }

    fn frame_at(&self, source: usize, at: Moment) -> Option<Frame> {
        let until = self.frames.partition_point(|frame| frame.at <= at);
        self.frames[..until].iter().rev().find(|frame| frame.source == source).cloned()
    }

    /// When the polls of a source began to fail, up to a frame that failed.
    fn lost_since(&self, source: usize, frame: &Frame) -> Moment {
        let mine = self.frames.iter().rev().filter(|other| other.source == source && other.id <= frame.id);
        mine.take_while(|other| other.failure.is_some()).last().map_or(frame.at, |first| first.at)
    }

    /// The counts of the polls before a frame, oldest first.
    fn past(&self, source: usize, frame: i64) -> Vec<Counts> {
        let good = self.frames.iter().rev();
        let good = good.filter(|other| other.source == source && other.id < frame && other.failure.is_none());
        let mut past: Vec<Counts> = Vec::new();
        let mut until = self.counts.partition_point(|one| one.frame < frame);
        for other in good.take(PAST - 1) {
            while until > 0
                && (self.counts[until - 1].frame > other.id || self.counts[until - 1].source != source)
            {
                until -= 1;
            }
            past.push(until.checked_sub(1).map(|at| self.counts[at].counts).unwrap_or_default());
        }
        past.reverse();
        past
    }
}
